package pcaps_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"

	"github.com/kdissect/kdissect/pcaps"
)

// A capture of one packet: file header, packet header, three bytes.
const capture = "\xd4\xc3\xb2\xa1\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x04\x00\x01\x00\x00\x00" +
	"\x80\x26\xb1\x6a\x07\x00\x00\x00\x03\x00\x00\x00\x09\x00\x00\x00" +
	"abc"

func Example() {
	source, err := pcaps.NewSource(bytes.NewReader([]byte(capture)), "example")
	if err != nil {
		log.Fatal(err)
	}
	defer source.Close()
	var batch pcaps.Batch
	for {
		err := source.Next(&batch)
		if err == io.EOF {
			break
		}
		if damage := (*pcaps.DamageError)(nil); errors.As(err, &damage) {
			log.Print(damage) // what follows it is read
			continue
		}
		if err != nil {
			log.Fatal(err)
		}
		for _, p := range batch.Packets {
			fmt.Printf("%d: %s, %d of %d bytes: %q\n", p.Number, p.Link, len(p.Data), p.WireLen, p.Data)
		}
		batch.Release()
	}
	// Output: 1: EN10MB (1), 3 of 9 bytes: "abc"
}
