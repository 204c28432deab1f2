package main

import (
	"fmt"
	"os"
	"strings"
)

// Between these lines of a document stand the figures.
const (
	beginMark = "<!-- figures of make bench begin -->\n"
	endMark   = "<!-- figures of make bench end -->\n"
)

// writeDocument puts figures in the place of those that a document has.
func writeDocument(path, figures string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	changed, err := replaceFigures(string(text), figures)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, []byte(changed), 0o644)
}

func replaceFigures(text, figures string) (string, error) {
	before, rest, begun := strings.Cut(text, beginMark)
	_, after, ended := strings.Cut(rest, endMark)
	if !begun || !ended {
		return "", fmt.Errorf("the lines %q and %q are wanted, in this order", strings.TrimSpace(beginMark), strings.TrimSpace(endMark))
	}
	return before + beginMark + "\n" + strings.TrimSpace(figures) + "\n\n" + endMark + after, nil
}
