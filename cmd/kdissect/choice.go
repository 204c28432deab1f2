package main

import (
	"fmt"
	"slices"
	"strings"
)

// A choice is the value of a flag that takes one of a few words.
type choice struct {
	value string
	known []string
}

func (c *choice) String() string { return c.value }

// Set implements pflag.Value.
func (c *choice) Set(value string) error {
	if !slices.Contains(c.known, value) {
		return fmt.Errorf("choose one of %s", strings.Join(c.known, ", "))
	}
	c.value = value
	return nil
}

// Type implements pflag.Value; help shows it as the flag's argument.
func (c *choice) Type() string { return strings.Join(c.known, "|") }
