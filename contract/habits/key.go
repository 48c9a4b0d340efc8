package habits

import (
	"context"
	crand "crypto/rand"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// IdempotencyKeys puts a key (NewKey) into a call of a tool that declares one ([chaos.Tool].IdempotencyKey), if the agent
// gave none. A call with equal arguments after one that failed gets the same key, since the failed one may have done its
// work. A success uses the key up, so that two wanted equal effects are two; of two calls at once each has its own.
// The name is "idempotency-key".
func IdempotencyKeys(o *Options) *Habit {
	return o.habit(&Habit{
		Name: "idempotency-key", Does: "an idempotency key",
		Assumes: "the tool does its work once for each key, and an agent that repeats a failed call with equal " +
			"arguments wants its effect once",
		rank: rankKey,
		on: func(_ *facts, t *chaos.Tool, _ []chaos.Tool) string {
			switch {
			case t.Effect == chaos.EffectNone:
				return "it is declared to change nothing"
			case t.IdempotencyKey == "":
				return "it declares no idempotency key"
			}
			return ""
		},
		start: func(o Options) handler {
			return (&keys{Options: o, failed: map[operation][]string{}, begun: map[operation]uint64{}}).handle
		},
		options: Options{NewKey: func(context.Context, string, json.RawMessage) string { return "" }},
	})
}

// keys has the keys of operations that failed.
type keys struct {
	Options
	mu     sync.Mutex
	failed map[operation][]string // the oldest first
	begun  map[operation]uint64   // how many; the lane stands before the tool
}

func (k *keys) handle(ctx context.Context, c *call) (json.RawMessage, error) {
	if c.hasKey() {
		return c.pass(ctx)
	}
	op, done := c.operation(), false
	key := k.take(ctx, c, op)
	defer func() { // also if the tool panics
		if !done {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.failed[op] = append(k.failed[op], key)
		}
	}()
	args, ok := jsonedit.WithText(c.args, c.tool.IdempotencyKey, key)
	if !ok {
		return c.pass(ctx)
	}
	result, err := c.next(ctx, c.tool.Name, args)
	done = failureOf(result, err) == nil
	return result, err
}

// take returns the key of an equal operation that failed, or a new one.
func (k *keys) take(ctx context.Context, c *call, op operation) string {
	k.mu.Lock()
	if failed := k.failed[op]; len(failed) > 0 {
		defer k.mu.Unlock()
		if k.failed[op] = failed[1:]; len(failed) == 1 {
			delete(k.failed, op)
		}
		return failed[0]
	}
	virtual, n := false, uint64(0)
	if in := chaos.FromContext(ctx); in != nil && in.Virtual() {
		// Lanes run at the same time, so what one of them counts must not depend on another.
		at := operation{chaos.LaneOf(ctx) + "\n" + op.tool, op.args}
		k.begun[at]++
		virtual, n = true, k.begun[at]
	}
	k.mu.Unlock()
	if key := k.NewKey(ctx, op.tool, c.args); key != "" {
		return key
	}
	if virtual {
		return fmt.Sprintf("%016x%016x", draw(ctx, op, n, 1), draw(ctx, op, n, 2))
	}
	return crand.Text()
}
