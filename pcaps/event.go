package pcaps

// An EventKind says what an Event is about.
type EventKind uint8

const (
	// Comment is a remark somebody left in the capture: Data is its text, meant to be UTF-8.
	Comment EventKind = iota
	// Secrets is key material to decrypt the capture with: Data in the form that Type names.
	Secrets
	// Dropped says that Count packets more are known to be missing from the capture, because
	// the interface or the system had no room for them. The counts of a source add up.
	Dropped
)

// SecretsTLSKeyLog is the Type of Secrets whose Data is an NSS key log, the format that
// browsers and libraries write under SSLKEYLOGFILE.
const SecretsTLSKeyLog = 0x544c534b

// An Event is what a capture says beside its packets. Only pcapng says anything.
type Event struct {
	Kind EventKind
	// Packet is the number of the packet that the event belongs to or, where it belongs to
	// none, of the last packet before it, 0 at the start.
	Packet int64
	Data   []byte // aliases the slab of the Batch, as Packet.Data does
	Type   uint32 // of Secrets: the pcapng secrets type
	Count  uint64 // of Dropped
	File   uint16 // index into Source.Files
}
