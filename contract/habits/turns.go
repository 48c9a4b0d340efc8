package habits

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"github.com/shakedown-go/shakedown/chaos"
)

// Options are the settings of a habit that has no others; nil and the zero value work.
type Options struct {
	_ struct{}
	// Tools is a glob of the tools on which the habit may act; "": all.
	Tools string
}

func (o *Options) glob() string {
	if o == nil {
		return ""
	}
	return o.Tools
}

// OneAtATime makes no two equal calls at once of a tool that is declared to have an effect: the second waits, and
// gets the answer of the first. If who made the first gave up, or it panicked, there is no answer, and the second is
// made.
//
// Name: one-at-a-time.
func OneAtATime(o *Options) *Habit {
	return &Habit{
		Name: "one-at-a-time", Does: "no two equal effects at once",
		Assumes: "an agent that asks twice for the same effect at the same time wants it once",
		rank:    rankSingle, tools: o.glob(),
		abstains: func(t *chaos.Tool, _ []chaos.Tool) string {
			if t.Effect != chaos.EffectDone {
				return "not declared to have an effect"
			}
			return ""
		},
		start: func(*Habit) handler { return (&turns{}).single },
	}
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

// begin returns a turn that has begun, or, with false, the one that another call has.
func (t *turns) begin(op operation) (*turn, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if other := t.held[op]; other != nil {
		return other, false
	}
	if t.held == nil {
		t.held = map[operation]*turn{}
	}
	mine := &turn{over: make(chan struct{})}
	t.held[op] = mine
	return mine, true
}

func (t *turns) end(op operation, mine *turn) {
	t.mu.Lock()
	delete(t.held, op)
	t.mu.Unlock()
	close(mine.over)
}

// take waits for a turn, or for the end of the context, whose error it returns then.
func (t *turns) take(ctx context.Context, op operation) (end func(), err error) {
	for {
		turn, mine := t.begin(op)
		if mine {
			return func() { t.end(op, turn) }, nil
		}
		if err := turn.wait(ctx); err != nil {
			return nil, err
		}
	}
}

func (t *turn) wait(ctx context.Context) error {
	select {
	case <-t.over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t *turns) single(ctx context.Context, c *call, next caller) (json.RawMessage, error) {
	if !c.acts {
		return c.pass(ctx, next)
	}
	op := c.operation()
	for {
		turn, mine := t.begin(op)
		if mine {
			defer t.end(op, turn)
			turn.result, turn.err = c.pass(ctx, next)
			turn.answered = turn.err == nil || ctx.Err() == nil
			return turn.result, turn.err
		}
		if err := turn.wait(ctx); err != nil {
			return nil, err
		}
		if turn.answered {
			return bytes.Clone(turn.result), turn.err
		}
	}
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
