package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/kdissect/kdissect/pcaps"
	"github.com/kdissect/kdissect/reassembly"
)

// A talk is what is said on a connection: whole frames, in order.
type talk []frame

// A frame is one message, with its size in front.
type frame struct {
	client bool // says it
	data   []byte
}

// maxFrames is how much of a connection is said: its first frames.
const maxFrames = 12

// A listener hears the connections of a capture.
type listener map[int]*heard

type heard struct {
	talk talk
	rest [2][]byte // that is no whole frame yet, by direction
}

func (l listener) Chunk(c *reassembly.Connection, d reassembly.Direction, chunk *reassembly.Chunk) {
	h := l[c.ID]
	if h == nil {
		h = &heard{}
		l[c.ID] = h
	}
	rest := append(h.rest[d], chunk.Data...)
	for len(rest) >= 4 {
		size := 4 + int(binary.BigEndian.Uint32(rest))
		if len(rest) < size {
			break
		}
		h.talk = append(h.talk, frame{d == reassembly.FromA, bytes.Clone(rest[:size])})
		rest = rest[size:]
	}
	h.rest[d] = rest
}

func (l listener) Gap(*reassembly.Connection, reassembly.Direction, reassembly.Gap)    {}
func (l listener) Fin(*reassembly.Connection, reassembly.Direction, reassembly.Origin) {}
func (l listener) End(*reassembly.Connection, reassembly.EndCause, reassembly.Origin)  {}

// readTalks reads the beginnings of the connections of a capture.
func readTalks(path string) ([]talk, error) {
	source, err := pcaps.Open(path)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	l := listener{}
	a := reassembly.New(l)
	for b := new(pcaps.Batch); ; b.Release() {
		if err := source.Next(b); err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		for i := range b.Packets {
			if err := a.Packet(&b.Packets[i]); err != nil {
				return nil, err
			}
		}
	}
	a.Close()
	var talks []talk
	for _, id := range slices.Sorted(maps.Keys(l)) {
		if t := l[id].talk; len(t) > 0 && t[0].client {
			talks = append(talks, t[:min(len(t), maxFrames)])
		}
	}
	if len(talks) == 0 {
		return nil, fmt.Errorf("%s has no connections", path)
	}
	return talks, nil
}
