package dissect

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pierrec/lz4/v4"

	"github.com/kdissect/kdissect/reassembly"
	"github.com/kdissect/kdissect/schema"
)

// benchFrames are messages as they occur most, as snapshots that can be decoded again and again.
func benchFrames(tb testing.TB) map[string]*Snapshot {
	frames := map[string]*Snapshot{}
	k := listen(NeedMessages|NeedRecords, func(m *Message) {
		s := &Snapshot{}
		s.Take(m, nil)
		frames[fmt.Sprintf("%s v%d %s", m.Name(), m.Header.Version, m.Kind)] = s
	})
	for _, turn := range conversation() {
		k.send(turn.dir, turn.frame)
	}
	partitions := []byte{}
	for i := range int32(100) {
		partitions = append(partitions, pack(int16(0), i, int32(1), int32(3), byte(4), int32(1), int32(2), int32(3), byte(4), int32(1), int32(2), int32(3), byte(1), byte(0))...)
	}
	k.client(flexible(3, 12, 20, byte(0), int8(0), int8(0), byte(0)))
	k.server(framed(int32(20), byte(0), int32(0), byte(1), byte(0), int32(1), byte(2), int16(0), compactOf("orders"), make([]byte, 16), int8(0),
		uvarintOf(101), partitions, int32(0), byte(0), byte(0)))
	k.client(fetchV13(21, []byte("0123456789abcdef")))
	if len(frames) < 10 {
		tb.Fatalf("only %d messages", len(frames))
	}
	return frames
}

// readings are what may be asked of a message.
var readings = map[string]func(*Message){
	"Decode": func(m *Message) { m.Tape() },
	"Facts":  func(m *Message) { m.Facts() },
}

func BenchmarkDecode(b *testing.B) { benchmarkReading(b, readings["Decode"]) }
func BenchmarkFacts(b *testing.B)  { benchmarkReading(b, readings["Facts"]) }

func benchmarkReading(b *testing.B, read func(*Message)) {
	for name, s := range benchFrames(b) {
		b.Run(name, func(b *testing.B) {
			r := NewReader()
			b.SetBytes(int64(s.Head.Size))
			b.ReportAllocs()
			for b.Loop() {
				read(r.Message(s))
			}
		})
	}
}

// listener is an Output that reads what a summary shows.
type listener struct{ topics int }

func (l *listener) Message(m *Message)   { l.topics += len(m.Facts().Topics) }
func (l *listener) Exchange(e *Exchange) { l.topics += len(e.Request.Facts().Topics) }
func (l *listener) Report(*Report)       {}

// nobody is an Output that looks at nothing.
type nobody struct{}

func (nobody) Message(*Message)   {}
func (nobody) Exchange(*Exchange) {}
func (nobody) Report(*Report)     {}

// exchangesPlayer plays the conversation again and again on one connection.
func exchangesPlayer(needs Needs, out Output) (play func(), messages, size int) {
	d := New(schema.Embedded(), needs, out)
	c := &reassembly.Connection{ID: 1, Ends: talkEnds, Opened: true, Seen: [2]bool{true, true}}
	turns := conversation()
	for _, turn := range turns {
		size += len(turn.frame)
	}
	packet, offsets := int64(0), [2]int64{}
	var chunk reassembly.Chunk
	return func() {
		for i := range turns {
			turn := &turns[i]
			packet++
			chunk = reassembly.Chunk{Data: turn.frame, Offset: offsets[turn.dir], Origin: reassembly.Origin{Packet: packet, Time: packet * 1e6}}
			d.Chunk(c, turn.dir, &chunk)
			offsets[turn.dir] += int64(len(turn.frame))
		}
	}, len(turns), size
}

// BenchmarkMessages is the whole way of a message from its packet to an output that reads its facts.
func BenchmarkMessages(b *testing.B) { benchmarkPlaying(b, &listener{}) }

// BenchmarkPairing is the way of a message up to where nothing of it was looked at: frames, headers, pairs.
func BenchmarkPairing(b *testing.B) { benchmarkPlaying(b, nobody{}) }

func benchmarkPlaying(b *testing.B, out Output) {
	for name, needs := range map[string]Needs{"messages": NeedMessages, "exchanges": NeedMessages | NeedExchanges} {
		b.Run(name, func(b *testing.B) {
			play, messages, size := exchangesPlayer(needs, out)
			play()
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				play()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*messages), "ns/message")
		})
	}
}

// hundredRecords are 100 records of 1 KB of text that shrinks about as logs do.
func hundredRecords() []byte {
	r := rand.New(rand.NewPCG(9, 9))
	var laidOut []byte
	for i := range int64(100) {
		var value []byte
		for len(value) < 1024 {
			value = fmt.Appendf(value, "level=%s user=%d took=%dms ", pick(r, "info", "warn", "debug"), r.IntN(1000), r.IntN(100))
		}
		laidOut = append(laidOut, recordOf(i, fmt.Appendf(nil, "key-%d", i), value[:1024])...)
	}
	return laidOut
}

// packed compresses records as Kafka's producers do: LZ4 in blocks of 64 KiB, snappy in the framing of the Java library.
func packed(codec int16, laidOut []byte) []byte {
	switch codec {
	case 0:
		return laidOut
	case 2:
		var chunks [][]byte
		for chunk := range slices.Chunk(laidOut, 32<<10) {
			chunks = append(chunks, snappied(chunk))
		}
		return xerial(chunks...)
	case 3:
		var b bytes.Buffer
		w := lz4.NewWriter(&b)
		w.Apply(lz4.BlockSizeOption(lz4.Block64Kb)) // a right option
		w.Write(laidOut)
		w.Close()
		return b.Bytes()
	}
	return compressors[codec](laidOut)
}

// fetched is a Fetch response with a batch of 100 records, as a snapshot, and where its records field is.
func fetched(tb testing.TB, codec int16, records []byte) (s *Snapshot, field int) {
	s = &Snapshot{}
	withRecords(tb, "t", batchOf(codec, 100, records), func(m *Message, at int) {
		s.Take(m, nil)
		field = at
	})
	return s, field
}

// BenchmarkRecords verifies and reads a batch of 100 records of 1 KB. The megabytes are those of the records as they are unpacked.
func BenchmarkRecords(b *testing.B) {
	laidOut := hundredRecords()
	for codec := int16(0); codec <= 4; codec++ {
		b.Run(Codec(codec).String(), func(b *testing.B) {
			s, field := fetched(b, codec, packed(codec, laidOut))
			m := NewReader().Message(s)
			m.Tape()
			readAllRecords(m, field)
			b.SetBytes(int64(len(laidOut)))
			b.ReportAllocs()
			for b.Loop() {
				if _, records := readAllRecords(m, field); records != 100 {
					b.Fatal(records, " records")
				}
			}
		})
	}
}

// BenchmarkSkim is a response of 4 MiB of records in pieces of 64 KiB, for outputs that need more and more of it.
func BenchmarkSkim(b *testing.B) {
	request, response := fetchV4(1, "t", manyBatches(4<<20))
	for name, needs := range map[string]Needs{"headers": NeedMessages, "CRC": NeedMessages | NeedBatches, "held": NeedMessages | NeedRecords} {
		b.Run(name, func(b *testing.B) {
			d := New(schema.Embedded(), needs, &listener{})
			c := &reassembly.Connection{ID: 1, Ends: talkEnds, Opened: true, Seen: [2]bool{true, true}}
			var packet int64
			var chunk reassembly.Chunk
			send := func(dir reassembly.Direction, data []byte) {
				packet++
				chunk = reassembly.Chunk{Data: data, Origin: reassembly.Origin{Packet: packet, Time: packet * 1e6}}
				d.Chunk(c, dir, &chunk)
			}
			b.SetBytes(int64(len(response)))
			b.ReportAllocs()
			for b.Loop() {
				send(fromClient, request)
				for rest := response; len(rest) > 0; {
					n := min(64<<10, len(rest))
					send(fromServer, rest[:n])
					rest = rest[n:]
				}
			}
		})
	}
}

// Messages allocate nothing once buffers have grown: not when they come in, not for a tape, not for facts; a batch takes a few objects, whatever
// the number of its records.
func TestAllocations(t *testing.T) {
	for name, read := range readings {
		for frame, s := range benchFrames(t) {
			r := NewReader()
			if n := testing.AllocsPerRun(50, func() { read(r.Message(s)) }); n > 0 {
				t.Errorf("%s of %s: %.2f allocations", name, frame, n)
			}
		}
	}
	for name, needs := range map[string]Needs{"messages": NeedMessages, "exchanges": NeedMessages | NeedExchanges} {
		play, messages, _ := exchangesPlayer(needs, &listener{})
		for range 300 { // until the queue of requests has its size
			play()
		}
		if n := testing.AllocsPerRun(200, play) / float64(messages); n > 0.01 {
			t.Errorf("%s: %.3f allocations a message", name, n)
		}
	}
	laidOut := hundredRecords()
	for codec := int16(0); codec <= 4; codec++ {
		s, field := fetched(t, codec, packed(codec, laidOut))
		m := NewReader().Message(s)
		m.Tape()
		if n := testing.AllocsPerRun(50, func() { readAllRecords(m, field) }); n > 20 {
			t.Errorf("%s: %.1f allocations for a batch of 100 records", Codec(codec), n)
		}
	}
}
