package habits

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
)

// OneAtATime makes no two equal calls at once of a tool that is declared to have an effect: the second waits, and gets
// the answer of the first. If the caller of the first gave up, or the tool panicked, there is none, and the second
// call is made. The name is "one-at-a-time".
func OneAtATime(o *Options) *Habit {
	h := &Habit{
		Name: "one-at-a-time", Does: "no two equal effects at once",
		Assumes: "an agent that asks twice for the same effect at the same time wants it once",
		rank:    rankSingle, abstains: effects, start: func() handler { return new(turns).single },
	}
	return h.on(or(o).Tools)
}

// turns lets one call at a time work for each operation. The zero value works.
type turns struct {
	mu   sync.Mutex
	held map[operation]*turn
}

// A turn is that of one call.
type turn struct {
	over     chan struct{} // closed when it has ended; what follows is set by then
	answered bool
	result   json.RawMessage
	err      error
}

// begin returns a turn that has begun, or the one that another call has.
func (t *turns) begin(op operation) (of *turn, mine bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if other := t.held[op]; other != nil {
		return other, false
	}
	if t.held == nil {
		t.held = map[operation]*turn{}
	}
	of = &turn{over: make(chan struct{})}
	t.held[op] = of
	return of, true
}

func (t *turns) end(op operation, mine *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.held, op)
	close(mine.over)
}

// wait waits for the end of another call's turn, or of the context, whose error it returns then.
func (t *turn) wait(ctx context.Context) error {
	select {
	case <-t.over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t *turns) single(ctx context.Context, c *call) (json.RawMessage, error) {
	op := c.operation()
	for {
		turn, mine := t.begin(op)
		if mine {
			defer t.end(op, turn)
			turn.result, turn.err = c.pass(ctx)
			turn.answered = turn.err == nil || ctx.Err() == nil
			return bytes.Clone(turn.result), turn.err
		}
		if err := turn.wait(ctx); err != nil {
			return nil, err
		}
		if turn.answered {
			return bytes.Clone(turn.result), turn.err
		}
	}
}
