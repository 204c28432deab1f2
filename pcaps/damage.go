package pcaps

import "fmt"

// The codes of a DamageError, which are those of the findings about a capture.
const (
	TruncatedFile = "truncated-file" // the file ends inside a record, or its compressed data end early
	DamagedBlock  = "damaged-block"  // what follows cannot be a record
)

// A DamageError says where a capture can be read no further. What stands before has been
// handed over.
type DamageError struct {
	File string
	// Offset is where the record begins that is damaged or cut, counted in bytes from the
	// start of the file or, where Compression is set, of what it unpacks to.
	Offset      int64
	Compression string // "gzip", "zstd", or empty
	Packet      int64  // number of the last whole packet before the damage, 0 when there is none
	Code        string // TruncatedFile or DamagedBlock
	Detail      string
}

// Error returns all there is to say on one line.
func (e *DamageError) Error() string {
	where := fmt.Sprintf("byte %d", e.Offset)
	if e.Compression != "" {
		where += " of the unpacked " + e.Compression + " data"
	}
	after := "before the first packet"
	if e.Packet > 0 {
		after = fmt.Sprintf("after packet %d", e.Packet)
	}
	return fmt.Sprintf("%s: %s at %s, %s: %s", e.File, e.Code, where, after, e.Detail)
}
