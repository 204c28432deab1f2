// Package reassembly turns captured packets into the byte streams of TCP connections.
//
// A packet goes through three steps, each in files of its own:
//
//	decode.go, tunnel.go    link layer, IP and TCP headers by offset  -> segment
//	fragment.go             IP packets in pieces                      -> segments
//	connection.go, half.go  which connection and direction            -> conn, half
//	tombstone.go            late packets of connections that have ended
//	order.go, loss.go       stream order, and what is given up        -> Chunk, Gap, Fin, End
//	memory.go, note.go      what is forgotten, and what is odd        -> End, Note
//
// What comes out goes to a [Handler], for each direction of a connection in stream order:
// the bytes as a [Chunk] as soon as they are contiguous, a [Gap] in place of bytes that
// will never come. Offsets count from the first byte behind the handshake (or the first
// byte seen, when the capture began later), so Chunks and Gaps tile the stream without
// overlap. Every Chunk names the packet that brought it.
//
// Nearly all packets are alike: whole, IPv4 without options, and either next in a stream from which nothing is missing or bare acknowledgements of what was
// handed on. Two shortcuts are for these: segment.plain reads the headers in one go, and Assembler.segment asks for no more than where the bytes belong. They say
// no more than the general path would; where they have any doubt that is taken. They save half of the instructions that the assembler takes for a packet.
//
// # Order
//
// Payload that is next in its stream is handed on without a copy. Payload ahead of it is
// copied and waits behind a hole. What was seen before is dropped, the first copy of a
// byte counts; so a packet captured twice, a retransmission and a keep-alive probe change
// nothing.
//
// # Loss
//
// A capture reorders packets and misses some, and both look alike at first. A hole becomes
// a Gap when there is evidence that nobody will fill it: the receiver has acknowledged the
// bytes, so they were on the wire, and [settlePackets] of the connection have gone by since, or [settleTime]
// and as many packets of the capture.
// A receiver that was not captured acknowledges nothing; then [silentTime] decides. Bytes behind
// a Gap are handed on like any others: loss never costs bytes that were captured. For the same
// reason a connection outlives an RST by some packets, in case those before it come late.
//
// # Oddities
//
// A Handler that is a [Noter] hears of what looks wrong but leaves the streams as they are: bytes that were
// captured twice and differ, packets captured twice, and a connection that was captured on both sides of
// an address translation. Of such twins only the first is handed on. Bytes that wait are
// compared with all that comes in their place. For bytes handed on there is a record of the latest segments where
// Assembler.CompareDelivered asks for it: samples of 32 bytes.
//
// # Memory and time
//
// Only captured payload is ever copied, within [Limits]; lengths read from packets
// allocate nothing. No connection is forgotten for being idle: one of Kafka may be for hours, and an
// answer has to find its request. One that has said nothing takes a few dozen bytes. When all of them together
// take too much, those that said nothing are forgotten first, then those that have been silent
// for longest. An ended connection leaves behind a few bytes, and of those only the latest are kept. Time is that of
// the packets, never the clock's, and may jump.
package reassembly
