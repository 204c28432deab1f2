package reassembly

import "testing"

// Connections are live from their first packet to their end.
func TestLive(t *testing.T) {
	a := New(&recorder{})
	p := &script{t: t, assembler: a}
	for _, step := range []struct {
		lines string
		ids   []int
	}{
		{"", nil},
		{"A syn 100\nB syn 500 ack 101\nA 101 hello ack 501", []int{1}},
		{"A 106 fin ack 501\nB 501 fin ack 107\nA 107 ack 502", nil},
		{"A syn 90000\nB syn 70000 ack 90001\nA 90001 again", []int{2}},
	} {
		p.run(step.lines)
		var ids []int
		for _, c := range a.Live() {
			ids = append(ids, c.ID)
		}
		if len(ids) != len(step.ids) || len(ids) > 0 && ids[0] != step.ids[0] {
			t.Errorf("behind %q: %v, want %v", step.lines, ids, step.ids)
		}
	}
}
