package render

// An indent is what stands in front of each line at some place of a tree: the branches that go on. Each is made once and kept, so a pointer
// tells whether two lines are indented alike.
type indent struct {
	text  string
	outer *indent
	inner [2]*indent // below a node: where no sibling follows it, where one does
	side  int        // which of outer's inner it is
}

// below returns the indent of the children of a node. last says that no sibling follows it.
func (in *indent) below(last bool) *indent {
	side := 1
	if last {
		side = 0
	}
	next := in.inner[side]
	if next == nil {
		next = &indent{text: in.text + branchBelow(last), outer: in, side: side}
		in.inner[side] = next
	}
	return next
}

// A lead begins the lines of a label: their indent and the label's head, put together once for each indent that comes up. Most labels have
// one at a time or two, below a node with a sibling and below the last one.
type lead struct {
	of   *indent
	text []byte
}

// leads are those of one label.
type leads [2]lead

func (l *leads) at(in *indent, head string) []byte {
	have := &l[in.side]
	if have.of != in {
		have.of, have.text = in, append(append(have.text[:0], in.text...), head...)
	}
	return have.text
}

// An ending is the end of the lines of a label, with a gap of four digits for the offset: ` [0x0000, 4B] explanation`. It is put together once
// for each size that comes up.
type ending struct {
	size uint32
	text []byte
}

const maxShort = 0xffff // the highest offset of four digits

// append appends the end of a line. open is what stands in front of the offset, tail what stands behind the size.
func (e *ending) append(b []byte, open, tail string, offset, size uint32) []byte {
	if offset > maxShort {
		return append(appendSpan(append(b, open...), offset, size), tail...)
	}
	if e.size != size || e.text == nil {
		e.size, e.text = size, append(appendSpan(append(e.text[:0], open...), 0, size), tail...)
	}
	at := len(b) + len(open)
	b = append(b, e.text...)
	digits := b[at : at+4]
	high, low := hexPairs[offset>>8], hexPairs[offset&0xff]
	digits[0], digits[1], digits[2], digits[3] = high[0], high[1], low[0], low[1]
	return b
}

// hexPairs are the two digits of each byte.
var hexPairs = func() (pairs [256][2]byte) {
	for i := range pairs {
		pairs[i] = [2]byte{hexDigits[i>>4], hexDigits[i&15]}
	}
	return pairs
}()
