package dissect

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/kdissect/kdissect/schema"
)

// foreign names what a connection carries instead of Kafka. Only ports that are known for Kafka are worth a word: a capture
// is full of other traffic.
func (c *conn) foreign(h *half, data []byte) {
	if c.named || !c.isKafkaExpected() {
		return
	}
	c.named = true
	what, code := fmt.Sprintf("%d bytes that are no Kafka message", h.window.skipped+int64(len(data))), NotKafka
	if h.window.opened { // in the middle of a connection they could be those of a password
		what += fmt.Sprintf(" (% x ...)", data[:min(8, len(data))])
	}
	switch name := h.window.protocol(); {
	case name != "":
		what = name
		if known, ok := foreignCodes[name]; ok {
			code = known
		}
	case h.isHalfRequest(data):
		what, code = h.halfRequest(data), MissingBytes
	case len(bytes.Trim(data, "\x00")) == 0:
		what = "zero bytes only"
	}
	from := "client"
	if c.kindOf(h.dir) == schema.Response {
		from = "server"
	}
	c.report(0, finding(code, Warn, -1, "the %s sends %s", from, what))
}

// foreignCodes are those of protocols that have one.
var foreignCodes = map[string]Code{"TLS": TLS, "HTTP": HTTP}

// isKafkaExpected tells whether a connection carries Kafka, or goes where Kafka was to be expected.
func (c *conn) isKafkaExpected() bool {
	return c.kafka() || c.dissector.isBroker(c.ends.Server)
}

// isHalfRequest tells whether the bytes are the beginning of a request that never became whole.
func (h *half) isHalfRequest(data []byte) bool {
	return h.conn.kindOf(h.dir) == schema.Request && !h.conn.halves[h.dir.Other()].spoke && len(data) >= 8 && len(data) < 4+int(binary.BigEndian.Uint32(data)) &&
		h.conn.dissector.requestHeader(data) != no
}

func (h *half) halfRequest(data []byte) string {
	api := h.conn.dissector.catalog.API(int16(binary.BigEndian.Uint16(data[4:])))
	return fmt.Sprintf("%d of the %d bytes of a %s v%d request, and no more", len(data), 4+binary.BigEndian.Uint32(data), api.Name, binary.BigEndian.Uint16(data[6:]))
}

// usualPort tells whether brokers often listen on a port.
func usualPort(port uint16) bool { return port >= 9091 && port <= 9094 }

// protocol names what the bytes of a window are, by how protocols begin: at the beginning of the connection, or where that was not captured at the beginning of any
// packet. It is empty where that cannot be told with certainty.
func (w *window) protocol() string {
	if w.opened {
		return protocolOf(w.data)
	}
	for _, p := range w.parts {
		if name := protocolOf(w.data[p.at:]); name != "" {
			return name
		}
	}
	return ""
}

// A beginning is that of a protocol.
type beginning struct {
	name   string
	at     int // offset of what it begins with
	starts []string
	first  [256]bool // by the first byte of what it begins with: that rules out most, and is all that is looked at of them
}

// beginnings are those of protocols that are known for one.
var beginnings = withFirstBytes([]beginning{
	{name: "HTTP", starts: []string{"GET /", "POST /", "PUT /", "HEAD /", "DELETE /", "OPTIONS ", "CONNECT ", "PATCH /", "HTTP/1.", "PRI * HTTP/2"}},
	{name: "SSH", starts: []string{"SSH-"}},
	{name: "a header of the PROXY protocol", starts: []string{"PROXY TCP", "PROXY UNKNOWN", "\r\n\r\n\x00\r\nQUIT\n"}},
	{name: "AMQP", starts: []string{"AMQP\x00", "AMQP\x02", "AMQP\x03"}},
	{name: "MQTT", at: 2, starts: []string{"\x00\x04MQTT", "\x00\x06MQIsdp"}}, // behind the type and a length of one byte
	{name: "Redis commands", starts: []string{"*1\r\n$", "*2\r\n$", "*3\r\n$"}},
	{name: "PostgreSQL", starts: []string{"\x00\x00\x00\x08\x04\xd2\x16\x2f"}}, // SSLRequest
	{name: "PostgreSQL", at: 4, starts: []string{"\x00\x03\x00\x00user\x00"}},  // StartupMessage of version 3.0
	{name: "SMB", at: 4, starts: []string{"\xfeSMB", "\xffSMB"}},
	{name: "ZooKeeper", starts: []string{ // ConnectRequest: a fixed size, with and without the read-only flag, and version 0
		"\x00\x00\x00\x2c\x00\x00\x00\x00\x00\x00\x00", "\x00\x00\x00\x2d\x00\x00\x00\x00\x00\x00\x00"}},
})

func withFirstBytes(all []beginning) []beginning {
	for i := range all {
		for _, start := range all[i].starts {
			all[i].first[start[0]] = true
		}
	}
	return all
}

// protocolOf names the protocol that begins with these bytes, "" where it is not known.
func protocolOf(b []byte) string {
	if isTLS(b) {
		return "TLS"
	}
	for i := range beginnings {
		if p := &beginnings[i]; len(b) > p.at && p.first[b[p.at]] && p.begins(b[p.at:]) {
			return p.name
		}
	}
	return ""
}

func (p *beginning) begins(b []byte) bool {
	return slices.ContainsFunc(p.starts, func(start string) bool { return len(b) >= len(start) && string(b[:len(start)]) == start })
}

// isTLS recognises a TLS record of version 3.0 to 3.4: an alert or a hello, or application data, of which the next record must begin like one, too, if it
// is there. Read as Kafka these bytes would be the size of a frame of 350 to 390 million bytes.
func isTLS(b []byte) bool {
	const alert, handshake, application, hello = 0x15, 0x16, 0x17, 0x01
	if len(b) < 6 || b[1] != 3 || b[2] > 4 {
		return false
	}
	size := int(binary.BigEndian.Uint16(b[3:]))
	switch b[0] {
	case alert:
		return true
	case handshake:
		return b[5] == hello || b[5] == hello+1
	case application:
		const most = 1<<14 + 2048 // RFC 5246, section 6.2.3
		return size > 0 && size <= most && (len(b) < 5+size+2 || b[5+size] >= alert-1 && b[5+size] <= application && b[5+size+1] == 3)
	}
	return false
}
