package reassembly

import (
	"slices"
	"strings"
	"testing"
)

const handshake = `
	A syn 100
	B syn 500 ack 101
	A 101 ack 501
`

// The expectations were worked out by hand. Packets count from 1, the handshake has 1 to 3.
var scripts = []struct {
	name   string
	limits Limits
	notes  bool // the Handler is a Noter
	lines  string
	want   string
}{
	{
		name: "in order, closed from both sides",
		lines: handshake + `
			A 101 ask ack 501
			B 501 answer ack 104
			A 104 fin ack 507
			B 507 fin ack 105
			A 105 ack 508`,
		want: `A 0 ask #4
			B 0 answer #5
			A fin #6
			B fin #7
			end closed #7`,
	},
	{
		name: "FIN with data",
		lines: handshake + `
			A 101 ask fin ack 501
			B 501 answer fin ack 105`,
		want: `A 0 ask #4
			A fin #4
			B 0 answer #5
			B fin #5
			end closed #5`,
	},
	{
		name: "end of the input",
		lines: handshake + `
			A 101 ask ack 501`,
		want: `A 0 ask #4
			end end-of-input #0`,
	},
	{
		name: "segments in another order",
		lines: handshake + `
			A 107 ghi ack 501
			A 104 def ack 501
			A 101 abc ack 501`,
		want: `A 0 abc #6
			A 3 def #5
			A 6 ghi #4
			end end-of-input #0`,
	},
	{
		name: "sequence numbers wrap",
		lines: `
			A syn 4294967290
			B syn 500 ack 4294967291
			A 4294967291 abc ack 501
			A 1 ghi ack 501
			A 4294967294 def ack 501
			A 4 jkl ack 501`,
		want: `A 0 abc #3
			A 3 def #5
			A 6 ghi #4
			A 9 jkl #6
			end end-of-input #0`,
	},
	{
		name: "retransmission in whole, in part, and of more",
		lines: handshake + `
			A 101 abcdef ack 501
			A 101 abcdef ack 501
			A 103 XX ack 501
			A 104 XXXghi ack 501
			A 101 XXXXXXXXXjk ack 501`,
		want: `A 0 abcdef #4
			A 6 ghi #7
			A 9 jk #8
			end end-of-input #0`,
	},
	{
		name: "of overlapping segments that wait, the first copy counts",
		lines: handshake + `
			A 104 def ack 501
			A 110 jkl ack 501
			A 103 XXXXghiXXXm ack 501
			A 101 abYYYY ack 501`,
		want: `A 0 ab #7
			A 2 X #6
			A 3 def #4
			A 6 ghi #6
			A 9 jkl #5
			A 12 m #6
			end end-of-input #0`,
	},
	{
		name: "what fills a hole reaches over all that waits",
		lines: handshake + `
			A 103 cd ack 501
			A 106 fg ack 501
			A 101 abXXeXXhi ack 501`,
		want: `A 0 ab #6
			A 2 cd #4
			A 4 e #6
			A 5 fg #5
			A 7 hi #6
			end end-of-input #0`,
	},
	{
		name: "every packet twice",
		lines: `
			A syn 100
			A syn 100
			B syn 500 ack 101
			B syn 500 ack 101
			A 101 abc ack 501
			A 101 abc ack 501
			A 104 fin ack 501
			A 104 fin ack 501
			B 501 fin ack 105
			B 501 fin ack 105
			A 105 ack 502
			A 105 ack 502`,
		want: `A 0 abc #5
			A fin #7
			B fin #9
			end closed #9`,
	},
	{
		name: "keep-alive without data, and with a byte of rubbish",
		lines: handshake + `
			A 101 abc ack 501
			A 103 ack 501
			A 103 X ack 501
			B 501 ack 104
			A 104 def ack 501`,
		want: `A 0 abc #4
			A 3 def #8
			end end-of-input #0`,
	},
	{
		name: "keep-alive as the first packet seen",
		lines: `
			A 103 ack 501
			B 501 ack 104
			A 104 def ack 501`,
		want: `A 0 def #3
			end end-of-input #0`,
	},
	{
		name: "data with the SYN",
		lines: `
			A syn 100 abc
			B syn 500 ack 104
			A 104 def ack 501`,
		want: `A 0 abc #1
			A 3 def #3
			end end-of-input #0`,
	},
	{
		name: "no SYN: the stream begins with the first byte seen",
		lines: `
			B 700 tail ack 300
			A 300 ask ack 704
			A 290 before
			B 704 more ack 303`,
		want: `A 0 tail #1
			B 0 ask #2
			A 4 more #4
			end end-of-input #0`,
	},
	{
		name: "no SYN-ACK: the first acknowledgement tells where the answers begin",
		lines: `
			A syn 100
			A 101 ack 501
			A 101 ask ack 501
			B 503 wer ack 104
			B 501 an ack 104`,
		want: `A 0 ask #3
			B 0 an #5
			B 2 wer #4
			end end-of-input #0`,
	},
	{
		name: "SYN-ACK before SYN",
		lines: `
			B syn 500 ack 101
			A syn 100
			A 104 def ack 501
			A 101 abc ack 501`,
		want: `A 0 abc #4
			A 3 def #3
			end end-of-input #0`,
	},
	{
		name: "data before SYN",
		lines: `
			A 101 abc ack 501
			A syn 100
			B syn 500 ack 101
			A 104 def ack 501`,
		want: `A 0 abc #1
			A 3 def #4
			end end-of-input #0`,
	},
	{
		name: "the ACK stands before the data",
		lines: handshake + `
			B 501 ack 107
			A 101 abc ack 501
			A 104 def ack 501`,
		want: `A 0 abc #5
			A 3 def #6
			end end-of-input #0`,
	},
	{
		name: "data 31 packets behind their ACK",
		lines: handshake + `
			A 104 def ack 501
			B 501 ack 107
			idle 30
			A 101 abc ack 501`,
		want: `A 0 abc #36
			A 3 def #4
			end end-of-input #0`,
	},
	{
		name: "loss is plain 32 packets after the ACK",
		lines: handshake + `
			A 104 def ack 501
			B 501 ack 107
			idle 32
			A 107 ghi`,
		want: `A 0 gap 3 not-captured #37
			A 3 def #4
			A 6 ghi #38
			end end-of-input #0`,
	},
	{
		name: "or ten seconds after it",
		lines: handshake + `
			A 104 def ack 501
			B 501 ack 107
			wait 10s
			A 107 ghi`,
		want: `A 0 gap 3 not-captured #6
			A 3 def #4
			A 6 ghi #6
			end end-of-input #0`,
	},
	{
		name: "an ACK of what is in front of the hole is no evidence",
		lines: handshake + `
			A 101 abc ack 501
			A 107 ghi ack 501
			B 501 ack 104
			wait 20s
			idle 100
			A 104 def ack 501`,
		want: `A 0 abc #4
			A 3 def #107
			A 6 ghi #5
			end end-of-input #0`,
	},
	{
		name: "two holes, their ACKs 20 packets apart",
		lines: handshake + `
			A 104 def ack 501
			B 501 ack 107
			idle 19
			A 110 jkl ack 501
			B 501 ack 113
			idle 40`,
		want: `A 0 gap 3 not-captured #37
			A 3 def #4
			A 6 gap 3 not-captured #58
			A 9 jkl #25
			end end-of-input #0`,
	},
	{
		name: "the ACK of what was lost came long before the next data",
		lines: handshake + `
			B 501 ack 104
			idle 40
			A 104 def ack 501`,
		want: `A 0 gap 3 not-captured #45
			A 3 def #45
			end end-of-input #0`,
	},
	{
		name: "the last bytes were acknowledged and not captured",
		lines: handshake + `
			A 101 abc ack 501
			B 501 ack 111`,
		want: `A 0 abc #4
			A 3 gap 7 not-captured #0
			end end-of-input #0`,
	},
	{
		name: "a last sequence number without a packet is taken for a FIN",
		lines: handshake + `
			A 101 abc ack 501
			B 501 fin ack 105`,
		want: `A 0 abc #4
			B fin #5
			end end-of-input #0`,
	},
	{
		name: "a direction that was never captured lacks nothing",
		lines: `
			A syn 100
			A 101 ack 501
			A 101 ask ack 501
			A 104 ask ack 701
			A 107 ask ack 901`,
		want: `A 0 ask #3
			A 3 ask #4
			A 6 ask #5
			end end-of-input #0`,
	},
	{
		name: "the receiver is not captured: a hole stays open for 30 seconds",
		lines: `
			A syn 100
			A 101 abc ack 501
			A 107 ghi ack 501
			wait 29s
			A 110 jkl ack 501
			wait 2s
			A 113 mno ack 501`,
		want: `A 0 abc #2
			A 3 gap 3 not-captured #5
			A 6 ghi #3
			A 9 jkl #4
			A 12 mno #5
			end end-of-input #0`,
	},
	{
		name: "time runs backwards",
		lines: handshake + `
			A 107 ghi ack 501
			wait -40s
			A 104 def ack 501
			wait -1h
			A 101 abc ack 501`,
		want: `A 0 abc #6
			A 3 def #5
			A 6 ghi #4
			end end-of-input #0`,
	},
	{
		name: "FIN before the data",
		lines: handshake + `
			A 107 fin ack 501
			A 104 def ack 501
			A 101 abc ack 501
			B 501 fin ack 108`,
		want: `A 0 abc #6
			A 3 def #5
			A fin #4
			B fin #7
			end closed #7`,
	},
	{
		name: "FIN behind what was lost",
		lines: handshake + `
			A 104 fin ack 501
			B 501 fin ack 105
			idle 32`,
		want: `B fin #5
			A 0 gap 3 not-captured #37
			A fin #4
			end closed #37`,
	},
	{
		name: "FIN behind what was lost, at the end of the input",
		lines: handshake + `
			A 104 fin ack 501
			B 501 fin ack 105`,
		want: `B fin #5
			A 0 gap 3 not-captured #0
			A fin #4
			end closed #0`,
	},
	{
		name: "nothing counts behind the FIN, and a FIN in front of data is none",
		lines: handshake + `
			A 104 def ack 501
			A 103 fin ack 501
			A 101 abc ack 501
			A 107 fin ack 501
			A 107 XXX ack 501`,
		want: `A 0 abc #6
			A 3 def #4
			A fin #7
			end end-of-input #0`,
	},
	{
		name: "RST: what waits is handed on behind a gap",
		lines: handshake + `
			A 101 abc ack 501
			A 107 ghi ack 501
			B 501 rst
			B 501 rst
			idle 31
			A 104 def ack 501`,
		want: `A 0 abc #4
			A 3 gap 3 not-captured #38
			A 6 ghi #5
			end reset by B #6`,
	},
	{
		name: "RST before the data that it answers, and before some that it does not",
		lines: handshake + `
			A 107 ghi ack 501
			B 501 rst
			A 104 def ack 501
			A 101 abc ack 501
			wait 10s
			A 110 jkl ack 501
			A 113 mno ack 501`,
		want: `A 0 abc #7
			A 3 def #6
			A 6 ghi #4
			A 9 jkl #8
			end reset by B #5`,
	},
	{
		name: "connection refused",
		lines: `
			A syn 100
			B 0 rst ack 101
			A syn 100
			B 0 rst ack 101`,
		want: `end reset by B #2`,
	},
	{
		name: "the same endpoints again, after the end",
		lines: handshake + `
			A 101 rst
			A syn 9000
			B syn 7000 ack 9001
			A 9001 abc ack 7001
			A 104 late`,
		want: `end reset by A #4
			2: A 0 abc #7
			2: end end-of-input #0`,
	},
	{
		name: "the same endpoints again, while the old connection was open",
		lines: handshake + `
			A 104 def ack 501
			A syn 9000
			A syn 9000
			B syn 7000 ack 9001
			A 9001 abc ack 7001`,
		want: `A 0 gap 3 not-captured #5
			A 3 def #4
			end replaced #5
			2: A 0 abc #8
			2: end end-of-input #0`,
	},
	{
		name: "snap length",
		lines: handshake + `
			A 101 abc cut 7 ack 501
			A 111 cut 5 ack 501
			A 116 def ack 501`,
		want: `A 0 abc #4
			A 3 gap 7 snaplen #4
			A 10 gap 5 snaplen #5
			A 15 def #6
			end end-of-input #0`,
	},
	{
		name: "snap length, out of order and overlapping",
		lines: handshake + `
			A 106 fg cut 8 ack 501
			A 114 XXqr cut 1 ack 501
			A 101 abcde ack 501`,
		want: `A 0 abcde #6
			A 5 fg #4
			A 7 gap 8 snaplen #4
			A 15 qr #5
			A 17 gap 1 snaplen #5
			end end-of-input #0`,
	},
	{
		name:   "limit of a stream",
		limits: Limits{PerStream: 3 * pieceOverhead, Total: 1 << 20, Memory: 1 << 30},
		lines: handshake + `
			A 104 def ack 501
			A 110 jkl ack 501
			A 116 pqr ack 501
			A 107 ghi ack 501
			A 101 abc ack 501`,
		want: `A 0 gap 3 limit #6
			A 3 def #4
			A 6 ghi #7
			A 9 jkl #5
			A 12 gap 3 not-captured #0
			A 15 pqr #6
			end end-of-input #0`,
	},
	{
		name:   "limit of all streams",
		limits: Limits{PerStream: 1 << 20, Total: 2*pieceOverhead + 40, Memory: 1 << 30},
		lines: handshake + `
			A 104 def ack 501
			B 504 def ack 101
			B 510 jkl ack 101`,
		want: `A 0 gap 3 limit #6
			A 3 def #4
			B 0 gap 3 not-captured #0
			B 3 def #5
			B 6 gap 3 not-captured #0
			B 9 jkl #6
			end end-of-input #0`,
	},
	{
		name: "a jump of 3 GB is loss, not the distant past",
		lines: handshake + `
			A 101 abc ack 501
			A 3000000104 def ack 501
			A 3000000107 ghi ack 501`,
		want: `A 0 abc #4
			A 3 gap 3000000000 not-captured #0
			A 3000000003 def #5
			A 3000000006 ghi #6
			end end-of-input #0`,
	},
	// RFC 9293, section by section.
	{
		name: "zero-window probes carry a byte that is new, which the receiver does not take (3.8.6.1)",
		lines: handshake + `
			A 101 abc ack 501
			B 501 ack 104
			A 104 d ack 501
			B 501 ack 104
			A 104 d ack 501
			B 501 ack 104
			A 104 defghi ack 501
			B 501 ack 110`,
		want: `A 0 abc #4
			A 3 d #6
			A 4 efghi #10
			end end-of-input #0`,
	},
	{
		name:  "a keep-alive byte stands in front of the window and is rubbish (3.8.4)",
		notes: true,
		lines: handshake + `
			A 101 abc ack 501
			A 103 X ack 501
			B 501 ack 104
			A 103 X ack 501
			A 104 def ack 501`,
		want: `A 0 abc #4
			A 3 def #8
			end end-of-input #0`,
	},
	{
		name: "the bytes of an RST are no part of the stream (3.5.3, RFC 1122 4.2.2.12)",
		lines: handshake + `
			A 101 abc ack 501
			B 501 Because rst ack 104
			wait 1s
			A 104 def ack 501`,
		want: `A 0 abc #4
			A 3 def #6
			end reset by B #5`,
	},
	{
		name: "simultaneous open (3.5, figure 7)",
		lines: `
			A syn 100
			B syn 500
			A syn 100 ack 501
			B syn 500 ack 101
			B 501 xyz ack 101
			A 101 abc ack 504
			A 104 fin ack 504
			B 504 fin ack 105`,
		want: `B 0 xyz #5
			A 0 abc #6
			A fin #7
			B fin #8
			end closed #8`,
	},
	{
		name: "the SYN again, without the data that it had (RFC 7413, 4.2.1)",
		lines: `
			A syn 100 abc
			A syn 100
			B syn 500 ack 101
			A 101 abcdef ack 501`,
		want: `A 0 abc #1
			A 3 def #4
			end end-of-input #0`,
	},
	{
		name: "SYN and FIN and data in one segment (3.10.7.4: text and FIN are processed behind the SYN)",
		lines: `
			A syn 100 abc fin
			B syn 500 ack 105
			B 501 fin ack 105`,
		want: `A 0 abc #1
			A fin #1
			B fin #3
			end closed #3`,
	},
	{
		name: "the SYN behind data and FIN that it opened",
		lines: `
			B syn 500 ack 101
			A 101 abc ack 501
			A 104 fin ack 501
			A syn 100
			B 501 fin ack 105`,
		want: `A 0 abc #2
			A fin #3
			B fin #5
			end closed #5`,
	},
	{
		name: "FIN with data, both before what is missing",
		lines: handshake + `
			A 104 def fin ack 501
			A 104 def fin ack 501
			A 101 abc ack 501
			B 501 fin ack 108`,
		want: `A 0 abc #6
			A 3 def #4
			A fin #4
			B fin #7
			end closed #7`,
	},
	{
		name: "both close at the same time (3.6, figure 13)",
		lines: handshake + `
			A 101 fin ack 501
			B 501 fin ack 101
			A 102 ack 502
			B 502 ack 102`,
		want: `A fin #4
			B fin #5
			end closed #5`,
	},
	{
		name: "half-closed: one side goes on (3.6, case 1)",
		lines: handshake + `
			A 101 abc fin ack 501
			B 501 def ack 105
			B 504 ghi ack 105
			B 507 fin ack 105`,
		want: `A 0 abc #4
			A fin #4
			B 0 def #5
			B 3 ghi #6
			B fin #7
			end closed #7`,
	},
	{
		name:  "conflicts: with the segment before, and with what waits",
		notes: true,
		lines: handshake + `
			A 101 abcdef ack 501
			A 101 abXdef ack 501
			A 110 jklmno ack 501
			A 108 hijXlXn ack 501
			A 107 gXijkYm ack 501`,
		want: `A 0 abcdef #4
			A 0 conflict 6 #5/#4
			A 10 conflict 3 #7/#6
			A 7 conflict 1 #8/#7
			A 11 conflict 1 #8/#6
			A 6 g #8
			A 7 hi #7
			A 9 jklmno #6
			end end-of-input #0`,
	},
	{
		name:  "every packet twice is told once",
		notes: true,
		lines: handshake + `
			A 101 abc ack 501
			A 101 abc ack 501
			B 501 def ack 104
			B 501 def ack 104
			A 104 fin ack 504
			A 104 fin ack 504
			B 504 fin ack 105
			B 504 fin ack 105`,
		want: `A 0 abc #4
			B 0 def #6
			A fin #8
			B fin #10
			A 0 duplicates 0 #10/#0
			end closed #10`,
	},
	{
		name:  "what comes again after the time of a retransmission is none",
		notes: true,
		lines: handshake + `
			A 101 abc ack 501
			wait 200ms
			A 101 abc ack 501
			B 501 def ack 104
			wait 200ms
			B 501 def ack 104`,
		want: `A 0 abc #4
			B 0 def #6
			end end-of-input #0`,
	},
}

func TestScripts(t *testing.T) {
	for _, tt := range scripts {
		t.Run(tt.name, func(t *testing.T) {
			limits := tt.limits
			if limits == (Limits{}) {
				limits = LimitsWithin(DefaultMemory)
			}
			got, _ := play(t, limits, tt.notes, tt.lines)
			var want []string
			for line := range strings.Lines(tt.want) {
				want = append(want, strings.TrimSpace(line))
			}
			if !slices.Equal(got, want) {
				t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
			}
		})
	}
}
