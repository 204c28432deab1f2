package dissect

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/kdissect/kdissect/reassembly"
	"github.com/kdissect/kdissect/schema"
)

// randomPieces cuts a stream at random, mostly into small pieces.
func randomPieces(r *rand.Rand) cutter {
	return func(n int) (lengths []int) {
		for n > 0 {
			piece := min(n, 1+r.IntN(1<<r.IntN(12)))
			lengths = append(lengths, piece)
			n -= piece
		}
		return lengths
	}
}

// cutters are the ways in which the tests cut streams.
func cutters() map[string]cutter {
	return map[string]cutter{
		"1 byte":  pieces(1),
		"7 bytes": pieces(7),
		"random":  randomPieces(rand.New(rand.NewPCG(3, 4))),
	}
}

// Messages must not depend on how the stream was cut into packets: frames of the oracle, one after the other on one connection.
func TestCutsOfOracleFrames(t *testing.T) {
	frames, requests := oracleFrames(t)
	var streams [2][]byte
	id := int32(0)
	for i, o := range frames {
		if i%9 != 0 || o.Kind != "response" || o.isFallback() {
			continue
		}
		id++
		request, response := o.conversation(requests), slices.Clone([]byte(o.Hex))
		if request == nil {
			continue
		}
		binary.BigEndian.PutUint32(request[8:], uint32(id))
		binary.BigEndian.PutUint32(response[4:], uint32(id))
		streams[fromClient] = append(streams[fromClient], request...)
		streams[fromServer] = append(streams[fromServer], response...)
	}
	play := func(cut cutter) *talk {
		k := newTalk(NeedMessages|NeedExchanges|NeedRecords, true)
		k.knowBroker()
		k.sendCut(fromClient, streams[fromClient], cut)
		k.sendCut(fromServer, streams[fromServer], cut)
		k.end(reassembly.EndOfInput)
		return k
	}
	whole := play(wholePiece)
	whole.checkTapes(t)
	if len(whole.messages) != 2*len(whole.exchanges) || len(whole.messages) < 300 {
		t.Fatalf("%d messages, %d exchanges", len(whole.messages), len(whole.exchanges))
	}
	for name, cut := range cutters() {
		t.Run(name, func(t *testing.T) { compareTalks(t, whole, play(cut)) })
	}
}

// A run is what one side of a connection sends before the other answers.
type run struct {
	dir  reassembly.Direction
	data []byte
}

// A runKeeper is a handler that keeps what each connection of a capture carries.
type runKeeper struct {
	order []*reassembly.Connection
	runs  map[*reassembly.Connection][]run
	gaps  int
}

func (k *runKeeper) Chunk(c *reassembly.Connection, dir reassembly.Direction, chunk *reassembly.Chunk) {
	if k.runs[c] == nil {
		k.order = append(k.order, c)
	}
	runs := k.runs[c]
	if n := len(runs); n > 0 && runs[n-1].dir == dir {
		runs[n-1].data = append(runs[n-1].data, chunk.Data...)
	} else {
		runs = append(runs, run{dir, bytes.Clone(chunk.Data)})
	}
	k.runs[c] = runs
}

func (k *runKeeper) Gap(*reassembly.Connection, reassembly.Direction, reassembly.Gap)  { k.gaps++ }
func (*runKeeper) Fin(*reassembly.Connection, reassembly.Direction, reassembly.Origin) {}
func (*runKeeper) End(*reassembly.Connection, reassembly.EndCause, reassembly.Origin)  {}

// Messages of real connections must not depend on how their streams were cut.
func TestCutsOfCaptures(t *testing.T) {
	files := needShared(t, "captures/real")
	for _, name := range []string{"java-4.4-produce-consume", "java-4.4-admin", "franz-go-4.4", "java-4.4-share-group", "java-3.9-transactions"} {
		t.Run(name, func(t *testing.T) {
			kept := &runKeeper{runs: map[*reassembly.Connection][]run{}}
			readCapture(t, filepath.Join(files[0], name+".pcap"), kept)
			play := func(cut cutter) *talk {
				k := newTalk(NeedMessages|NeedExchanges|NeedRecords, true)
				for _, c := range kept.order {
					k.open(c.Opened)
					for _, r := range kept.runs[c] {
						k.sendCut(r.dir, r.data, cut)
					}
					k.end(reassembly.EndOfInput)
				}
				return k
			}
			whole := play(wholePiece)
			whole.checkTapes(t)
			if len(whole.messages) < 100 || kept.gaps > 0 {
				t.Fatalf("%d messages, %d gaps", len(whole.messages), kept.gaps)
			}
			for name, cut := range cutters() {
				t.Run(name, func(t *testing.T) { compareTalks(t, whole, play(cut)) })
			}
		})
	}
}

// batchOf lays out a batch of magic 2 with a right CRC. records are laid out already, and compressed if the attributes say so.
func batchOf(attributes int16, count int32, records []byte) []byte {
	checked := pack(attributes, count-1, int64(1_700_000_000_000), int64(1_700_000_000_999), int64(-1), int16(-1), int32(-1), count, records)
	sum := crc32.Checksum(checked, crc32.MakeTable(crc32.Castagnoli))
	rest := pack(int32(0), int8(2), int32(sum), checked)
	return pack(int64(0), int32(len(rest)), rest)
}

// varint lays out a zigzag varint.
func varint(v int64) []byte { return binary.AppendVarint(nil, v) }

// recordOf lays out a record of magic 2 without headers.
func recordOf(offset int64, key, value []byte) []byte {
	part := func(b []byte) []byte {
		if b == nil {
			return varint(-1)
		}
		return append(varint(int64(len(b))), b...)
	}
	body := pack(int8(0), varint(0), varint(offset), part(key), part(value), varint(0))
	return append(varint(int64(len(body))), body...)
}

// produceV3 is a Produce request with one partition, and acks of all replicas.
func produceV3(correlationID int32, topic string, records []byte) []byte {
	return framed(int16(0), int16(3), correlationID, text("c"), int16(-1), int16(-1), int32(1000),
		int32(1), text(topic), int32(1), int32(0), int32(len(records)), records)
}

// fetchV4 is a Fetch request, and an answer with one partition. Records of any magic are legal in it.
func fetchV4(correlationID int32, topic string, records []byte) (request, response []byte) {
	request = framed(int16(1), int16(4), correlationID, text("c"), int32(-1), int32(500), int32(1), int32(1<<20), int8(0),
		int32(1), text(topic), int32(1), int32(0), int64(0), int32(1<<20))
	response = framed(correlationID, int32(0), int32(1), text(topic),
		int32(1), int32(0), int16(0), int64(100), int64(100), int32(-1), int32(len(records)), records)
	return request, response
}

// A batchSeen is a batch, and what Verify says of it.
type batchSeen struct {
	Batch
	Valid, Known bool
}

// batchKeeper keeps what a message says of its batches.
type batchKeeper struct {
	messages []string
}

func (k *batchKeeper) keep(m *Message) {
	text := ""
	for i := range m.Tape() {
		n := &m.Nodes[i]
		text += fmt.Sprint(n.Kind, n.Offset, n.Length, n.Next, n.Count, n.Prefix, n.Null, " ")
		if n.Kind != ValueNode || n.Op.Code != schema.OpRecords || n.Null {
			continue
		}
		for b := range m.Batches(n) {
			seen := batchSeen{Batch: *b}
			seen.space = space{}
			seen.Valid, seen.Known = m.Verify(b)
			text += fmt.Sprintf("%+v ", seen)
		}
	}
	k.messages = append(k.messages, text+fmt.Sprint(m.Undecoded(), m.Findings))
}

// manyBatches is a records field of about size bytes: batches of all sizes, some with a wrong CRC, the last one cut.
func manyBatches(size int) []byte {
	r := rand.New(rand.NewPCG(5, 6))
	var field []byte
	for i := 0; len(field) < size; i++ {
		value := make([]byte, r.IntN(1<<r.IntN(18)))
		for j := range value {
			value[j] = byte(r.Uint32())
		}
		batch := batchOf(0, 1, recordOf(0, nil, value))
		if i%5 == 4 {
			batch[len(batch)-1] ^= 1
		}
		field = append(field, batch...)
	}
	return append(field, batchOf(0, 1, recordOf(0, nil, make([]byte, 1000)))[:500]...)
}

// What is known of a large frame whose record data is dropped as it comes must be what is known of it when it is held whole: batches, and the
// CRC of bytes that are gone. And memory must stay bounded meanwhile.
func TestSkimmedFramesAreAsHeldOnes(t *testing.T) {
	records := manyBatches(3 << 20)
	request, response := fetchV4(2, "t", records)
	produce := produceV3(1, "t", records)
	answer := framed(int32(1), int32(1), text("t"), int32(1), int32(0), int16(0), int64(0), int64(-1), int32(0))
	play := func(needs Needs, cut cutter, limit int) []string {
		kept := &batchKeeper{}
		k := listen(needs, kept.keep)
		send := func(dir reassembly.Direction, data []byte) {
			for _, n := range cut(len(data)) {
				k.send(dir, data[:n])
				data = data[n:]
				h := &k.conn.Consumer.(*conn).halves[dir]
				if held := heldBySkim(h) + cap(h.buffer) + cap(windowed(h)); held > limit {
					t.Fatalf("pieces of %d: %d bytes are held", n, held)
				}
			}
		}
		send(fromClient, produce)
		send(fromServer, answer)
		send(fromClient, request)
		send(fromServer, response)
		return kept.messages
	}
	held := play(NeedMessages|NeedBatches|NeedRecords, wholePiece, 8<<20)
	if len(held) != 4 {
		t.Fatalf("%d messages", len(held))
	}
	for name, cut := range map[string]cutter{
		"1460 bytes": pieces(1460), "64 KiB": pieces(64 << 10), "61 bytes": pieces(61), "1 byte": pieces(1),
		"random": randomPieces(rand.New(rand.NewPCG(7, 8))),
	} {
		skimmed := play(NeedMessages|NeedBatches, cut, 512<<10)
		if !slices.Equal(held, skimmed) {
			t.Errorf("in pieces of %s %s", name, whereTheyDiffer(fmt.Sprint(held), fmt.Sprint(skimmed)))
		}
	}
}

// windowed returns the bytes among which a direction searches, or that wait.
func windowed(h *half) []byte {
	if h.window == nil {
		return nil
	}
	return h.window.data
}
