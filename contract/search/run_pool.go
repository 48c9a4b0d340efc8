package search

import "sync"

// A pool keeps one copy of each value, for what is equal in many runs. It is safe for
// concurrent use; the zero pool is empty.
type pool[T comparable] struct {
	mu    sync.Mutex
	known map[T]*T
}

// maxPool bounds the values that are looked up: those of an agent that does not repeat
// itself may be different each time.
const maxPool = 10_000

// shared returns the copy of a value, which must not be changed.
func (p *pool[T]) shared(v T) *T {
	p.mu.Lock()
	defer p.mu.Unlock()
	if shared, ok := p.known[v]; ok {
		return shared
	}
	own := v
	if p.known == nil {
		p.known = map[T]*T{}
	}
	if len(p.known) < maxPool {
		p.known[v] = &own
	}
	return &own
}
