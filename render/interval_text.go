package render

import (
	"fmt"
	"math"
	"strconv"

	"github.com/rivo/uniseg"
)

// An intervalTable is part of a block, below its head. It has a title, rows, and the free text last, so that on a terminal nothing but that is cut.
type intervalTable struct {
	columns []tableColumn
	rows    [][]string
	more    func(room int) [][]string // makes the rows where there is room for so many; nil where the last are left out
}

// A tableColumn is aligned to the left, or, with a negative width, to the right. The last has no width. In an alarming one anything but 0 is a failure.
type tableColumn struct {
	name     string
	width    int
	alarming bool
}

// Columns that several tables have, so that they stand below each other.
var (
	columnCount  = tableColumn{name: "NUM", width: -7}
	columnRate   = tableColumn{name: "/S", width: -7}
	columnIn     = tableColumn{name: "IN", width: -6}
	columnOut    = tableColumn{name: "OUT", width: -6}
	columnErrors = tableColumn{name: "ERR", width: -5, alarming: true}
	columnWorst  = tableColumn{name: "EXC.MAX", width: -8}
	columnTime   = tableColumn{name: "TIME", width: -15}
	columnConn   = tableColumn{name: "CONN", width: 5}
	columnAPI    = tableColumn{name: "API", width: 16}
)

// block appends the block of an interval.
func (v *Intervals) block(i *Interval) {
	width, height := v.size()
	w := blockWriter{b: v.buf, width: width, colors: &v.colors}
	apis, clients, topics := v.apiTable(i), v.clientTable(i), v.topicTable(i)
	hanging, failed, slowest := v.hangingTable(), v.failureTable(), v.slowestTable()
	v.head(&w, i)
	fit([]*intervalTable{hanging, failed, apis, clients, slowest, topics}, v.rows(), height)
	for _, t := range []*intervalTable{apis, clients, topics, hanging, failed, slowest} {
		w.table(t)
	}
	v.buf = w.b
}

// headLines is how many lines a head has.
const headLines = 3

// head says what the interval was, what was captured, and what came of it.
func (v *Intervals) head(w *blockWriter, i *Interval) {
	b, elapsed := v.timer.appendElapsed(nil, i.Begin)
	if !elapsed {
		b = v.timer.appendDateMillis(b, i.Begin/1e6)
	}
	w.part(v.colors.title, string(fmt.Appendf(b, "  %.1f s  ", float64(i.End-i.Begin)/1e9)))
	w.part(style{}, v.source())
	w.end()
	v.captured(w, i)
	w.end()
	v.exchanged(w, i)
	w.end()
}

// captured is about packets, with what is missing.
func (v *Intervals) captured(w *blockWriter, i *Interval) {
	b := append(appendRate(nil, float64(i.Packets), i), " packets/s, "...)
	b = append(appendRate(b, float64(i.Bytes)*8/1e6, i), " Mbit/s, "...)
	w.part(style{}, string(append(appendCount(b, i.Connections, "connection", "connections"), ", "...)))
	b = appendCount(nil, i.Lost, "packet lost", "packets lost")
	if i.LostInAll > i.Lost {
		b = fmt.Appendf(b, " (%d in all)", i.LostInAll)
	}
	w.part(v.alarm(i.LostInAll), string(b))
	if i.Gaps > 0 {
		w.part(v.colors.failure, string(appendCount([]byte(", "), i.Gaps, "gap", "gaps")))
	}
}

// exchanged is about exchanges, of those that were selected.
func (v *Intervals) exchanged(w *blockWriter, i *Interval) {
	b := append(appendCount(nil, v.exchanges, "exchange", "exchanges"), ", "...)
	w.part(style{}, string(append(appendRate(b, float64(v.exchanges), i), "/s, "...)))
	w.part(v.alarm(v.errors), string(append(appendCount(nil, v.errors, "answer with an error", "answers with errors"), ", "...)))
	w.part(v.alarm(v.unanswered), fmt.Sprintf("%d unanswered, ", v.unanswered))
	w.part(v.alarm(v.hanging.all), fmt.Sprintf("%d hanging", v.hanging.all))
}

func (v *Intervals) alarm(n int64) style {
	if n == 0 {
		return style{}
	}
	return v.colors.failure
}

// source names what is captured.
func (v *Intervals) source() string {
	if n := len(v.options.Files); n != 1 {
		return fmt.Sprintf("%d captures", n)
	}
	if v.options.Files[0] == "-" {
		return "standard input"
	}
	return string(appendEscaped(nil, v.options.Files[0], false))
}

// appendRate appends how many there were a second.
func appendRate(b []byte, n float64, i *Interval) []byte {
	seconds := float64(i.End-i.Begin) / 1e9
	if seconds <= 0 {
		return append(b, '-')
	}
	rate := n / seconds
	if rate < 100 {
		return strconv.AppendFloat(b, rate, 'f', 1, 64)
	}
	return strconv.AppendFloat(b, rate, 'f', 0, 64)
}

// tallyTable makes a table of tallies.
func tallyTable(all *tallies, columns []tableColumn, row func(t *tally) []string) *intervalTable {
	t := &intervalTable{columns: columns}
	t.more = func(room int) (rows [][]string) {
		highest, others := all.top(room)
		for _, one := range highest {
			rows = append(rows, row(one))
		}
		if others != nil {
			rows = append(rows, row(others))
		}
		return rows
	}
	t.rows = make([][]string, all.size())
	return t
}

func (v *Intervals) apiTable(i *Interval) *intervalTable {
	columns := []tableColumn{columnCount, columnRate, columnIn, columnOut, columnErrors, {name: "EXC.50", width: -8}, {name: "EXC.99", width: -8}, columnWorst, {name: "API"}}
	return tallyTable(&v.apis, columns, func(t *tally) []string {
		row := append(counted(t, i), "-", "-", "-", t.name)
		if t.excess != nil {
			row[5], row[6], row[7] = millis(t.excess.quantile(50)), millis(t.excess.quantile(99)), millis(t.worst)
		}
		return row
	})
}

func (v *Intervals) clientTable(i *Interval) *intervalTable {
	columns := []tableColumn{columnCount, columnRate, columnIn, columnOut, columnErrors, columnWorst, {name: "CLIENT"}}
	return tallyTable(&v.clients, columns, func(t *tally) []string {
		name := t.name
		if software := v.software.get(name); software != "" {
			name += "  " + software
		}
		return append(counted(t, i), millis(t.worst), name)
	})
}

func (v *Intervals) topicTable(i *Interval) *intervalTable {
	columns := []tableColumn{columnCount, columnRate, columnIn, columnOut, columnErrors, {name: "REC.IN", width: -8}, {name: "REC.OUT", width: -8}, {name: "TOPIC"}}
	return tallyTable(&v.topics, columns, func(t *tally) []string {
		return append(counted(t, i), decimal(t.recordsIn), decimal(t.recordsOut), t.name)
	})
}

// counted are the first columns of tallies.
func counted(t *tally, i *Interval) []string {
	return []string{decimal(t.exchanges), string(appendRate(nil, float64(t.exchanges), i)), string(appendSize(nil, int(t.in))), string(appendSize(nil, int(t.out))), decimal(t.errors)}
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

func millis(ns int64) string { return string(appendMillis(nil, round(ns))) }

// hangingTable is about requests that wait for longer than they asked to.
func (v *Intervals) hangingTable() *intervalTable {
	t := &intervalTable{columns: []tableColumn{columnTime, columnConn, {name: "HANGING", width: -8, alarming: true}, {name: "WAIT", width: -4}, columnAPI, {name: "CLIENT, WHAT"}}}
	for _, n := range v.hanging.held {
		t.rows = append(t.rows, v.row(n, seconds(n.latency), decimal(int64(n.inFlight)), n.api))
	}
	return t
}

func (v *Intervals) failureTable() *intervalTable {
	t := &intervalTable{columns: []tableColumn{columnTime, columnConn, {name: "FAILED", width: -8, alarming: true}, columnAPI, {name: "RESULT, CLIENT, WHAT"}}}
	t.more = func(room int) (rows [][]string) {
		few, others := v.failures.top(room)
		for _, f := range few {
			row := v.row(f.notable, decimal(f.count), f.api)
			row[len(row)-1] = f.outcome + "  " + row[len(row)-1]
			rows = append(rows, row)
		}
		if others > 0 {
			rows = append(rows, []string{"-", "-", decimal(others), "-", "others"})
		}
		return rows
	}
	t.rows = make([][]string, v.failures.size())
	return t
}

func (v *Intervals) slowestTable() *intervalTable {
	t := &intervalTable{columns: []tableColumn{columnTime, columnConn, {name: "EXCESS", width: -8}, {name: "MS", width: -8}, columnAPI, {name: "CLIENT, WHAT"}}}
	for _, n := range v.slowest.held {
		t.rows = append(t.rows, v.row(n, millis(n.excess), millis(n.latency), n.api))
	}
	return t
}

// row makes the row of a notable exchange.
func (v *Intervals) row(n *notable, middle ...string) []string {
	row := append([]string{string(v.timer.appendDay(nil, n.time)), "c" + strconv.Itoa(n.connection)}, middle...)
	text := n.client
	if n.what != "" {
		text += "  " + n.what
	}
	return append(row, text)
}

func seconds(ns int64) string { return fmt.Sprintf("%.1fs", float64(ns)/1e9) }

// fit chooses the rows of each table: most at most. Where the height of all is bounded each gets its title with a row or two, as long as there is room, then one row
// after the other in turn. first are the tables in the order of what matters most.
func fit(first []*intervalTable, most, height int) {
	lines := math.MaxInt
	if height > 0 {
		lines = height - headLines
	}
	rooms := make([]int, len(first))
	for i, t := range first {
		few := min(2, most, len(t.rows)) // one row alone would be that of the others
		if few > 0 && lines >= titleLines+few {
			rooms[i] = few
			lines -= titleLines + few
		}
	}
	for more := true; more; {
		more = false
		for i, t := range first {
			if lines > 0 && rooms[i] > 0 && rooms[i] < min(most, len(t.rows)) {
				rooms[i]++
				lines--
				more = true
			}
		}
	}
	for i, t := range first {
		if t.more != nil && rooms[i] > 0 {
			t.rows = t.more(rooms[i])
		}
		t.rows = t.rows[:rooms[i]]
	}
}

// titleLines are an empty line and a title.
const titleLines = 2

// A blockWriter writes lines of at most width columns, if that is not 0.
type blockWriter struct {
	b      []byte
	width  int
	used   int // columns of the line
	colors *palette
}

// part appends text to the line, as much as there is room for.
func (w *blockWriter) part(s style, text string) {
	if w.width > 0 {
		text = fitting(text, w.width-w.used)
		w.used += uniseg.StringWidth(text)
	}
	w.b = append(w.b, s.paint(text)...)
}

// fitting returns the beginning of a text that takes no more than so many columns.
func fitting(text string, columns int) string {
	rest, state, end := text, -1, 0
	for len(rest) > 0 {
		var cluster string
		var width int
		cluster, rest, width, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if columns -= width; columns < 0 {
			return text[:end]
		}
		end += len(cluster)
	}
	return text
}

func (w *blockWriter) end() {
	w.b = append(w.b, '\n')
	w.used = 0
}

// table appends a table, none where there are no rows.
func (w *blockWriter) table(t *intervalTable) {
	if len(t.rows) == 0 {
		return
	}
	w.end()
	for i, c := range t.columns {
		w.cell(w.colors.title, c, c.name, i+1 == len(t.columns))
	}
	w.end()
	for _, row := range t.rows {
		for i, c := range t.columns {
			s := style{}
			if c.alarming && row[i] != "0" {
				s = w.colors.failure
			}
			w.cell(s, c, row[i], i+1 == len(t.columns))
		}
		w.end()
	}
}

// cell appends a cell, and a space unless it is the last of its line.
func (w *blockWriter) cell(s style, c tableColumn, text string, last bool) {
	if last {
		w.part(s, text)
		return
	}
	w.part(s, string(endColumn([]byte(text), 0, c.width, true)))
}
