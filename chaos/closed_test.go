package chaos_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos"
)

// crossings calls one injection point of every kind, each named "work" but for
// the listing, and returns the error of its caller.
func crossings(t *testing.T, in *chaos.Injector, reached *int) map[string]func(context.Context) error {
	work := func(context.Context, int) (int, error) { *reached++; return 0, nil }
	registry, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "work"}, work))
	assert.NoError(t, err)
	tools, bound := chaos.WrapRegistry(registry, nil), chaos.WrapRegistry(registry, in)
	dispatch := chaos.WrapDispatch(func(ctx context.Context, _ string, n int) (int, error) { return work(ctx, n) })
	stream := chaos.WrapStream("work", func(ctx context.Context, n int) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) { yield(work(ctx, n)) }
	})
	return map[string]func(context.Context) error{
		"Wrap":     func(ctx context.Context) error { _, err := chaos.Wrap("work", work)(ctx, 1); return err },
		"Point":    func(ctx context.Context) error { *reached++; return chaos.Point(ctx, "work") },
		"Dispatch": func(ctx context.Context) error { _, err := dispatch(ctx, "work", 1); return err },
		"Stream": func(ctx context.Context) (err error) {
			for _, e := range stream(ctx, 1) {
				err = e
			}
			return err
		},
		"CallTool": func(ctx context.Context) error {
			_, err := tools.CallTool(ctx, "work", json.RawMessage(`1`))
			return err
		},
		"bound": func(context.Context) error {
			_, err := bound.CallTool(context.Background(), "work", nil)
			return err
		},
		"Tools": func(ctx context.Context) error { *reached++; _, err := tools.Tools(ctx); return err },
	}
}

// At every kind of injection point, recorded or not, a call passes through a
// disarmed injector, and a closed one refuses it.
func TestDisarmedAndClosedAtEveryPoint(t *testing.T) {
	for _, record := range []bool{false, true} {
		reached := 0
		in := plan(t, chaos.Rule{Name: "down", Target: "*", Fault: down()}).Injector("", &chaos.InjectorOptions{RecordAll: record})
		ctx := chaos.WithLane(chaos.NewContext(t.Context(), in), "a")
		points := crossings(t, in, &reached)
		for name, cross := range points {
			assert.ErrorIs(t, cross(ctx), errDown, name)
		}
		in.Disarm()
		reached = 0
		for name, cross := range points {
			assert.NoError(t, cross(ctx), name)
		}
		assert.Equal(t, len(points), reached)
		injected, err := in.InjectNow(ctx, "down")
		assert.False(t, injected)
		assert.NoError(t, err)
		in.Close()
		before := len(in.Events())
		for name, cross := range points {
			assert.ErrorIs(t, cross(ctx), chaos.ErrCellEnded, name)
		}
		assert.EqualValues(t, len(points), in.LateCalls())
		assert.Len(t, in.Events(), before, "a refused call leaves no event")
	}
}

// Outside a fault, Changed, Note, Sleep and the like do nothing to a call.
func TestOutsideAFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		chaos.Changed(t.Context(), chaos.Change{})
		chaos.Note(t.Context(), "nothing to see")
		start := time.Now()
		assert.NoError(t, chaos.Sleep(t.Context(), time.Hour))
		assert.Equal(t, time.Hour, time.Since(start), "it waits all the same")
		brief, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		assert.ErrorIs(t, chaos.Sleep(brief, -1), context.DeadlineExceeded)
		assert.Nil(t, chaos.FromContext(t.Context()))
		in, ctx := recording(t)
		assert.Same(t, in, chaos.FromContext(chaos.WithTurn(ctx, 1)))
	})
}

// speechless is an error whose Error method panics.
type speechless struct{}

func (*speechless) Error() string { panic("boom") }

func TestAnErrorThatPanicsWhenAsked(t *testing.T) {
	in, ctx := recording(t)
	_, _ = chaos.Wrap("work", func(context.Context, int) (int, error) { return 0, &speechless{} })(ctx, 1)
	assert.Contains(t, only(t, in).Err, "panicked")
}

// A change that fails on an item yields its error in place of that item.
func TestAChangeThatFailsOnAnItem(t *testing.T) {
	spoil := faultFunc{chaos.PhaseChange, func(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
		item, err := next(ctx, args)
		if item == "b" {
			return nil, errDown
		}
		return item, err
	}}
	in, ctx := recording(t, chaos.Rule{Target: "words", Fault: spoil})
	var items []string
	var errs []bool
	for item, err := range chaos.WrapStream("words", letters)(ctx, 3) {
		items, errs = append(items, item), append(errs, errors.Is(err, chaos.ErrInjected))
	}
	assert.Equal(t, []string{"a", "", "c"}, items)
	assert.Equal(t, []bool{false, true, false}, errs)
	assert.True(t, only(t, in).Delivered)
}

// Attempts are counted whether calls are recorded or not.
func TestAttemptsAreCountedWithoutRecording(t *testing.T) {
	in := plan(t, chaos.Rule{Target: "work", When: chance(1e-12), Fault: down()}, chaos.Rule{Name: "seen", Target: "work", When: ordinals(2, 4), Fault: delay(0)}).
		Injector("", nil)
	ctx := chaos.NewContext(context.Background(), in)
	work := chaos.Wrap("work", func(_ context.Context, n int) (int, error) {
		if n < 3 {
			return 0, errDown
		}
		return n, nil
	})
	for n := range 5 {
		_, _ = work(ctx, n)
	}
	events := in.Events()
	assert.Equal(t, []int{3, 1}, []int{events[0].Attempt, events[1].Attempt})
}
