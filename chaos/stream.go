package chaos

import (
	"cmp"
	"context"
	"iter"
)

// WrapStream makes an injection point of a function that returns a stream. Each
// iteration of the stream is one call, decided when it begins:
//   - a delay comes before the first item;
//   - a failure is yielded in place of the items;
//   - a change applies to every item, or to the whole sequence ([Streamer]);
//   - a lost reply consumes the stream, yields none of its items and then a
//     time-out;
//   - a repeated execution is consumed as far as the first was, and yields nothing.
//
// A consumer that stops early ends the call. Consumption without a consumer ends when the
// context does. With an injector fn is called when an iteration begins. fn must not be nil.
func WrapStream[In, T any](
	target string, fn func(context.Context, In) iter.Seq2[T, error],
) func(context.Context, In) iter.Seq2[T, error] {
	return WrapStreamWith(target, fn, nil)
}

// WrapStreamWith is [WrapStream] with options; nil is the zero [WrapOptions]. Layer is not
// used, but a Crossing brings its own; one is for a single iteration.
func WrapStreamWith[In, T any](
	target string, fn func(context.Context, In) iter.Seq2[T, error], o *WrapOptions[In],
) func(context.Context, In) iter.Seq2[T, error] {
	p := newPoint(target, LayerStream)
	opts := *cmp.Or(o, &WrapOptions[In]{})
	p.alias = opts.Alias
	w := &streamPoint[In, T]{point: p, fn: fn, fit: opts.Fit}
	return func(ctx context.Context, v In) iter.Seq2[T, error] {
		if x := opts.Crossing; x != nil {
			return func(yield func(T, error) bool) { w.goOn(ctx, x, v, yield) }
		}
		f, in := frameOf(ctx), opts.Injector
		if in == nil {
			if f == nil || f.in == nil {
				return fn(ctx, v)
			}
			in = f.in
		}
		return func(yield func(T, error) bool) {
			var none T
			set, err := in.enter(&p, f)
			if set == nil {
				if err != nil {
					yield(none, err)
					return
				}
				fn(ctx, v)(yield)
				return
			}
			var key uint64
			if opts.Key != nil {
				key = opts.Key(v)
			}
			at, through := set.count(key)
			d := decision{set: set, frame: f, layer: p.layer, coords: at}
			var m matchedRules
			if !through {
				m, through, err = matchRules(ctx, &d, v)
			}
			if err != nil {
				yield(none, err)
				return
			}
			if through {
				var last error
				fn(ctx, v)(func(item T, err error) bool {
					last = err
					return yield(item, err)
				})
				set.site.passed(f, key, last)
				return
			}
			w.decide(ctx, &d, m, v, yield)
		}
	}
}

// streamPoint is the injection point of a stream.
type streamPoint[In, T any] struct {
	point
	fn  func(context.Context, In) iter.Seq2[T, error]
	fit func(any) (any, error) // that of WrapOptions; nil: by type
}

// goOn continues a call that has begun.
func (w *streamPoint[In, T]) goOn(ctx context.Context, x *Crossing, v In, yield func(T, error) bool) {
	switch x.state {
	case goesOn:
		w.point = x.point
		w.decide(ctx, &x.decision, x.matched, v, yield)
	case refused:
		var none T
		yield(none, x.err)
	default:
		w.fn(ctx, v)(yield)
	}
}

// decide takes an iteration through the rules that matched it.
func (w *streamPoint[In, T]) decide(ctx context.Context, d *decision, m matchedRules, v In, yield func(T, error) bool) {
	c := &stream[In, T]{streamPoint: *w, yield: yield}
	_, err := decide(ctx, d, m, &callee[In, streamed]{
		point: w.point, fn: c.call, attach: c.attach, finish: c.finish, unseen: c.drain,
	}, v)
	if !c.stopped && err != nil && !same(err, c.last) {
		var none T
		yield(none, err)
	}
}

type streamed struct {
	Items int `json:"items"`
}

type stream[In, T any] struct {
	streamPoint[In, T]
	yield     func(T, error) bool
	injection *injection
	changes   *streamChanges // nil: no rule changes items
	runs      int
	stopped   bool            // the consumer wants no more
	last      error           // the error that was yielded or held last
	items     int             // how many were yielded or held
	held      []streamItem[T] // yielded only if the reply is not lost after all
	heldEnd   bool            // the end of the stream is held too
}

type streamItem[T any] struct {
	value T
	err   error
	from  provenance
}

// attach makes the changes of an injection act on items.
func (c *stream[In, T]) attach(x *injection) { c.injection, x.perItem = x, true }

func (c *stream[In, T]) call(ctx context.Context, v In) (end streamed, err error) {
	if c.runs++; c.runs > 1 {
		return c.again(ctx, v)
	}
	hold := c.injection != nil && c.injection.losesReply()
	defer func() { end.Items = c.items }()
	for item, itemErr := range c.changed(c.fn(ctx, v)) {
		err = itemErr
		c.items++
		c.last = itemErr
		one := streamItem[T]{value: item, err: itemErr}
		if c.changes != nil {
			one.from = c.changes.now
		}
		if hold && (c.injection.disarmedOrKilled() || !c.injection.losesReply()) { // the reply is not lost after all
			if hold = false; !c.release() {
				return end, c.last
			}
		}
		if hold {
			c.held = append(c.held, one)
			if c.injection.inner.Err() != nil { // not ctx, which is the source's and may outlast it
				return end, err
			}
			continue
		}
		if !c.hand(one) {
			return end, itemErr
		}
	}
	if c.heldEnd = hold; !hold {
		c.changes.ended()
	}
	return end, err
}

// hand yields an item, and reports whether the consumer wants more. What rules did to it
// is delivered now, and not when it is held.
func (c *stream[In, T]) hand(item streamItem[T]) (more bool) {
	c.changes.deliver(item.from)
	c.stopped = !c.yield(item.value, item.err)
	return !c.stopped
}

func (c *stream[In, T]) finish(end streamed, err error) (streamed, error) {
	if c.stopped || len(c.held) == 0 && !c.heldEnd || !same(err, c.last) {
		return end, err
	}
	if c.release() && c.heldEnd {
		c.changes.ended()
	}
	return streamed{Items: c.items}, c.last
}

func (c *stream[In, T]) changed(items iter.Seq2[T, error]) iter.Seq2[T, error] {
	x := c.injection
	if x == nil {
		return items
	}
	c.changes = &streamChanges{x: x, fit: c.fit}
	if c.fit == nil {
		c.changes.fit = func(v any) (any, error) { return as[T](v) }
	}
	source := func(yield func(any, error) bool) {
		for item, err := range items {
			if !yield(item, err) {
				return
			}
		}
	}
	all := c.changes.changed(source)
	return func(yield func(T, error) bool) {
		for item, err := range all {
			value, _ := item.(T) // fit converted it; nil is the zero value
			if !yield(value, err) {
				return
			}
		}
	}
}

// again consumes a repeated execution and yields nothing. If the consumer stopped, it takes
// no more items than the consumer took. It ends as the first execution did.
func (c *stream[In, T]) again(ctx context.Context, v In) (streamed, error) {
	n := 0
	for _, err := range c.fn(ctx, v) {
		if unsent(err) {
			return streamed{}, err
		}
		n++
		if ctx.Err() != nil || c.stopped && n == c.items {
			break
		}
	}
	return streamed{Items: c.items}, c.last
}

// drain consumes an execution for a later call. It yields no items, and shares no
// state with the others.
func (c *stream[In, T]) drain(ctx context.Context, v In) (end streamed, err error) {
	for _, err = range c.fn(ctx, v) {
		if end.Items++; ctx.Err() != nil {
			break
		}
	}
	return end, err
}

// release yields the items that were withheld, and reports whether the consumer
// wants more.
func (c *stream[In, T]) release() bool {
	held := c.held
	c.held = nil
	for i, item := range held {
		if !c.hand(item) {
			c.items, c.last = i+1, item.err
			return false
		}
	}
	return true
}

func (x *injection) losesReply() bool {
	for i := range x.rules { // without copies: End may ask while the call writes to its rules
		if a := &x.rules[i]; a.phase == PhaseAfter && !a.over() {
			return true
		}
	}
	return false
}
