package dissect

import "hash/crc32"

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

// passRecords begins to pass over the batches of a records field of n bytes, whose leaf is on the tape.
func (d *decoder) passRecords(node *Node, width, n int) {
	d.pos = int(node.Offset) + width
	d.recordsEnd = d.pos + n
	d.passBatches()
}

// minHole is from how many bytes on the end of a batch is left out: less than that is not worth a hole.
const minHole = 256

// passBatches keeps the headers of the batches up to the end of the records field and drops the rest of them, in one go over the bytes that have
// come.
func (d *decoder) passBatches() status {
	read := d.pos - d.skipped // in data: the next byte to look at
	write := read             // and where what is kept goes to
	for d.pos < d.recordsEnd && d.toDrop == 0 {
		left := d.recordsEnd - d.pos
		keep, next := min(batchHeaderLen, left), d.recordsEnd
		header := d.data[min(read, len(d.data)):]
		if len(header) >= keep && keep >= batchOverhead {
			if size := batchSize(header, left); size > 0 {
				next = d.pos + size
			}
		}
		if keep = min(keep, next-d.pos); next-d.pos-keep < minHole {
			keep = next - d.pos
		}
		if len(header) < keep {
			break
		}
		d.startSum(header[:keep])
		copy(d.data[write:], header[:keep])
		read, write = read+keep, write+keep
		read += d.drop(d.pos+keep, next, d.data[read:])
		d.pos = next
	}
	d.data = d.data[:write+copy(d.data[write:], d.data[min(read, len(d.data)):])]
	if d.pos < d.recordsEnd && !d.complete {
		return needMore
	}
	if d.pos == d.recordsEnd || d.complete {
		d.pos, d.recordsEnd = d.recordsEnd, 0
	}
	return done
}

// drop leaves out the frame's bytes from offset from up to offset to. here are those from there on that have come already; it returns how many of them are left out.
func (d *decoder) drop(from, to int, here []byte) int {
	n := to - from
	if n == 0 {
		d.crcTable = nil
		return 0
	}
	d.holes = append(d.holes, hole{offset: from, length: n, before: d.skipped})
	come := min(len(here), n)
	d.toDrop = n - come
	d.sum(here[:come])
	d.skipped += n
	return come
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
