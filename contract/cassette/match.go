package cassette

import (
	"sync/atomic"

	"github.com/shakedown-go/shakedown/contract/cassette/internal/tape"
)

// A library is a tape as it was read, with its exchanges by key. It does not change.
type library struct {
	exchanges []tape.Exchange
	used      []atomic.Bool // played at least once
	byKey     map[uint64]*sameKey
}

// sameKey has the exchanges of equal requests, as indexes into the tape.
type sameKey struct {
	first  string // the cell of the first
	byCell map[string]*sameCell
}

type sameCell struct {
	all    []int
	byLane map[string][]int
}

func newLibrary(exchanges []tape.Exchange, k *keyer) *library {
	l := &library{
		exchanges: exchanges,
		used:      make([]atomic.Bool, len(exchanges)),
		byKey:     make(map[uint64]*sameKey, len(exchanges)),
	}
	for i := range exchanges {
		e := &exchanges[i]
		key := k.key(e.Request)
		same := l.byKey[key]
		if same == nil {
			same = &sameKey{first: e.Cell, byCell: make(map[string]*sameCell, 1)}
			l.byKey[key] = same
		}
		cell := same.byCell[e.Cell]
		if cell == nil {
			cell = &sameCell{byLane: make(map[string][]int, 1)}
			same.byCell[e.Cell] = cell
		}
		cell.all = append(cell.all, i)
		cell.byLane[e.Lane] = append(cell.byLane[e.Lane], i)
	}
	return l
}

// own returns the exchanges of a cell and lane.
func (s *sameKey) own(cell, lane string) []int {
	if s == nil || s.byCell[cell] == nil {
		return nil
	}
	return s.byCell[cell].byLane[lane]
}

// borrowed returns the exchanges from which a cell and lane without their own may take.
func (s *sameKey) borrowed(cell, lane string) []int {
	if s == nil {
		return nil
	}
	if c := s.byCell[cell]; c != nil {
		return c.all
	}
	return s.ofFirst(lane)
}

// ofFirst returns those of the first cell: of the same lane if it has any.
func (s *sameKey) ofFirst(lane string) []int {
	c := s.byCell[s.first]
	if own := c.byLane[lane]; len(own) > 0 {
		return own
	}
	return c.all
}

// nth returns the n-th exchange of a list, from 1; past its end the last one, and last is true.
func nth(list []int, n int) (index int, last bool) {
	if n > len(list) {
		return list[len(list)-1], true
	}
	return list[n-1], false
}

// play marks an exchange as used and returns it.
func (l *library) play(i int) *tape.Exchange {
	if !l.used[i].Load() { // a store by all players would move the cache line each time
		l.used[i].Store(true)
	}
	return &l.exchanges[i]
}
