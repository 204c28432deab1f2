package dissect

import (
	"encoding/binary"

	"github.com/kdissect/kdissect/schema"
)

// requestHeaderLen is the shortest request header, behind the size: API key, version, correlation id.
const requestHeaderLen = 8

// parseHeader reads the header of a request whose frame has total bytes, out of as many of them as are there. ok is
// false when the header is not whole yet.
func (c *conn) parseHeader(h *Header, data []byte, total int) (api *schema.API, ok bool) {
	*h = Header{}
	if len(data) < 4+requestHeaderLen {
		return nil, false
	}
	h.Known, h.ClientIDNull = true, true
	h.APIKey, h.Version = int16(binary.BigEndian.Uint16(data[4:])), int16(binary.BigEndian.Uint16(data[6:]))
	h.CorrelationID = int32(binary.BigEndian.Uint32(data[8:]))
	api = c.dissector.catalog.API(h.APIKey)
	// The client id follows with an int16 length in every other header, the flexible ones included.
	const at = 4 + requestHeaderLen
	switch {
	case !hasClientID(api, h.Version), total < at+2:
		return api, true
	case len(data) < at+2:
		return api, false
	}
	n := int(int16(binary.BigEndian.Uint16(data[at:])))
	switch {
	case n < 0 || at+2+n > total:
		return api, true
	case len(data) < at+2+n:
		return api, false
	}
	h.ClientID, h.ClientIDNull = c.intern(data[at+2:at+2+n]), false
	return api, true
}

// hasClientID is false for the one header without a client id, that of ControlledShutdown v0.
func hasClientID(api *schema.API, version int16) bool {
	return version != 0 || api == nil || api.Name != "ControlledShutdown"
}

// A verdict on whether a frame begins somewhere.
type verdict uint8

const (
	no        verdict = iota
	undecided         // more bytes are needed
	yes
)

// maxFirstFrame is how large a frame may be to be believed before another one has confirmed that this is
// Kafka: the default limit of a broker is 100 MB (socket.request.max.bytes).
const maxFirstFrame = 105 << 20

// maxClientID is the length up to which a client id is believed while searching.
const maxClientID = 1024

// requestHeader judges whether a request begins at data[0], by its header alone: a known key, a version not far
// from the known ones, a client id that is inside the frame.
func (d *Dissector) requestHeader(data []byte) verdict {
	if len(data) < 6 {
		return prefixVerdict(data)
	}
	size := int(int32(binary.BigEndian.Uint32(data)))
	if size < requestHeaderLen || size > maxFirstFrame {
		return no
	}
	api := d.catalog.API(int16(binary.BigEndian.Uint16(data[4:])))
	if api == nil {
		return no
	}
	if len(data) < 8 {
		return undecided
	}
	version := int16(binary.BigEndian.Uint16(data[6:]))
	if version < 0 || version > api.Versions.High+100 {
		return no
	}
	if !hasClientID(api, version) {
		return yes
	}
	const at = 4 + requestHeaderLen
	if size < at+2-4 {
		return no
	}
	if len(data) < at+2 {
		return undecided
	}
	n := int(int16(binary.BigEndian.Uint16(data[at:])))
	switch {
	case n == -1:
		return yes
	case n < -1 || n > maxClientID || at+2+n > size+4:
		return no
	case len(data) < at+2+n:
		return undecided
	}
	return yes
}

// clientIDOf returns as much of the client id of a request as is there.
func clientIDOf(data []byte) []byte {
	const at = 4 + requestHeaderLen
	if len(data) < at+2 {
		return nil
	}
	n := max(0, int(int16(binary.BigEndian.Uint16(data[at:]))))
	return data[at+2 : min(at+2+n, len(data))]
}

// plainClientID tells whether the client id of a request whose header is there has no control characters, which is
// how people name their clients.
func plainClientID(data []byte) bool { return plainText(clientIDOf(data)) }

// plainText tells whether text has no control characters.
func plainText(text []byte) bool {
	for _, c := range text {
		if c < ' ' || c == 0x7f {
			return false
		}
	}
	return true
}

// hasClientName tells whether the header of a request has a client id that is not empty.
func hasClientName(data []byte) bool { return len(clientIDOf(data)) > 0 && plainClientID(data) }

// prefixVerdict judges the first bytes of a size.
func prefixVerdict(data []byte) verdict {
	if len(data) > 0 && data[0] > maxFirstFrame>>24 {
		return no
	}
	return undecided
}
