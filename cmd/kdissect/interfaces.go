package main

import (
	"fmt"
	"net"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

func newInterfaces() *cobra.Command {
	return &cobra.Command{
		Use:   "interfaces",
		Short: "List the network interfaces of this host, for live",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return listInterfaces() },
	}
}

// listInterfaces prints a line for each interface: its name, whether it is up, its addresses.
func listInterfaces() error {
	interfaces, err := net.Interfaces()
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "any\t-\tall of them at once")
	for _, i := range interfaces {
		state := "down"
		if i.Flags&net.FlagUp != 0 {
			state = "up"
		}
		var texts []string
		addresses, err := i.Addrs()
		if err != nil {
			return fmt.Errorf("%s: %w", i.Name, err)
		}
		for _, a := range addresses {
			texts = append(texts, a.String())
		}
		if len(texts) == 0 {
			texts = []string{"-"}
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", i.Name, state, strings.Join(texts, " "))
	}
	return w.Flush()
}
