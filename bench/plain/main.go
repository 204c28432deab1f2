// Command plain does bare work on a file, for the benchmark to compare with: what no program can do faster that has to do that, too.
//
//	plain read FILE            reads it, 1 MiB a call
//	plain expand FILE          expands a file that is compressed with zstd
//	plain unpack CODEC FILE    unpacks blocks, each with its length in front
package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "plain:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 2 {
		return errors.New("usage: plain read|expand FILE, or plain unpack CODEC FILE")
	}
	path := args[len(args)-1]
	if args[0] == "unpack" {
		return unpackAll(args[1], path)
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	switch args[0] {
	case "read":
		return readAll(file)
	case "expand":
		z, err := zstd.NewReader(file)
		if err != nil {
			return err
		}
		defer z.Close()
		return readAll(z)
	}
	return fmt.Errorf("%s is nothing that can be done", args[0])
}

func readAll(r io.Reader) error {
	buffer, size := make([]byte, 1<<20), 0
	for {
		n, err := r.Read(buffer)
		size += n
		if err == io.EOF {
			fmt.Println(size, "bytes")
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func unpackAll(codec, path string) error {
	unpack, err := unpacker(codec)
	if err != nil {
		return err
	}
	blocks, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	size := 0
	var out []byte
	for len(blocks) > 0 {
		n := 4 + int(binary.BigEndian.Uint32(blocks))
		if out, err = unpack(blocks[4:n], out[:0]); err != nil {
			return err
		}
		size += len(out)
		blocks = blocks[n:]
	}
	fmt.Println(size, "bytes")
	return nil
}

// unpacker returns what unpacks one block behind out.
func unpacker(codec string) (func(block, out []byte) ([]byte, error), error) {
	source := &bytes.Reader{}
	from := func(r io.Reader, reset func() error) func(block, out []byte) ([]byte, error) {
		return func(block, out []byte) ([]byte, error) {
			source.Reset(block)
			if err := reset(); err != nil {
				return nil, err
			}
			buffer := bytes.NewBuffer(out)
			_, err := buffer.ReadFrom(r)
			return buffer.Bytes(), err
		}
	}
	switch codec {
	case "none":
		return func(block, out []byte) ([]byte, error) { return append(out, block...), nil }, nil
	case "gzip":
		z := new(gzip.Reader)
		return from(z, func() error { return z.Reset(source) }), nil
	case "snappy":
		return func(block, out []byte) ([]byte, error) { return snappy.Decode(out[:cap(out)], block) }, nil
	case "lz4":
		z := lz4.NewReader(source)
		return from(z, func() error { z.Reset(source); return nil }), nil
	case "zstd":
		z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
		return func(block, out []byte) ([]byte, error) { return z.DecodeAll(block, out) }, err
	}
	return nil, fmt.Errorf("%s is no codec", codec)
}
