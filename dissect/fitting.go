package dissect

import (
	"math/bits"
	"unicode/utf8"

	"github.com/kdissect/kdissect/schema"
)

// A fitting reads a whole response along a layout to see whether it may be that of an API. Each value must be one that a broker would send, and what is left is
// measured: how many bits it takes to write each value down when small numbers, known errors and readable names are expected. All layouts
// that fit explain the same bytes, so the one that takes the fewest bits explains them best.
type fitting struct {
	data []byte
	ops  []schema.Op
	bits int  // so far
	work int  // how many more values may be read
	any  bool // values may be whatever they like
}

// Bounds of what is believed of values.
const (
	maxThrottle  = 24 * 3600 * 1000 // milliseconds; a broker's own limits are seconds
	maxPartition = 1 << 20
	maxPort      = 1<<16 - 1
)

// Bits that values take.
const (
	bitsOfZero     = 2
	bitsOfNull     = 2
	bitsOfUnusual  = 8      // on top of what a value takes anyway that is allowed but rare
	bitsOfLetter   = 5      // of a name
	bitsOfByte     = 8      // of any text or blob
	bitsOfBatches  = 24     // record batches: their header says enough
	bitsOfTag      = 12     // a tagged field that is there
	bitsOfID       = 16 * 8 // a random UUID
	bitsOfSmallest = 4      // the smallest number, which stands for none
)

// fits tells whether a whole frame is a response along a plan without a byte left over, and measures it.
func (f *fitting) fits(plan *schema.Plan, frame []byte) bool {
	at := 8
	if plan.Header.Flexible {
		if len(frame) <= at || frame[at] != 0 {
			return false // no broker puts tagged fields into a response header
		}
		at++
	}
	f.data, f.ops, f.bits = frame, plan.Ops, 0
	first := &plan.Ops[1] // most responses end here: all begin with a throttle time, an error or a count
	if first.Code < schema.OpString && !f.any && f.value(1, at) < 0 {
		return false
	}
	f.bits = 0
	return f.value(0, at) == len(frame)
}

const misfit = -1

// value reads what one Op stands for, from an offset of the frame on. It returns the offset behind, or misfit.
func (f *fitting) value(i int32, at int) int {
	op := &f.ops[i]
	if f.work--; f.work < 0 {
		return misfit
	}
	switch op.Code {
	case schema.OpStruct:
		return f.structure(i, op, at)
	case schema.OpArray:
		return f.array(i, op, at)
	case schema.OpTags:
		return f.tags(i, op, at)
	case schema.OpString, schema.OpBytes, schema.OpRecords:
		return f.text(op, at)
	case schema.OpUUID:
		return f.uuid(at)
	}
	end := at + int(op.Fixed)
	if end > len(f.data) || !f.any && !f.number(op, f.data[at:end]) {
		return misfit
	}
	return end
}

func (f *fitting) structure(i int32, op *schema.Op, at int) int {
	if op.Nullable {
		if at >= len(f.data) {
			return misfit
		}
		null := f.data[at] == 0xff
		if op.Tag >= 0 {
			null = f.data[at] == 0
		}
		if !null && f.data[at] != 1 {
			return misfit
		}
		f.bits++
		if at++; null {
			return at
		}
	}
	for field := i + 1; field < op.Next; field = f.ops[field].Next {
		if at = f.value(field, at); at < 0 {
			return misfit
		}
	}
	return at
}

// length reads a length or count. It returns one below -1 where there is none that a broker would write.
func (f *fitting) length(op *schema.Op, at int) (n, end int) {
	n, end = lengthAt(f.data, op.Prefix(), at)
	if op.Compact && end-at > 1 && f.data[end-1] == 0 {
		n = misfit - 1 // longer than need be
	}
	if n == -1 && !op.Nullable {
		n = misfit - 1
	}
	return n, end
}

func (f *fitting) array(i int32, op *schema.Op, at int) int {
	n, at := f.length(op, at)
	if n < 0 {
		return f.null(n, at)
	}
	if n > len(f.data)-at {
		return misfit
	}
	f.bits += bitsOfInt(int64(n), 4)
	for ; n > 0; n-- {
		before := at
		if at = f.value(i+1, at); at <= before {
			return misfit
		}
	}
	return at
}

func (f *fitting) null(n, at int) int {
	if n < -1 {
		return misfit
	}
	f.bits += bitsOfNull
	return at
}

// text reads a string, bytes or records field.
func (f *fitting) text(op *schema.Op, at int) int {
	n, at := f.length(op, at)
	if n < 0 {
		return f.null(n, at)
	}
	if n > len(f.data)-at {
		return misfit
	}
	value := f.data[at : at+n]
	f.bits += bitsOfInt(int64(n), 4)
	switch {
	case f.any:
	case op.Code == schema.OpString:
		if !f.name(value) {
			return misfit
		}
	case op.Code == schema.OpRecords && n > magicOffset:
		if magic := value[magicOffset]; magic > 2 {
			return misfit
		}
		f.bits += bitsOfBatches
	default:
		f.blob(value)
	}
	return at + n
}

// maxMeasured is how many bytes of a blob are looked at.
const maxMeasured = 4 << 10

// blob measures bytes. Most are structures themselves, with zeros and names in them.
func (f *fitting) blob(value []byte) {
	seen := value[:min(len(value), maxMeasured)]
	f.bits += bitsOfByte * (len(value) - len(seen))
	for _, c := range seen {
		switch {
		case c == 0:
			f.bits += bitsOfZero
		case isLetter(c):
			f.bits += bitsOfLetter
		default:
			f.bits += bitsOfByte
		}
	}
}

// isLetter tells whether most names have such characters: it is what names of topics are made of.
func isLetter(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '-' || c == '_'
}

// name measures a string. Control characters are in none but what a broker says about an error.
func (f *fitting) name(value []byte) bool {
	if !utf8.Valid(value) {
		return false
	}
	for _, c := range value {
		switch {
		case isLetter(c):
			f.bits += bitsOfLetter
		case c < ' ' && c != '\n' && c != '\t' && c != '\r', c == 0x7f:
			return false
		default:
			f.bits += bitsOfByte
		}
	}
	return true
}

// uuid measures an id. Kafka's are random ones (RFC 9562, version 4), or reserved: all zero but for the last byte.
func (f *fitting) uuid(at int) int {
	end := at + 16
	if end > len(f.data) {
		return misfit
	}
	id := f.data[at:end]
	switch {
	case [16]byte(id) == [16]byte{15: id[15]}:
		f.bits += bitsOfZero
	case id[6]>>4 == 4 && id[8]>>6 == 2:
		f.bits += bitsOfID
	default:
		f.bits += bitsOfID + bitsOfUnusual
	}
	return end
}

// number measures a value of fixed width, and tells whether a broker would send it.
func (f *fitting) number(op *schema.Op, b []byte) bool {
	v := Int(op.Code, b)
	switch {
	case op.Code == schema.OpBool:
		f.bits++
		return v == 0 || v == 1
	case op.Code == schema.OpFloat64:
		f.bits += 64
		return true
	case op.Role == schema.ErrorCode:
		if v != 0 {
			f.bits += bitsOfUnusual
		}
		f.bits++
		return v == 0 || schema.ErrorByCode(int16(v)) != nil
	case op.Role == schema.ThrottleTime:
		if v != 0 {
			f.bits += bitsOfUnusual
		}
		f.bits += bitsOfInt(v, 4) - 1
		return 0 <= v && v <= maxThrottle
	case op.Role == schema.Partition && (v < -1 || v > maxPartition),
		op.Code == schema.OpInt32 && op.Name == "Port" && (v < -1 || v > maxPort):
		return false
	}
	f.bits += bitsOfInt(v, len(b))
	return true
}

// bitsOfInt is how many bits a number of some width takes where small ones are expected.
func bitsOfInt(v int64, width int) int {
	switch {
	case v == 0:
		return bitsOfZero
	case v > 0:
		return 4 + bits.Len64(uint64(v))
	case v == -1:
		return bitsOfZero + 1
	case v == -1<<(8*width-1):
		return bitsOfSmallest
	}
	return bitsOfUnusual + 8*width
}

// tags reads a section of tagged fields. All must be known.
func (f *fitting) tags(section int32, op *schema.Op, at int) int {
	n, width := uvarint(f.data[min(at, len(f.data)):])
	if width != 1 || int(n) > int(op.Next-section) {
		return misfit
	}
	f.bits++
	at++
	for last := int64(-1); n > 0; n-- {
		tag, tagWidth := uvarint(f.data[at:])
		if tagWidth <= 0 || int64(tag) <= last {
			return misfit
		}
		size, sizeWidth := uvarint(f.data[at+tagWidth:])
		field := knownTag(f.ops, section, tag)
		if at += tagWidth + sizeWidth; sizeWidth <= 0 || field < 0 || int64(size) > int64(len(f.data)-at) {
			return misfit
		}
		last = int64(tag)
		f.bits += bitsOfTag
		outer := f.data
		f.data = f.data[:at+int(size)]
		at = f.value(field, at)
		if at != len(f.data) {
			at = misfit
		}
		if f.data = outer; at < 0 {
			return misfit
		}
	}
	return at
}
