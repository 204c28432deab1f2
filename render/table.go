package render

import (
	"bytes"
	"encoding/csv"
	"io"

	"github.com/kdissect/kdissect/dissect"
)

// A Table writes a line an exchange, in the order of completion, with the columns that are asked for; the first line has their names. Text is escaped so that
// it stays on its line and in its column. Findings go to another writer.
type Table struct {
	sink
	options  Options
	columns  []Column
	findings findingLog
	timer    timer
	finder   finder
	json     JSON
	row      []byte // the cells of a line, one behind the other
	ends     []int  // where each ends

	// of CSV
	writer *csv.Writer // nil for tab-separated values
	line   bytes.Buffer
	cells  []string
}

// NewTSV returns the format "tsv": tab-separated values. Findings are written to log.
func NewTSV(w, log io.Writer, columns []Column, o Options) *Table {
	t := newTable(w, log, columns, o)
	t.title()
	return t
}

// NewCSV returns the format "csv": comma-separated values, in quotes where need be (RFC 4180). Findings are written to log.
func NewCSV(w, log io.Writer, columns []Column, o Options) *Table {
	t := newTable(w, log, columns, o)
	t.writer = csv.NewWriter(&t.line)
	t.title()
	return t
}

func newTable(w, log io.Writer, columns []Column, o Options) *Table {
	o.Records = RecordsSize
	t := &Table{sink: sink{w: w}, options: o, columns: columns, json: JSON{options: o}}
	t.findings = findingLog{sink{w: log}, &t.options}
	t.timer = newTimer(&t.options)
	t.finder.json = &t.json
	return t
}

// Needs implements Format.
func (t *Table) Needs() dissect.Needs { return dissect.NeedExchanges }

// Message implements dissect.Output.
func (t *Table) Message(*dissect.Message) {}

// Report implements dissect.Output.
func (t *Table) Report(r *dissect.Report) { t.findings.report(r) }

// Flush implements Format.
func (t *Table) Flush() error {
	t.findings.Flush()
	return t.sink.Flush()
}

// Close implements Format.
func (t *Table) Close(*dissect.Counts) { t.writeRanking(t.options.Ranking, &t.findings) }

// Exchange implements dissect.Output.
func (t *Table) Exchange(x *dissect.Exchange) {
	for _, m := range [...]*dissect.Message{x.Request, x.Response} {
		if m != nil {
			m.Facts() // what is wrong with a message is told, whatever the columns are
		}
	}
	t.begin()
	for i := range t.columns {
		t.row = t.columns[i].add(t, t.row, x)
		t.ends = append(t.ends, len(t.row))
	}
	start := len(t.buf)
	t.end()
	t.rank(t.options.Ranking, x, start)
	t.written()
	t.findings.exchange(x)
}

// title writes the names of the columns.
func (t *Table) title() {
	if t.options.Continued {
		return
	}
	t.begin()
	for i := range t.columns {
		t.row = append(t.row, t.columns[i].Name...)
		t.ends = append(t.ends, len(t.row))
	}
	t.end()
}

func (t *Table) begin() { t.row, t.ends = t.row[:0], t.ends[:0] }

// end writes the cells as a line.
func (t *Table) end() {
	if t.writer != nil {
		t.endCSV()
		return
	}
	from := 0
	for i, end := range t.ends {
		if i > 0 {
			t.buf = append(t.buf, '\t')
		}
		t.buf = append(t.buf, t.row[from:end]...)
		from = end
	}
	t.buf = append(t.buf, '\n')
}

func (t *Table) endCSV() {
	row, from := string(t.row), 0
	t.cells = t.cells[:0]
	for _, end := range t.ends {
		t.cells = append(t.cells, row[from:end])
		from = end
	}
	t.line.Reset()
	t.writer.Write(t.cells) // into memory: there is no error
	t.writer.Flush()
	t.buf = append(t.buf, t.line.Bytes()...)
}
