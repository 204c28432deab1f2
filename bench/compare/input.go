package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// An input is a kind of traffic, of any size.
type input struct {
	name  string
	about string
	make  func(o *options, out, size string) error
}

var inputs = []input{
	{"small", "Produce v7, one record of 100 bytes a request", produce("small")},
	{"large", "Produce v7, one batch of 100 records of 1000 bytes a request", produce("large")},
	{"real", "sessions of Java, franz-go and librdkafka clients with Kafka 4.4, again and again, eight at a time", multiply},
}

// realCaptures are sessions of today's clients, each with a broker on port 9092.
var realCaptures = []string{"java-4.4-produce-consume.pcap", "franz-go-4.4.pcap", "librdkafka-4.4.pcap"}

func produce(kind string) func(*options, string, string) error {
	return func(o *options, out, size string) error {
		return command("", "python3", filepath.Join(o.shared, "bench", "produce.py"), out, kind, "--size", size)
	}
}

func multiply(o *options, out, size string) error {
	args := []string{filepath.Join(o.shared, "bench", "multiply.py"), out, "--size", size, "--broker-port", "9092"}
	for _, name := range realCaptures {
		args = append(args, filepath.Join(o.shared, "captures", "real", name))
	}
	return command("", "python3", args...)
}

// file returns a capture of the input in the given size, made if it is not there yet.
func (in *input) file(o *options, size string) (string, error) {
	path := filepath.Join(o.dir, in.name+"-"+size+".pcap")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	fmt.Fprintln(os.Stderr, "compare: making", path)
	if err := in.make(o, path+".new", size); err != nil {
		return "", err
	}
	return path, os.Rename(path+".new", path)
}

// emptyCapture is a pcap file of nothing but its header.
const emptyCapture = "\xd4\xc3\xb2\xa1\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x04\x00\x01\x00\x00\x00"

func (o *options) emptyFile() (string, error) {
	path := filepath.Join(o.dir, "empty.pcap")
	return path, os.WriteFile(path, []byte(emptyCapture), 0o644)
}
