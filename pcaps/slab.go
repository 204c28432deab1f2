package pcaps

import (
	"sync"
	"sync/atomic"
)

// slabSize is the size of an ordinary slab: large enough that one read call costs little
// per packet, small enough that a batch is still in the cache when it is dissected.
const slabSize = 512 << 10

// A slab is a piece of memory that packets alias. It is written by one reader, in one
// direction only, while others hold what was written before. It goes back to the pool when
// the last holder lets go.
type slab struct {
	bytes   []byte
	holders atomic.Int32
	pool    *sync.Pool // nil for one that is not kept
}

var slabs = newSlabPool(slabSize)

// newSlabPool returns a pool of slabs of one size.
func newSlabPool(size int) *sync.Pool {
	pool := &sync.Pool{}
	pool.New = func() any { return &slab{bytes: make([]byte, size), pool: pool} }
	return pool
}

// newSlab returns a slab of at least size bytes, held once. Its bytes are not cleared.
func newSlab(size int) *slab {
	if size > slabSize { // for one packet out of thousands
		s := &slab{bytes: make([]byte, size)}
		s.holders.Store(1)
		return s
	}
	return slabFrom(slabs)
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
