package hextext

import (
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// A line of a dump has an offset in front, of at least four digits, and behind it the bytes: in pairs of digits, or in groups of any size where a colon is
// behind the offset.
var dumpLine = regexp.MustCompile(`^\s*(?:0x)?([0-9a-fA-F]{4,16})(:\s*|\s+)([0-9a-fA-F]{2,}.*)$`)

// bareOffset is the last line of hexdump and od: where the bytes end.
var bareOffset = regexp.MustCompile(`^\s*([0-9a-fA-F]{4,16}):?\s*$`)

// maxRowBytes is how many bytes a line has in all tools by default. What stands behind them is their text.
const maxRowBytes = 16

// maxRepeated bounds how long a dump may become by the `*` of hexdump, which stands for lines like the one before.
const maxRepeated = 16 << 20

// isDump tells whether the first line that could be one of a dump is, and begins at 0.
func isDump(text []byte) bool {
	for line := range strings.Lines(string(text)) {
		if offset, row, ok := splitLine(line); ok {
			return offset == 0 && len(row) > 0
		}
	}
	return false
}

// splitLine returns offset and bytes of a line of a dump.
func splitLine(line string) (offset int64, row []byte, ok bool) {
	m := dumpLine.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
	if m == nil {
		return 0, nil, false
	}
	colon := m[2][0] == ':'
	if !colon && !isPair(m[3]) {
		return 0, nil, false // groups of another size: hex digits, the first of which are no offset
	}
	offset, err := strconv.ParseInt(m[1], 16, 64)
	if err != nil {
		return 0, nil, false
	}
	return offset, rowBytes(m[3]), true
}

// isPair tells whether a text begins with two hex digits that stand alone.
func isPair(s string) bool { return len(s) == 2 || s[2] == ' ' || s[2] == '\t' }

// rowBytes reads the bytes of a line up to its text column, which is behind a gap, a bar, or the sixteenth byte.
func rowBytes(s string) (row []byte) {
	for len(row) < maxRowBytes {
		gap := len(s) - len(strings.TrimLeft(s, " \t"))
		if gap > 2 || gap == 2 && len(row) != maxRowBytes/2 {
			return row
		}
		s = s[gap:]
		end := strings.IndexFunc(s, func(r rune) bool { return r > 0x7f || !isDigit(byte(r)) })
		if end < 0 {
			end = len(s)
		}
		group := s[:end]
		if group == "" || len(group)%2 != 0 || end < len(s) && s[end] != ' ' && s[end] != '\t' {
			return row
		}
		row, _ = hex.AppendDecode(row, []byte(group)) // all of them are hex digits
		s = s[end:]
	}
	return row[:maxRowBytes]
}

func isDigit(c byte) bool {
	_, ok := digitOf(c)
	return ok
}

// parseDump reads the lines of a dump. An offset of 0 begins another packet. Lines between packets that are no dump are passed over.
func parseDump(text []byte) (all []byte, err error) {
	var packet, last []byte
	repeated, number := false, 0
	flush := func() {
		all = append(all, payload(packet)...)
		packet, last, repeated = nil, nil, false
	}
	for line := range strings.Lines(string(text)) {
		number++
		offset, row, ok := splitLine(line)
		if !ok {
			m := bareOffset.FindStringSubmatch(line)
			switch {
			case strings.TrimSpace(line) == "*":
				repeated = true
			case repeated && m != nil:
				offset, _ = strconv.ParseInt(m[1], 16, 64)
				if packet, err = repeat(packet, last, offset, len(all)); err != nil {
					return nil, fmt.Errorf("line %d: %w", number, err)
				}
				repeated = false
			}
			continue
		}
		if offset == 0 && len(packet) > 0 {
			flush()
		}
		if repeated {
			if packet, err = repeat(packet, last, offset, len(all)); err != nil {
				return nil, fmt.Errorf("line %d: %w", number, err)
			}
			repeated = false
		}
		if offset != int64(len(packet)) {
			return nil, fmt.Errorf("line %d of the dump begins at 0x%x, but the lines before it have %d bytes (0x%x)", number, offset, len(packet), len(packet))
		}
		packet, last = append(packet, row...), row
	}
	flush()
	return all, nil
}

// repeat appends the last line up to an offset. before is how many bytes the packets before this one have.
func repeat(packet, last []byte, offset int64, before int) ([]byte, error) {
	switch {
	case len(last) == 0 || offset < int64(len(packet)):
		return nil, errors.New("a * stands for no lines")
	case offset > maxRepeated-int64(min(before, maxRepeated)):
		return nil, fmt.Errorf("a * expands the dump to more than %d MiB", maxRepeated>>20)
	}
	for int64(len(packet)) < offset {
		packet = append(packet, last[:min(int64(len(last)), offset-int64(len(packet)))]...)
	}
	return packet, nil
}
