package chaos

import "slices"

// itemTracker has the items that a [Streamer] took and has not yielded yet, to find
// out which of them it yields next. Items are recognised by their values; of equal
// ones it is the first.
type itemTracker struct {
	changes *streamChanges
	rule    *callRule
	open    []takenItem
	used    bool      // another item was made of one of them
	last    takenItem // the last that was taken and is no error
	yielded takenItem // the last that was recognised
	in      int       // items taken
	out     int       // items yielded
	over    bool      // there are no more to take
}

// takenItem is an item that a fault took, or an error.
type takenItem struct {
	from  provenance
	value any
	err   error
	place int  // among those taken
	made  bool // the fault made another item of it
}

// maxOpen bounds the items remembered for a fault that takes items and yields none.
// An item that it keeps for longer counts as made by the fault when it is yielded.
const maxOpen = 1024

// take yields the items from further in to the fault, and remembers them.
func (h *itemTracker) take(inner items) items {
	return func(yield func(any, error) bool) {
		for item, err := range inner {
			if h.used {
				h.open = slices.DeleteFunc(h.open, func(t takenItem) bool { return t.made })
				h.used = false
			}
			if len(h.open) == maxOpen {
				h.open = h.open[1:]
			}
			t := takenItem{from: h.changes.now, value: item, err: err, place: h.in}
			h.in++
			if h.open = append(h.open, t); err == nil {
				h.last = t
			}
			if !yield(item, err) {
				return
			}
		}
		h.over = true
	}
}

// classify finds where an item comes from that the fault yields: an item that it
// took, in the same place or in another; an item that it made of one that it took; or
// another item. An error of the fault is returned as an [*InjectedError].
func (h *itemTracker) classify(item any, err error) (provenance, error) {
	x, a, place := h.changes.x, h.rule, h.out
	h.out++
	declared := x.newlyDeclared(a)
	if i := h.find(item, err, declared); i >= 0 {
		t := h.open[i]
		h.open = slices.Delete(h.open, i, i+1)
		h.yielded = t
		if t.place != place {
			t.from.moved(a)
		}
		return t.from, err
	}
	if err != nil {
		a.made = x.injectedError(a, err)
		return made(a), a.made
	}
	i := slices.IndexFunc(h.open, func(t takenItem) bool { return t.err == nil && !t.made })
	if i < 0 {
		p := made(a)
		if h.out > 1 && h.yielded.err == nil && compare(h.yielded.value, item) == alike { // repeated
			p = h.yielded.from
			p.source = -1
			p.madeBy(a)
		}
		return p, nil
	}
	t := &h.open[i]
	t.made, h.used = true, true
	p := t.from
	p.changed(exchanged{a, t.value, item, x.differs(a, t.value, item, declared)})
	if t.place != place {
		p.moved(a)
	}
	return p, nil
}

func made(a *callRule) provenance { return provenance{source: -1, makers: []*callRule{a}} }

// find returns the index of the first of the open items that is the one yielded; -1:
// none is.
func (h *itemTracker) find(item any, err error, declared bool) int {
	return slices.IndexFunc(h.open, func(t takenItem) bool {
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

// end is called when the fault of rule i ends the stream, and finds whether it ended
// it early. If it did, the consumer does not see the ends of the faults further in.
func (h *itemTracker) end(i int) {
	if !h.over {
		for k := range h.changes.x.rules[i+1:] {
			h.changes.x.rules[i+1+k].ended = false
		}
	}
	left := slices.ContainsFunc(h.open, func(t takenItem) bool { return !t.made })
	h.rule.ended = left || !h.over
}
