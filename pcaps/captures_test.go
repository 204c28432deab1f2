package pcaps

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"
	"github.com/klauspost/compress/gzip"
)

// TestCaptures holds every capture of the collection, where it is at hand, against gopacket's readers.
func TestCaptures(t *testing.T) {
	const collection = "../../shared"
	var paths []string
	for _, folder := range []string{"captures/real", "captures/public", "cases"} {
		found, err := filepath.Glob(filepath.Join(collection, folder, "*.pcap*"))
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, found...)
	}
	switch {
	case len(paths) > 0:
	case os.Getenv("KDISSECT_REQUIRE_SHARED") != "":
		t.Fatal("no collection of captures beside the project")
	default:
		t.Skip("no collection of captures beside the project")
	}
	for _, path := range paths {
		if filepath.Base(path) == "pcapng-power-of-two-resolution.pcapng" {
			continue // gopacket takes units of 2^-30 s for nanoseconds
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			want, complete := secondOpinion(t, path)
			s, err := Open(path)
			if err != nil {
				if len(want) > 0 {
					t.Error(err)
				}
				return
			}
			defer s.Close()
			got := drain(s)
			if !complete && len(got.packets) > len(want) {
				got.packets = got.packets[:len(want)]
			}
			for i := range got.packets {
				got.packets[i].Link &= 0xff // all that gopacket has room for
			}
			samePackets(t, got.packets, want)
			for _, d := range got.damage {
				t.Log(d)
			}
			if damage := (*DamageError)(nil); got.err != io.EOF && !errors.As(got.err, &damage) {
				t.Errorf("ended with %v", got.err)
			}
		})
	}
}

// secondOpinion reads a capture with gopacket, up to what it cannot read. complete says
// that it came to the end.
func secondOpinion(t *testing.T, path string) (packets []Packet, complete bool) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := bufio.NewReader(f)
	if strings.HasSuffix(path, ".gz") {
		z, err := gzip.NewReader(r)
		if err != nil {
			t.Fatal(err)
		}
		r = bufio.NewReader(z)
	}
	read, link, err := gopacketReader(r, false)
	for err == nil {
		var data []byte
		var ci gopacket.CaptureInfo
		if data, ci, err = read(); err != nil {
			break
		}
		p := Packet{
			Number:  int64(len(packets) + 1),
			Time:    timeOf(ci),
			Data:    data,
			WireLen: uint32(ci.Length),
			Link:    link,
		}
		if len(ci.AncillaryData) > 0 {
			p.Link = LinkType(ci.AncillaryData[0].(layers.LinkType))
		}
		packets = append(packets, p)
	}
	return packets, err == io.EOF
}

// timeOf returns the time of a packet, 0 where gopacket has none.
func timeOf(ci gopacket.CaptureInfo) int64 {
	if ci.Timestamp.IsZero() {
		return 0
	}
	return ci.Timestamp.UnixNano()
}

type readFunc func() ([]byte, gopacket.CaptureInfo, error)

// gopacketReader returns the function that reads the next packet; with zeroCopy its
// data are valid until the next call.
func gopacketReader(r *bufio.Reader, zeroCopy bool) (readFunc, LinkType, error) {
	magic, err := r.Peek(4)
	if err != nil {
		return nil, 0, err
	}
	if isPcapng(magic) {
		ng, err := pcapgo.NewNgReader(r, pcapgo.NgReaderOptions{WantMixedLinkType: true})
		if err != nil {
			return nil, 0, err
		}
		if zeroCopy {
			return ng.ZeroCopyReadPacketData, LinkType(ng.LinkType()), nil
		}
		return ng.ReadPacketData, LinkType(ng.LinkType()), nil
	}
	classic, err := pcapgo.NewReader(r)
	if err != nil {
		return nil, 0, err
	}
	classic.SetSnaplen(1 << 20)
	if zeroCopy {
		return classic.ZeroCopyReadPacketData, LinkType(classic.LinkType()), nil
	}
	return classic.ReadPacketData, LinkType(classic.LinkType()), nil
}
