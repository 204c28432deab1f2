package pcaps

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A Ring keeps the latest packets in a number of files. A new file is begun when the one that is written is full, and the oldest is removed. The files
// are called after a path, with a number that goes up: ring.pcapng makes ring-000001.pcapng, ring-000002.pcapng and so on. Files of an earlier run are part of the ring.
//
// They are for the user who makes them alone (mode 0600), and never one that was there before. Read together they are one capture: see OpenAll.
type Ring struct {
	prefix, suffix string
	files          int
	limit          int64
	link           LinkType
	kept           []string // oldest first, the one that is written last
	number         int
	file           *os.File
	writer         *Writer
	begun          int64 // bytes of the file that is written before the first packet
}

// NewRing opens the first file. Each begins with an interface of this link type: see NewWriter. A file becomes at most limit bytes long, if a Batch is not longer.
func NewRing(path string, files int, limit int64, link LinkType) (*Ring, error) {
	suffix := filepath.Ext(path)
	r := &Ring{prefix: strings.TrimSuffix(path, suffix), suffix: suffix, files: files, limit: limit, link: link}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	own := regexp.MustCompile("^" + regexp.QuoteMeta(filepath.Base(r.prefix)) + `-(\d{6})` + regexp.QuoteMeta(suffix) + "$")
	for _, e := range entries { // in the order of their names
		if m := own.FindStringSubmatch(e.Name()); m != nil && e.Type().IsRegular() {
			fmt.Sscanf(m[1], "%d", &r.number)
			r.kept = append(r.kept, r.name(r.number))
		}
	}
	return r, r.next()
}

func (r *Ring) name(number int) string { return fmt.Sprintf("%s-%06d%s", r.prefix, number, r.suffix) }

// next goes on in a new file.
func (r *Ring) next() error {
	if err := r.Close(); err != nil {
		return err
	}
	for len(r.kept) >= r.files {
		if err := os.Remove(r.kept[0]); err != nil && !os.IsNotExist(err) {
			return err
		}
		r.kept = slices.Delete(r.kept, 0, 1)
	}
	r.number++
	file, err := Create(r.name(r.number))
	if err != nil {
		return err
	}
	r.file = file
	r.kept = append(r.kept, file.Name())
	r.writer, err = NewWriter(file, r.link)
	r.begun = r.writer.Size()
	return err
}

// Create makes a file for a capture that only the user may read. One that exists is an error.
func Create(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// Write writes the packets of a batch to one file.
func (r *Ring) Write(b *Batch) error {
	size := int64(0)
	for i := range b.Packets {
		size += int64(writtenPacketLen + len(b.Packets[i].Data) + 3)
	}
	const others = writtenInterfaceLen + writtenDropLen
	if r.writer.Size() > r.begun && r.writer.Size()+size+others > r.limit {
		if err := r.next(); err != nil {
			return err
		}
	}
	return r.writer.Write(b)
}

// Close closes the file that is written.
func (r *Ring) Close() error {
	if r.file == nil {
		return nil
	}
	file := r.file
	r.file = nil
	return file.Close()
}
