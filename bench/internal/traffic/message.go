package traffic

import "encoding/binary"

// frame puts the size in front.
func frame(parts ...[]byte) []byte {
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	b := binary.BigEndian.AppendUint32(make([]byte, 0, 4+size), uint32(size))
	for _, p := range parts {
		b = append(b, p...)
	}
	return b
}

func text(s string) []byte { return append(binary.BigEndian.AppendUint16(nil, uint16(len(s))), s...) }

func int64s(values ...int) []byte {
	var b []byte
	for _, v := range values {
		b = binary.BigEndian.AppendUint64(b, uint64(v))
	}
	return b
}

func int32s(values ...int) []byte {
	var b []byte
	for _, v := range values {
		b = binary.BigEndian.AppendUint32(b, uint32(v))
	}
	return b
}

func int16s(values ...int) []byte {
	var b []byte
	for _, v := range values {
		b = binary.BigEndian.AppendUint16(b, uint16(v))
	}
	return b
}

func request(key, version, correlation int, body ...[]byte) []byte {
	return frame(append([][]byte{int16s(key, version), int32s(correlation), text("client")}, body...)...)
}

// apiVersions is what today's brokers answer to ApiVersions v0: APIs by key, with a range of versions each.
func apiVersions(correlation int) []byte {
	const count = 70
	b := int32s(count)
	for key := range count {
		b = append(b, int16s(key, 0, 9)...)
	}
	return frame(int32s(correlation), int16s(0), b)
}

// metadata asks for the brokers with Metadata v1, and is answered by one.
func (c *connection) metadata(correlation int) {
	c.send(client, request(3, 1, correlation, int32s(0)))
	c.send(server, frame(int32s(correlation, 1, 1), text("broker.example"), int32s(9092), int16s(-1), int32s(1, 0)))
}

// listGroups is the smallest exchange: ListGroups v0, a request of 20 bytes of which there are no groups.
func (c *connection) listGroups(correlation int) {
	c.send(client, request(16, 0, correlation))
	c.send(server, frame(int32s(correlation), int16s(0), int32s(0)))
}

// fetch asks for partition 0 of a topic with version 4.
func fetch(correlation int) []byte {
	return request(1, 4, correlation, int32s(-1, 500, 1, 50<<20), []byte{0}, int32s(1), text("orders"), int32s(1, 0, 0, 0, 1<<20))
}

// fetched is the answer, with record data.
func fetched(correlation int, records []byte) []byte {
	return frame(int32s(correlation, 0, 1), text("orders"), int32s(1, 0), int16s(0), int32s(0, 9, 0, 9, -1, len(records)), records)
}

// produceOverhead is what produce sends beside the records.
const produceOverhead = 4 + 10 + len("client") + 2 + 2 + 4 + 4 + 2 + len("orders") + 4 + 4 + 4

// produce is a Produce v7 request with the records of one partition, and its answer.
func (c *connection) produce(correlation int, records []byte) {
	c.send(client, request(0, 7, correlation, int16s(-1, 1), int32s(30000, 1), text("orders"), int32s(1, 0, len(records)), records))
	c.send(server, frame(int32s(correlation, 1), text("orders"), int32s(1, 0), int16s(0), int64s(correlation, -1, 0), int32s(0)))
}
