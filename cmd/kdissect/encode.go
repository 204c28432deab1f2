package main

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kdissect/kdissect/encode"
	"github.com/kdissect/kdissect/schema"
)

const encodeHelp = `Write messages as Kafka does: JSON in, bytes out, as a line of hex for each message.

The JSON is what "kdissect read -o json --records full" prints, or the same by hand:

  {"type":"REQUEST", "apiName":"Metadata", "apiVersion":1, "correlationId":7, "clientId":"me",
   "payload":{...}}
  {"name":"OffsetCommitKey", "version":0, "value":{...}}

The second form is for all that is no request or response: keys and values of internal topics, what consumers
tell each other, control records. Every field of the version must be there, unless --defaults is given. Records
are batches, or base64 of their bytes.`

const encodeExamples = `  kdissect encode '{"type":"REQUEST","apiName":"Metadata","apiVersion":1,"payload":{"topics":null}}'
  kdissect read -o json capture.pcap | jq -c 'select(.number == 7)' | kdissect encode -
  kdissect encode --raw request.json | nc localhost 9092 |
    kdissect decode --api Metadata --version 1 -`

// encodeFlags are the flags of encode.
type encodeFlags struct {
	raw     bool
	schemas schemaFlags
	catalog *schema.Catalog
	options encode.Options
}

func newEncode() *cobra.Command {
	var f encodeFlags
	cmd := &cobra.Command{
		Use:     "encode [flags] JSON|FILE|-",
		Short:   "Write a message from JSON, as hex or raw bytes",
		Long:    encodeHelp,
		Example: encodeExamples,
		Args:    oneInput("JSON"),
		RunE:    func(_ *cobra.Command, args []string) error { return f.encode(args[0]) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&f.raw, "raw", false, "the bytes themselves, not hex")
	flags.BoolVar(&f.options.BodyOnly, "body", false, "the body alone: no size, no header, no version in front")
	flags.BoolVar(&f.options.Defaults, "defaults", false, "fields that are missing take their defaults")
	f.schemas.register(flags)
	return cmd
}

// oneInput wants the one argument of a command that takes text, a file or standard input.
func oneInput(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch len(args) {
		case 1:
			return nil
		case 0:
			return fmt.Errorf("%s, a file with it, or - for standard input is wanted; %s --help has examples", what, cmd.CommandPath())
		}
		return fmt.Errorf("one argument at a time, not %d; put what has spaces in quotes", len(args))
	}
}

// encode writes every message of the input.
func (f *encodeFlags) encode(argument string) error {
	catalog, err := f.schemas.catalog()
	if err != nil {
		return err
	}
	f.catalog = catalog
	input, name, err := openInput(argument, func(s string) bool { return strings.HasPrefix(strings.TrimSpace(s), "{") })
	if err != nil {
		return err
	}
	defer input.Close()
	out := bufio.NewWriter(os.Stdout)
	documents := json.NewDecoder(input)
	n := 0
	for {
		var document json.RawMessage
		err := documents.Decode(&document)
		if errors.Is(err, io.EOF) {
			break
		}
		n++
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF):
			err = errors.New("the JSON ends in the middle")
		case err == nil:
			err = f.write(out, document)
		}
		if err != nil {
			out.Flush()
			return fmt.Errorf("%s: message %d: %w", name, n, err)
		}
	}
	if n == 0 {
		return fmt.Errorf("%s: there is no JSON in it", name)
	}
	return out.Flush()
}

func (f *encodeFlags) write(out io.Writer, document []byte) error {
	m, err := encode.Parse(f.catalog, document)
	if err != nil {
		return err
	}
	b, err := m.Encode(f.options)
	if err != nil {
		return err
	}
	if !f.raw {
		b = append(hex.AppendEncode(nil, b), '\n')
	}
	_, err = out.Write(b)
	return err
}

// openInput opens what an argument stands for: standard input, the text itself, or a file.
func openInput(argument string, isText func(string) bool) (input io.ReadCloser, name string, err error) {
	switch {
	case argument == "-":
		return io.NopCloser(os.Stdin), "standard input", nil
	case isText(argument):
		return io.NopCloser(bytes.NewReader([]byte(argument))), "the argument", nil
	}
	file, err := os.Open(argument)
	return file, argument, err
}
