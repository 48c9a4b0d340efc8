package fault

import (
	"context"
	"errors"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
)

// Duplicate is [Repeat] with n = 2: the call is executed twice.
func Duplicate() chaos.Fault { return repeat{n: 2} }

// Repeat executes a call n times, one after the other, with the same arguments,
// like a network that delivers a request again. The caller gets the first
// reply, a result or an error; the others are dropped. n is at least 2.
//
// No further execution begins once the caller's context has ended or the
// injector was disarmed. The arguments are not copied, so the callee must not
// change them.
func Repeat(n int) chaos.Fault { return repeat{n: n} }

type repeat struct {
	n int
	*label
}

func (r repeat) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	result, err := next(ctx, args)
	for i := 1; i < r.n && again(ctx, err); i++ {
		_, _ = next(ctx, args) // these replies are dropped
	}
	return result, err
}

// again reports whether a call that returned err may be executed once more.
func again(ctx context.Context, err error) bool {
	return chaos.Sleep(ctx, 0) == nil && !errors.Is(err, chaos.ErrCellEnded)
}

func (r repeat) Check() error {
	c := param.Check{Kind: r.named("duplicate")}
	c.That(r.n >= 2, "times", r.n, "a number of executions, at least 2")
	return c.Err()
}

func (r repeat) Describe() chaos.Description {
	return param.With(r.on(chaos.Description{
		Kind: "duplicate", Class: chaos.ClassProtocol, Visibility: chaos.Implicit,
		Persistence: chaos.Transient, Effect: chaos.EffectDone,
	}), struct {
		Times int `json:"times"`
	}{r.n})
}
