//go:build !linux

package main

import (
	"errors"

	"github.com/spf13/cobra"
)

// newLive returns a command that says what to do instead.
func newLive() *cobra.Command {
	return &cobra.Command{
		Use:                "live",
		Short:              "Read from a network interface of this host (Linux)",
		DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error {
			return errors.New("live needs Linux; use tcpdump -U -w - tcp port 9092 | kdissect read -")
		},
	}
}
