package main

import "testing"

func TestSize(t *testing.T) {
	for text, want := range map[string]size{
		"1048576": 1 << 20, "64M": 64 << 20, "64m": 64 << 20, "64MiB": 64 << 20, "64MB": 64 << 20, "1G": 1 << 30, "512K": 512 << 10, "0": 0, "7B": 7,
	} {
		var s size
		if err := s.Set(text); err != nil || s != want {
			t.Errorf("%s: %d, %v", text, s, err)
		}
	}
	for _, text := range []string{"", "M", "-1", "1.5G", "64MM", "64i", "12T", "64 M", "99999999999999999999", "9999999999G"} {
		var s size
		if err := s.Set(text); err == nil {
			t.Errorf("%q was taken for %d", text, s)
		}
	}
	for s, want := range map[size]string{0: "0", 1000: "1000", 64 << 20: "64M", 1 << 30: "1G", 1536 << 10: "1536K", 1 << 40: "1024G"} {
		if got := s.String(); got != want {
			t.Errorf("%d: %s, want %s", int64(s), got, want)
		}
	}
}
