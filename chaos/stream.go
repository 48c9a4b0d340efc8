package chaos

import (
	"context"
	"iter"
)

// WrapStream makes an injection point of a function that returns a stream.
// Each iteration of the stream is one call, decided when it begins: delays
// come before the first item, a failure is yielded in place of the items,
// changes apply to every item, a lost reply lets the stream run unseen and
// yields a time-out, a repeated execution is consumed unseen after the first,
// as far as the first was. A consumer that stops early ends the call. What is
// consumed unseen ends when the context does.
//
// Without an injector in the context of the call the stream is fn's own. fn
// must not be nil; under an injector it is called when an iteration begins.
func WrapStream[In, T any](target string, fn func(context.Context, In) iter.Seq2[T, error]) func(context.Context, In) iter.Seq2[T, error] {
	p := newPoint(target, LayerStream)
	return func(ctx context.Context, v In) iter.Seq2[T, error] {
		f := frameOf(ctx)
		if f == nil || f.in == nil {
			return fn(ctx, v)
		}
		return func(yield func(T, error) bool) {
			c := &stream[In, T]{fn: fn, yield: yield}
			_, err := c.cross(ctx, f, &p, v)
			switch {
			case c.stopped:
			case len(c.held) > 0 && same(err, c.last): // the reply arrived after all
				c.release()
			case err != nil && !same(err, c.last):
				var none T
				yield(none, err)
			}
		}
	}
}

// streamed is the result of a call that was a stream, as its event keeps it.
type streamed struct {
	Items int `json:"items"`
}

// stream is one iteration of a wrapped stream.
type stream[In, T any] struct {
	fn      func(context.Context, In) iter.Seq2[T, error]
	yield   func(T, error) bool
	strike  *strike
	runs    int
	stopped bool            // the consumer wants no more
	last    error           // the error that was yielded or held last
	items   int             // that were yielded or held
	held    []streamItem[T] // seen only if the reply is not lost after all
}

type streamItem[T any] struct {
	value T
	err   error
}

func (c *stream[In, T]) cross(ctx context.Context, f *frame, p *point, v In) (streamed, error) {
	set, err := f.in.enter(p, f)
	if err != nil {
		return streamed{}, err
	}
	if set == nil {
		return c.call(ctx, v)
	}
	return cross(ctx, f, set, &callee[In, streamed]{point: *p, fn: c.call, attach: c.attach}, v, 0)
}

// attach makes the changes of a strike act on items.
func (c *stream[In, T]) attach(x *strike) { c.strike, x.perItem = x, true }

func (c *stream[In, T]) call(ctx context.Context, v In) (end streamed, err error) {
	if c.runs++; c.runs > 1 {
		return c.again(ctx, v)
	}
	hold := c.strike != nil && c.strike.losesReply()
	defer func() { end.Items = c.items }()
	for item, itemErr := range c.fn(ctx, v) {
		err = itemErr
		if itemErr == nil && c.strike != nil {
			item, itemErr = c.change(ctx, item)
			err = itemErr
		}
		c.items++
		c.last = itemErr
		if hold {
			c.held = append(c.held, streamItem[T]{item, itemErr})
			if ctx.Err() != nil {
				return end, err
			}
			continue
		}
		if !c.yield(item, itemErr) {
			c.stopped = true
			return end, itemErr
		}
	}
	return end, err
}

// again consumes a repeated execution, which nobody sees: of a stream without
// end no more than its consumer took of the first.
func (c *stream[In, T]) again(ctx context.Context, v In) (end streamed, err error) {
	for _, err = range c.fn(ctx, v) {
		end.Items++
		if ctx.Err() != nil || c.stopped && end.Items == c.items {
			break
		}
	}
	return end, err
}

// release yields what was held back.
func (c *stream[In, T]) release() {
	for _, item := range c.held {
		if !c.yield(item.value, item.err) {
			return
		}
	}
}

// change passes an item through the changes of the strike.
func (c *stream[In, T]) change(ctx context.Context, item T) (T, error) {
	x := c.strike
	if in := x.set.slot.in; in.state.Load()&stateDisarmed != 0 || in.killed() {
		return item, nil
	}
	fit := func(v any) (any, error) { return as[T](v) }
	var result any = item
	for i := len(x.acts) - 1; i >= 0; i-- { // innermost first
		if x.acts[i].phase != PhaseChange {
			continue
		}
		before := result
		var err error
		result, err = x.act(i, ctx, nil, fit, func(context.Context, any) (any, error) { return before, nil })
		if err != nil {
			var none T
			return none, err
		}
	}
	changed, _ := result.(T)
	return changed, nil
}

// losesReply tells whether the consumer will see none of the items.
func (x *strike) losesReply() bool {
	for i := range x.acts {
		if x.acts[i].phase == PhaseAfter {
			return true
		}
	}
	return false
}
