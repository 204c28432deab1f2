package main

import (
	"io"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/render"
	"github.com/kdissect/kdissect/state"
)

// A witness is a format that also keeps what the capture tells of the cluster, and prints it behind the messages: --state.
type witness struct {
	render.Format
	needs   dissect.Needs // of the format
	cluster *state.Cluster
	out     io.Writer
	json    bool
	behind  bool // there is other output in front of it
	err     error
}

func newWitness(f render.Format, out io.Writer) *witness {
	return &witness{Format: f, needs: f.Needs(), cluster: state.New(), out: out}
}

// Needs implements render.Format.
func (w *witness) Needs() dissect.Needs { return w.needs | state.Needs }

// Message implements dissect.Output.
func (w *witness) Message(m *dissect.Message) {
	w.cluster.Message(m)
	if w.needs&dissect.NeedMessages != 0 {
		w.Format.Message(m)
	}
}

// Exchange implements dissect.Output.
func (w *witness) Exchange(x *dissect.Exchange) {
	w.cluster.Exchange(x)
	if w.needs&dissect.NeedExchanges != 0 {
		w.Format.Exchange(x)
	}
}

// Close implements render.Format.
func (w *witness) Close(c *dissect.Counts) {
	w.Format.Close(c)
	if w.err = w.Format.Flush(); w.err != nil {
		return
	}
	var b []byte
	switch {
	case w.json:
		b = render.AppendStateJSON(nil, w.cluster)
	case w.behind:
		b = render.AppendState([]byte{'\n'}, w.cluster)
	default:
		b = render.AppendState(nil, w.cluster)
	}
	_, w.err = w.out.Write(b)
}

// Flush implements render.Format.
func (w *witness) Flush() error {
	if w.err != nil {
		return w.err
	}
	return w.Format.Flush()
}
