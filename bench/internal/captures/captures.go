// Package captures has the captures that are measured with. They are made when they are first asked for, and kept.
package captures

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/kdissect/kdissect/bench/internal/measure"
	"github.com/kdissect/kdissect/bench/internal/traffic"
)

// A Store is where captures are kept.
type Store struct {
	Shared string // has bench/produce.py, bench/multiply.py and captures/real
	Dir    string
}

// A Kind is a kind of capture, of any size.
type Kind struct {
	Name, About string
	ending      string
	make        func(s *Store, out, size string) error
}

// The kinds. The size of Many is a number of connections, that of the others a number of bytes such as 124M; of Batches it is that of the records.
var (
	Small  = &Kind{"small", "Produce v7, one record of 100 bytes a request", ".pcap", produce("small")}
	Large  = &Kind{"large", "Produce v7, one batch of 100 records of 1000 bytes a request", ".pcap", produce("large")}
	Real   = &Kind{"real", "sessions of Java, franz-go and librdkafka clients with Kafka 4.4, again and again, eight at a time", ".pcap", multiply}
	Lossy  = &Kind{"lossy", "real without one packet in a hundred, and another one up to ten packets late", ".pcap", lossy}
	Many   = &Kind{"many", traffic.Many.About, ".pcap", many}
	Zipped = &Kind{"small", "small, compressed with zstd", ".pcap.zst", zipped}
)

// Batches is a kind for each codec.
var Batches = func() (kinds []*Kind) {
	for codec, name := range traffic.Codecs {
		kinds = append(kinds, &Kind{"batches-" + name, "Produce v7, one batch of 100 records of 1000 bytes of JSON text a request, " + name, ".pcap", batches(codec)})
	}
	return kinds
}()

// Complete tells whether there is all that the kinds are made of.
func (s *Store) Complete() bool {
	_, err := os.Stat(filepath.Join(s.Shared, "bench", "produce.py"))
	return err == nil
}

// File returns a capture of a kind in a size.
func (s *Store) File(k *Kind, size string) (string, error) {
	path := filepath.Join(s.Dir, k.Name+"-"+size+k.ending)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	fmt.Fprintln(os.Stderr, "making", path)
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return "", err
	}
	if err := k.make(s, path+".new", size); err != nil {
		return "", err
	}
	return path, os.Rename(path+".new", path)
}

// Blocks returns the file beside a capture of Batches that has the packed records alone.
func Blocks(capture string) string {
	return strings.TrimSuffix(strings.TrimSuffix(capture, ".new"), ".pcap") + ".blocks"
}

func produce(kind string) func(*Store, string, string) error {
	return func(s *Store, out, size string) error {
		return measure.Command("", "python3", filepath.Join(s.Shared, "bench", "produce.py"), out, kind, "--size", size)
	}
}

// realCaptures are sessions of today's clients, each with a broker on port 9092.
var realCaptures = []string{"java-4.4-produce-consume.pcap", "franz-go-4.4.pcap", "librdkafka-4.4.pcap"}

func multiply(s *Store, out, size string) error {
	args := []string{filepath.Join(s.Shared, "bench", "multiply.py"), out, "--size", size, "--broker-port", "9092"}
	for _, name := range realCaptures {
		args = append(args, filepath.Join(s.Shared, "captures", "real", name))
	}
	return measure.Command("", "python3", args...)
}

func lossy(s *Store, out, size string) error { return s.derive(Real, out, size, traffic.Lossy) }

func zipped(s *Store, out, size string) error {
	return s.derive(Small, out, size, func(out io.Writer, in io.Reader) error {
		z, err := zstd.NewWriter(out)
		if err != nil {
			return err
		}
		_, err = io.Copy(z, in)
		return errors.Join(err, z.Close())
	})
}

// derive makes a capture of another one.
func (s *Store) derive(from *Kind, out, size string, change func(io.Writer, io.Reader) error) error {
	path, err := s.File(from, size)
	if err != nil {
		return err
	}
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	return write(out, func(w io.Writer) error { return change(w, in) })
}

func many(_ *Store, out, size string) error {
	n, err := strconv.Atoi(size)
	if err != nil {
		return err
	}
	return write(out, func(w io.Writer) error { return traffic.Many.Write(w, n) })
}

func batches(codec int) func(*Store, string, string) error {
	return func(_ *Store, out, size string) error {
		n, err := Bytes(size)
		if err != nil {
			return err
		}
		return write(out, func(w io.Writer) error {
			return write(Blocks(out), func(blocks io.Writer) error { return traffic.WriteBatches(w, blocks, codec, n) })
		})
	}
}

// write makes a file of what to writes.
func write(path string, to func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(file, 1<<20)
	return errors.Join(to(w), w.Flush(), file.Close())
}

// Bytes reads a size such as 124M.
func Bytes(size string) (int64, error) {
	number := strings.TrimRight(size, "KMG")
	n, err := strconv.ParseInt(number, 10, 64)
	shift, known := map[string]int{"K": 10, "M": 20, "G": 30}[size[len(number):]]
	if err != nil || !known {
		return 0, fmt.Errorf("%q is no size such as 124M", size)
	}
	return n << shift, nil
}
