package pcaps

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOpenErrors wants one line that begins with the file's name and says what is wrong.
func TestOpenErrors(t *testing.T) {
	rec := recordings(t, []int{60})
	for _, test := range []struct {
		name    string
		content []byte
		want    string
	}{
		{"empty", nil, "empty, not even a file header"},
		{"text", []byte("# Captures\n\nnothing here\n"), `not a capture file: begins with "# Captures\n\nnoth"`},
		{"short text", []byte("no"), `not a capture file: begins with "no"`},
		{"binary", []byte{0x7f, 'E', 'L', 'F', 0, 1}, `not a capture file: begins with "\x7fELF\x00\x01"`},
		{"three bytes of pcap", rec[0].file[:3], `not a capture file: begins with "M<\xb2"`},
		{"pcap header cut", rec[0].file[:11], "truncated-file at byte 0, before the first packet: the file ends inside its header, which takes 24 bytes, after 11"},
		{"pcapng header cut", rec[1].file[:27], "truncated-file at byte 0, before the first packet: the file ends inside its header, which takes 28 bytes, after 27"},
		{"gzip of text", gzipped(t, []byte("plain text")), `not a capture file: its gzip data begin with "plain text"`},
		{"gzip of nothing", gzipped(t, nil), "empty, not even a file header"},
		{"gzip header cut", gzipped(t, rec[0].file)[:6], "its gzip header cannot be read: unexpected EOF"},
		{"gzip cut in the file header", gzipped(t, rec[0].file)[:13], "truncated-file at byte 0 of the unpacked gzip data, before the first packet: the compressed data end early"},
		{"gzip in gzip", gzipped(t, gzipped(t, rec[0].file)), `not a capture file: its gzip data begin with "\x1f\x8b`},
		{"zstd of text", zstandard(t, []byte("plain text")), `not a capture file: its zstd data begin with "plain text"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.pcap")
			if err := os.WriteFile(path, test.content, 0o600); err != nil {
				t.Fatal(err)
			}
			wantOpenError(t, path, test.want)
		})
	}
	t.Run("missing", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "x.pcap")
		if err := wantOpenError(t, path, "no such file or directory"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v is not fs.ErrNotExist", err)
		}
	})
	t.Run("directory", func(t *testing.T) {
		wantOpenError(t, t.TempDir(), "is a directory")
	})
	t.Run("unreadable", func(t *testing.T) {
		if os.Getuid() == 0 {
			t.Skip("root may read everything")
		}
		path := filepath.Join(t.TempDir(), "x.pcap")
		if err := os.WriteFile(path, rec[0].file, 0); err != nil {
			t.Fatal(err)
		}
		wantOpenError(t, path, "permission denied")
	})
}

func wantOpenError(t *testing.T, path, want string) error {
	t.Helper()
	s, err := Open(path)
	if err == nil {
		s.Close()
		t.Fatal("opened without an error")
	}
	if text := err.Error(); !strings.HasPrefix(text, path+": "+want) || strings.Contains(text, "\n") {
		t.Errorf("got  %s\nwant %s: %s", text, path, want)
	}
	return err
}

// TestOpen reads a file by a name that says nothing, and standard input.
func TestOpen(t *testing.T) {
	for _, rec := range recordings(t, []int{60, 70}) {
		path := filepath.Join(t.TempDir(), "notes.txt")
		if err := os.WriteFile(path, rec.file, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		got := drain(s)
		wantEOF(t, got)
		samePackets(t, got.packets, rec.packets)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		samePackets(t, fromStandardInput(t, path), rec.packets)
	}
}

func fromStandardInput(t *testing.T, path string) []Packet {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	stdin := os.Stdin
	os.Stdin = f
	defer func() { os.Stdin = stdin }()
	s, err := Open("-")
	if err != nil {
		t.Fatal(err)
	}
	got := drain(s)
	wantEOF(t, got)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := f.Stat(); err != nil {
		t.Errorf("standard input was closed: %v", err)
	}
	return got.packets
}

func TestLinkTypeString(t *testing.T) {
	for link, want := range map[LinkType]string{
		LinkTypeEthernet:  "EN10MB (1)",
		LinkTypeLinuxSLL2: "LINUX_SLL2 (276)",
		60000:             "unnamed (60000)",
	} {
		if got := link.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestDamageErrorText(t *testing.T) {
	for _, test := range []struct {
		err  DamageError
		want string
	}{
		{
			DamageError{File: "a.pcap", Offset: 4711, Packet: 12, Code: TruncatedFile, Detail: "why"},
			"a.pcap: truncated-file at byte 4711, after packet 12: why",
		},
		{
			DamageError{File: "a.pcap.gz", Offset: 24, Compression: "gzip", Code: DamagedBlock, Detail: "why"},
			"a.pcap.gz: damaged-block at byte 24 of the unpacked gzip data, before the first packet: why",
		},
	} {
		if got := test.err.Error(); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
	}
}

// TestNilSource guards against a nil pointer in a Source that is not nil.
func TestNilSource(t *testing.T) {
	if s, err := NewSource(bytes.NewReader(nil), "test"); s != nil || err == nil {
		t.Errorf("got %v, %v", s, err)
	}
}
