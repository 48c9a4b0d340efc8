package chaos

import (
	"context"
	"iter"
)

// chain passes the items of a stream through the changes of a strike, one
// behind the other. Each part is code of one act: x.at follows the control from
// part to part, so that waits and changes are put down to the right one.
type chain struct {
	x      *strike
	fit    func(any) (any, error) // brings an item into the type of the stream
	handed int                    // items that the consumer was handed
	since  []int                  // per act: what was handed when its first difference set out; -1: none did
}

func newChain(x *strike, fit func(any) (any, error)) *chain {
	ch := &chain{x: x, fit: fit, since: make([]int, len(x.acts))}
	for i := range ch.since {
		ch.since[i] = -1
	}
	return ch
}

type items = iter.Seq2[any, error]

// of builds the chain over a source, innermost first. An injector that was
// disarmed before the first item changes nothing. The acts wait with the
// consumer's context, whatever a fault further in gave the source.
func (ch *chain) of(source items) items {
	x := ch.x
	if x.calm() {
		return source
	}
	var ctx context.Context = &x.frame
	seq := ch.part(len(x.acts), func() items { return source })
	for i := len(x.acts) - 1; i >= 0; i-- {
		a, inner := &x.acts[i], seq
		if a.phase != PhaseChange {
			continue
		}
		if s, ok := a.fault.(Streamer); ok {
			seq = ch.part(i, func() items { return ch.whole(ctx, i, s, inner) })
		} else {
			seq = ch.part(i, func() items { return ch.each(ctx, i, inner) })
		}
	}
	return seq
}

// calm tells whether the injector was disarmed, or killed by its rails.
func (x *strike) calm() bool {
	in := x.set.slot.in
	return in.state.Load()&stateDisarmed != 0 || in.killed()
}

// part runs a sequence as the code of act i, and what it yields to as that of
// whoever ranges over it.
func (ch *chain) part(i int, of func() items) items {
	return func(yield func(any, error) bool) {
		x := ch.x
		outer, returned := x.now(), false
		x.atAct(i)
		defer func() {
			if !returned && x.now() == i && i < len(x.acts) {
				x.acts[i].changed = true // it panicked itself, which nobody misses
			}
		}()
		for item, err := range of() {
			x.atAct(outer)
			ch.mark(i)
			more := yield(item, err)
			x.atAct(i)
			if !more {
				break
			}
		}
		x.atAct(outer)
		returned = true
	}
}

// mark remembers when the first difference of an act set out for the consumer.
func (ch *chain) mark(i int) {
	if i < len(ch.since) && ch.since[i] < 0 && ch.x.differs(i) {
		ch.since[i] = ch.handed
	}
}

func (x *strike) differs(i int) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.acts[i].changed || x.acts[i].made != nil
}

// each is a fault that knows single items only.
func (ch *chain) each(ctx context.Context, i int, inner items) items {
	x := ch.x
	return func(yield func(any, error) bool) {
		for item, err := range inner {
			if err == nil && !x.calm() && !x.acts[i].over() {
				before := item
				item, err = x.act(i, ctx, nil, ch.fit, func(context.Context, any) (any, error) { return before, nil })
				if err != nil {
					item = nil
				}
			}
			if !yield(item, err) {
				return
			}
		}
	}
}

// whole is a fault that acts on the sequence.
func (ch *chain) whole(ctx context.Context, i int, s Streamer, inner items) items {
	return func(yield func(any, error) bool) {
		x := ch.x
		a := &x.acts[i]
		a.ran = true
		var in passing
		for item, err := range s.Stream(ctx, x.call(a.own), in.through(inner)) {
			if err != nil {
				if !in.passed(err) {
					a.made = x.injected(a, err)
					err = a.made
				}
			} else if fitting, wrong := ch.fit(item); wrong == nil {
				item = fitting
			} else {
				x.refuse(a, wrong)
				item = in.last
			}
			if !yield(item, err) {
				return
			}
		}
	}
}

// hand counts what the consumer gets.
func (ch *chain) hand(n int) {
	if ch != nil {
		ch.handed = n
	}
}

// settle takes back what acts declared and the consumer was never handed: it
// stopped before, or an act further out kept it.
func (ch *chain) settle(items int, stopped bool) {
	if ch == nil {
		return
	}
	x := ch.x
	for i := range x.acts {
		a := &x.acts[i]
		if a.phase != PhaseChange || !x.differs(i) {
			continue
		}
		seen := items > ch.since[i]
		if ch.since[i] < 0 {
			seen = !stopped // what differs is how the stream ended
		}
		if !seen {
			x.mu.Lock()
			a.made, a.changed, a.changes, a.more = nil, false, nil, 0
			x.mu.Unlock()
		}
	}
}

// passing knows what went into a fault, to tell its own errors from the others.
type passing struct {
	last any
	errs []error
}

// maxPassing bounds the errors that a fault may hold back and still pass on as they are.
const maxPassing = 1024

func (p *passing) through(inner items) items {
	return func(yield func(any, error) bool) {
		for item, err := range inner {
			if err == nil {
				p.last = item
			} else {
				if len(p.errs) == maxPassing {
					p.errs = p.errs[1:]
				}
				p.errs = append(p.errs, err)
			}
			if !yield(item, err) {
				return
			}
		}
	}
}

// passed tells whether an error came from within, once for each time it did.
func (p *passing) passed(err error) bool {
	for i, inner := range p.errs {
		if same(err, inner) {
			p.errs = append(p.errs[:i:i], p.errs[i+1:]...)
			return true
		}
	}
	return false
}
