package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const rootHelp = `kdissect reads Kafka off the wire: a capture file in, every request and response out, as an
annotated tree with byte offsets, a line, or JSON. There is nothing to configure: file formats, ports, API
versions and the pairing of requests with responses are found in the capture.`

const rootExamples = `  kdissect capture.pcap                    every message as a tree
  kdissect -o summary capture.pcapng       a line for each request and its response
  kdissect -o json capture.pcap | jq .     for programs
  kdissect -o summary broker-1.pcap.*      a rotated set as one capture, in order of time
  tcpdump -U -w - port 9092 | kdissect -   from a pipe, as the packets come`

// newRoot returns the command line. The root command is read: kdissect FILE... is kdissect read FILE....
func newRoot() *cobra.Command {
	root := newRead()
	root.Use = "kdissect [flags] FILE..."
	root.Short = "Read Kafka off the wire"
	root.Long = rootHelp
	root.Example = rootExamples
	root.Version = version()
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		var unknown *pflag.NotExistError
		if errors.As(err, &unknown) {
			return fmt.Errorf("%w (kdissect --help has the flags)", err)
		}
		return err
	})
	root.AddCommand(newRead(), newDecode(), newEncode(), newExplain())
	return root
}
