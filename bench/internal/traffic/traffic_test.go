package traffic

import (
	"bytes"
	"encoding/binary"
	"io"
	"slices"
	"testing"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/pcaps"
	"github.com/kdissect/kdissect/reassembly"
	"github.com/kdissect/kdissect/schema"
)

// seen is what a dissector finds in a capture.
type seen struct {
	exchanges, unanswered, findings int
	requests                        []int // sizes
	records                         int
}

func (s *seen) Message(*dissect.Message) {}
func (s *seen) Report(r *dissect.Report) { s.findings += len(r.Findings) }
func (s *seen) Exchange(x *dissect.Exchange) {
	s.exchanges++
	for _, m := range []*dissect.Message{x.Request, x.Response} {
		if m == nil {
			s.unanswered++
			continue
		}
		m.Tape()
		s.findings += len(m.Findings)
	}
	s.requests = append(s.requests, int(x.Request.Size))
	s.records += int(x.Request.Facts().Records)
}

func dissectAll(t *testing.T, capture []byte) *seen {
	t.Helper()
	source, err := pcaps.NewSource(bytes.NewReader(capture), "test")
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	s := &seen{}
	d := dissect.New(schema.Embedded(), dissect.NeedMessages|dissect.NeedExchanges|dissect.NeedBatches|dissect.NeedRecords, s)
	a := reassembly.New(d)
	var batch pcaps.Batch
	for {
		err := source.Next(&batch)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range batch.Packets {
			a.Packet(&batch.Packets[i])
		}
		batch.Release()
	}
	a.Close()
	d.Close()
	return s
}

func TestMany(t *testing.T) {
	var b bytes.Buffer
	if err := Many.Write(&b, 1100); err != nil {
		t.Fatal(err)
	}
	if s := dissectAll(t, b.Bytes()); s.exchanges != 3300 || s.unanswered > 0 || s.findings > 0 {
		t.Errorf("%d exchanges, %d halves missing, %d findings", s.exchanges, s.unanswered, s.findings)
	}
}

// Requests have the size that was asked for; a record takes more bytes to say its length the longer it is.
func TestMessageSizes(t *testing.T) {
	for _, size := range []int{20, 200, 2000, 20_000, 2_000_000} {
		var b bytes.Buffer
		if err := WriteMessages(&b, size, 3); err != nil {
			t.Fatal(err)
		}
		s := dissectAll(t, b.Bytes())
		if s.exchanges != 3 || s.unanswered > 0 || s.findings > 0 {
			t.Errorf("%d bytes: %d exchanges, %d halves missing, %d findings", size, s.exchanges, s.unanswered, s.findings)
			continue
		}
		if got := s.requests[0]; got > size || got < size-10 {
			t.Errorf("%d bytes where %d were wanted", got, size)
		}
	}
}

func TestBatches(t *testing.T) {
	for codec, name := range Codecs {
		var capture, blocks bytes.Buffer
		if err := WriteBatches(&capture, &blocks, codec, 500_000); err != nil {
			t.Fatal(err)
		}
		s := dissectAll(t, capture.Bytes())
		if s.exchanges == 0 || s.unanswered > 0 || s.findings > 0 || s.records != batchRecords*s.exchanges {
			t.Errorf("%s: %d exchanges, %d halves missing, %d findings, %d records", name, s.exchanges, s.unanswered, s.findings, s.records)
		}
		n := 0
		for b := blocks.Bytes(); len(b) > 0; n++ {
			b = b[4+binary.BigEndian.Uint32(b):]
		}
		if n != s.exchanges {
			t.Errorf("%s: %d blocks of %d requests", name, n, s.exchanges)
		}
	}
}

// One packet in a hundred is lost and one is late, and times do not go back.
func TestLossy(t *testing.T) {
	var whole, out bytes.Buffer
	if err := Many.Write(&whole, 1000); err != nil {
		t.Fatal(err)
	}
	if err := Lossy(&out, bytes.NewReader(whole.Bytes())); err != nil {
		t.Fatal(err)
	}
	packets := func(b []byte) (all []string, times []int64) {
		source, err := pcaps.NewSource(bytes.NewReader(b), "test")
		if err != nil {
			t.Fatal(err)
		}
		defer source.Close()
		var batch pcaps.Batch
		for source.Next(&batch) == nil {
			for _, p := range batch.Packets {
				all, times = append(all, string(p.Data)), append(times, p.Time)
			}
			batch.Release()
		}
		return all, times
	}
	before, _ := packets(whole.Bytes())
	after, times := packets(out.Bytes())
	if !slices.IsSorted(times) {
		t.Error("times go back")
	}
	lost := float64(len(before)-len(after)) / float64(len(before))
	place, moved := map[string]int{}, 0
	for i, p := range before {
		place[p] = i
	}
	for i := 1; i < len(after); i++ {
		if place[after[i]] < place[after[i-1]] {
			moved++
		}
	}
	if late := float64(moved) / float64(len(before)); lost < 0.007 || lost > 0.013 || late < 0.007 || late > 0.013 {
		t.Errorf("%.4f lost, %.4f late", lost, late)
	}
}
