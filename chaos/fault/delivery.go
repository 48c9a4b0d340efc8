package fault

import (
	"context"
	"errors"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
)

// Duplicate is [Repeat] with n = 2: the call is executed twice.
func Duplicate() chaos.Fault { return repeat{n: 2} }

// Repeat executes a call n times, one after the other and with the same
// arguments, as a network does that delivers a request again: the caller sees
// the first reply, be it a result or an error, and nothing of the others. n is
// at least 2.
//
// No further execution begins once the caller's context has ended or the
// injector was disarmed. The callee must not change its arguments, which are
// not copied.
func Repeat(n int) chaos.Fault { return repeat{n: n} }

type repeat struct {
	n int
	label
}

func (r repeat) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	result, err := next(ctx, args)
	for i := 1; i < r.n && again(ctx, err); i++ {
		_, _ = next(ctx, args) // nobody waits for these replies
	}
	return result, err
}

// again tells whether a call that returned err may be executed once more.
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
