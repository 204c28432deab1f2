package pcaps

import (
	"errors"
	"fmt"
)

// The codes of a DamageError, which are those of the findings about a capture.
const (
	TruncatedFile = "truncated-file" // the file ends inside a record, or its compressed data end early
	DamagedBlock  = "damaged-block"  // what follows cannot be a record
)

// A DamageError says where a capture cannot be read, and how much of it. What stands before has
// been handed over.
type DamageError struct {
	File string
	// Offset is where the record begins that is damaged or cut, counted in bytes from the
	// start of the file or, where Compression is set, of what it unpacks to.
	Offset int64
	// Skipped is how many bytes from Offset on are passed over: up to the record that comes
	// next or, unless Resumed is set, to the end.
	Skipped     int64
	Resumed     bool   // records follow that can be read
	Compression string // "gzip", "zstd", or empty
	Packet      int64  // number of the last packet before the damage, 0 when there is none
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
	text := fmt.Sprintf("%s: %s at %s, %s: %s", e.File, e.Code, where, after, e.Detail)
	if e.Resumed {
		text += fmt.Sprintf("; reading goes on %d bytes later", e.Skipped)
	}
	return text
}

// errCut is the error of a decoder that the bytes end inside a record or, which looks the
// same, that the length of a record is damaged.
var errCut = errors.New("a record that is longer than what is left of the file")

// maxSearched is the largest packet or block that a search takes for the place to go on at, in
// bytes. It bounds what a search must hold in memory, and how long it waits for a pipe.
const maxSearched = 512 << 10

// A verdict says whether bytes are what they are thought to be.
type verdict int

const (
	no verdict = iota
	yes
	later // more bytes are needed to tell
)

// search returns the first place in data where at says yes. Without one it returns how far data
// are of no use; whole says that no more will come.
func search(data []byte, whole bool, at func(data []byte, whole bool) verdict) (skip int, found bool) {
	for skip = range data {
		switch at(data[skip:], whole) {
		case yes:
			return skip, true
		case later:
			return skip, false
		}
	}
	return len(data), false
}
