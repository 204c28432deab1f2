package render

import (
	"bytes"
	"encoding/hex"
	"testing"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/schema"
)

// No bytes that come without a capture make a format panic, whatever they are taken for.
func FuzzGiven(f *testing.F) {
	for _, digits := range []string{
		"00000010000300010000000700026d65ffffffff",
		"000300010000000700026d65ffffffff00",
		"00000000000000000000003affffffff02dc7332150000000000000000018bf8f234d40000018bf8f234d4ffffffffffffffffffffffffffff0000000110000000026b027600",
		"00030000000000000005ffffffff000000000000000003e8",
		"01190001000b0b746573742d746f706963",
	} {
		data, _ := hex.DecodeString(digits)
		f.Add(data, int16(3), int16(1))
	}
	f.Fuzz(func(t *testing.T, data []byte, key, version int16) {
		g := dissect.NewGiven(schema.Embedded())
		show := func(m *dissect.Message) bool {
			var out bytes.Buffer
			for _, format := range []Format{
				NewTree(&out, Options{Full: true, Hex: true, Records: RecordsFull}), NewTree(&out, Options{Records: RecordsFull}),
				NewJSON(&out, Options{Layout: true, Records: RecordsFull}),
			} {
				format.Message(m)
				format.Flush()
			}
			return out.Len() < 1<<20
		}
		g.Frames(data, nil, show)
		show(g.Records(data))
		if m, err := g.OffsetsKey(data); err == nil {
			show(m)
		}
		if m, _, err := g.OffsetsValue(data); err == nil {
			show(m)
		}
		names := schema.Embedded().Names()
		if m, err := g.Named(names[int(uint16(key))%len(names)], data); err == nil {
			show(m)
		}
		for _, kind := range []schema.Kind{schema.Request, schema.Response} {
			if plan := schema.Embedded().Plan(key, version, kind); plan != nil {
				show(g.Body(data, plan))
				g.Frames(data, plan, show)
			}
		}
	})
}
