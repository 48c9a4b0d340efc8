package habits

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"

	"github.com/shakedown-go/shakedown/chaos"
)

// OneAtATime makes no two equal calls at once of a tool that is declared to have an effect: the second waits, and gets
// the answer of the first. If the caller of the first gave up, or the tool panicked, there is none, and the second
// call is made. The name is "one-at-a-time".
func OneAtATime(o *Options) *Habit {
	return o.habit(&Habit{
		Name: "one-at-a-time", Does: "no two equal effects at once",
		Assumes: "an agent that asks twice for the same effect at the same time wants it once",
		rank:    rankSingle,
		on: func(_ *facts, t *chaos.Tool, _ []chaos.Tool) string {
			if t.Effect != chaos.EffectDone {
				return noEffect
			}
			return ""
		},
		start: func(Options) handler { return (&turns{held: map[operation]*turn{}}).single },
	})
}

const noEffect = "it is not declared to have an effect"

// turns lets one call at a time work for each operation.
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

// begin returns a turn of the caller (mine), once no other call has it, or that of another call which was answered
// meanwhile. The error is that of a context that ends first.
func (t *turns) begin(ctx context.Context, op operation) (of *turn, mine bool, err error) {
	for {
		t.mu.Lock()
		other := t.held[op]
		if other == nil {
			of = &turn{over: make(chan struct{})}
			t.held[op] = of
		}
		t.mu.Unlock()
		if other == nil {
			return of, true, nil
		}
		select {
		case <-other.over:
		case <-ctx.Done():
			return nil, false, ctx.Err()
		}
		if other.answered {
			return other, false, nil
		}
	}
}

func (t *turns) end(op operation, mine *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.held, op)
	close(mine.over)
}

func (t *turns) single(ctx context.Context, c *call) (json.RawMessage, error) {
	op := c.operation()
	turn, mine, err := t.begin(ctx, op)
	if err != nil {
		return nil, err
	}
	if mine {
		defer t.end(op, turn)
		turn.result, turn.err = c.pass(ctx)
		turn.answered = turn.err == nil || ctx.Err() == nil
	}
	return bytes.Clone(turn.result), turn.err
}
