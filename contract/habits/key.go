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
	// Tools is a glob of the tools on which it may act; "": all.
	Tools string
	// New makes the key of an operation that is begun. It must differ from all that any process makes, unless it is
	// to be a repeat. nil: a random text; in virtual time the same one in each run of a cell.
	New func(ctx context.Context, tool string, args json.RawMessage) string
}

// IdempotencyKeys puts a key into a call of a tool that declares one ([chaos.Tool].IdempotencyKey), if the agent gave
// none. A call with equal arguments after a failed one gets the same key, since nobody knows whether the failed one
// did its work. After a success the key is used up, so that two wanted equal effects are two. Of two equal calls at
// once each has its own.
//
// Name: idempotency-key.
func IdempotencyKeys(o *KeyOptions) *Habit {
	if o == nil {
		o = &KeyOptions{}
	}
	newKey := o.New
	return &Habit{
		Name: "idempotency-key", Does: "an idempotency key",
		Assumes: "the tool does its work once for each key, and the agent means the same request when it repeats a " +
			"failed one with equal arguments",
		rank: rankKey, tools: o.Tools,
		abstains: func(t *chaos.Tool, _ []chaos.Tool) string {
			switch {
			case t.Effect == chaos.EffectNone:
				return "declared to change nothing"
			case t.IdempotencyKey == "":
				return "no idempotency key is declared"
			}
			return ""
		},
		start: func(*Habit) handler {
			return (&keys{newKey: newKey, free: map[operation][]string{}, begun: map[place]uint64{}}).handle
		},
		overHTTP: func() exchange {
			return (&keys{newKey: newKey, free: map[operation][]string{}, begun: map[place]uint64{}}).exchange
		},
	}
}

// keys has the keys of the operations whose outcome is not known.
type keys struct {
	newKey func(ctx context.Context, tool string, args json.RawMessage) string

	mu    sync.Mutex
	free  map[operation][]string // of calls that failed, the oldest first
	begun map[place]uint64       // operations, in virtual time
}

// A place is where operations are counted: lanes run at the same time, so what one counts must not depend on another.
type place struct {
	lane string
	operation
}

func (k *keys) handle(ctx context.Context, c *call, next caller) (json.RawMessage, error) {
	if !c.acts || hasKey(c.tool, c.args) {
		return c.pass(ctx, next)
	}
	op := c.operation()
	key := k.take(ctx, op, c.args)
	args, ok := withKey(c.args, c.tool.IdempotencyKey, key)
	if !ok {
		k.leave(op, key)
		return c.pass(ctx, next)
	}
	done := false
	defer func() { // also if the tool panics
		if !done {
			k.leave(op, key)
		}
	}()
	result, err := next(ctx, c.tool.Name, args)
	done = failureOf(result, err) == nil
	return result, err
}

// take returns the key of an operation: that of an equal one that failed, or a new one.
func (k *keys) take(ctx context.Context, op operation, args json.RawMessage) string {
	k.mu.Lock()
	if free := k.free[op]; len(free) > 0 {
		defer k.mu.Unlock()
		if k.free[op] = free[1:]; len(free) == 1 {
			delete(k.free, op)
		}
		return free[0]
	}
	n := uint64(0)
	if in := chaos.FromContext(ctx); in != nil && in.Virtual() {
		at := place{chaos.LaneOf(ctx), op}
		n = k.begun[at] + 1
		k.begun[at] = n
	}
	k.mu.Unlock()
	switch {
	case k.newKey != nil:
		return k.newKey(ctx, op.tool, args)
	case n > 0:
		return fmt.Sprintf("%016x%016x", draw(ctx, hash.String(op.tool), op.args, n, 1), draw(ctx, hash.String(op.tool), op.args, n, 2))
	}
	return crand.Text()
}

// leave keeps the key of an operation that failed for its repeat.
func (k *keys) leave(op operation, key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.free[op] = append(k.free[op], key)
}

// hasKey reports whether the arguments have the key that the tool declares.
func hasKey(t *chaos.Tool, args json.RawMessage) bool {
	if t.IdempotencyKey == "" {
		return false
	}
	d, member, ok := jsonedit.MemberAt(args, t.IdempotencyKey)
	return ok && string(d.Raw(member)) != "null" && string(d.Raw(member)) != `""`
}

// withKey returns the arguments with a key at a JSON pointer. ok is false if they are no object, or have something
// else where an object is to be.
func withKey(args json.RawMessage, pointer, key string) (with json.RawMessage, ok bool) {
	v, _ := jsonedit.ParseValue(args)
	if len(args) == 0 || v.Kind() == jsonedit.Null {
		v = jsonedit.Of(struct{}{})
	}
	names := jsonedit.PointerKeys(pointer)
	at := v
	for _, name := range names[:len(names)-1] {
		if at.Get(name) == nil {
			at.Set(name, jsonedit.Of(struct{}{}))
		}
		at = at.Get(name)
	}
	if at.Kind() != jsonedit.Object {
		return nil, false
	}
	at.SetText(names[len(names)-1], key)
	return v.JSON(), true
}
