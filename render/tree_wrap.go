package render

import (
	"math/bits"
	"slices"
	"unicode/utf8"

	"github.com/kdissect/kdissect/dissect"
)

// columns is the width that lines of the compact tree are broken at.
const columns = 120

// beginLine notes that a line of the compact tree begins, and how the lines that continue it are indented: last says
// that no sibling follows, children that nodes below it do.
func (t *Tree) beginLine(b []byte, last, children bool) []byte {
	t.line, t.mark = len(b), len(b)
	t.hang = append(t.hang[:0], t.indent.text...)
	t.hang = appendBranch(t.hang, !last)
	t.hang = appendBranch(t.hang, children)
	return b
}

func appendBranch(b []byte, goesOn bool) []byte {
	if goesOn {
		return append(b, "|   "...)
	}
	return append(b, "    "...)
}

// placeWrapped appends the place of a node, on a line of its own where it does not fit.
func (t *Tree) placeWrapped(b []byte, n *dissect.Node) []byte {
	mark := len(b)
	b = t.place(b, n)
	return t.wrap(b, mark)
}

// placeLine appends the place of a node and ends the line.
func (t *Tree) placeLine(b []byte, n *dissect.Node) []byte {
	return append(t.placeWrapped(b, n), '\n')
}

// explainLine appends an explanation, word by word, and ends the line.
func (t *Tree) explainLine(b []byte, about string) []byte {
	if about == "" {
		return append(b, '\n')
	}
	b = append(b, t.colors.dim.on...)
	for from := 0; from < len(about); {
		to := from + 1
		for to < len(about) && about[to] != ' ' {
			to++
		}
		mark, line := len(b), t.line
		if about[from] != ' ' {
			b = append(b, ' ')
		}
		b = append(b, about[from:to]...)
		if b = t.wrap(b, mark); t.line != line {
			b = t.repaint(b, mark)
		}
		from = to
	}
	b = append(b, t.colors.dim.off...)
	return append(b, '\n')
}

// repaint ends the colour of an explanation in front of the line break at mark and begins it again behind the indent, so
// that every line stands for itself.
func (t *Tree) repaint(b []byte, mark int) []byte {
	b = slices.Insert(b, t.line+len(t.hang), []byte(t.colors.dim.on)...)
	b = slices.Insert(b, mark, []byte(t.colors.dim.off)...)
	t.line += len(t.colors.dim.off)
	return b
}

// piece begins the next piece of a line, behind what separates it from the one before.
func (t *Tree) piece(b []byte, separator string) []byte {
	b = append(t.wrap(b, t.mark), separator...)
	t.mark = len(b)
	return append(b, ' ')
}

// spanWrapped appends where bytes stand as the last piece of a line and ends the line.
func (t *Tree) spanWrapped(b []byte, offset, size int) []byte {
	b = t.wrap(b, t.mark)
	t.mark = len(b)
	b = t.span(b, uint32(offset), uint32(size))
	return append(t.wrap(b, t.mark), '\n')
}

// wrap breaks a line of the compact tree in front of its last piece, which begins with the space at mark, where the line
// has become too long.
func (t *Tree) wrap(b []byte, mark int) []byte {
	if t.options.Full || len(b)-t.line <= columns || visible(b[t.line:]) <= columns || mark-t.line <= len(t.hang) {
		return b
	}
	t.scratch = append(t.scratch[:0], b[mark+1:]...)
	b = append(b[:mark], '\n')
	t.line = len(b)
	b = append(b, t.hang...)
	return append(b, t.scratch...)
}

// visible is how many columns a text takes, colours not counted. Lines are measured often, so it looks at eight bytes at once where there is no colour.
func visible(s []byte) int {
	n := 0
	for len(s) > 0 {
		for ; len(s) >= 8; s = s[8:] {
			w := firstWord(s)
			if escapes := w ^ '\x1b'*each; (escapes-each)&^escapes&highest != 0 {
				break
			}
			n += 8 - bits.OnesCount64(w>>7&^(w>>6)&each) // less the bytes that go on with a character
		}
		switch i := 0; {
		case len(s) == 0:
		case s[0] == '\x1b':
			for i < len(s) && s[i] != 'm' {
				i++
			}
			s = s[min(i+1, len(s)):]
		default:
			if utf8.RuneStart(s[0]) {
				n++
			}
			s = s[1:]
		}
	}
	return n
}
