package render

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
)

// longNames are fields that are 64 bits wide wherever they are in a body.
var longNames = map[string]bool{
	"baseOffset": true, "lastOffset": true, "baseTimestamp": true, "maxTimestamp": true, "producerId": true, "fetchOffset": true, "highWatermark": true,
	"lastStableOffset": true, "logStartOffset": true, "committedOffset": true, "timestamp": true, "logAppendTimeMs": true, "sessionLifetimeMs": true, "commitTimestamp": true,
}

// wantLong wants two values of JSON to be the same, but for numbers of 64 bits, which are strings in the second one.
func wantLong(t *testing.T, name string, number, text any, strings *int) {
	t.Helper()
	switch v := number.(type) {
	case map[string]any:
		for key, inner := range v {
			wantLong(t, key, inner, text.(map[string]any)[key], strings)
		}
	case []any:
		for i, inner := range v {
			wantLong(t, name, inner, text.([]any)[i], strings)
		}
	case json.Number:
		n, err := v.Int64()
		_, is := text.(string)
		if fmt.Sprint(text) != v.String() || longNames[name] && !is || err == nil && (n >= 1<<32 || n < -1<<31) && name != "asDouble" && !is {
			t.Fatalf("%s: %v is %v", name, number, text)
		}
		if is {
			*strings++
		}
	default:
		if number != text {
			t.Fatalf("%s: %v is %v", name, number, text)
		}
	}
}

// With numbers of 64 bits as strings JSON says the same.
func TestInt64AsText(t *testing.T) {
	found := 0
	for _, name := range captures(t) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			numbers, texts := messagesOf(t, name, Options{Records: RecordsFull}), messagesOf(t, name, Options{Records: RecordsFull, Int64Text: true})
			for number, m := range numbers {
				for _, part := range []string{"payload", "nested", "facts", "auth"} {
					wantLong(t, part, m[part], texts[number][part], &found)
				}
			}
		})
	}
	if found < 10000 {
		t.Errorf("only %d strings", found)
	}
}
