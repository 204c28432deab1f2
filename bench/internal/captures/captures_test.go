package captures

import "testing"

func TestBytes(t *testing.T) {
	for size, want := range map[string]int64{"16K": 16 << 10, "124M": 124 << 20, "1G": 1 << 30} {
		if got, err := Bytes(size); err != nil || got != want {
			t.Errorf("%s: %d, %v", size, got, err)
		}
	}
	for _, size := range []string{"", "M", "12", "12X", "x12M", "12MM", "1.5G"} {
		if got, err := Bytes(size); err == nil {
			t.Errorf("no error of %q, which is %d", size, got)
		}
	}
}

func TestBlocks(t *testing.T) {
	for _, capture := range []string{"/x/batches-zstd-16M.pcap", "/x/batches-zstd-16M.pcap.new"} {
		if got := Blocks(capture); got != "/x/batches-zstd-16M.blocks" {
			t.Errorf("%s: %s", capture, got)
		}
	}
}
