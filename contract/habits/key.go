package habits

import (
	"context"
	crand "crypto/rand"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// IdempotencyKeys puts a key into a call of a tool that declares one ([chaos.Tool].IdempotencyKey), if the agent gave
// none. A call with equal arguments after one that failed gets the same key, since the failed one may have done its
// work. Of two calls at once each has its own. A success uses the key up, so that two wanted equal effects are two. A
// failure uses it up only if the tool says that it did nothing ([ErrNotDone]), since many services answer the same for
// ever to the key of a payment that was declined; the words of a failure do not.
// A key is random, so that no two processes send a server the same one; an agent with this habit then does not repeat
// itself. In virtual time, where no server is met, it is the same in each run of a cell. The name is "idempotency-key".
func IdempotencyKeys(o *Options) *Habit {
	return o.habit(&Habit{
		Name: "idempotency-key", Does: "an idempotency key",
		Assumes: "the tool does its work once for each key, and an agent that repeats a failed call with equal " +
			"arguments wants its effect once",
		rank: rankKey,
		start: func(Options) state {
			k := &keys{failed: map[operation][]string{}}
			return state{on: k.on}
		},
	})
}

// keys has the keys of operations that failed.
type keys struct {
	mu     sync.Mutex
	failed map[operation][]string // the oldest first
}

func (k *keys) on(t *chaos.Tool, _ []chaos.Tool) (act handler, why string) {
	switch {
	case t.Effect == chaos.EffectNone:
		return nil, "it is declared to change nothing"
	case t.IdempotencyKey == "":
		return nil, "it declares no idempotency key"
	}
	return k.handle, ""
}

func (k *keys) handle(ctx context.Context, c *call) (json.RawMessage, error) {
	if c.hasKey() {
		return c.pass(ctx)
	}
	op, done := c.operation(), false
	key, doubted := k.take(ctx, op)
	doubt := &atomic.Bool{}
	doubt.Store(doubted)
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
	result, err := c.next(context.WithValue(ctx, doubtKey{}, doubt), c.tool.Name, args)
	f := failureOf(result, err)
	done = f == nil || f.denied && !doubt.Load()
	return result, err
}

// doubtKey is the key of a context that has an [atomic.Bool]: a try failed, not denied, under the same key.
type doubtKey struct{}

// noteDoubt tells the habit that gave a key of a failure that it does not see, since there is another try.
func noteDoubt(ctx context.Context, f *failed) {
	if doubt, ok := ctx.Value(doubtKey{}).(*atomic.Bool); ok && !f.denied {
		doubt.Store(true)
	}
}

// take returns the key of an equal operation that failed (doubted), or a new one.
func (k *keys) take(ctx context.Context, op operation) (key string, doubted bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if failed := k.failed[op]; len(failed) > 0 {
		if k.failed[op] = failed[1:]; len(failed) == 1 {
			delete(k.failed, op)
		}
		return failed[0], true
	}
	in := chaos.FromContext(ctx)
	if in == nil || !in.Virtual() {
		return crand.Text(), false
	}
	// Other conversations of the cell count too, so that they have other keys. Lanes run at the same time, so what one
	// of them counts must not depend on another.
	n := in.Count(fmt.Sprintf("%s\n%s\n%x", chaos.LaneOf(ctx), op.tool, op.args))
	half := func(i uint64) uint64 { return draw(ctx, in, in.Cell(), op, n, i) }
	return fmt.Sprintf("%016x%016x", half(1), half(2)), false
}
