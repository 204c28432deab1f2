package reassembly

import "net/netip"

// A Direction tells the two byte streams of a connection apart.
type Direction uint8

const (
	FromA Direction = iota // sent by Ends[0]
	FromB                  // sent by Ends[1]
)

// Other returns the opposite direction.
func (d Direction) Other() Direction { return d ^ 1 }

// A Connection is one TCP connection of the capture, from its first packet on. A pair of
// endpoints that is used again later is a new Connection.
type Connection struct {
	ID     int               // counts from 1 in the order of the first packets
	Ends   [2]netip.AddrPort // Ends[0] opened the connection where that was seen, else sent its first packet
	Opened bool              // the SYN or the SYN-ACK was seen, so Ends[0] is known to be the one that connected

	Seen [2]bool // whether any packet of a direction was captured, by Direction
	Held [2]bool // whether bytes of a direction were captured and wait for others in front of them

	// Reset tells that an RST was seen, and ResetBy which side sent the first one. The End may come some packets later, in case others are late.
	Reset   bool
	ResetBy Direction

	// Accepted is known at the End: that Ends[1] took the connection. It has sent something other than an RST, or Ends[0] has acknowledged it.
	Accepted bool

	// Consumer is for the Handler that dissects the streams to keep its own state in; the assembler never touches it.
	Consumer any

	// Memory is how many bytes the Handler keeps for the connection, about. The Handler sets it in Chunk and Gap; the assembler counts it
	// with its own, and forgets connections when all together is above Limits.Memory.
	Memory int
}

// An Origin is the packet that something came in.
type Origin struct {
	Packet int64  // its number in its file, from 1
	Time   int64  // its capture time, nanoseconds since the Unix epoch
	File   uint16 // its file, as in pcaps.Packet

	order uint32 // how many packets of all files there were by then, modulo 2^32
}

// Since returns how many packets of the capture o comes behind p, less than 0 where it comes before. In a file it counts those of the file.
func (o Origin) Since(p Origin) int64 {
	if o.File == p.File {
		return o.Packet - p.Packet
	}
	return int64(int32(o.order - p.order))
}

// Before says whether o comes before p in the capture, which may be several files read as one.
func (o Origin) Before(p Origin) bool {
	return o.Since(p) < 0
}

// A Chunk is a run of contiguous stream bytes that came in one packet. It is valid during the call only, and belongs to who calls.
type Chunk struct {
	Data   []byte
	Offset int64 // stream offset of Data[0]; 0 is the first byte after the handshake, or the first byte seen
	Origin       // the packet
}

// A GapCause says why bytes of a stream are missing.
type GapCause uint8

const (
	NotCaptured GapCause = iota // the receiver acknowledged them, or later bytes went on without them
	Snaplen                     // the packet was captured, but cut at the snap length
	Limit                       // they were given up to stay within a memory limit
)

// A Gap is a run of stream bytes that will never come.
type Gap struct {
	Offset int64 // stream offset of the first missing byte
	Length int64
	Cause  GapCause
	Origin // the packet that made it plain; at the end of the input its number is 0, its time that of the last packet
}

// An EndCause says why nothing more comes on a connection.
type EndCause uint8

const (
	EndOfInput EndCause = iota // the capture ended
	Closed                     // both sides sent FIN
	Reset                      // RST
	Replaced                   // the same endpoints opened a new connection
	Evicted                    // it was forgotten to stay within the memory limit; what comes on it later is a new Connection
)

// A NoteKind says what a Note is about.
type NoteKind uint8

const (
	RetransmissionConflict NoteKind = iota // bytes were captured twice and differ; those of First were handed over
	DuplicatePackets                       // Packet and many before it are the same packets captured twice; told once a connection
	NATTwin                                // the connection is Twin, captured on the other side of an address translation
)

// A Note is something odd about a connection that does not change its streams, but for NATTwin: all
// that comes on such a connection is kept from the Handler, up to its End.
type Note struct {
	Kind   NoteKind
	Offset int64       // stream offset of the first byte concerned
	Length int64       // how many bytes, up to the last one concerned
	Origin             // the packet that made it plain
	First  Origin      // the packet that brought the bytes before
	Twin   *Connection // for NATTwin, valid during the call only; nil otherwise
}

// A Noter is a Handler that wants to hear of oddities. Without it they go unnoticed, and NAT twins
// are connections like others. A stage between the assembler and a Noter has to hand them on.
type Noter interface {
	Handler
	// Note is called before the bytes that it is about go on, at the latest before the End of the connection.
	Note(c *Connection, d Direction, n Note)
}

// A Handler takes the streams of all connections, in the order in which the packets made
// them known. A stage between the assembler and the dissector (such as one that decrypts) is a Handler that
// hands on to another Handler.
type Handler interface {
	// Chunk hands over the next bytes of one direction.
	Chunk(c *Connection, d Direction, chunk *Chunk)
	// Gap says that bytes of one direction are missing; the next Chunk goes on behind them.
	Gap(c *Connection, d Direction, gap Gap)
	// Fin says that one direction has ended in order: every byte before it was handed over as Chunk or Gap.
	Fin(c *Connection, d Direction, at Origin)
	// End says that nothing more will come on the connection. It is called once for every connection. At the end of
	// the input at has the number 0 and the time of the last packet.
	End(c *Connection, cause EndCause, at Origin)
}
