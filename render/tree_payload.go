package render

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"unicode"
	"unicode/utf8"
)

// appendPayload appends a key, a value or a header of a record: text in quotes, JSON as it is, other bytes in hex. A long one is cut in the compact
// tree.
func (t *Tree) appendPayload(b, s []byte) []byte {
	switch {
	case s == nil:
		return append(b, "null"...)
	case t.limit == 0 && len(s) > pieceSize:
		return t.appendPieces(b, s)
	case isJSON(s):
		b = append(b, t.colors.text.on...)
		b = appendCutJSON(b, s, t.limit)
		return append(b, t.colors.text.off...)
	case (t.limit == 0 || len(s) <= t.limit) && plainText(s): // looked at once, not twice
		b = append(append(b, t.colors.text.on...), '"')
		b = append(append(b, s...), '"')
		return append(b, t.colors.text.off...)
	case readable(s):
		b = append(b, t.colors.text.on...)
		b = appendTextValue(b, s, t.limit)
		return append(b, t.colors.text.off...)
	}
	b = append(b, t.colors.bytes.on...)
	b = appendHex(b, s, t.limit)
	return append(appendSchemaID(b, s), t.colors.bytes.off...)
}

// appendPieces appends a large payload without holding all of it.
func (t *Tree) appendPieces(b, s []byte) []byte {
	isJSON := isJSON(s)
	text := isJSON || readable(s)
	switch {
	case isJSON:
		b = append(b, t.colors.text.on...)
	case text:
		b = append(append(b, t.colors.text.on...), '"')
	default:
		b = append(append(b, t.colors.bytes.on...), "0x"...)
	}
	for piece := range pieces(s, text) {
		switch {
		case isJSON:
			b = append(b, piece...)
		case text:
			b = appendEscaped(b, piece, true)
		default:
			b = hex.AppendEncode(b, piece)
		}
		b = t.spill(b)
	}
	switch {
	case isJSON:
		return append(b, t.colors.text.off...)
	case text:
		return append(append(b, '"'), t.colors.text.off...)
	}
	return append(appendSchemaID(b, s), t.colors.bytes.off...)
}

// plainText tells whether text is ASCII that stands in quotes as it is. Quotes and backslashes are looked for in 32 bytes at a time.
func plainText(s []byte) bool {
	return bytes.IndexByte(s, '"') < 0 && bytes.IndexByte(s, '\\') < 0 && plainASCII(s) == len(s)
}

// readable tells whether bytes are text: printable characters and line breaks.
func readable(s []byte) bool {
	for i := plainASCII(s); i < len(s); {
		r, size := utf8.DecodeRune(s[i:])
		if r == utf8.RuneError && size == 1 || !unicode.IsPrint(r) && r != '\n' && r != '\r' && r != '\t' {
			return false
		}
		i += size
	}
	return true
}

// isJSON tells whether bytes are an object or array of JSON that needs no escape.
func isJSON(s []byte) bool {
	return len(s) > 0 && (s[0] == '{' || s[0] == '[') && printable(s) && json.Valid(s)
}

// appendCutJSON appends JSON. limit is how many bytes of it are shown, 0 for all.
func appendCutJSON(b, s []byte, limit int) []byte {
	if limit == 0 || len(s) <= limit {
		return append(b, s...)
	}
	head := cutText(s, limit)
	return appendMore(append(b, head...), len(s)-len(head), "byte")
}

// Schema registries put their mark in front of what is serialised: a zero and the id of the schema, an int32.
const (
	registryHeader = 5
	maxSchemaID    = 1 << 24 // ids are counted up from 1
)

func appendSchemaID(b, s []byte) []byte {
	id := schemaID(s)
	if id == 0 {
		return b
	}
	b = appendInt(append(b, " (schema id "...), int64(id))
	return append(b, ')')
}

// schemaID returns the id of the schema that a payload says it was written by, 0 where it does not look like that.
func schemaID(s []byte) uint32 {
	if len(s) < registryHeader || s[0] != 0 {
		return 0
	}
	id, rest := binary.BigEndian.Uint32(s[1:]), s[registryHeader:]
	if id >= maxSchemaID || len(rest) > 0 && readable(rest) && !isJSON(rest) {
		return 0
	}
	return id
}
