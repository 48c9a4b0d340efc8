package chaos_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
)

// The faults and triggers of these tests are written as a user would write them,
// since package chaos may not import the ready-made ones.

type whenFunc func(chaos.Call) bool

func (f whenFunc) Match(c chaos.Call) bool { return f(c) }

type faultFunc struct {
	phase chaos.Phase
	do    func(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error)
}

func (f faultFunc) Phase() chaos.Phase { return f.phase }
func (f faultFunc) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	return f.do(ctx, c, args, next)
}

type failer struct{ err error }

func (f failer) Fail(chaos.Call) error { return f.err }
func (f failer) Inject(context.Context, chaos.Call, any, chaos.Next) (any, error) {
	return nil, f.err
}
func (f failer) Describe() chaos.Description { return chaos.Description{Kind: "error"} }

var errDown = errors.New("connection refused")

func down() chaos.Fault { return failer{errDown} }

func delay(d time.Duration) chaos.Fault {
	return faultFunc{chaos.PhaseBefore, func(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
		if err := chaos.Sleep(ctx, d); err != nil && !errors.Is(err, chaos.ErrDisarmed) {
			return nil, err
		}
		return next(ctx, args)
	}}
}

func replace(v any) chaos.Fault {
	return faultFunc{chaos.PhaseChange, func(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
		if _, err := next(ctx, args); err != nil {
			return nil, err
		}
		chaos.Changed(ctx, chaos.Change{After: json.RawMessage(`"changed"`)})
		return v, nil
	}}
}

func loseReply() chaos.Fault {
	return faultFunc{chaos.PhaseAfter, func(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
		if _, err := next(ctx, args); errors.Is(err, chaos.ErrInjected) {
			return nil, err
		}
		return nil, context.DeadlineExceeded
	}}
}

func twice() chaos.Fault {
	return faultFunc{chaos.PhaseInstead, func(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
		first, err := next(ctx, args)
		_, _ = next(ctx, args)
		return first, err
	}}
}

func ordinals(ns ...uint64) chaos.When {
	return whenFunc(func(c chaos.Call) bool {
		for _, n := range ns {
			if c.Ordinal == n {
				return true
			}
		}
		return false
	})
}

func plan(t testing.TB, rules ...chaos.Rule) *chaos.Plan {
	t.Helper()
	p, err := chaos.NewPlan(1, rules...)
	require.NoError(t, err)
	return p
}

// recording makes an injector that keeps an event for every call.
func recording(t testing.TB, rules ...chaos.Rule) (*chaos.Injector, context.Context) {
	t.Helper()
	in := plan(t, rules...).Injector("cell", &chaos.InjectorOptions{RecordAll: true})
	return in, chaos.NewContext(context.Background(), in)
}

func only(t testing.TB, in *chaos.Injector) chaos.Event {
	t.Helper()
	events := in.Events()
	require.Len(t, events, 1)
	return events[0]
}
