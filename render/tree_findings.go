package render

import (
	"slices"
	"sort"
	"strconv"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/schema"
)

// A placement says at which nodes of the tape the findings of a message stand, in the order of the nodes.
type placement struct {
	findings []dissect.Finding
	placed   []place
	next     int // the first that has not been printed
}

// A place is a finding's place on the tape.
type place struct {
	node    uint32 // index of the node plus one, onTop for the message as a whole
	finding int32
}

const onTop = 0

// place finds for each finding the innermost node that contains its offset. That there is an error code is not said again
// where the code itself is shown.
func (p *placement) place(findings []dissect.Finding, tape []dissect.Node, withheld bool) {
	p.findings, p.placed, p.next = findings, p.placed[:0], 0
	for i := range findings {
		f := &findings[i]
		node := nodeAt(tape, f.Offset)
		if f.Code == dissect.ErrorCode && !withheld && node > onTop && isError(&tape[node-1]) {
			continue
		}
		p.placed = append(p.placed, place{node, int32(i)})
	}
	if len(findings) > 1 {
		slices.SortStableFunc(p.placed, func(x, y place) int { return int(x.node) - int(y.node) })
	}
}

// nodeAt returns the place of an offset. The last node that begins at or before an offset is the innermost one that contains it:
// the leaves tile the frame, and a group comes before what it contains.
func nodeAt(tape []dissect.Node, offset int) uint32 {
	if offset < 0 {
		return onTop
	}
	return uint32(sort.Search(len(tape), func(i int) bool { return int(tape[i].Offset) > offset }))
}

func isError(n *dissect.Node) bool { return n.Kind == dissect.ValueNode && isErrorCode(n.Op) }

// inside tells whether a finding that was not printed yet belongs to the nodes from index from up to index to.
func (p *placement) inside(from, to uint32) bool {
	for i := p.next; i < len(p.placed) && p.placed[i].node <= to; i++ {
		if p.placed[i].node > from {
			return true
		}
	}
	return false
}

// says tells whether a text is that of a finding.
func (p *placement) says(text string) bool {
	return slices.ContainsFunc(p.findings, func(f dissect.Finding) bool { return f.Text == text })
}

// notes appends the findings up to the node before index end that were not printed yet, as children of the line before. last says
// that no sibling follows that line.
func (t *Tree) notes(b []byte, end uint32, last bool) []byte {
	switch p := &t.findings; {
	case p.next == len(p.placed) || p.placed[p.next].node > end:
		return b
	case last:
		return t.noteLines(b, end, "    ")
	}
	return t.noteLines(b, end, "|   ")
}

func (t *Tree) noteLines(b []byte, end uint32, branch string) []byte {
	p := &t.findings
	for ; p.next < len(p.placed) && p.placed[p.next].node <= end; p.next++ {
		b = append(b, t.prefix...)
		b = append(b, branch...)
		b = append(b, '!', ' ')
		b = t.appendFinding(b, &p.findings[p.placed[p.next].finding])
	}
	return b
}

// appendFinding appends severity, code and text of a finding and ends the line.
func (t *Tree) appendFinding(b []byte, f *dissect.Finding) []byte {
	s := t.severity(f.Severity)
	b = append(b, s.on...)
	b = append(b, f.Severity.String()...)
	b = append(b, ' ')
	b = append(b, f.Code...)
	b = append(b, s.off...)
	b = append(b, ':', ' ')
	b = appendEscaped(b, f.Text, false)
	return append(b, '\n')
}

func (t *Tree) severity(s dissect.Severity) style {
	switch s {
	case dissect.Info:
		return t.colors.info
	case dissect.Warn:
		return t.colors.warn
	}
	return t.colors.error
}

// reportLine appends a finding that belongs to no message that is being printed.
func (t *Tree) reportLine(b []byte, r *dissect.Report, f *dissect.Finding) []byte {
	b = append(b, '!', ' ')
	if r.Message > 0 {
		b = strconv.AppendInt(append(b, '#'), r.Message, 10)
		b = append(b, ' ')
	}
	if r.Connection != nil {
		b = t.ends.append(b, r.Connection, schema.Request)
	} else {
		b = appendEscaped(append(b, "capture "...), t.options.File, false)
	}
	return t.appendFinding(append(b, ' '), f)
}
