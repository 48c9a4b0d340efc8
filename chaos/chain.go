package chaos

import (
	"context"
	"iter"
	"slices"
)

// chain passes the items of a stream through the changes of an injection, one behind
// the other. Each part is code of one rule: x.executing follows the control from
// part to part, so that waits and changes are attributed to the right one.
//
// Each item carries where it comes from and what was done to it. When the consumer
// is handed the item, and not before, what the rules did to it is delivered.
type chain struct {
	x      *injection
	fit    func(any) (any, error) // brings an item into the type of the stream
	now    piece                  // of the item that is being handed from one part to the next
	handed int                    // items that the consumer was handed
}

type items = iter.Seq2[any, error]

// of builds the chain over a source, innermost first. An injector that was disarmed
// before the first item changes nothing. The rules wait with the consumer's context,
// even if a fault further in gave the source another.
func (ch *chain) of(source items) items {
	x := ch.x
	seq := ch.numbered(source)
	if x.calm() {
		return seq
	}
	var ctx context.Context = &x.frame
	inner := ch.part(len(x.rules), func() items { return seq })
	for i := len(x.rules) - 1; i >= 0; i-- {
		a, behind := &x.rules[i], inner
		if a.phase != PhaseChange {
			continue
		}
		if s, ok := a.fault.(Streamer); ok {
			inner = ch.part(i, func() items { return ch.whole(ctx, i, s, behind) })
		} else {
			inner = ch.part(i, func() items { return ch.each(ctx, i, behind) })
		}
	}
	return inner
}

// numbered is the source, each item with its index.
func (ch *chain) numbered(source items) items {
	return func(yield func(any, error) bool) {
		n := 0
		for item, err := range source {
			ch.now = piece{source: n}
			n++
			if !yield(item, err) {
				return
			}
		}
	}
}

// calm reports whether the injector was disarmed, or killed by its safeguards.
func (x *injection) calm() bool {
	in := x.set.site.in
	return in.state.Load()&stateDisarmed != 0 || in.killed() || x.letGo()
}

// part runs a sequence as the code of rule i, and its yield as the code of the part
// that consumes it.
func (ch *chain) part(i int, of func() items) items {
	return func(yield func(any, error) bool) {
		x := ch.x
		outer, returned := x.current(), false
		x.enterRule(i)
		defer func() {
			if !returned && x.current() == i && i < len(x.rules) {
				x.rules[i].panicked = true // its own panic is always seen
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

// each applies a fault that acts on single items only.
func (ch *chain) each(ctx context.Context, i int, inner items) items {
	x := ch.x
	a := &x.rules[i]
	return func(yield func(any, error) bool) {
		for item, err := range inner {
			if err == nil && !x.calm() && !a.over() {
				p, before := ch.now, item
				item, err = x.apply(i, ctx, nil, ch.fit, func(context.Context, any) (any, error) { return before, nil })
				switch {
				case err != nil:
					item = nil
					p.tag(a)
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

// whole applies a fault that acts on the sequence. Its items are recognised among
// those that it took.
func (ch *chain) whole(ctx context.Context, i int, s Streamer, inner items) items {
	return func(yield func(any, error) bool) {
		x := ch.x
		a := &x.rules[i]
		a.ran = true
		h := holding{chain: ch, rule: a}
		for item, err := range s.Stream(ctx, x.call(a.own), h.taking(inner)) {
			if err == nil {
				fitting, wrong := ch.fit(item)
				if item = fitting; wrong != nil {
					x.refuse(a, wrong)
					item = h.last.value
				}
			}
			if ch.now, err = h.give(item, err); !yield(item, err) {
				return
			}
		}
		h.end(i)
	}
}

// hand marks what is delivered by the item or error that the consumer is being
// handed.
func (ch *chain) hand() {
	if ch == nil {
		return
	}
	p, place := ch.now, ch.handed
	ch.handed++
	ch.late()
	if p.source != place {
		for _, a := range p.moves {
			a.seen = true
		}
	}
	for _, a := range p.tags {
		a.seen = true
	}
	switch {
	case p.change.rule == nil:
	case p.more == nil:
		p.change.rule.seen = true
	default:
		seen(append([]exchanged{p.change}, p.more...), func(a *callRule) { a.seen = true })
	}
}

// ended marks what is delivered by the end of the stream, which the consumer saw.
func (ch *chain) ended() {
	if ch == nil {
		return
	}
	ch.late()
	for i := range ch.x.rules {
		a := &ch.x.rules[i]
		a.seen = a.seen || a.ended
	}
}

// late runs when the consumer sees something: rules that waited did so before it.
func (ch *chain) late() {
	for i := range ch.x.rules {
		if a := &ch.x.rules[i]; a.phase == PhaseChange && a.slept {
			a.seen = a.seen || ch.x.waited(a)
		}
	}
}

func (x *injection) waited(a *callRule) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return a.spent > 0
}

// piece is what is known of an item on its way: where it comes from, and the rules
// that made a difference to it.
type piece struct {
	source int         // its place in the source; -1: a fault made it
	change exchanged   // of its value
	more   []exchanged // of it
	moves  []*callRule // they put it in another place than it had
	tags   []*callRule // they made it, or the error in its place
}

func (p *piece) tag(a *callRule) { p.tags = append(slices.Clip(p.tags), a) }

func (p *piece) moved(a *callRule) { p.moves = append(slices.Clip(p.moves), a) }

func (p *piece) changed(ch exchanged) {
	switch {
	case ch.likeness == alike:
	case p.change.rule == nil:
		p.change = ch
	default:
		p.more = append(slices.Clip(p.more), ch)
	}
}
