package dissect

import (
	"bytes"
	"encoding/binary"
	"fmt"

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
	switch name := protocolOf(data); {
	case h.isHalfRequest(data):
		what, code = h.halfRequest(data), MissingBytes
	case name != "":
		what = name
		if known, ok := foreignCodes[name]; ok {
			code = known
		}
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
	return c.kafka() || c.dissector.servers[c.ends.Server] || usualPort(c.ends.Server.Port())
}

// protocolOf names the protocol that begins with these bytes, "" where it is not known.
func protocolOf(data []byte) string {
	switch {
	case isTLS(data):
		return "TLS"
	case isHTTP(data):
		return "HTTP"
	case bytes.HasPrefix(data, []byte("SSH-")):
		return "SSH"
	}
	return ""
}

// isHalfRequest tells whether the bytes are the beginning of a request that never became whole.
func (h *half) isHalfRequest(data []byte) bool {
	return h.conn.kindOf(h.dir) == schema.Request && len(data) >= 8 && h.conn.dissector.requestHeader(data) != no
}

func (h *half) halfRequest(data []byte) string {
	api := h.conn.dissector.catalog.API(int16(binary.BigEndian.Uint16(data[4:])))
	return fmt.Sprintf("%d of the %d bytes of a %s v%d request, and no more", len(data), 4+binary.BigEndian.Uint32(data), api.Name, binary.BigEndian.Uint16(data[6:]))
}

// usualPort tells whether brokers often listen on a port.
func usualPort(port uint16) bool { return port >= 9091 && port <= 9094 }

// isTLS recognises a TLS record: an alert or a handshake of version 3.0 to 3.4. Read as Kafka these bytes would be the size of a
// frame of 369 million bytes.
func isTLS(b []byte) bool {
	const alert, handshake, hello = 0x15, 0x16, 0x01
	if len(b) < 6 || b[1] != 3 || b[2] > 4 {
		return false
	}
	return b[0] == alert || b[0] == handshake && (b[5] == hello || b[5] == hello+1)
}

func isHTTP(b []byte) bool {
	for _, start := range []string{"GET ", "POST ", "PUT ", "HEAD ", "DELETE ", "OPTIONS ", "CONNECT ", "PATCH ", "HTTP/1.", "PRI * HTTP/2"} {
		if bytes.HasPrefix(b, []byte(start)) {
			return true
		}
	}
	return false
}
