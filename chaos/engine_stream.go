package chaos

import (
	"iter"
	"slices"
)

// streamChanges passes the items of a stream through the rules of [PhaseChange], one
// after the other. Each stage is the code of one rule. x.executing follows the control
// from stage to stage, so that waits and changes are attributed to the right rule.
//
// Each item has a provenance: what the rules did to it. They are delivered when the
// consumer gets the item.
type streamChanges struct {
	x        *injection
	fit      func(any) (any, error) // converts an item into the type of the stream
	now      provenance             // of the item that is passed between two stages
	item     any                    // the one that a fault of single items acts on
	sourced  int                    // items and errors of the source
	over     bool                   // the source has no more
	consumed int                    // items and errors that the consumer got
	other    bool                   // they are not the first ones of the source
}

type items = iter.Seq2[any, error]

// changed returns the source after all changes; it builds the stages innermost first. If
// the injector was disarmed before the first item, nothing is changed. The rules wait
// with the consumer's context, even if a fault gave the source another.
func (ch *streamChanges) changed(source items) items {
	x := ch.x
	seq := func(yield func(any, error) bool) {
		for item, err := range source {
			ch.now = provenance{source: ch.sourced}
			ch.sourced++
			if !yield(item, err) {
				return
			}
		}
		ch.over = true
	}
	if x.disarmedOrKilled() {
		return seq
	}
	inner := ch.stage(len(x.rules), func() items { return seq })
	for i := len(x.rules) - 1; i >= 0; i-- {
		a, behind := &x.rules[i], inner
		if a.phase != PhaseChange {
			continue
		}
		if s, ok := a.fault.(Streamer); ok {
			inner = ch.stage(i, func() items { return ch.whole(a, s, behind) })
		} else {
			inner = ch.stage(i, func() items { return ch.each(a, behind) })
		}
	}
	return inner
}

// stage runs a sequence as the code of rule i, and its yield as the code of the stage
// that consumes it.
func (ch *streamChanges) stage(i int, of func() items) items {
	return func(yield func(any, error) bool) {
		x := ch.x
		outer, returned := x.current(), false
		x.enterRule(i)
		defer func() {
			if !returned && x.current() == i && i < len(x.rules) {
				x.rules[i].panicked = true // its own panic always counts
			}
		}()
		for item, err := range of() {
			x.enterRule(outer)
			more := yield(item, err)
			x.enterRule(i)
			if !more {
				break
			}
		}
		x.enterRule(outer)
		returned = true
	}
}

func (ch *streamChanges) each(a *callRule, inner items) items {
	a.stream = ch
	return func(yield func(any, error) bool) {
		for item, err := range inner {
			if err == nil && !ch.x.disarmedOrKilled() && !a.over() {
				p, before := ch.now, item
				ch.item = item
				item, err = a.apply(&ch.x.inner, nil)
				switch {
				case err != nil:
					item, a.value = nil, exchanged{rule: a, likeness: created}
				case a.skipped:
					a.value = exchanged{a, before, item, ch.x.differs(a, before, item, true)}
				}
				p.add(a.value)
				ch.now = p
			}
			if !yield(item, err) {
				return
			}
		}
	}
}

func (ch *streamChanges) whole(a *callRule, s Streamer, inner items) items {
	return func(yield func(any, error) bool) {
		a.ran = true
		h := itemTracker{changes: ch, rule: a}
		for item, err := range s.Stream(&ch.x.inner, ch.x.call(a.faultCoord), h.take(inner)) {
			if err == nil {
				fitting, wrong := ch.fit(item)
				if item = fitting; wrong != nil {
					a.refuse(wrong)
					item = h.last
				}
			}
			if ch.now, err = h.classify(item, err); !yield(item, err) {
				return
			}
		}
		if !h.over { // it ended the stream early: the consumer does not see the ends further in
			for k := range ch.x.rules[a.index+1:] {
				ch.x.rules[a.index+1+k].ended = false
			}
		}
		a.ended = !h.over || slices.ContainsFunc(h.open, func(t takenItem) bool { return !t.made })
	}
}

// deliver marks the rules that are delivered with the item or error that the consumer
// gets next, of which p tells. nil: there are none.
func (ch *streamChanges) deliver(p provenance) {
	if ch == nil {
		return
	}
	ch.x.mu.Lock()
	defer ch.x.mu.Unlock()
	place := ch.consumed
	ch.consumed++
	ch.other = ch.other || p.source != place
	ch.late()
	see := func(a *callRule) { a.seen, ch.other = true, true }
	switch {
	case p.more != nil:
		all := append([]exchanged{p.first}, p.more...)
		for _, c := range all {
			if c.likeness == created || c.likeness == moved && p.source != place {
				see(c.rule)
			}
		}
		seen(all, see)
	case p.first.likeness == alike, p.first.likeness == moved && p.source == place:
	default:
		see(p.first.rule)
	}
}

// ended marks the rules that are delivered with the end of the stream, which the
// consumer saw. nil: there are none.
func (ch *streamChanges) ended() {
	if ch == nil {
		return
	}
	ch.x.mu.Lock()
	defer ch.x.mu.Unlock()
	ch.late()
	if !ch.other && ch.over && ch.consumed == ch.sourced {
		return // it is the source's own: what rules added, others dropped
	}
	for i := range ch.x.rules {
		a := &ch.x.rules[i]
		a.seen = a.seen || a.ended
	}
}

// late marks the rules that waited before what the consumer sees next; x.mu is held.
func (ch *streamChanges) late() {
	for i := range ch.x.rules {
		if a := &ch.x.rules[i]; a.phase == PhaseChange && a.slept {
			a.seen = a.seen || a.spent > 0
		}
	}
}

// provenance is where an item comes from, and what rules made of it.
type provenance struct {
	source int         // its place in the source; -1: a fault made it
	first  exchanged   // nearly always the only one; alike: there is none
	more   []exchanged // in order
}

func (p *provenance) add(ch exchanged) {
	switch {
	case ch.likeness == alike:
	case p.first.likeness == alike:
		p.first = ch
	default:
		p.more = append(slices.Clip(p.more), ch)
	}
}

// itemTracker has the items that a [Streamer] took and has not yielded yet, to find
// out which of them it yields next. Items are recognised by their values; of equal
// ones it is the first.
type itemTracker struct {
	changes *streamChanges
	rule    *callRule
	open    []takenItem
	last    any       // the last item that was taken
	yielded takenItem // the last that was recognised
	in, out int       // items taken, items yielded
	over    bool      // there are no more to take
}

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

func (h *itemTracker) take(inner items) items {
	return func(yield func(any, error) bool) {
		for item, err := range inner {
			h.open = slices.DeleteFunc(h.open, func(t takenItem) bool { return t.made })
			if len(h.open) == maxOpen {
				h.open = h.open[1:]
			}
			if h.open = append(h.open, takenItem{from: h.changes.now, value: item, err: err, place: h.in}); err == nil {
				h.last = item
			}
			if h.in++; !yield(item, err) {
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
	made := exchanged{rule: a, likeness: created}
	own := provenance{source: -1, first: made}
	i := h.find(item, err, declared)
	recognised := i >= 0
	switch {
	case recognised:
	case err != nil:
		a.made = x.injectedError(a, err)
		return own, a.made
	default:
		i = slices.IndexFunc(h.open, func(t takenItem) bool { return t.err == nil && !t.made })
	}
	if i < 0 {
		if place > 0 && h.yielded.err == nil && compare(h.yielded.value, item) == alike { // repeated
			own = h.yielded.from
			own.source = -1
			own.add(made)
		}
		return own, nil
	}
	t := h.open[i]
	if recognised {
		h.open = slices.Delete(h.open, i, i+1)
		h.yielded = t
	} else {
		h.open[i].made = true // it may still be yielded itself, until the next is taken
		t.from.add(exchanged{a, t.value, item, x.differs(a, t.value, item, declared)})
	}
	if t.place != place {
		t.from.add(exchanged{rule: a, likeness: moved})
	}
	return t.from, err
}

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
