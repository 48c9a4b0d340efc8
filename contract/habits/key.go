package habits

import (
	"context"
	crand "crypto/rand"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/hash"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// KeyOptions are the settings of [IdempotencyKeys]; nil and the zero value work.
type KeyOptions struct {
	_ struct{}
	// Tools is a glob of the tools on which the habit may act; "": all.
	Tools string
	// New makes a key for an operation that begins. No two operations of any processes may have the same. nil: a
	// random text, and in virtual time one that is the same in each run of a cell. It must be safe for concurrent use.
	New func(ctx context.Context, tool string, args json.RawMessage) string
}

// IdempotencyKeys puts a key into a call of a tool that declares one ([chaos.Tool].IdempotencyKey), if the agent gave
// none. A call with equal arguments after one that failed gets the same key, since the failed one may have done its
// work. A success uses the key up, so that two wanted equal effects are two; of two calls at once each has its own.
// The name is "idempotency-key".
func IdempotencyKeys(o *KeyOptions) *Habit {
	given := or(o)
	h := &Habit{
		Name: "idempotency-key", Does: "an idempotency key",
		Assumes: "the tool does its work once for each key, and an agent that repeats a failed call with equal " +
			"arguments wants its effect once",
		rank: rankKey,
		abstains: func(t *chaos.Tool, _ []chaos.Tool) (f facts, why string) {
			switch {
			case t.Effect == chaos.EffectNone:
				why = "it is declared to change nothing"
			case t.IdempotencyKey == "":
				why = "it declares no idempotency key"
			}
			return f, why
		},
		start: func() handler {
			return (&keys{New: given.New, failed: map[operation][]string{}, begun: map[operation]uint64{}}).handle
		},
	}
	return h.on(given.Tools)
}

// keys has the keys of operations that failed.
type keys struct {
	New func(ctx context.Context, tool string, args json.RawMessage) string

	mu     sync.Mutex
	failed map[operation][]string // the oldest first
	begun  map[operation]uint64   // how many, in virtual time; the lane stands before the tool
}

func (k *keys) handle(ctx context.Context, c *call) (json.RawMessage, error) {
	if hasKey(c.tool, c.args) {
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
	args, ok := withKey(c.args, c.tool.IdempotencyKey, key)
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
	n := uint64(0)
	if in := chaos.FromContext(ctx); in != nil && in.Virtual() {
		// Lanes run at the same time, so what one of them counts must not depend on another.
		at := operation{chaos.LaneOf(ctx) + "\n" + op.tool, op.args}
		k.begun[at]++
		n = k.begun[at]
	}
	k.mu.Unlock()
	switch {
	case k.New != nil:
		return k.New(ctx, op.tool, c.args)
	case n > 0:
		half := func(i uint64) uint64 { return draw(ctx, hash.String(op.tool), op.args, n, i) }
		return fmt.Sprintf("%016x%016x", half(1), half(2))
	}
	return crand.Text()
}

// hasKey reports whether the arguments have the key that the tool declares.
func hasKey(t *chaos.Tool, args json.RawMessage) bool {
	d, member, ok := jsonedit.MemberAt(args, t.IdempotencyKey)
	return ok && string(d.Raw(member)) != "null" && string(d.Raw(member)) != `""`
}

// withKey returns the arguments with a key at a JSON pointer. ok is false if they are no object, or have something
// else where the pointer leads through an object.
func withKey(args json.RawMessage, pointer, key string) (with json.RawMessage, ok bool) {
	v, _ := jsonedit.ParseValue(args)
	if len(args) == 0 || v.Kind() == jsonedit.Null {
		v = jsonedit.Of(struct{}{})
	}
	names := jsonedit.PointerKeys(pointer)
	last := len(names) - 1
	at := v
	for _, name := range names[:last] {
		if at.Get(name) == nil {
			at.Set(name, jsonedit.Of(struct{}{}))
		}
		at = at.Get(name)
	}
	if at.Kind() != jsonedit.Object {
		return nil, false
	}
	at.SetText(names[last], key)
	return v.JSON(), true
}
