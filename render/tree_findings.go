package render

import (
	"cmp"
	"slices"
	"sort"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/schema"
)

// A placement says at which nodes of the tape the findings of a message stand, in the order of the nodes and of the bytes.
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
		slices.SortStableFunc(p.placed, func(x, y place) int {
			return cmp.Or(int(x.node)-int(y.node), findings[x.finding].Offset-findings[y.finding].Offset)
		})
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
	if p := &t.findings; p.next == len(p.placed) || p.placed[p.next].node > end {
		return b
	}
	return t.noteLines(b, end, branchBelow(last))
}

// branchBelow is what stands in front of the children of a line. last says that no sibling follows it.
func branchBelow(last bool) string {
	if last {
		return "    "
	}
	return "|   "
}

func (t *Tree) noteLines(b []byte, end uint32, branch string) []byte {
	p := &t.findings
	for ; p.next < len(p.placed) && p.placed[p.next].node <= end; p.next++ {
		b = t.note(b, &p.findings[p.placed[p.next].finding], branch)
	}
	return b
}

// before tells whether the next finding to be printed is one about the node at an index, with an offset in front of another.
func (p *placement) before(at uint32, offset int) bool {
	if p.next == len(p.placed) || p.placed[p.next].node > at+1 {
		return false
	}
	return p.findings[p.placed[p.next].finding].Offset < offset
}

// notesBefore appends the findings about the node at an index, a leaf, that stand in front of an offset and were not printed yet.
func (t *Tree) notesBefore(b []byte, at uint32, offset int, branch string) []byte {
	for t.findings.before(at, offset) {
		p := &t.findings
		b = t.note(b, &p.findings[p.placed[p.next].finding], branch)
		p.next++
	}
	return b
}

// freshNotes appends the findings that came up since there were n of them: while a batch was opened, they have no place on the tape.
func (t *Tree) freshNotes(b []byte, n int, branch string) []byte {
	for i := n; i < len(t.m.Findings); i++ {
		b = t.note(b, &t.m.Findings[i], branch)
	}
	return b
}

// note appends a finding as a child of the line before.
func (t *Tree) note(b []byte, f *dissect.Finding, branch string) []byte {
	b = append(b, t.indent.text...)
	b = append(b, branch...)
	b = append(b, '!', ' ')
	return t.appendFinding(b, f)
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
		b = appendInt(append(b, '#'), r.Message)
		b = append(b, ' ')
	}
	if r.Connection != nil {
		b = t.ends.append(b, r.Connection, schema.Request)
	} else {
		b = appendEscaped(append(b, "capture "...), t.options.file(r.File), false)
	}
	return t.appendFinding(append(b, ' '), f)
}
