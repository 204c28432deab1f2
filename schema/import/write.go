package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kdissect/kdissect/schema"
)

// writeCatalog writes one file a message and the index, and removes the files of messages that are gone.
func writeCatalog(dir string, messages release) error {
	index := bytes.NewBufferString(schema.IndexHeader)
	keep := map[string]bool{}
	for _, name := range slices.SortedFunc(maps.Keys(messages), compareNames(messages)) {
		module, _, _ := strings.Cut(name, "/")
		m := messages[name]
		file := module + "/" + m.Name + ".json"
		keep[filepath.Join(dir, file)] = true
		if err := os.MkdirAll(filepath.Join(dir, module), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, file), m.Format(false), 0o644); err != nil {
			return err
		}
		index.WriteString(schema.IndexLine(file, m))
	}
	old, err := filepath.Glob(filepath.Join(dir, "*", "*.json"))
	if err != nil {
		return err
	}
	for _, file := range old {
		if !keep[file] {
			if err := os.Remove(file); err != nil {
				return err
			}
		}
	}
	return os.WriteFile(filepath.Join(dir, "index.tsv"), index.Bytes(), 0o644)
}

// compareNames orders by module, then API key, then name, so that the index reads like a table of the protocol.
func compareNames(messages release) func(a, b string) int {
	key := func(name string) string {
		module, rest, _ := strings.Cut(name, "/")
		return fmt.Sprintf("%s/%05d/%s", module, uint16(messages[name].APIKey), rest)
	}
	return func(a, b string) int { return strings.Compare(key(a), key(b)) }
}
