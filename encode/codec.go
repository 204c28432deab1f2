package encode

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// codecNames are Kafka's names of the codecs, by their number in a batch's attributes.
var codecNames = [...]string{"none", "gzip", "snappy", "lz4", "zstd"}

// compress packs the records of a batch. The bytes are not those that another library would make of them.
func compress(codec int, data []byte) ([]byte, error) {
	switch codec {
	case 0:
		return data, nil
	case 1:
		return write(data, func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil })
	case 2:
		return xerial(data), nil
	case 3:
		return write(data, func(w io.Writer) (io.WriteCloser, error) { return lz4.NewWriter(w), nil })
	case 4:
		return write(data, func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1)) })
	}
	return nil, fmt.Errorf("there is no codec %d", codec)
}

func write(data []byte, open func(io.Writer) (io.WriteCloser, error)) ([]byte, error) {
	var packed bytes.Buffer
	w, err := open(&packed)
	if err != nil {
		return nil, err
	}
	if _, err = w.Write(data); err == nil {
		err = w.Close()
	}
	return packed.Bytes(), err
}

// xerialMagic begins the framing that Kafka's clients put around snappy: its version and the oldest one that can read it follow, then blocks, each with
// its length in front.
const xerialMagic = "\x82SNAPPY\x00"

// xerialBlock is how many bytes go into a block.
const xerialBlock = 32 << 10

func xerial(data []byte) []byte {
	b := append([]byte(xerialMagic), 0, 0, 0, 1, 0, 0, 0, 1)
	for len(data) > 0 {
		block := data[:min(len(data), xerialBlock)]
		data = data[len(block):]
		packed := snappy.Encode(nil, block)
		b = binary.BigEndian.AppendUint32(b, uint32(len(packed)))
		b = append(b, packed...)
	}
	return b
}
