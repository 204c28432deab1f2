package render

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/pcaps"
	"github.com/kdissect/kdissect/reassembly"
	"github.com/kdissect/kdissect/schema"
)

func treeOf(t testing.TB, name string, o Options) string {
	var out bytes.Buffer
	tree := NewTree(&out, o)
	readCapture(t, name, tree)
	tree.Flush()
	return out.String()
}

// readCapture dissects one of the captures that are kept beside the project.
func readCapture(t testing.TB, name string, out Format) {
	path := filepath.Join("..", "..", "shared", "captures", "real", name)
	source, err := pcaps.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("no captures here")
	}
	if err != nil {
		t.Skip(err)
	}
	defer source.Close()
	assembler := reassembly.New(dissect.New(schema.Embedded(), out.Needs(), out))
	var batch pcaps.Batch
	for {
		if err := source.Next(&batch); err != nil {
			if err != io.EOF {
				t.Log(err)
			}
			break
		}
		for i := range batch.Packets {
			assembler.Packet(&batch.Packets[i])
		}
		batch.Release()
	}
	assembler.Close()
}

func TestShow(t *testing.T) {
	name := os.Getenv("SHOW")
	if name == "" {
		t.Skip()
	}
	t.Log("\n" + treeOf(t, name, Options{Full: os.Getenv("FULL") != "", Hex: os.Getenv("HEX") != "", Color: os.Getenv("COLOR") != ""}))
}
