package fault

import (
	"context"
	"sync"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
	"github.com/shakedown-go/shakedown/internal/glob"
	"github.com/shakedown-go/shakedown/internal/jsonvalue"
)

// DelayedVisibility hides a write from reads for d, like a replica that lags
// behind. Calls to targets that match the glob writes are writes and are not
// changed; all other calls that the rule matches are reads. d is more than 0.
//
// Within d after a write, a read returns what the same read (target and key)
// returned before it. A read that was not made before the write returns before,
// a value as with [Replace], or the real result if before is nil. Only a result
// that differs from the real one is delivered. Errors are passed on.
//
// It remembers the calls that its rule matched, at most 4096 reads. So use it
// without a trigger, with a target that covers reads and writes, such as
// "orders.*". It does not apply to streams.
func DelayedVisibility(writes string, d time.Duration, before any) chaos.Fault {
	g, err := glob.Compile(writes)
	return &delayedVisibility{writes: pattern{writes, g, err}, d: d, before: before}
}

type delayedVisibility struct {
	writes pattern
	d      time.Duration
	before any

	mu      sync.Mutex
	written bool
	last    time.Time // of the last write
	seen    map[read]memo
}

// read identifies equal reads.
type read struct {
	target string
	key    uint64
}

func (v *delayedVisibility) Fresh() chaos.Fault {
	return &delayedVisibility{writes: v.writes, d: v.d, before: v.before}
}

func (v *delayedVisibility) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	result, err := next(ctx, args)
	switch {
	case err != nil:
		return result, err
	case v.writes.match(c.Target):
		v.write()
		return result, nil
	}
	seen, stale := v.read(read{c.Target, c.Key}, result)
	if !stale {
		return result, nil
	}
	old, why := seen()
	if why != "" {
		chaos.Note(ctx, why)
		return result, nil
	}
	if r, ok := result.(becoming); ok {
		return r.Become(ctx, old), nil
	}
	if old = inForm(old, result); equal(result, old) {
		return result, nil
	}
	chaos.Changed(ctx, chaos.Change{Before: jsonvalue.Document(result), After: jsonvalue.Document(old)})
	return old, nil
}

// becoming is a result that can be replaced by another one, and that knows what
// its caller will see of that.
type becoming interface {
	Become(ctx context.Context, other any) (result any)
}

func (v *delayedVisibility) write() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.written, v.last = true, time.Now()
}

// read returns the earlier result that a read may see. stale is false if that
// is the real result.
func (v *delayedVisibility) read(r read, result any) (old memo, stale bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.written && time.Since(v.last) < v.d {
		if old, ok := v.seen[r]; ok {
			return old, true
		}
		return remembered(v.before), v.before != nil
	}
	if v.seen == nil {
		v.seen = make(map[read]memo)
	}
	if _, known := v.seen[r]; known || len(v.seen) < maxRemembered {
		v.seen[r] = remembered(result)
	}
	return nil, false
}

// Phase puts the fault after the callee.
func (v *delayedVisibility) Phase() chaos.Phase { return chaos.PhaseChange }

func (v *delayedVisibility) Check() error {
	c := param.Check{Kind: "delayed_visibility"}
	v.writes.check(&c, "writes")
	c.That(v.d > 0, "duration", v.d, "a duration of more than 0")
	return c.Err()
}

func (v *delayedVisibility) Describe() chaos.Description {
	return param.With(chaos.Description{
		Kind: "delayed_visibility", Class: chaos.ClassTiming, Visibility: chaos.Implicit,
		Persistence: chaos.Transient, Effect: chaos.EffectDone,
	}, struct {
		Writes   string `json:"writes"`
		Duration string `json:"duration"`
		Before   any    `json:"before,omitempty"`
	}{v.writes.text, v.d.String(), valueOrNothing(v.before)})
}

// valueOrNothing is a value as an optional parameter.
func valueOrNothing(v any) any {
	if doc := jsonvalue.Document(v); v != nil && doc != nil {
		return doc
	}
	return nil
}
