package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/hextext"
	"github.com/kdissect/kdissect/pcaps"
	"github.com/kdissect/kdissect/render"
	"github.com/kdissect/kdissect/schema"
)

const decodeHelp = `Decode bytes out of a log, an issue or a debugger.

They may be written as hex digits, as a dump (hexdump -C, xxd, tcpdump -X and -XX, Wireshark's "copy as hex dump"), as
a string with \x00 in it, as a list of numbers, as base64, or be the bytes themselves. A dump of packets has its headers
taken off.

They are requests, one or several, with their size in front or without. What does not say itself what it is needs a word:
--api and --version for responses, and one of the flags below for less than a frame.`

const decodeExamples = `  kdissect decode 00000010000300010000000700026d65ffffffff
  pbpaste | kdissect decode -                                          what was copied, on a Mac
  kdissect decode --api Metadata --version 1 answer.hex                a response
  kdissect decode --body --request --api Metadata --version 1 ffffffff
  kdissect decode --offsets-key 000100016700017400000001`

// decodeFlags are the flags of decode.
type decodeFlags struct {
	output                   choice
	color                    choice
	options                  render.Options
	api                      string
	version                  int16
	request, response, body  bool
	records                  bool
	offsetsKey, offsetsValue bool
	schema                   string
	schemas                  schemaFlags
	given                    *dissect.Given
	layout                   *schema.Plan // of --api and --version, else nil
}

func newDecode() *cobra.Command {
	f := decodeFlags{
		output: choice{"tree", []string{"tree", "json"}},
		color:  newColor(),
	}
	cmd := &cobra.Command{
		Use:     "decode [flags] HEX|FILE|-",
		Short:   "Decode bytes out of a log or an issue",
		Long:    decodeHelp,
		Example: decodeExamples,
		Args:    oneInput("Hex"),
		RunE:    func(cmd *cobra.Command, args []string) error { return f.decode(cmd, args[0]) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.api, "api", "", "responses of this API, by its `name` or key")
	flags.Int16Var(&f.version, "version", 0, "version of the API")
	flags.BoolVar(&f.body, "body", false, "a body alone, without size and header; with --api, --version, and --request or --response")
	flags.BoolVar(&f.request, "request", false, "it is a request")
	flags.BoolVar(&f.response, "response", false, "it is a response")
	flags.BoolVar(&f.records, "records", false, "record batches alone")
	flags.BoolVar(&f.offsetsKey, "offsets-key", false, "the key of a record of __consumer_offsets")
	flags.BoolVar(&f.offsetsValue, "offsets-value", false, "the value of one")
	flags.StringVar(&f.schema, "schema", "", "another structure by its `name`, such as ConsumerProtocolSubscription")
	flags.VarP(&f.output, "output", "o", "format")
	flags.BoolVar(&f.options.Full, "full", false, "tree: every node, nothing folded or cut")
	flags.BoolVarP(&f.options.Hex, "hex", "x", false, "tree: the bytes as well")
	flags.IntVar(&f.options.MaxRecords, "max-records", 10, "tree: records shown of a batch")
	flags.IntVar(&f.options.MaxBytes, "max-bytes", 64, "tree: bytes shown of a value")
	flags.BoolVar(&f.options.Layout, "layout", false, "json: offset and size of every field")
	flags.BoolVar(&f.options.ShowSecrets, "show-secrets", false, "print bodies that carry passwords, tokens or keys")
	flags.Var(&f.color, "color", "colours on a terminal")
	f.schemas.register(flags)
	cmd.MarkFlagsMutuallyExclusive("body", "records", "offsets-key", "offsets-value", "schema")
	cmd.MarkFlagsMutuallyExclusive("request", "response")
	return cmd
}

func (f *decodeFlags) decode(cmd *cobra.Command, argument string) error {
	if err := f.settle(cmd); err != nil {
		return err
	}
	data, err := readBytes(argument)
	if err != nil {
		return err
	}
	if f.output.value == "json" {
		return f.write(data, render.NewJSON(os.Stdout, f.options))
	}
	return paged(func(out io.Writer) error { return f.write(data, render.NewTree(out, f.options)) })
}

func (f *decodeFlags) write(data []byte, format render.Format) error {
	if err := f.messages(data, format); err != nil {
		return err
	}
	return format.Flush()
}

// settle checks the flags and finds the layout that they name.
func (f *decodeFlags) settle(cmd *cobra.Command) error {
	if f.options.MaxRecords < 1 || f.options.MaxBytes < 1 {
		return errors.New("--max-records and --max-bytes want at least 1; --full cuts nothing")
	}
	f.options.Color = isColorful(f.color)
	f.options.Records = render.RecordsFull
	catalog, err := f.schemas.catalog()
	if err != nil {
		return err
	}
	f.given = dissect.NewGiven(catalog)
	named, versioned := f.api != "", cmd.Flags().Changed("version")
	switch {
	case f.body && !f.request && !f.response:
		return errors.New("--body wants --request or --response")
	case (f.body || f.response) && !(named && versioned):
		return errors.New("only --api and --version say what that is; give both")
	case named != versioned:
		return errors.New("--api and --version belong together; give both")
	case !named:
		return nil
	}
	api, err := catalog.FindAPI(f.api)
	if err != nil {
		return fmt.Errorf("--api: %w", err)
	}
	kind := schema.Response
	if f.request {
		kind = schema.Request
	}
	if f.layout = catalog.Plan(api.Key, f.version, kind); f.layout == nil {
		return fmt.Errorf("--version: %s has no version %d; it has %s", api.Name, f.version, api.Versions)
	}
	return nil
}

// messages decodes what was given and hands it to the format.
func (f *decodeFlags) messages(data []byte, format render.Format) error {
	var m *dissect.Message
	var err error
	var others []string
	switch {
	case f.body:
		m = f.given.Body(data, f.layout)
	case f.records:
		m = f.given.Records(data)
	case f.offsetsKey:
		m, err = f.given.OffsetsKey(data)
	case f.offsetsValue:
		m, others, err = f.given.OffsetsValue(data)
	case f.schema != "":
		m, err = f.given.Named(f.schema, data)
	default:
		return f.frames(data, format)
	}
	if err != nil {
		return err
	}
	format.Message(m)
	if len(others) > 0 {
		fmt.Fprintf(os.Stderr, "kdissect: only its key tells what a value is. This one may also be %s; --schema says which\n", strings.Join(others, ", "))
	}
	return nil
}

// frames decodes requests, or the responses that the flags name.
func (f *decodeFlags) frames(data []byte, format render.Format) error {
	layout, unknown, faulty := f.layout, false, false
	if f.request {
		layout = nil // it says itself what it is
	}
	f.given.Frames(data, layout, func(m *dissect.Message) bool {
		format.Message(m)
		unknown = unknown || m.Plan() == nil
		faulty = faulty || m.Undecoded() != nil || slices.ContainsFunc(m.Findings, isFault)
		return true
	})
	switch {
	case layout == nil && faulty && !unknown:
		fmt.Fprintln(os.Stderr, "kdissect: as a request it has faults. If it is a response, say of what, with --api NAME --version N")
	case unknown:
		fmt.Fprintln(os.Stderr, "kdissect: this is no request that is known. A response is decoded with --api NAME --version N; kdissect decode --help has what else can be")
	}
	return nil
}

// isFault tells whether a finding is about bytes that do not fit.
func isFault(f dissect.Finding) bool {
	switch f.Code {
	case dissect.BadUTF8, dissect.TrailingBytes, dissect.InvalidLength, dissect.NullNotAllowed, dissect.TagOrder, dissect.TagSize:
		return true
	}
	return false
}

// readBytes returns the bytes that an argument stands for: what is written in it, or in the file that it names, or on standard input.
func readBytes(argument string) ([]byte, error) {
	text, name := []byte(argument), "the argument"
	_, missing := os.Stat(argument)
	if argument == "-" || missing == nil {
		input, file, err := openInput(argument, func(string) bool { return false })
		if err != nil {
			return nil, err
		}
		defer input.Close()
		if text, err = io.ReadAll(input); err != nil {
			return nil, err
		}
		name = file
	}
	if pcaps.IsCapture(text) {
		return nil, fmt.Errorf("%s is a capture: kdissect read %[1]s", name)
	}
	data, err := hextext.Parse(text)
	switch {
	case err != nil && missing != nil && argument != "-":
		return nil, fmt.Errorf("%s is no file, and as text: %w", strconv.Quote(argument[:min(len(argument), 40)]), err)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	case len(data) == 0:
		return nil, fmt.Errorf("%s: there are no bytes in it", name)
	}
	return data, nil
}
