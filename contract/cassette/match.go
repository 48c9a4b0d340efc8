package cassette

import (
	"slices"

	"github.com/shakedown-go/shakedown/contract/cassette/internal/tape"
)

// A shelf has the answers that are known, by request and place: those of the tape, and those of this run. In replay
// mode it does not change.
type shelf struct {
	strips map[slot]*strip
	byKey  map[uint64][]*strip // in the order of their making: those of the tape in that of the file, then others
}

// A strip has what is known of the answers to one request at one place.
type strip struct {
	slot
	entries []*entry // by number; nil: it is not known, or was lost
	made    int      // the number of the strip
}

// An entry is one answer of a strip: an exchange of the tape, a take of this run, or a borrowed one of another strip.
type entry struct {
	slot
	n, order int
	request  tape.Request
	exchange int            // its number on the tape, from 1; 0: it is of this run
	response *tape.Response // nil: it is that of the take
	take     *take
	borrowed bool
	counts   []count // of those who wait for its take
}

func newShelf(exchanges []tape.Exchange, k *keyer) shelf {
	s := shelf{strips: make(map[slot]*strip, len(exchanges)), byKey: make(map[uint64][]*strip, len(exchanges))}
	for i := range exchanges {
		e := &exchanges[i]
		at := slot{place{e.Cell, e.Lane}, k.key(e.Request)}
		st := s.strip(at)
		st.entries = append(st.entries, &entry{slot: at, exchange: i + 1, response: &e.Response})
	}
	return s
}

// strip returns the strip of a request at a place, a new one if there is none.
func (s *shelf) strip(at slot) *strip {
	st := s.strips[at]
	if st == nil {
		st = &strip{slot: at, made: len(s.strips)}
		s.strips[at] = st
		s.byKey[at.key] = append(s.byKey[at.key], st)
	}
	return st
}

// numbered is the n-th entry, or nil.
func (st *strip) numbered(n int) *entry {
	if st == nil || n > len(st.entries) {
		return nil
	}
	return st.entries[n-1]
}

// known lists the entries that are there, the borrowed ones or the others.
func (st *strip) known(borrowed bool) (list []*entry) {
	if st == nil {
		return nil
	}
	for _, e := range st.entries {
		if e != nil && isOwn(e) != borrowed {
			list = append(list, e)
		}
	}
	return list
}

func isOwn(e *entry) bool { return e != nil && !e.borrowed }

// find returns the n-th answer to a request at a place, which may be one of another place. Past the last one it is the
// last again, or with once nil beside that.
func (s *shelf) find(at slot, n int, once bool) (e, last *entry) {
	st := s.strips[at]
	if e := st.numbered(n); e != nil {
		return e, nil
	}
	list, repeats := st.known(false), true
	if len(list) == 0 {
		list = s.lenders(at)
		repeats = n > len(list)
		// What was borrowed before is repeated, so that a replay repeats it too.
		if before := st.known(true); len(before) > 0 && (repeats || n > len(st.entries)+1) {
			list, repeats = before, true
		}
	}
	switch {
	case len(list) == 0:
		return nil, nil
	case !repeats:
		return list[n-1], nil
	case once:
		return nil, list[len(list)-1]
	}
	return list[len(list)-1], nil
}

// lenders are the answers that a place without its own takes: of the other lanes of the cell, else of the first cell,
// there of the same lane if it has any. The first is that of the tape, or by its name.
func (s *shelf) lenders(at slot) []*entry {
	if list := s.ofCell(at.cell, at.key); len(list) > 0 {
		return list
	}
	var first *entry
	for _, st := range s.byKey[at.key] {
		i := slices.IndexFunc(st.entries, isOwn)
		if i >= 0 && (first == nil || first.exchange == 0 && st.cell < first.cell) {
			first = st.entries[i]
		}
	}
	if first == nil {
		return nil
	}
	if own := s.strips[slot{place{first.cell, at.lane}, at.key}].known(false); len(own) > 0 {
		return own
	}
	return s.ofCell(first.cell, at.key)
}

func (s *shelf) ofCell(cell string, key uint64) (list []*entry) {
	for _, st := range s.byKey[key] {
		if st.cell == cell {
			list = append(list, st.known(false)...)
		}
	}
	return list
}

// forget takes an entry off its strip.
func (s *shelf) forget(e *entry) { s.strips[e.slot].entries[e.n-1] = nil }

// add puts an entry into its strip.
func (s *shelf) add(e *entry) {
	st := s.strip(e.slot)
	for len(st.entries) < e.n {
		st.entries = append(st.entries, nil)
	}
	st.entries[e.n-1] = e
}
