package render

// An indent is what stands in front of each line at some place of a tree: the branches that go on. Each is made once and kept, so a pointer
// tells whether two lines are indented alike.
type indent struct {
	text  string
	outer *indent
	inner [2]*indent // below a node: where no sibling follows it, where one does
	side  int        // which of outer's inner it is

	record *recordText // of the record whose parts are indented so
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

// An ending is the end of the lines of a label, with a gap for the last digits of the offset: ` [0x0000, 4B] explanation`. It is put together once
// for each size that comes up, and for each 64 KiB of the frame.
type ending struct {
	size   uint32
	offset uint32
	gap    int // where those digits are
	text   []byte
}

// append appends the end of a line. open is what stands in front of the offset, tail what stands behind the size.
func (e *ending) append(b []byte, open, tail string, offset, size uint32) []byte {
	if e.size != size || e.offset>>16 != offset>>16 || e.text == nil {
		e.size, e.offset, e.text = size, offset, appendOffset(append(e.text[:0], open...), offset)
		e.gap = len(e.text) - lastDigits
		e.text = append(appendInt(append(e.text, ", "...), int64(size)), tail...)
	}
	at := len(b) + e.gap
	b = append(b, e.text...)
	putOffset(b[at:], offset)
	return b
}

// lastDigits is how many digits of an offset are written over those of another one of the same 64 KiB.
const lastDigits = 4

// putOffset writes the last digits of an offset.
func putOffset(b []byte, offset uint32) {
	high, low := hexPairs[offset>>8&0xff], hexPairs[offset&0xff]
	b = b[:lastDigits]
	b[0], b[1], b[2], b[3] = high[0], high[1], low[0], low[1]
}

// hexPairs are the two digits of each byte.
var hexPairs = func() (pairs [256][2]byte) {
	for i := range pairs {
		pairs[i] = [2]byte{hexDigits[i>>4], hexDigits[i&15]}
	}
	return pairs
}()
