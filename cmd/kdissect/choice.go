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
	if !c.has(value) {
		return fmt.Errorf("choose one of %s", strings.Join(c.known, ", "))
	}
	c.value = value
	return nil
}

func (c *choice) has(value string) bool { return slices.Contains(c.known, value) }

// Type implements pflag.Value; help shows it as the flag's argument.
func (c *choice) Type() string { return "word" }

// newColor is the choice of --color, in every command that has it.
func newColor() choice { return choice{"auto", []string{"auto", "always", "never"}} }
