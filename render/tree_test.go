package render

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"net/netip"
	"strings"
	"testing"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/reassembly"
	"github.com/kdissect/kdissect/schema"
)

// A step of a conversation: the client or the server sends a frame.
type step struct {
	from  reassembly.Direction
	frame []byte
}

// Requests come from the client, responses from the server.
func request(frame []byte) step  { return step{reassembly.FromA, frame} }
func response(frame []byte) step { return step{reassembly.FromB, frame} }

// unhex returns the bytes that are written in hex, white space aside.
func unhex(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// frame puts the size in front of a message.
func frame(parts ...[]byte) []byte {
	body := bytes.Join(parts, nil)
	n := len(body)
	return append([]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}, body...)
}

// at is the time of the first packet; the others follow a millisecond each.
const at = 1795860000412307000 // 2026-11-28 10:00:00.412307 UTC

// converse dissects a conversation, a packet a frame.
func converse(out Format, steps ...step) { converseBy(schema.Embedded(), out, steps...) }

func converseBy(catalog *schema.Catalog, out Format, steps ...step) {
	d := dissect.New(catalog, out.Needs(), out)
	c := &reassembly.Connection{ID: 3, Opened: true, Seen: [2]bool{true, true}, Ends: [2]netip.AddrPort{
		netip.MustParseAddrPort("10.0.0.1:40000"), netip.MustParseAddrPort("10.0.0.2:9092")}}
	var offset [2]int64
	for i, s := range steps {
		origin := reassembly.Origin{Packet: int64(i) + 4, Time: at + int64(i)*1e6}
		d.Chunk(c, s.from, &reassembly.Chunk{Data: s.frame, Offset: offset[s.from], Origin: origin})
		offset[s.from] += int64(len(s.frame))
	}
	d.End(c, reassembly.EndOfInput, reassembly.Origin{Time: at + int64(len(steps))*1e6})
	out.Flush()
}

// tree returns a conversation as a tree.
func tree(o Options, steps ...step) string {
	var out bytes.Buffer
	converse(NewTree(&out, o), steps...)
	return strings.TrimSuffix(out.String(), "\n") // of the empty line
}

const (
	alterDirsRequest  = `00000017 0022 0002 00000000 0000 00  02 01 02 01 02 00000000 00 00 00`
	alterDirsResponse = `00000015 00000000 00  00000000 02 01 02 00000000 0000 00 00 00`
)

// The nodes of the object trees on a page that documents the smallest request and response of AlterReplicaLogDirs v2.
const documented = `
AlterReplicaLogDirsRequest message v2 [0x0000, 27B]
+-- Frame [0x0000, 4B]
|   +-- size int32 = 23 [0x0000, 4B]
+-- RequestHeader v2 [0x0004, 11B]
|   +-- request_api_key int16 = 34 (AlterReplicaLogDirs) [0x0004, 2B]
|   +-- request_api_version int16 = 2 [0x0006, 2B]
|   +-- correlation_id int32 = 0 [0x0008, 4B]
|   +-- client_id nullable_string = "" (int16 len=0) [0x000c, 2B]
|   +-- tagged_fields uvarint = 0 [0x000e, 1B]
+-- AlterReplicaLogDirsRequest struct [0x000f, 12B]
    +-- Dirs []AlterReplicaLogDir = 1 element [0x000f, 11B]
    |   +-- length uvarint = 2 (compact, n+1) [0x000f, 1B]
    |   +-- AlterReplicaLogDir[0] AlterReplicaLogDir = struct [0x0010, 10B]
    |       +-- Path string = "" (compact, len+1=1) [0x0010, 1B]
    |       +-- Topics []AlterReplicaLogDirTopic = 1 element [0x0011, 8B]
    |       |   +-- length uvarint = 2 (compact, n+1) [0x0011, 1B]
    |       |   +-- AlterReplicaLogDirTopic[0] AlterReplicaLogDirTopic = struct [0x0012, 7B]
    |       |       +-- Name string = "" (compact, len+1=1) [0x0012, 1B]
    |       |       +-- Partitions []int32 = 1 element [0x0013, 5B]
    |       |       |   +-- length uvarint = 2 (compact, n+1) [0x0013, 1B]
    |       |       |   +-- int32[0] int32 = 0 [0x0014, 4B]
    |       |       +-- tagged_fields uvarint = 0 [0x0018, 1B]
    |       +-- tagged_fields uvarint = 0 [0x0019, 1B]
    +-- tagged_fields uvarint = 0 [0x001a, 1B]

AlterReplicaLogDirsResponse message v2 [0x0000, 25B]
+-- Frame [0x0000, 4B]
|   +-- size int32 = 21 [0x0000, 4B]
+-- ResponseHeader v1 [0x0004, 5B]
|   +-- correlation_id int32 = 0 [0x0004, 4B]
|   +-- tagged_fields uvarint = 0 [0x0008, 1B]
+-- AlterReplicaLogDirsResponse struct [0x0009, 16B]
    +-- ThrottleTimeMs int32 = 0 [0x0009, 4B]
    +-- Results []AlterReplicaLogDirTopicResult = 1 element [0x000d, 11B]
    |   +-- length uvarint = 2 (compact, n+1) [0x000d, 1B]
    |   +-- AlterReplicaLogDirTopicResult[0] AlterReplicaLogDirTopicResult = struct [0x000e, 10B]
    |       +-- TopicName string = "" (compact, len+1=1) [0x000e, 1B]
    |       +-- Partitions []AlterReplicaLogDirPartitionResult = 1 element [0x000f, 8B]
    |       |   +-- length uvarint = 2 (compact, n+1) [0x000f, 1B]
    |       |   +-- AlterReplicaLogDirPartitionResult[0] AlterReplicaLogDirPartitionResult = struct [0x0010, 7B]
    |       |       +-- PartitionIndex int32 = 0 [0x0010, 4B]
    |       |       +-- ErrorCode int16 = 0 [0x0014, 2B]
    |       |       +-- tagged_fields uvarint = 0 [0x0016, 1B]
    |       +-- tagged_fields uvarint = 0 [0x0017, 1B]
    +-- tagged_fields uvarint = 0 [0x0018, 1B]
`

// nodes returns the lines of a tree up to the place of each node, without the line above the tree and without explanations.
func nodes(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if at := strings.Index(line, "B]"); at >= 0 {
			line = line[:at+2] + "\n"
		} else if line != "\n" && !strings.Contains(line, "! ") {
			continue
		}
		b.WriteString(line)
	}
	return b.String()
}

func TestFullTreeAsDocumented(t *testing.T) {
	text := tree(Options{Full: true}, request(unhex(t, alterDirsRequest)), response(unhex(t, alterDirsResponse)))
	wantLines(t, nodes(text), strings.TrimPrefix(documented, "\n"))
	for _, line := range []string{
		"#1 2026-11-28 10:00:00.412307 c3 10.0.0.1:40000 > 10.0.0.2:9092  packet 4  27B\n",
		"#2 2026-11-28 10:00:00.413307 c3 10.0.0.1:40000 < 10.0.0.2:9092  packet 5  25B  answers #1 after 1 ms\n",
	} {
		if !strings.Contains(text, line) {
			t.Errorf("no line %q in\n%s", line, text)
		}
	}
}

// wantLines compares texts line by line.
func wantLines(t *testing.T, got, want string) {
	t.Helper()
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		var x, y string
		if i < len(g) {
			x = g[i]
		}
		if i < len(w) {
			y = w[i]
		}
		if x != y {
			t.Fatalf("line %d:\n got %s\nwant %s\nall:\n%s", i+1, x, y, got)
		}
	}
}

// oddResponse answers the request above with error 56 (KAFKA_STORAGE_ERROR), with a tagged field 7 of two bytes that no schema
// knows, and with three bytes too many.
func oddResponse(t testing.TB) []byte {
	return frame(unhex(t, `00000000 00  00000000 02 02 61 02 00000005 0038 01 07 02 beef 00 00`), []byte("xyz"))
}

func TestOddNodes(t *testing.T) {
	text := tree(Options{Full: true}, request(unhex(t, alterDirsRequest)), response(oddResponse(t)))
	_, text, _ = strings.Cut(text, "answers")
	at := strings.Index(text, "+-- AlterReplicaLogDirsResponse struct")
	wantLines(t, nodes(text[at:]), `+-- AlterReplicaLogDirsResponse struct [0x0009, 21B]
|   +-- ThrottleTimeMs int32 = 0 [0x0009, 4B]
|   +-- Results []AlterReplicaLogDirTopicResult = 1 element [0x000d, 16B]
|   |   +-- length uvarint = 2 (compact, n+1) [0x000d, 1B]
|   |   +-- AlterReplicaLogDirTopicResult[0] AlterReplicaLogDirTopicResult = struct [0x000e, 15B]
|   |       +-- TopicName string = "a" (compact, len+1=2) [0x000e, 2B]
|   |       +-- Partitions []AlterReplicaLogDirPartitionResult = 1 element [0x0010, 12B]
|   |       |   +-- length uvarint = 2 (compact, n+1) [0x0010, 1B]
|   |       |   +-- AlterReplicaLogDirPartitionResult[0] AlterReplicaLogDirPartitionResult = struct [0x0011, 11B]
|   |       |       +-- PartitionIndex int32 = 5 [0x0011, 4B]
|   |       |       +-- ErrorCode int16 = 56 (KAFKA_STORAGE_ERROR) [0x0015, 2B]
|   |       |       +-- tagged_fields uvarint = 1 [0x0017, 5B]
|   |       |           +-- count uvarint = 1 [0x0017, 1B]
|   |       |           +-- tag tagged_field = 7 (unknown) [0x0018, 4B]
|   |       |               +-- head uvarint+uvarint = tag 7, size 2 [0x0018, 2B]
|   |       |               |   ! info unknown-tag: tagged field 7 of 2 bytes is not in the schema
|   |       |               +-- value bytes = 2 bytes 0xbeef [0x001a, 2B]
|   |       +-- tagged_fields uvarint = 0 [0x001c, 1B]
|   +-- tagged_fields uvarint = 0 [0x001d, 1B]
+-- trailing bytes = 3 bytes "xyz" [0x001e, 3B]
    ! warn trailing-bytes: 3 bytes behind the end of AlterReplicaLogDirsResponse v2
`)
	if want := " [0x0015, 2B] " + schema.ErrorByCode(56).Text + "\n"; !strings.Contains(text, want) {
		t.Errorf("the error is not explained: no %q in\n%s", want, text)
	}
}

func TestCompact(t *testing.T) {
	text := tree(Options{}, request(unhex(t, alterDirsRequest)), response(oddResponse(t)), request(unhex(t, alterDirsRequest)))
	first, rest, _ := strings.Cut(text, "\n\n")
	second, third, _ := strings.Cut(rest, "\n\n")
	wantLines(t, nodes(first+"\n"), `AlterReplicaLogDirsRequest message v2 [0x0000, 27B]
+-- RequestHeader v2 api=AlterReplicaLogDirs(34) v2 correlation_id=0 client_id="" [0x0004, 11B]
+-- Dirs []AlterReplicaLogDir = 1 element [0x000f, 11B]
    +-- AlterReplicaLogDir[0] AlterReplicaLogDir = struct [0x0010, 10B]
        +-- Path string = "" [0x0010, 1B]
        +-- Topics []AlterReplicaLogDirTopic = 1 element [0x0011, 8B]
            +-- AlterReplicaLogDirTopic[0] AlterReplicaLogDirTopic = struct [0x0012, 7B]
                +-- Name string = "" [0x0012, 1B]
                +-- Partitions []int32 = [0] [0x0013, 5B]
`)
	wantLines(t, nodes(second+"\n"), `AlterReplicaLogDirsResponse message v2 [0x0000, 33B]
+-- ResponseHeader v1 correlation_id=0 [0x0004, 5B]
+-- ThrottleTimeMs int32 = 0 [0x0009, 4B]
+-- Results []AlterReplicaLogDirTopicResult = 1 element [0x000d, 16B]
|   +-- AlterReplicaLogDirTopicResult[0] AlterReplicaLogDirTopicResult = struct [0x000e, 15B]
|       +-- TopicName string = "a" [0x000e, 2B]
|       +-- Partitions []AlterReplicaLogDirPartitionResult = 1 element [0x0010, 12B]
|           +-- AlterReplicaLogDirPartitionResult[0] AlterReplicaLogDirPartitionResult = struct [0x0011, 11B]
|               +-- PartitionIndex int32 = 5 [0x0011, 4B]
|               +-- ErrorCode int16 = 56 (KAFKA_STORAGE_ERROR) [0x0015, 2B]
|               +-- tagged_field bytes = tag 7 (unknown), 2 bytes 0xbeef [0x001a, 2B]
|                   ! info unknown-tag: tagged field 7 of 2 bytes is not in the schema
+-- trailing bytes = 3 bytes "xyz" [0x001e, 3B]
    ! warn trailing-bytes: 3 bytes behind the end of AlterReplicaLogDirsResponse v2
`)
	// All fields of the request have been explained.
	third, _, _ = strings.Cut(third, "\n\n")
	wantLines(t, third[strings.Index(third, "\n")+1:]+"\n", `AlterReplicaLogDirsRequest message v2 [0x0000, 27B]
+-- RequestHeader v2 api=AlterReplicaLogDirs(34) v2 correlation_id=0 client_id="" [0x0004, 11B]
+-- Dirs []AlterReplicaLogDir = 1 element [0x000f, 11B]
    +-- [0] Path="" [0x0010, 10B]
        +-- Topics []AlterReplicaLogDirTopic = 1 element [0x0011, 8B]
            +-- [0] Name="" Partitions=[0] [0x0012, 7B]
`)
}

// A FindCoordinator v4 response with 30 coordinators, the 26th with error 15 (COORDINATOR_NOT_AVAILABLE).
func coordinators(t testing.TB) (ask, answer step) {
	body := unhex(t, `00000001 00  00000000 1f`)
	for i := range 30 {
		code := byte(0)
		if i == 25 {
			code = 15
		}
		body = append(body, 2, 'a'+byte(i%26), 0, 0, 0, byte(i), 2, 'h', 0, 0, 0x23, 0x84, 0, code, 0, 0)
	}
	return request(unhex(t, `00000010 000a 0004 00000001 0000 00  00 02 02 61 00`)), response(frame(append(body, 0)))
}

func TestLongArrayKeepsErrors(t *testing.T) {
	ask, answer := coordinators(t)
	text := tree(Options{}, ask, answer)
	_, text, _ = strings.Cut(text, "+-- [19]")
	_, text, _ = strings.Cut(text, "\n")
	wantLines(t, nodes(text), `    +-- ... 5 more elements [0x014e, 80B]
    +-- [25] Key="z" NodeId=25 Host="h" Port=9092 ErrorMessage=null [0x019e, 16B]
    |   +-- ErrorCode int16 = 15 (COORDINATOR_NOT_AVAILABLE) [0x01aa, 2B]
    +-- ... 4 more elements [0x01ae, 64B]
`)
}

func TestNothingRawFromTheWire(t *testing.T) {
	// ApiVersions v3 with a client software name that would turn the terminal red, and with a client id that goes back.
	hostile := frame(unhex(t, `0012 0003 00000001 0003`), []byte("\x1b[D"), unhex(t, `00 0b`), []byte("\u202e\x1b[31m\n\xff"), []byte("\x02x\x00"))
	for _, o := range []Options{{}, {Full: true}, {Hex: true}} {
		text := tree(o, request(hostile))
		for _, want := range []string{`client_id`, `"\x1b[D"`, `"\u202e\x1b[31m\n\xff"`} {
			if !strings.Contains(text, want) {
				t.Errorf("%+v: no %s in\n%s", o, want, text)
			}
		}
		wantPlain(t, text)
	}
}

// wantPlain fails where text holds anything but printable characters and newlines.
func wantPlain(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if !printable([]byte(strings.TrimSuffix(line, "\n"))) {
			t.Errorf("raw characters: %q", line)
		}
	}
}

// shows tells whether a text has a secret in it, as text or in hex, also across the space in the middle of a row.
func shows(text, secret string) bool {
	hex := fmt.Sprintf("% x", secret)
	return strings.Contains(text, secret) || strings.Contains(text, strings.ReplaceAll(hex, " ", "")) ||
		strings.Contains(strings.ReplaceAll(text, "  ", " "), hex)
}

func TestSecretsAreWithheld(t *testing.T) {
	// SaslAuthenticate v1 with a PLAIN token, and the answer to it.
	token := "\x00alice\x00hunter2"
	ask := request(frame(unhex(t, `0024 0001 00000002 0000 0000 000e`), []byte(token)))
	answer := response(frame(unhex(t, `00000002 003a 0007`), []byte("hunter2"), unhex(t, `00000007`), []byte("hunter2"), unhex(t, `0000000000000000`)))
	garbled := request(frame(unhex(t, `0024 0001 00000003 0000 7fff ffff`), []byte(token)))
	for _, o := range []Options{{}, {Full: true}, {Hex: true}, {Full: true, Hex: true, Color: true}} {
		text := tree(o, ask, answer, garbled)
		if shows(text, "hun") {
			t.Errorf("%+v shows the password:\n%s", o, text)
		}
		if n := strings.Count(text, "body withheld (credential-bearing API; --show-secrets prints it)"); n != 3 {
			t.Errorf("%+v withholds %d of 3 bodies:\n%s", o, n, text)
		}
		o.ShowSecrets = true
		if text := tree(o, ask, answer, garbled); !strings.Contains(text, "hunter2") {
			t.Errorf("%+v hides the password:\n%s", o, text)
		}
	}
}

func TestSecretValuesAreWithheld(t *testing.T) {
	// IncrementalAlterConfigs v0 of topic "t" with two configs, once whole and once cut off in the second one.
	head := unhex(t, `002c 0000 00000001 0000  00000001 02 0001 74 00000002 0001`)
	body := append(head, "a"...)
	body = append(append(body, 0, 0, 4), "open"...)
	body = append(append(body, 0, 12), "ssl.password"...)
	body = append(append(body, 0, 0, 7), "hunter2"...)
	for _, ask := range [][]byte{frame(body, []byte{0}), frame(body[:len(body)-8], []byte{9}, body[len(body)-7:])} {
		for _, o := range []Options{{}, {Full: true}, {Hex: true}} {
			text := tree(o, request(ask))
			if shows(text, "hun") {
				t.Errorf("%+v shows the password:\n%s", o, text)
			}
			if !strings.Contains(text, `"open"`) || !strings.Contains(text, "withheld (--show-secrets prints") {
				t.Errorf("%+v does not say what is withheld:\n%s", o, text)
			}
			o.ShowSecrets = true
			if text := tree(o, request(ask)); !strings.Contains(text, "hunter2") && !strings.Contains(text, "68756e") {
				t.Errorf("%+v hides the password:\n%s", o, text)
			}
		}
	}
}

func TestReports(t *testing.T) {
	var out bytes.Buffer
	tree := NewTree(&out, Options{Files: []string{"a\x1b.pcap"}})
	converse(tree, request(unhex(t, alterDirsRequest)), response(unhex(t, alterDirsResponse)), request(unhex(t, alterDirsRequest)))
	tree.Report(&dissect.Report{Findings: []dissect.Finding{{Code: "truncated-file", Severity: dissect.Error, Offset: -1, Text: "cut\n"}}})
	tree.Flush()
	_, text, _ := strings.Cut(out.String(), "#3 ")
	_, text, _ = strings.Cut(text, "\n\n")
	wantLines(t, text, `! #3 c3 10.0.0.1:40000 > 10.0.0.2:9092 info unanswered: AlterReplicaLogDirs v2 with correlation id 0 was not answered yet when the capture ended, 1.0 ms later
== c3 10.0.0.1:40000 > 10.0.0.2:9092 is still open when the capture ends after 0.003 s: 2 requests, 1 unanswered; AlterReplicaLogDirs v2 x2
! capture a\x1b.pcap error truncated-file: cut\n
`)
}

// produce is a Produce v7 request with one batch of three records, compressed with zstd, whose CRC is right unless it is flipped. The
// records are not looked at: they are five bytes of anything.
func produce(t testing.TB, flip uint32) step {
	batch := unhex(t, `0000000000000007 00000036 00000002 02 00000000  0004 00000002 0000000000000000 0000000000000000
		ffffffffffffffff ffff ffffffff 00000003  0102030405`)
	binary.BigEndian.PutUint32(batch[17:], crc32.Checksum(batch[21:], crc32.MakeTable(crc32.Castagnoli))^flip)
	return request(frame(unhex(t, `0000 0007 00000009 ffff  ffff ffff 00007530 00000001 0006`), []byte("orders"),
		unhex(t, `00000001 00000003 00000042`), batch))
}

func TestTreeAllocatesNothing(t *testing.T) {
	ask, answer := coordinators(t)
	for _, o := range []Options{{Full: true}, {}, {Full: true, Hex: true, Color: true}} {
		probe := &allocationProbe{Tree: NewTree(discard{}, o)}
		converse(probe, ask, answer, request(unhex(t, alterDirsRequest)), response(unhex(t, alterDirsResponse)), produce(t, 0))
		if probe.messages != 5 || probe.allocations > 0 {
			t.Errorf("%+v: %v allocations for %d messages, want 0 for 5", o, probe.allocations, probe.messages)
		}
	}
}

// What a batch that is opened costs beyond its header is the dissector's: its RecordSet and its Record.
func TestOpenedBatchesAllocateNoMore(t *testing.T) {
	const opened = 2
	for _, o := range []Options{{Full: true, Records: RecordsFull}, {Records: RecordsFull}} {
		probe := &allocationProbe{Tree: NewTree(discard{}, o)}
		converse(probe, produceTo(t, "orders", recordBatch(t, 0, 2, unhex(t, twoRecords))))
		if probe.messages != 1 || probe.allocations > opened {
			t.Errorf("%+v: %v allocations for %d messages with a batch, want one", o, probe.allocations, probe.messages)
		}
	}
}

// An allocationProbe counts what printing a message allocates once its layout is known.
type allocationProbe struct {
	*Tree
	messages    int
	allocations float64
}

func (p *allocationProbe) Message(m *dissect.Message) {
	p.messages++
	p.allocations += testing.AllocsPerRun(100, func() { p.Tree.Message(m); p.Flush() })
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
