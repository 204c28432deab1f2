package state

import "container/list"

// A shelf keeps things up to a number and a size, together. When there is no room, those that were used longest ago are let go: things are used in the
// order of the capture.
type shelf[K comparable, V any] struct {
	byKey map[K]*list.Element
	order list.List // the one used last in front
	most  int
	room  int // bytes
	size  int // of all, about
	// Dropped is how many were let go.
	Dropped int64
	dropped func(*V) // called for each that is let go; may be nil
}

type shelved[K comparable, V any] struct {
	key   K
	value *V
	size  int
}

func newShelf[K comparable, V any](most, room int) *shelf[K, V] {
	return &shelf[K, V]{byKey: map[K]*list.Element{}, most: most, room: room}
}

// find returns what is kept under a key, nil when there is nothing.
func (s *shelf[K, V]) find(key K) *V {
	if e := s.byKey[key]; e != nil {
		return e.Value.(*shelved[K, V]).value
	}
	return nil
}

// use returns what is kept under a key, and creates it if need be. It is the one used last from then on.
func (s *shelf[K, V]) use(key K, create func() *V) *V {
	if e := s.byKey[key]; e != nil {
		s.order.MoveToFront(e)
		return e.Value.(*shelved[K, V]).value
	}
	v := create()
	s.byKey[key] = s.order.PushFront(&shelved[K, V]{key: key, value: v})
	s.shrink()
	return v
}

// weigh says how large what is kept under a key is by now.
func (s *shelf[K, V]) weigh(key K, size int) {
	if e := s.byKey[key]; e != nil {
		kept := e.Value.(*shelved[K, V])
		s.size += size - kept.size
		kept.size = size
		s.shrink()
	}
}

// shrink lets go until there is room; the one used last stays.
func (s *shelf[K, V]) shrink() {
	for len(s.byKey) > 1 && (len(s.byKey) > s.most || s.size > s.room) {
		s.Dropped++
		old := s.remove(s.order.Back())
		if s.dropped != nil {
			s.dropped(old)
		}
	}
}

func (s *shelf[K, V]) remove(e *list.Element) *V {
	old := e.Value.(*shelved[K, V])
	s.order.Remove(e)
	delete(s.byKey, old.key)
	s.size -= old.size
	return old.value
}

// all yields what is kept, the one used last first.
func (s *shelf[K, V]) all(yield func(*V) bool) {
	for e := s.order.Front(); e != nil; e = e.Next() {
		if !yield(e.Value.(*shelved[K, V]).value) {
			return
		}
	}
}
