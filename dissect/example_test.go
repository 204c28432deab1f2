package dissect_test

import (
	"fmt"
	"io"
	"log"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/pcaps"
	"github.com/kdissect/kdissect/reassembly"
	"github.com/kdissect/kdissect/schema"
)

// A printer is an Output that prints the first messages.
type printer struct{}

func (printer) Message(m *dissect.Message) {
	if m.Number <= 6 {
		fmt.Printf("packet %d: %s v%d %s, %d bytes\n", m.Packets.Last, m.Name(), m.Header.Version, m.Kind, m.Size)
	}
}

func (printer) Exchange(*dissect.Exchange) {}
func (printer) Report(*dissect.Report)     {}

// A capture goes through three stages: a source of packets, an assembler of TCP streams, and a dissector, which hands
// messages to an output.
func Example() {
	source, err := pcaps.Open("../testdata/sample.pcap")
	if err != nil {
		log.Fatal(err)
	}
	defer source.Close()
	assembler := reassembly.New(dissect.New(schema.Embedded(), dissect.NeedMessages, printer{}))
	var batch pcaps.Batch
	for err = source.Next(&batch); err == nil; err = source.Next(&batch) {
		for i := range batch.Packets {
			assembler.Packet(&batch.Packets[i])
		}
		batch.Release()
	}
	if err != io.EOF {
		log.Print(err) // the capture is damaged; what stands before was dissected
	}
	assembler.Close()
	// Output:
	// packet 4: ApiVersions v3 request, 42 bytes
	// packet 6: ApiVersions v3 response, 771 bytes
	// packet 8: Metadata v4 request, 34 bytes
	// packet 9: Metadata v4 response, 82 bytes
	// packet 11: Metadata v4 request, 34 bytes
	// packet 12: Metadata v4 response, 134 bytes
}
