package main

import (
	"bufio"
	"maps"
	"strings"
	"testing"
)

// Of a table of sockets as the kernel prints it those that listen are taken, by their inodes.
func TestListeningSockets(t *testing.T) {
	const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:2384 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 31337 1 0000000000000000 100 0 0 10 0
   1: 0100007F:2384 0100007F:D2AC 01 00000000:00000000 00:00000000 00000000  1000        0 31338 1 0000000000000000 20 4 30 10 -1
   0: 00000000000000000000000000000000:2385 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 31339 1 0000000000000000 100 0 0 10 0
   2: cut
`
	got := map[string]int{}
	addListening(got, bufio.NewScanner(strings.NewReader(table)))
	if want := map[string]int{"socket:[31337]": 9092, "socket:[31339]": 9093}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
