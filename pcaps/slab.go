package pcaps

import (
	"sync"
	"sync/atomic"
)

// Sizes of an ordinary slab: large enough that one read call costs little per packet, small enough that a batch is still in the
// cache when it is dissected. A stream begins with smaller ones, since memory that was never used before is dear: the kernel clears it page by page, so a
// capture of 8 MB takes a fifth longer with large ones. Beyond 64 MiB that no longer counts, but each slab has somebody woken up for it.
const (
	slabSize      = 512 << 10
	firstSlabSize = 128 << 10
	firstBytes    = 64 << 20
)

// A slab is a piece of memory that packets alias. It is written by one reader, in one
// direction only, while others hold what was written before. It goes back to the pool when
// the last holder lets go.
type slab struct {
	bytes   []byte
	holders atomic.Int32
	pool    *sync.Pool // nil for one that is not kept
}

var (
	slabs      = newSlabPool(slabSize)
	firstSlabs = newSlabPool(firstSlabSize)
)

// newSlabPool returns a pool of slabs of one size.
func newSlabPool(size int) *sync.Pool {
	pool := &sync.Pool{}
	pool.New = func() any { return &slab{bytes: make([]byte, size), pool: pool} }
	return pool
}

// newSlab returns a slab of at least size bytes, held once. Its bytes are not cleared.
func newSlab(size int) *slab {
	switch {
	case size <= firstSlabSize:
		return slabFrom(firstSlabs)
	case size <= slabSize:
		return slabFrom(slabs)
	}
	s := &slab{bytes: make([]byte, size)} // for one packet out of thousands
	s.holders.Store(1)
	return s
}

// slabFrom returns a slab of a pool, held once.
func slabFrom(pool *sync.Pool) *slab {
	s := pool.Get().(*slab)
	s.holders.Store(1)
	return s
}

func (s *slab) hold() { s.holders.Add(1) }

func (s *slab) release() {
	if s.holders.Add(-1) == 0 && s.pool != nil {
		s.pool.Put(s)
	}
}
