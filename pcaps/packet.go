package pcaps

// A Packet is one captured packet. Data aliases the slab of the Batch it came in and is
// valid until that Batch is released for the last time.
type Packet struct {
	Number  int64    // counts from 1 over all packets of the source
	Time    int64    // capture time in nanoseconds since the Unix epoch, UTC
	Data    []byte   // captured bytes, from the link-layer header on
	WireLen uint32   // length on the wire; larger than len(Data) when the snaplen cut the packet
	Link    LinkType // link type of the interface the packet was seen on
}

// A Batch is a slab of bytes and the packets in it, in the order of the source. It belongs
// to the receiver from Source.Next until it has been released.
type Batch struct {
	Packets []Packet
	Events  []Event // what else the source said, in order

	slab []byte
	refs int32
}

// A Source yields the packets of a capture. Next fills b and returns nil, or it returns an
// error and leaves b empty: io.EOF at the regular end, a *DamageError when the capture is
// damaged from there on. Everything that stands before the damage has been handed over by
// earlier calls. Next hands over what has arrived rather than wait for a full slab, so packets
// of a pipe are seen as they come.
type Source interface {
	Next(b *Batch) error
	Close() error
}
