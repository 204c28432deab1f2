package render

import (
	"github.com/kdissect/kdissect/dissect"
)

// batchContent appends what is behind the header of the batch: its records, or what is there of them.
func (t *Tree) batchContent(b []byte) []byte {
	p := &t.records
	at, size := t.packed()
	switch {
	case p.batch.Partial || !p.batch.KnownMagic():
		at = p.batch.At + headerLen(&p.batch)
		return t.rest(b, "rest", at, p.batch.At+p.batch.Size-at)
	case p.set != nil && p.set.Unpacked != nil:
		return t.unpackedRecords(b, at, size)
	case p.set == nil && t.options.Full:
		return t.rest(b, "records", at, size)
	case p.set == nil || p.batch.Magic < 2 && !t.options.Full:
		return b
	case p.batch.Magic < 2:
		return t.messageParts(b)
	}
	p.at, p.end = at, at+size
	return t.eachRecord(b)
}

// unpackedRecords appends the compressed block of the batch and the records that it was unpacked to.
func (t *Tree) unpackedRecords(b []byte, at, size int) []byte {
	p := &t.records
	if t.options.Full {
		b = t.compressedBlock(b, at, size)
		t.enter(true)
		if t.options.Hex {
			b = t.hex.unpacked(b, p)
		}
	}
	p.at, p.end = 0, len(p.set.Unpacked)
	t.unpacked = appendInt(t.unpacked[:0], int64(p.number))
	b = t.eachRecord(b)
	t.unpacked = t.unpacked[:0]
	if t.options.Full {
		t.leave()
	}
	return b
}

// plainMessage appends a message of older magic that is not compressed on one line, as the record that it is. done is false when the batch is
// none, or cannot be read.
func (t *Tree) plainMessage(b []byte) (line []byte, done bool) {
	p := &t.records
	if t.options.Full || p.set == nil || p.batch.Magic > 1 || p.batch.Codec() != 0 {
		return b, false
	}
	p.index = p.number
	for r := range p.set.Each {
		t.decodeRecord(r)
		b = t.recordParts(b, r)
		b = appendInt(append(t.piece(b, ""), "magic="...), int64(p.batch.Magic))
		b = appendCRC(t.piece(b, ""), &p.batch)
		b = t.spanWrapped(b, r.At, r.Size)
		done = true
	}
	return b, done
}

// eachRecord appends the records of the batch, and what is left where they cannot be read to the end.
func (t *Tree) eachRecord(b []byte) []byte {
	p := &t.records
	findings := len(t.m.Findings)
	p.index, p.left, p.deep = 0, 0, wrapped{}
	limit := t.recordLimit()
	for r := range p.set.Each {
		shown := p.index < limit
		b = t.findWrapper(b, r, shown)
		last := !p.deep.inside && r.At+r.Size == p.end
		if shown {
			b = t.spill(t.record(b, r, last))
		} else if p.left++; p.left == 1 {
			p.from = r.At
		}
		p.index++
		if !p.deep.inside {
			p.at = r.At + r.Size
		}
	}
	t.leaveWrapper()
	if p.left > 0 {
		b = appendMore(t.branch(b), p.left, "record")
		b = t.spanLine(b, "", uint32(p.from), uint32(p.at-p.from), "")
	}
	b = t.undecodedRecords(b, p.end)
	return t.freshNotes(b, findings, "")
}

// undecodedRecords appends the bytes up to an offset that are no records.
func (t *Tree) undecodedRecords(b []byte, to int) []byte {
	p := &t.records
	if p.at < to {
		b = t.rest(b, "undecoded", p.at, to-p.at)
		p.at = to
	}
	return b
}

// rest appends bytes that are not taken apart.
func (t *Tree) rest(b []byte, name string, at, size int) []byte {
	if size <= 0 {
		return b
	}
	b = t.leafHead(b, name, "bytes")
	b = append(b, t.colors.bytes.on...)
	b = appendQuantity(b, size, "byte")
	switch raw := t.recordBytes(at, size); {
	case t.records.topic == metadataTopic && !t.options.ShowSecrets:
		b = append(b, " withheld (--show-secrets prints them)"...)
	case len(raw) == size && t.options.Records == RecordsFull:
		b = appendContent(b, raw, t.limit)
	}
	return t.spanLine(b, t.colors.bytes.off, uint32(at), uint32(size), "")
}

// recordBytes returns bytes of the address space that the records are in: the frame, or what the batch was unpacked to. It returns nil
// where they are not there.
func (t *Tree) recordBytes(at, size int) []byte {
	if len(t.unpacked) == 0 {
		return t.frameBytes(at, size)
	}
	if unpacked := t.records.set.Unpacked; !t.records.deep.inside && at+size <= len(unpacked) {
		return unpacked[at : at+size]
	}
	return nil
}

// decodeRecord decodes key and value of a record of an internal topic, and of a control record.
func (t *Tree) decodeRecord(r *dissect.Record) {
	p := &t.records
	p.hasKey, p.hasValue, p.fields.used = false, false, 0
	if p.topic == "" && !p.batch.Control() {
		return
	}
	if key := t.m.DecodeKey(p.topic, &p.batch, r); key != nil {
		p.hasKey = true
		keep(&p.key, key)
	}
	if value := t.m.DecodeValue(p.topic, &p.batch, r); value != nil {
		p.hasValue = true
		keep(&p.value, value)
		t.m.NestedIn(&p.value, p.fields.add)
	}
}

// withholdsValue tells whether the value of a record carries credentials that must not be shown.
func (t *Tree) withholdsValue(r *dissect.Record) bool {
	p := &t.records
	if t.options.ShowSecrets {
		return false
	}
	if p.hasValue {
		return p.value.Secret
	}
	return t.m.WithholdsValue(p.topic, r, nil)
}

// showsDecoded tells whether fields of a record's decoded value are shown.
func (t *Tree) showsDecoded() bool {
	return t.records.hasValue && (!t.records.value.Credentials || t.options.ShowSecrets)
}

// record appends a record: in full with all its parts, otherwise on one line.
func (t *Tree) record(b []byte, r *dissect.Record, last bool) []byte {
	t.decodeRecord(r)
	if t.options.Full {
		return t.fullRecord(b, r, last)
	}
	return t.recordLine(b, r, last)
}

// recordLine appends a record on one line. What was decoded of it stands below.
func (t *Tree) recordLine(b []byte, r *dissect.Record, last bool) []byte {
	p := &t.records
	showsKey := p.hasKey && !p.batch.Control()
	showsValue := t.showsDecoded()
	b = t.recordParts(t.beginLine(b, last, showsKey || showsValue), r)
	b = t.spanWrapped(b, r.At, r.Size)
	t.enter(last)
	if showsKey {
		b = t.compactNested(b, "key", &p.key, keyStart(r), true, !showsValue)
	}
	if showsValue {
		b = t.compactNested(b, "value", &p.value, valueStart(r), true, true)
	}
	t.leave()
	return b
}

// keyStart and valueStart return where key and value of a record begin, behind their lengths.
func keyStart(r *dissect.Record) uint32 {
	if r.Message != nil {
		return uint32(r.KeyAt + 4)
	}
	return uint32(r.ValueAt - len(r.Key))
}

func valueStart(r *dissect.Record) uint32 {
	if r.Message != nil {
		return uint32(r.ValueAt + 4)
	}
	return uint32(r.HeadersAt - len(r.Value))
}

// recordParts begins the line of a record: its offset, time, what it says, and its headers.
func (t *Tree) recordParts(b []byte, r *dissect.Record) []byte {
	p := &t.records
	b = t.recordHead(t.branch(b), r)
	if p.batch.Control() {
		b = appendControlType(t.piece(b, ""), r)
	}
	if !p.hasKey {
		b = t.appendPayload(t.named(b, "key"), r.Key)
	}
	if t.withholdsValue(r) {
		b = append(t.named(b, "value"), "withheld (credential-bearing record; --show-secrets prints it)"...)
	} else if !p.hasValue {
		b = t.appendPayload(t.named(b, "value"), r.Value)
	}
	if t.withholdsValue(r) {
		return b
	}
	return t.appendHeaders(b, r)
}

// recordHead appends index, offset and time of a record.
func (t *Tree) recordHead(b []byte, r *dissect.Record) []byte {
	b = append(b, t.colors.name.on...)
	b = appendInt(append(b, '['), int64(t.records.index))
	b = append(append(b, ']'), t.colors.name.off...)
	b = t.named(b, "offset")
	b = append(b, t.colors.number.on...)
	b = append(appendInt(b, r.Offset), t.colors.number.off...)
	if r.HasTimestamp {
		b = append(t.named(b, "time"), t.colors.number.on...)
		b = append(t.appendTime(b, r.Timestamp), t.colors.number.off...)
	}
	return b
}

// named begins a part of a record's line.
func (t *Tree) named(b []byte, name string) []byte {
	b = append(t.piece(b, ""), t.colors.name.on...)
	b = append(b, name...)
	return append(append(b, t.colors.name.off...), '=')
}

// appendTime appends the time of a record: that of day where the batch's line has the date.
func (t *Tree) appendTime(b []byte, ms int64) []byte {
	const day = 24 * 60 * 60 * 1000
	batch := &t.records.batch
	latest := batch.MaxTimestamp
	if batch.Magic < 2 {
		latest = -1
	}
	if ms < firstTime || ms > lastTime || ms/day != latest/day {
		return t.appendDate(b, ms)
	}
	return t.stamps.appendTimeMillis(b, ms)
}

func appendControlType(b []byte, r *dissect.Record) []byte {
	if name := r.ControlType(); name != "" {
		return append(b, name...)
	}
	return append(b, "unknown control record"...)
}

// appendHeaders appends the headers of a record.
func (t *Tree) appendHeaders(b []byte, r *dissect.Record) []byte {
	if r.HeaderCount == 0 || r.Message != nil {
		return b
	}
	b = append(t.named(b, "headers"), '[')
	shown := 0
	for key, value := range r.Headers {
		if shown == maxElements {
			break
		}
		if shown > 0 {
			b = t.piece(b, ",")
		}
		if len(key) == 0 {
			b = append(b, `""`...)
		}
		b = appendEscaped(b, key, false)
		b = t.appendPayload(append(b, '='), value)
		shown++
	}
	return append(appendLeftOut(b, r.HeaderCount-shown), ']')
}
