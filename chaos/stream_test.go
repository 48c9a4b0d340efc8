package chaos_test

import (
	"context"
	"encoding/json"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos"
)

// endless counts up without looking at its context, until its consumer stops.
func endless(taken *int) func(context.Context, int) iter.Seq2[int, error] {
	return func(context.Context, int) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			for i := 0; i < 100_000; i++ {
				if *taken++; !yield(i, nil) {
					return
				}
			}
			panic("nobody stops it")
		}
	}
}

// A stream without end stays usable: a repeated execution takes no more of it
// than the consumer took of the first.
func TestARepeatedStreamWithoutEndEnds(t *testing.T) {
	taken := 0
	in, ctx := recording(t, chaos.Rule{Target: "ticks", Fault: twice()})
	for i := range chaos.WrapStream("ticks", endless(&taken))(ctx, 0) {
		if i == 4 {
			break
		}
	}
	assert.Equal(t, 10, taken, "five items of each execution")
	assert.True(t, only(t, in).Delivered)
}

// Consumption without a consumer ends at the latest with the context.
func TestAnUnseenStreamEndsWithItsContext(t *testing.T) {
	for name, f := range map[string]chaos.Fault{"lost reply": loseReply(), "twice": twice()} {
		t.Run(name, func(t *testing.T) {
			_, ctx := recording(t, chaos.Rule{Target: "ticks", Fault: f})
			ctx, cancel := context.WithCancel(ctx)
			taken, seen := 0, 0
			source := endless(&taken)
			stream := chaos.WrapStream("ticks", func(ctx context.Context, n int) iter.Seq2[int, error] {
				return func(yield func(int, error) bool) {
					for i := range source(ctx, n) {
						if taken == 1000 {
							cancel()
						}
						if !yield(i, nil) {
							return
						}
					}
				}
			})
			for _, err := range stream(ctx, 0) {
				if seen++; seen > 500 || err != nil {
					break
				}
			}
			assert.LessOrEqual(t, taken, 1002)
		})
	}
}

// If the injector is disarmed before a reply is lost, the consumer gets all of it, and
// the error in it, even one that was injected further in.
func TestAHeldStreamIsReleasedWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := faultFunc{chaos.PhaseAfter, func(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
			result, failed := next(ctx, args)
			if err := chaos.Sleep(ctx, time.Hour); err != nil {
				return result, failed
			}
			return nil, context.DeadlineExceeded
		}}
		in, ctx := recording(t, chaos.Rule{Target: "words", Fault: slow}, chaos.Rule{Target: "source", Fault: down()})
		source := chaos.Wrap("source", double)
		words := chaos.WrapStream("words", func(ctx context.Context, _ int) iter.Seq2[string, error] {
			return func(yield func(string, error) bool) {
				if !yield("a", nil) {
					return
				}
				_, err := source(ctx, 1)
				yield("", err)
			}
		})
		time.AfterFunc(time.Minute, in.Disarm)
		got, err := collect(words(ctx, 0), 9)
		assert.Equal(t, []string{"a"}, got)
		assert.ErrorIs(t, err, errDown)
	})
}

// A stream in a stream: each is an injection point, and knows its caller.
func TestStreamsNest(t *testing.T) {
	in, ctx := recording(t, chaos.Rule{Name: "in", Target: "inner", Fault: replace("x")}, chaos.Rule{Name: "out", Target: "outer", Fault: delay(0)})
	inner := chaos.WrapStream("inner", letters)
	outer := chaos.WrapStream("outer", func(ctx context.Context, n int) iter.Seq2[string, error] { return inner(ctx, n) })
	got, err := collect(outer(ctx, 2), 9)
	assert.NoError(t, err)
	assert.Equal(t, []string{"x", "x"}, got)
	events := in.Events()
	assert.Equal(t, []string{"outer", "inner"}, []string{events[0].Target, events[1].Target})
	assert.Equal(t, "outer", events[1].Caller)
}

// An event of a stream says how many items there were, also where it broke off.
func TestStreamEventsCountItems(t *testing.T) {
	in := plan(t).Injector("", &chaos.InjectorOptions{RecordAll: true, KeepValues: true})
	ctx := chaos.NewContext(context.Background(), in)
	_, _ = collect(chaos.WrapStream("words", letters)(ctx, 3), 9)
	_, _ = collect(chaos.WrapStream("words", letters)(ctx, 3), 2)
	events := in.Events()
	assert.Equal(t, json.RawMessage(`{"items":3}`), events[0].Result)
	assert.Equal(t, json.RawMessage(`{"items":2}`), events[1].Result)
	assert.Equal(t, chaos.OutcomeOK, events[1].Outcome)
}
