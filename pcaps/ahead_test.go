package pcaps

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// What is read ahead is what the source yields: packets, damage in its place, and the end for good.
func TestReadAhead(t *testing.T) {
	for _, rec := range recordings(t, manySizes(3000)) {
		damaged := slices.Clone(rec.file)
		copy(damaged[rec.borders[1000]:rec.borders[1001]], bytes.Repeat([]byte{0xff}, 64))
		for name, file := range map[string][]byte{"whole": rec.file, "cut": rec.file[:len(rec.file)-1], "damaged": damaged} {
			t.Run(rec.name+" "+name, func(t *testing.T) {
				want := readAll(t, bytes.NewReader(file))
				s, err := NewSource(bytes.NewReader(file), "test")
				if err != nil {
					t.Fatal(err)
				}
				ahead := ReadAhead(t.Context(), s)
				got := drain(ahead)
				samePackets(t, got.packets, want.packets)
				sameEvents(t, got.events, want.events)
				if len(got.damage) != len(want.damage) || got.end != want.end || name != "whole" && len(got.damage) == 0 {
					t.Errorf("got %d damages and %v, want %d and %v", len(got.damage), got.end, len(want.damage), want.end)
				}
				if ahead.Position() != int64(len(file)) {
					t.Errorf("position %d at the end of %d bytes", ahead.Position(), len(file))
				}
				if err := ahead.Next(new(Batch)); err != io.EOF {
					t.Errorf("%v after the end", err)
				}
			})
		}
	}
}

// An input that goes on without saying more ends when it is not waited for any more, behind what it has said.
func TestReadAheadGivenUp(t *testing.T) {
	rec := recordings(t, manySizes(300))[0]
	synctest.Test(t, func(t *testing.T) {
		in, out := io.Pipe()
		go out.Write(rec.file[:rec.borders[200]+16])
		s, err := NewSource(in, "test")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		ahead := ReadAhead(ctx, s)
		got := drain(ahead)
		samePackets(t, got.packets, rec.packets[:200])
		wantEOF(t, got)
		ahead.Close()
		out.Close()
	})
}

// One that goes on and on ends as well.
func TestReadAheadGivenUpOnAFlood(t *testing.T) {
	rec := recordings(t, []int{1000})[0]
	flood := io.MultiReader(bytes.NewReader(rec.file[:rec.borders[0]]), &loop{body: rec.file[rec.borders[0]:]})
	s, err := NewSource(flood, "test")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ahead := ReadAhead(ctx, s)
	defer ahead.Close()
	var b Batch
	for n := range 1000 {
		switch err := ahead.Next(&b); {
		case err == io.EOF && n >= 5:
			return
		case err != nil:
			t.Fatal(err)
		}
		b.Release()
		time.Sleep(time.Millisecond) // the reader is faster
		if n == 5 {
			cancel()
		}
	}
	t.Error("it does not end")
}

// Close ends the reader and closes what it reads, even when nobody has taken what was read.
func TestReadAheadClose(t *testing.T) {
	rec := recordings(t, manySizes(3000))[0]
	synctest.Test(t, func(t *testing.T) {
		s, err := NewSource(bytes.NewReader(rec.file), "test")
		if err != nil {
			t.Fatal(err)
		}
		ahead := ReadAhead(t.Context(), s)
		synctest.Wait() // it has read all that it may
		if err := ahead.Close(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if err := s.Close(); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("the source was not closed: %v", err)
		}
		if err := ahead.Next(new(Batch)); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("Next after Close: %v", err)
		}
		if err := ahead.Close(); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("second Close: %v", err)
		}
	})
}
