package dissect

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/kdissect/kdissect/schema"
)

// maxDepth bounds how deep structures nest. The deepest schema of Kafka has 7 levels, each of which takes up to three here.
const maxDepth = 64

// maxNodes bounds the tape: 4 Mi nodes of 32 bytes. A Metadata response of 300,000 partitions stays below.
const maxNodes = 4 << 20

// A decoder walks a frame along plans and writes the tape. It is a machine with a stack of its
// own rather than recursive functions, because it has to stop wherever the bytes end that have arrived so far, and go on
// from there: the body of a large frame is decoded while it comes in, and what no output needs is never held (see skim.go).
//
// Offsets count from the frame's size prefix. data holds the frame's bytes less those that were
// passed over (holes); skipped is how many bytes were passed over before pos.
type decoder struct {
	data     []byte
	skipped  int  // bytes of the frame before pos that data lacks
	pos      int  // offset in the frame of the next byte to decode
	limit    int  // offset in the frame at which the innermost tagged field or the frame ends
	complete bool // every byte of the frame that will ever come is in data

	ops      []schema.Op
	stack    [maxDepth]level
	depth    int
	tape     []Node
	findings []Finding

	passOver   bool   // records are left out of data as they come
	holes      []hole // what was left out of data, in order
	nextHole   int    // the first of them that lies behind pos, when they are known from an earlier pass
	recordsEnd int    // end of the records field that is being passed over, else 0
	toDrop     int    // bytes still to come that are to be dropped
	sumBatches bool   // compute the CRC of batches whose bytes are dropped
	crcTable   *crc32.Table
	scrap      Node // stands for a leaf that is not kept
	crc        uint32
	failed     fault
}

// A hole is a run of bytes of the frame that data lacks: the end of a batch.
type hole struct {
	offset, length int
	before         int    // bytes that the holes before it left out
	crc            uint32 // computed CRC of the batch
	summed         bool   // crc is there
}

// A level is a group that is being decoded.
type level struct {
	node  int32  // index of the group's node
	op    int32  // index of its Op
	next  int32  // StructNode: index of the Op of the next field
	left  uint32 // ArrayNode, TagsNode: elements or tagged fields still to come
	outer int    // TagNode: the limit outside the tagged field
	last  int64  // TagsNode: the tag before, -1 at first
}

// A fault is why decoding stopped.
type fault struct {
	code   Code
	offset int
	want   int // bytes wanted at offset
	have   int // bytes there
	what   string
}

type status uint8

const (
	done status = iota
	needMore
	broken
)

// start prepares the decoder for the structure that a plan describes, from offset pos on.
func (d *decoder) start(plan *schema.Plan, pos int) {
	d.ops, d.pos, d.depth = plan.Ops, pos, 0
	d.push(level{node: d.group(StructNode, &d.ops[0]), op: 0, next: 1})
}

// run decodes until the structure is whole, the bytes that arrived are used up, or a fault stops it.
func (d *decoder) run() status {
	if d.recordsEnd > 0 && d.passBatches() == needMore {
		return needMore
	}
	for d.depth > 0 {
		if d.recordsEnd > 0 {
			return needMore
		}
		top := &d.stack[d.depth-1]
		var s status
		switch d.tape[top.node].Kind {
		case StructNode:
			s = d.fields(top)
		case ArrayNode:
			if top.left == 0 {
				d.pop()
				continue
			}
			if s = d.value(top.op+1, d.tape[top.node].Count-top.left); s == done {
				top.left--
			}
		case TagsNode:
			if top.left == 0 {
				d.pop()
				continue
			}
			if s = d.tag(top); s == done {
				top.left--
			}
		default: // TagNode: its value has been decoded
			d.endTag(top)
			continue
		}
		if s != done && (s == needMore || !d.leaveTag()) {
			return s
		}
	}
	return done
}

// fields decodes the fields of the innermost structure, up to one that opens a group, or to the end.
func (d *decoder) fields(top *level) status {
	depth, end := d.depth, d.ops[top.op].Next
	for top.next != end {
		op := &d.ops[top.next]
		if op.Run > 1 && d.numbers(top.next, op) {
			top.next += op.Run
			continue
		}
		if s := d.value(top.next, 0); s != done {
			return s
		}
		top.next = op.Next
		if d.depth != depth || d.recordsEnd > 0 {
			return done
		}
	}
	d.pop()
	return done
}

// numbers decodes fields of fixed width that stand in a row, if all of their bytes are there: looking once took a third off the time of such fields.
func (d *decoder) numbers(at int32, op *schema.Op) bool {
	n := int(op.Run)
	if d.passOver || len(d.rest()) < int(op.RunSize) || len(d.tape)+n > maxNodes || d.depth >= maxDepth-2 {
		return false
	}
	first := len(d.tape)
	d.tape = slices.Grow(d.tape, n)[:first+n]
	nodes, ops := d.tape[first:], d.ops[at:int(at)+n]
	for i := range nodes {
		d.set(&nodes[i], ValueNode, &ops[i])
		nodes[i].Length, nodes[i].Next = uint32(ops[i].Fixed), uint32(first+i+1)
		d.pos += int(ops[i].Fixed)
	}
	return true
}

func (d *decoder) push(l level) {
	d.stack[d.depth] = l
	d.depth++
}

// pop closes the innermost group.
func (d *decoder) pop() {
	d.depth--
	d.close(d.stack[d.depth].node)
}

// close ends a group: only open ones are on the tape of a frame that is still coming in.
func (d *decoder) close(node int32) {
	if d.passOver {
		d.tape = d.tape[:node]
		return
	}
	d.closeNode(node)
}

func (d *decoder) closeNode(at int32) {
	n := &d.tape[at]
	n.Length = uint32(d.pos) - n.Offset
	n.Next = uint32(len(d.tape))
}

// closeAll closes every open group where decoding stopped.
func (d *decoder) closeAll() {
	for d.depth > 0 {
		d.pop()
	}
}

// group opens a group at the current position and returns the index of its node.
func (d *decoder) group(kind NodeKind, op *schema.Op) int32 {
	n := d.node(kind, op)
	n.Length, n.Next = 0, 0
	return int32(len(d.tape) - 1)
}

// leaf adds a leaf of n bytes at the current position and moves behind it.
func (d *decoder) leaf(kind NodeKind, op *schema.Op, n int) *Node {
	if d.passOver { // only the open groups are on the tape of a frame that is still coming in: it is decoded again when it is whole
		d.scrap = Node{Op: op, Offset: uint32(d.pos)}
		d.pos += n
		return &d.scrap
	}
	node := d.node(kind, op)
	node.Length, node.Next = uint32(n), uint32(len(d.tape))
	d.pos += n
	return node
}

// node adds a node at the current position. Its fields are set one by one in place: appending a Node that is put together first took
// twice the time.
func (d *decoder) node(kind NodeKind, op *schema.Op) *Node {
	if len(d.tape) == cap(d.tape) {
		d.tape = append(d.tape, Node{})
	} else {
		d.tape = d.tape[:len(d.tape)+1]
	}
	n := &d.tape[len(d.tape)-1]
	d.set(n, kind, op)
	return n
}

func (d *decoder) set(n *Node, kind NodeKind, op *schema.Op) {
	n.Op, n.Offset, n.Count, n.Kind = op, uint32(d.pos), 0, kind
	n.Prefix, n.Null, n.Hidden, n.Secret = 0, false, false, false
}

// rest returns the bytes from the current position on that have arrived, up to the limit.
func (d *decoder) rest() []byte {
	at, end := d.pos-d.skipped, min(len(d.data), d.limit-d.skipped)
	if at >= end {
		return nil
	}
	return d.data[at:end]
}

// short says that n bytes from the current position on are wanted and not there: more may come, or it is a fault.
func (d *decoder) short(op *schema.Op, n int) status {
	if !d.complete && n <= d.limit-d.pos {
		return needMore
	}
	return d.fault(MissingBytes, op, n)
}

func (d *decoder) fault(code Code, op *schema.Op, want int) status {
	what := "tagged_fields"
	if op != nil {
		what = op.Name
	}
	d.failed = fault{code, d.pos, want, len(d.rest()), what}
	return broken
}

// value decodes what one Op stands for: a primitive whole, of a structure or array what comes before its parts.
// index is the place of an element in its array.
func (d *decoder) value(at int32, index uint32) status {
	op := &d.ops[at]
	if len(d.tape) >= maxNodes || d.depth >= maxDepth-2 {
		return d.fault(Undecoded, op, 0)
	}
	switch op.Code {
	case schema.OpStruct:
		return d.structure(at, op, index)
	case schema.OpArray:
		return d.array(at, op)
	case schema.OpTags:
		return d.tags(at)
	case schema.OpString, schema.OpBytes, schema.OpRecords:
		return d.text(op, index)
	}
	return d.fixed(op, index)
}

// fixed decodes a primitive of fixed width.
func (d *decoder) fixed(op *schema.Op, index uint32) status {
	n := int(op.Fixed)
	if len(d.rest()) < n {
		return d.short(op, n)
	}
	d.leaf(ValueNode, op, n).Count = index
	return done
}

func (d *decoder) structure(at int32, op *schema.Op, index uint32) status {
	width, null := 0, false
	if op.Nullable {
		rest := d.rest()
		if len(rest) == 0 {
			return d.short(op, 1)
		}
		// In a tagged field the presence is an unsigned varint, 0 or 1; elsewhere an int8, -1 or 1.
		width, null = 1, int8(rest[0]) < 0
		if op.Tag >= 0 {
			null = rest[0] == 0
		}
	}
	node := d.group(StructNode, op)
	d.tape[node].Count = index
	if width > 0 {
		d.leaf(PresenceNode, op, width)
	}
	if null {
		d.tape[node].Null = true
		d.closeNode(node)
		return done
	}
	d.push(level{node: node, op: at, next: at + 1})
	return done
}

// length reads a length or count in front of a value: int16 or int32, or an unsigned varint that is
// one too large. It returns -1 for null and how many bytes it takes.
func (d *decoder) length(op *schema.Op) (n, width int, s status) {
	rest := d.rest()
	switch {
	case op.Compact:
		v, w := uvarint(rest)
		if w == 0 {
			return 0, 0, d.short(op, len(rest)+1)
		}
		if w < 0 || v > math.MaxInt32 {
			return 0, 0, d.fault(InvalidLength, op, 0)
		}
		return int(v) - 1, w, done
	case op.Code == schema.OpString:
		if len(rest) < 2 {
			return 0, 0, d.short(op, 2)
		}
		return int(int16(binary.BigEndian.Uint16(rest))), 2, done
	}
	if len(rest) < 4 {
		return 0, 0, d.short(op, 4)
	}
	return int(int32(binary.BigEndian.Uint32(rest))), 4, done
}

// text decodes a string, bytes or records field: a length and as many bytes.
func (d *decoder) text(op *schema.Op, index uint32) status {
	n, width, s := d.length(op)
	switch {
	case s != done:
		return s
	case n < 0:
		return d.null(ValueNode, op, n, width, index)
	case n > d.limit-d.pos-width:
		return d.tooLong(op, n, width)
	}
	if op.Code == schema.OpRecords && (d.passOver || len(d.holes) > 0) {
		return d.records(op, n, width, index)
	}
	rest := d.rest()
	if len(rest) < width+n {
		return d.short(op, width+n)
	}
	if op.Code == schema.OpString && !utf8.Valid(rest[width:width+n]) {
		d.note(finding(BadUTF8, Warn, d.pos+width, "%s is not valid UTF-8", op.Name))
	}
	node := d.leaf(ValueNode, op, width+n)
	node.Count, node.Prefix = index, uint8(width)
	return done
}

// records decodes a records field of which only the batch headers are kept.
func (d *decoder) records(op *schema.Op, n, width int, index uint32) status {
	node := d.leaf(ValueNode, op, width+n)
	node.Count, node.Prefix = index, uint8(width)
	if d.passOver {
		// The field counts as decoded from here on; what is still to come of it is passed over first thing when run goes on.
		d.passRecords(node, width, n)
		return done
	}
	d.jump(int(node.Offset) + width + n)
	return done
}

// null adds a value of length -1.
func (d *decoder) null(kind NodeKind, op *schema.Op, n, width int, index uint32) status {
	if n < -1 {
		return d.fault(InvalidLength, op, 0)
	}
	if !op.Nullable || op.Element {
		d.note(finding(NullNotAllowed, Warn, d.pos, "%s is null, which %s v%d does not allow", op.Name, op.Message().Name, op.Version()))
	}
	node := d.leaf(kind, op, width)
	node.Count, node.Prefix, node.Null = index, uint8(width), true
	return done
}

// tooLong says that a length or count reaches past what contains it.
func (d *decoder) tooLong(op *schema.Op, n, width int) status {
	d.fault(InvalidLength, op, n)
	d.failed.have = max(0, d.limit-d.pos-width)
	return broken
}

func (d *decoder) array(at int32, op *schema.Op) status {
	n, width, s := d.length(op)
	if s != done {
		return s
	}
	if n < 0 {
		return d.nullArray(op, n, width)
	}
	element := &d.ops[at+1]
	// Every element takes a byte at least, so a count is never believed beyond the bytes that are announced.
	if size := max(1, int64(element.Fixed)); int64(n)*size > int64(d.limit-d.pos-width) {
		return d.tooLong(op, n, width)
	}
	fixed := int(element.Fixed)
	if element.Code == schema.OpStruct {
		fixed = 0
	}
	if fixed > 0 && len(d.rest()) < width+n*fixed {
		return d.short(op, width+n*fixed)
	}
	node := d.group(ArrayNode, op)
	d.tape[node].Count = uint32(n)
	d.leaf(LengthNode, op, width)
	if fixed > 0 {
		if n > 0 {
			d.leaf(ElementsNode, element, n*fixed).Count = uint32(n)
		}
		d.closeNode(node)
		return done
	}
	d.push(level{node: node, op: at, left: uint32(n)})
	return done
}

func (d *decoder) nullArray(op *schema.Op, n, width int) status {
	if n < -1 {
		return d.fault(InvalidLength, op, 0)
	}
	if !op.Nullable {
		d.note(finding(NullNotAllowed, Warn, d.pos, "%s is null, which %s v%d does not allow", op.Name, op.Message().Name, op.Version()))
	}
	node := d.group(ArrayNode, op)
	d.tape[node].Null = true
	d.leaf(LengthNode, op, width)
	d.closeNode(node)
	return done
}

// tags begins a section of tagged fields (KIP-482): their number, then each with its tag and size.
func (d *decoder) tags(at int32) status {
	rest := d.rest()
	n, width := uvarint(rest)
	switch {
	case width == 0:
		return d.short(nil, len(rest)+1)
	case width < 0 || int64(n) > int64(d.limit-d.pos-width)/2: // a tagged field takes two bytes at least
		return d.fault(InvalidLength, nil, int(n))
	}
	node := d.group(TagsNode, &d.ops[at])
	d.tape[node].Count = n
	d.leaf(TagCountNode, nil, width)
	if n == 0 { // as most are
		d.close(node)
		return done
	}
	d.push(level{node: node, op: at, left: n, last: -1})
	return done
}

// tag begins a tagged field.
func (d *decoder) tag(section *level) status {
	rest := d.rest()
	tag, width := uvarint(rest)
	if width == 0 {
		return d.short(nil, len(rest)+1)
	}
	size, sizeWidth := uint32(0), -1
	if width > 0 {
		size, sizeWidth = uvarint(rest[width:])
	}
	head := width + sizeWidth
	switch {
	case sizeWidth == 0:
		return d.short(nil, len(rest)+1)
	case sizeWidth < 0 || int64(size) > int64(d.limit-d.pos-head):
		return d.fault(InvalidLength, nil, int(size))
	}
	op := knownTag(d.ops, section.op, tag)
	// A tagged field is small and its value can end wherever its size says, so it is decoded when it is whole.
	if len(rest) < head+int(size) && (op < 0 || !d.complete) {
		return d.short(nil, head+int(size))
	}
	d.checkTagOrder(section, tag)
	if op < 0 {
		d.unknownTag(tag, head, int(size))
		return done
	}
	node := d.group(TagNode, &d.ops[op])
	d.tape[node].Count = tag
	d.leaf(TagHeadNode, nil, head)
	d.push(level{node: node, op: op, outer: d.limit})
	d.limit = d.pos + int(size)
	if s := d.value(op, 0); s == broken && !d.leaveTag() {
		return broken
	}
	return done
}

// knownTag returns the index of the Op with that tag in a section, or -1.
func knownTag(ops []schema.Op, section int32, tag uint32) int32 {
	end := ops[section].Next
	for at := section + 1; at < end; at = ops[at].Next {
		if uint32(ops[at].Tag) == tag {
			return at
		}
	}
	return -1
}

func (d *decoder) unknownTag(tag uint32, head, size int) {
	d.note(finding(UnknownTag, Info, d.pos, "tagged field %d of %d bytes is not in the schema", tag, size))
	node := d.group(TagNode, nil)
	d.tape[node].Count = tag
	d.leaf(TagHeadNode, nil, head)
	d.leaf(UnknownNode, nil, size).Count = tag
	d.closeNode(node)
}

// checkTagOrder notes tags that do not ascend. Of two with the same tag the later one counts, as it does for Kafka.
func (d *decoder) checkTagOrder(section *level, tag uint32) {
	if int64(tag) > section.last {
		section.last = int64(tag)
		return
	}
	text := "tagged field %d comes after %d; tags must ascend"
	for at := uint32(section.node) + 2; at < uint32(len(d.tape)); at = d.tape[at].Next {
		if n := &d.tape[at]; n.Kind == TagNode && n.Count == tag {
			n.Hidden = true
			text = "tagged field %d comes twice (the highest before it was %d)"
		}
	}
	d.note(finding(TagOrder, Warn, d.pos, text, tag, section.last))
}

// endTag closes a tagged field whose value has been decoded.
func (d *decoder) endTag(l *level) {
	if left := d.limit - d.pos; left > 0 {
		d.note(finding(TagSize, Warn, d.pos, "tagged field %s ends %d bytes before its size says", d.ops[l.op].Name, left))
		d.leaf(TrailingNode, nil, left)
	}
	d.limit = l.outer
	d.pop()
}

// leaveTag goes on behind the tagged field in which decoding failed. It returns false when the fault was not in one.
func (d *decoder) leaveTag() bool {
	for at := d.depth - 1; at >= 0; at-- {
		if d.tape[d.stack[at].node].Kind != TagNode {
			continue
		}
		if len(d.rest()) < d.limit-d.pos {
			return false // the tagged field itself is cut
		}
		d.note(finding(TagSize, Warn, d.failed.offset, "tagged field %s does not fit its size: %s", d.ops[d.stack[at].op].Name, d.failed.reason()))
		for d.depth > at+1 {
			d.pop()
		}
		d.leaf(UndecodedNode, nil, d.limit-d.pos)
		d.limit = d.stack[at].outer
		d.pop()
		return true
	}
	return false
}

func (d *decoder) note(f Finding) { d.findings = addFinding(d.findings, f) }

// uvarint reads an unsigned varint of up to 32 bits. width is 0 when it does not end within b, and -1 when it
// is longer than five bytes or does not fit.
func uvarint(b []byte) (v uint32, width int) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint32(b[0]), 1
	}
	return longUvarint(b)
}

func longUvarint(b []byte) (v uint32, width int) {
	var x uint64
	for i, c := range b {
		if i == 5 {
			return 0, -1
		}
		x |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			if x > math.MaxUint32 {
				return 0, -1
			}
			return uint32(x), i + 1
		}
	}
	if len(b) >= 5 {
		return 0, -1
	}
	return 0, 0
}
