package pcaps

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestFollow reads a file while it is written in pieces that end anywhere.
func TestFollow(t *testing.T) {
	for _, rec := range uncutRecordings(t, manySizes(60)) {
		for name, content := range map[string][]byte{"plain": rec.file, "gzip": gzipped(t, rec.file)} {
			t.Run(rec.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				path := filepath.Join(t.TempDir(), "growing")
				w, err := os.Create(path)
				if err != nil {
					t.Fatal(err)
				}
				ctx, stop := context.WithCancel(t.Context())
				go func() {
					defer stop()
					defer w.Close()
					for rest := content; len(rest) > 0; {
						n := min(len(rest), len(content)/7+1)
						if _, err := w.Write(rest[:n]); err != nil {
							t.Error(err)
							return
						}
						rest = rest[n:]
						time.Sleep(30 * time.Millisecond)
					}
				}()
				s, err := Follow(ctx, path)
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				got := drain(s)
				wantEOF(t, got)
				samePackets(t, got.packets, rec.packets)
			})
		}
	}
}

// TestFollowPromptly demands each packet soon after it is written, and a half-written one to be no damage.
func TestFollowPromptly(t *testing.T) {
	for _, rec := range uncutRecordings(t, []int{60, 1500, 70, 80}) {
		t.Run(rec.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "growing")
			w, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			write := func(from, to int) {
				if _, err := w.Write(rec.file[from:to]); err != nil {
					t.Error(err)
				}
			}
			write(0, rec.borders[0])
			ctx, stop := context.WithCancel(t.Context())
			s, err := Follow(ctx, path)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			var b Batch
			for i := range rec.packets[:3] {
				go write(rec.borders[i], rec.borders[i+1])
				if err := s.Next(&b); err != nil {
					t.Fatal(err)
				}
				samePackets(t, b.Packets, rec.packets[i:i+1])
				b.Release()
			}
			write(rec.borders[3], rec.borders[3]+30)
			time.AfterFunc(3*followInterval/2, stop)
			for range 2 {
				if err := s.Next(&b); err != io.EOF {
					t.Errorf("ended with %v, want io.EOF", err)
				}
			}
		})
	}
}

// TestFollowDamage goes on behind damage in what was written before.
func TestFollowDamage(t *testing.T) {
	for _, rec := range uncutRecordings(t, manySizes(100)) {
		path := filepath.Join(t.TempDir(), "growing")
		file := rec.file
		for i := range 20 {
			file[rec.borders[50]+i] = 0xff
		}
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(t.Context(), followInterval)
		defer stop()
		s, err := Follow(ctx, path)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		got := drain(s)
		if len(got.packets) != 99 || len(got.damage) != 1 || !got.damage[0].Resumed || got.end != io.EOF {
			t.Errorf("%s: %d packets, damage %v, then %v", rec.name, len(got.packets), got.damage, got.end)
		}
	}
}

// TestFollowGivenUp wants an error, after all that was written, for a file that nobody writes to any more.
func TestFollowGivenUp(t *testing.T) {
	rec := uncutRecordings(t, []int{60, 70})[0]
	for name, test := range map[string]struct {
		giveUp func(path string) error
		want   string
	}{
		"cut":     {func(path string) error { return os.Truncate(path, 10) }, "became shorter"},
		"removed": {os.Remove, "was removed"},
		"replaced": {func(path string) error {
			return errors.Join(os.Rename(path, path+".1"), os.WriteFile(path, rec.file, 0o600))
		}, "was replaced"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "growing")
			if err := os.WriteFile(path, rec.file, 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := Follow(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			var b Batch
			if err := s.Next(&b); err != nil {
				t.Fatal(err)
			}
			samePackets(t, b.Packets, rec.packets)
			b.Release()
			if err := test.giveUp(path); err != nil {
				t.Fatal(err)
			}
			err = s.Next(&b)
			if err == nil || !strings.HasPrefix(err.Error(), path+": "+test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
			if again := s.Next(&b); again != err {
				t.Errorf("then %v", again)
			}
		})
	}
}

func TestFollowErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "growing")
	if s, err := Follow(t.Context(), path); s != nil || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, %v", s, err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), followInterval)
	defer stop()
	if s, err := Follow(ctx, path); s != nil || err == nil || !strings.HasPrefix(err.Error(), path+": empty") {
		t.Errorf("got %v, %v", s, err)
	}
}
