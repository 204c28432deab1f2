package dissect

import (
	"encoding/binary"
	"hash/crc32"
)

// The body of a large frame is decoded while it comes in, and record data that no output shows
// is dropped as it comes, so that a response of 100 MB takes the memory of its fields. Of each record batch its header
// is kept, which says how many records there are.

// feed hands the decoder the next bytes of the frame. They are copied.
func (d *decoder) feed(b []byte) {
	if d.toDrop > 0 {
		n := min(d.toDrop, len(b))
		d.toDrop -= n
		d.sum(b[:n])
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
		d.startSum(header[:min(keep, next-d.pos)])
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
	d.holes = append(d.holes, hole{offset: from, length: n})
	at := from - d.skipped
	here := min(len(d.data)-at, n)
	d.toDrop = n - here
	d.sum(d.data[at : at+here])
	d.data = append(d.data[:at], d.data[at+here:]...)
	d.skipped += n
}

// startSum begins the CRC of a batch whose bytes are about to be dropped, if anybody wants to compare it.
func (d *decoder) startSum(header []byte) {
	d.crcTable = nil
	if !d.sumBatches || len(header) < batchCRCStart {
		return
	}
	table, start := checksum(int8(header[magicOffset]))
	d.crcTable, d.crc = table, crc32.Update(0, table, header[start:])
}

// sum adds dropped bytes to the CRC of their batch, and keeps it with the hole once they are all there.
func (d *decoder) sum(b []byte) {
	if d.crcTable == nil {
		return
	}
	d.crc = crc32.Update(d.crc, d.crcTable, b)
	if d.toDrop == 0 {
		h := &d.holes[len(d.holes)-1]
		h.crc, h.summed = d.crc, true
		d.crcTable = nil
	}
}

// jump moves over a records field whose holes are known from an earlier pass.
func (d *decoder) jump(to int) {
	for d.nextHole < len(d.holes) && d.holes[d.nextHole].offset < to {
		d.skipped += d.holes[d.nextHole].length
		d.nextHole++
	}
	d.pos = to
}
