package chaos

import "slices"

// holding tracks what a fault took of a stream and has not passed on, to find out
// which of that it passes on next. Items are recognised by their values: of equal
// ones the first.
type holding struct {
	chain *chain
	rule  *callRule
	held  []taken
	used  bool  // another item was made of one of them
	last  taken // that was taken
	given taken // that was handed on
	in    int   // items taken
	out   int   // items handed on
	over  bool  // there are no more to take
}

// taken is an item that a fault was handed, or an error.
type taken struct {
	piece piece
	value any
	err   error
	place int  // among those taken
	made  bool // another item was made of it
}

// maxHeld bounds what is remembered for a fault that takes items and passes none on.
// An item that it kept for longer is later taken for one of its own.
const maxHeld = 1024

// taking passes on what is further in, and remembers it.
func (h *holding) taking(inner items) items {
	return func(yield func(any, error) bool) {
		for item, err := range inner {
			if h.used {
				h.held = slices.DeleteFunc(h.held, func(t taken) bool { return t.made })
				h.used = false
			}
			if len(h.held) == maxHeld {
				h.held = h.held[1:]
			}
			t := taken{piece: h.chain.now, value: item, err: err, place: h.in}
			h.in++
			if h.held = append(h.held, t); err == nil {
				h.last = t
			}
			if !yield(item, err) {
				return
			}
		}
		h.over = true
	}
}

// give classifies what the fault yields: something that it took, now in its place or
// in another; something that it made of an item; or something else.
func (h *holding) give(item any, err error) (piece, error) {
	x, a, place := h.chain.x, h.rule, h.out
	h.out++
	declared := x.tell(a)
	if i := h.find(item, err, declared); i >= 0 {
		t := h.held[i]
		h.held = slices.Delete(h.held, i, i+1)
		h.given = t
		if t.place != place {
			t.piece.moved(a)
		}
		return t.piece, err
	}
	if err != nil {
		a.made = x.injected(a, err)
		return made(a), a.made
	}
	i := slices.IndexFunc(h.held, func(t taken) bool { return t.err == nil && !t.made })
	if i < 0 {
		p := made(a)
		if h.out > 1 && h.given.err == nil && compare(h.given.value, item) == alike { // once more
			p = h.given.piece
			p.source = -1
			p.tag(a)
		}
		return p, nil
	}
	t := &h.held[i]
	t.made, h.used = true, true
	p := t.piece
	p.changed(exchanged{a, t.value, item, x.differs(a, t.value, item, declared)})
	if t.place != place {
		p.moved(a)
	}
	return p, nil
}

func made(a *callRule) piece { return piece{source: -1, tags: []*callRule{a}} }

// find looks for an item among those that are held, the foremost first.
func (h *holding) find(item any, err error, declared bool) int {
	return slices.IndexFunc(h.held, func(t taken) bool {
		switch {
		case err != nil || t.err != nil:
			return same(err, t.err)
		case declared && !t.made && shared(t.value, item):
			return false // it may have been written to
		}
		l := compare(t.value, item)
		return l == alike || l == unknowable && !declared
	})
}

// end is called when fault number i ends the stream, with all that it took passed
// on, or before. If it ends it early, the ends of the faults further in are not
// seen.
func (h *holding) end(i int) {
	if !h.over {
		for k := range h.chain.x.rules[i+1:] {
			h.chain.x.rules[i+1+k].ended = false
		}
	}
	left := slices.ContainsFunc(h.held, func(t taken) bool { return !t.made })
	h.rule.ended = left || !h.over
}
