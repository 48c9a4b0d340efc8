package chaos

import (
	"context"
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
	seq := ch.numbered(source)
	if x.disarmedOrKilled() {
		return seq
	}
	var ctx context.Context = &x.frame
	inner := ch.stage(len(x.rules), func() items { return seq })
	for i := len(x.rules) - 1; i >= 0; i-- {
		a, behind := &x.rules[i], inner
		if a.phase != PhaseChange {
			continue
		}
		if s, ok := a.fault.(Streamer); ok {
			inner = ch.stage(i, func() items { return ch.whole(ctx, i, s, behind) })
		} else {
			inner = ch.stage(i, func() items { return ch.each(ctx, i, behind) })
		}
	}
	return inner
}

// numbered gives each item of the source its index.
func (ch *streamChanges) numbered(source items) items {
	return func(yield func(any, error) bool) {
		for item, err := range source {
			ch.now = provenance{source: ch.sourced}
			ch.sourced++
			if !yield(item, err) {
				return
			}
		}
		ch.over = true
	}
}

// disarmedOrKilled reports whether the injector was disarmed, or killed by its safeguards.
func (x *injection) disarmedOrKilled() bool {
	in := x.set.site.in
	return in.state.Load()&stateDisarmed != 0 || in.killed() || x.wasDisarmed()
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

// each applies a fault that acts on single items.
func (ch *streamChanges) each(ctx context.Context, i int, inner items) items {
	x := ch.x
	a := &x.rules[i]
	return func(yield func(any, error) bool) {
		for item, err := range inner {
			if err == nil && !x.disarmedOrKilled() && !a.over() {
				p, before := ch.now, item
				item, err = x.apply(i, ctx, nil, ch.fit, func(context.Context, any) (any, error) { return before, nil })
				switch {
				case err != nil:
					item = nil
					p.madeBy(a)
				case a.skipped:
					a.value = exchanged{a, before, item, x.differs(a, before, item, true)}
					fallthrough
				default:
					p.changed(a.value)
				}
				ch.now = p
			}
			if !yield(item, err) {
				return
			}
		}
	}
}

// whole applies a fault that acts on the whole sequence.
func (ch *streamChanges) whole(ctx context.Context, i int, s Streamer, inner items) items {
	return func(yield func(any, error) bool) {
		x := ch.x
		a := &x.rules[i]
		a.ran = true
		h := itemTracker{changes: ch, rule: a}
		for item, err := range s.Stream(ctx, x.call(a.faultCoord), h.take(inner)) {
			if err == nil {
				fitting, wrong := ch.fit(item)
				if item = fitting; wrong != nil {
					x.refuse(a, wrong)
					item = h.last.value
				}
			}
			if ch.now, err = h.classify(item, err); !yield(item, err) {
				return
			}
		}
		h.end(i)
	}
}

// latest is the provenance of the item that left the last stage. nil: there is none.
func (ch *streamChanges) latest() (p provenance) {
	if ch != nil {
		p = ch.now
	}
	return p
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
	ch.late()
	see := func(a *callRule) { a.seen, ch.other = true, true }
	if p.source != place {
		ch.other = true
		for _, a := range p.moves {
			see(a)
		}
	}
	for _, a := range p.makers {
		see(a)
	}
	switch {
	case p.change.rule == nil:
	case p.more == nil:
		see(p.change.rule)
	default:
		seen(append([]exchanged{p.change}, p.more...), see)
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

// provenance is where an item comes from, and the rules that made a difference to it.
type provenance struct {
	source int         // its place in the source; -1: a fault made it
	change exchanged   // the first change of its value; without a rule: there is none
	more   []exchanged // the further changes
	moves  []*callRule // the rules that put it in another place
	makers []*callRule // the rules that made it, or the error in its place
}

func (p *provenance) madeBy(a *callRule) { p.makers = append(slices.Clip(p.makers), a) }

func (p *provenance) moved(a *callRule) { p.moves = append(slices.Clip(p.moves), a) }

func (p *provenance) changed(ch exchanged) {
	switch {
	case ch.likeness == alike:
	case p.change.rule == nil:
		p.change = ch
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
		return ownItem(a), a.made
	}
	i := slices.IndexFunc(h.open, func(t takenItem) bool { return t.err == nil && !t.made })
	if i < 0 {
		p := ownItem(a)
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

// ownItem is the provenance of an item, or error, that a fault made of nothing.
func ownItem(a *callRule) provenance { return provenance{source: -1, makers: []*callRule{a}} }

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
