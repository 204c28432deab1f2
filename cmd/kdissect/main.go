package main

import (
	"fmt"
	"os"
	"io"
	"errors"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/pcaps"
	"github.com/kdissect/kdissect/reassembly"
	"github.com/kdissect/kdissect/render"
	"github.com/kdissect/kdissect/schema"
)

func main() {
	src, err := pcaps.Open(os.Args[len(os.Args)-1])
	if err != nil { fmt.Fprintln(os.Stderr, err); os.Exit(2) }
	out := render.NewJSON(os.Stdout, render.Options{Layout: true, ShowSecrets: true})
	d := dissect.New(schema.Embedded(), out.Needs(), out)
	a := reassembly.New(d)
	var b pcaps.Batch
	for {
		err := src.Next(&b)
		if errors.Is(err, io.EOF) { break }
		if err != nil { fmt.Fprintln(os.Stderr, err); break }
		for i := range b.Packets { if err := a.Packet(&b.Packets[i]); err != nil { fmt.Fprintln(os.Stderr, err) } }
		b.Release()
	}
	a.Close()
	out.Flush()
}
