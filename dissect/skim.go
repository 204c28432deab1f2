package dissect

import "encoding/binary"

// The body of a large frame is decoded while it comes in, and record data that no output shows
// is dropped as it comes, so that a response of 100 MB takes the memory of its fields. Of each record batch its header
// is kept, which says how many records there are.

const (
	batchOverhead  = 12 // base offset and batch length, in front of the bytes that the length counts
	batchHeaderLen = 61 // of a batch of magic 2; what older magics have in front of key and value is shorter
)

// feed hands the decoder the next bytes of the frame. They are copied.
func (d *decoder) feed(b []byte) {
	if d.toDrop > 0 {
		n := min(d.toDrop, len(b))
		d.toDrop -= n
		b = b[n:]
	}
	d.data = append(d.data, b...)
}

// passRecords adds the leaf of a records field of n bytes and begins to pass over its batches.
func (d *decoder) passRecords(node *Node, width, n int) status {
	d.pos = int(node.Offset) + width
	d.recordsEnd = d.pos + n
	return d.passBatches()
}

// passBatches keeps the headers of the batches up to the end of the records field and drops the rest.
func (d *decoder) passBatches() status {
	for d.pos < d.recordsEnd {
		keep := min(batchHeaderLen, d.recordsEnd-d.pos)
		header := d.rest()
		if len(header) < keep {
			if !d.complete {
				return needMore
			}
			break
		}
		next := d.recordsEnd
		if keep >= batchOverhead {
			size := batchOverhead + int(int32(binary.BigEndian.Uint32(header[8:])))
			if size > batchOverhead && size <= d.recordsEnd-d.pos {
				next = d.pos + size
			}
		}
		d.drop(min(d.pos+keep, next), next)
		d.pos = next
	}
	d.pos, d.recordsEnd = d.recordsEnd, 0
	return done
}

// drop leaves out the frame's bytes from offset from up to offset to, whether they have come already or not.
func (d *decoder) drop(from, to int) {
	n := to - from
	if n == 0 {
		return
	}
	d.holes = append(d.holes, hole{from, n})
	at := from - d.skipped
	here := min(len(d.data)-at, n)
	d.data = append(d.data[:at], d.data[at+here:]...)
	d.toDrop = n - here
	d.skipped += n
}

// jump moves over a records field whose holes are known from an earlier pass.
func (d *decoder) jump(to int) {
	for d.nextHole < len(d.holes) && d.holes[d.nextHole].offset < to {
		d.skipped += d.holes[d.nextHole].length
		d.nextHole++
	}
	d.pos = to
}
