package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kdissect/kdissect/schema"
)

const rootHelp = `kdissect reads Kafka off the wire: a capture file in, every request and response out, as an annotated tree with
byte offsets, a line, or JSON. There is nothing to configure: file formats, ports, API versions and the pairing of requests with
responses are found in the capture.`

const rootExamples = `Look at a capture:
  kdissect capture.pcap                    every message as a tree
  kdissect -o summary capture.pcapng       a line for each request and its response
  kdissect -o summary broker-1.pcap.*      a rotated set as one capture
  tcpdump -U -w - port 9092 | kdissect -   from a pipe, as the packets come
  kdissect live -o summary                 from the interfaces of this host
  kdissect live --every 5s                 what is busy, slow, failing or hanging there

Find what matters:
  kdissect -o summary --errors capture.pcap
  kdissect -o summary --topic orders/3 --slow 100ms capture.pcap
  kdissect --where 'api == "Fetch" && excess > 100' capture.pcap

A byte is wrong:
  kdissect --number 7 --full -x capture.pcap    all of a message, with its bytes
  kdissect explain Fetch --version 17           what they should be
  kdissect decode 00000010000300010000...       bytes out of a log

For programs:
  kdissect -o json --records full capture.pcap | jq .`

const readHelp = `Read captures and print the messages in them. Several files are read as one, in order of time; - is standard input.`

const readExamples = `  kdissect read -o summary --unanswered capture.pcap    what never came back
  kdissect read -o summary --host 10.0.0.7 --from 20:07 --to 20:09:30 capture.pcap
  kdissect read --group billing --api JoinGroup,SyncGroup capture.pcap
  kdissect read --topic orders/3@1234 --full -x capture.pcap
  kdissect read -o json --records full --grep 'id=42' capture.pcap
  kdissect read -o summary --follow growing.pcap`

// newRoot returns the command line. The root command is read: kdissect FILE... is kdissect read FILE....
func newRoot() *cobra.Command {
	root := newRead()
	root.Use = "kdissect [flags] FILE..."
	root.Short = "Read Kafka off the wire"
	root.Long = rootHelp
	root.Example = rootExamples
	root.Version = version()
	root.SetVersionTemplate("kdissect {{.Version}}\n")
	root.SilenceErrors, root.SilenceUsage = true, true
	root.DisableFlagsInUseLine = true
	root.SetHelpFunc(printHelp)
	root.PersistentPreRunE = applyEnvironment
	root.SetFlagErrorFunc(nearestFlag)
	read := root.RunE
	root.RunE = func(cmd *cobra.Command, args []string) error { return nearestCommand(cmd, args, read(cmd, args)) }
	root.AddCommand(newRead(), newLive(), newInterfaces(), newDecode(), newEncode(), newExplain(), newSchemas(), newVersion(), newManual())
	for _, cmd := range append(root.Commands(), root) {
		completeFlags(cmd)
	}
	return root
}

// nearestFlag proposes a flag where one is unknown.
func nearestFlag(cmd *cobra.Command, err error) error {
	unknown := (*pflag.NotExistError)(nil)
	if !errors.As(err, &unknown) {
		return err
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	hint := strings.Replace(schema.DidYouMean(unknown.GetSpecifiedName(), names), "mean ", "mean --", 1)
	if hint == "" || unknown.GetSpecifiedShortnames() != "" {
		return fmt.Errorf("%w (%s --help has the flags)", err, cmd.CommandPath())
	}
	return fmt.Errorf("%w%s", err, hint)
}

// nearestCommand proposes a command where the first argument, taken for a file, is none and looks like one.
func nearestCommand(cmd *cobra.Command, args []string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) || strings.ContainsAny(args[0], "./\\") || !strings.HasPrefix(err.Error(), args[0]+": ") {
		return err
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	hint := strings.Replace(schema.DidYouMean(args[0], names), "mean ", "mean kdissect ", 1)
	return fmt.Errorf("%w%s", err, hint)
}
