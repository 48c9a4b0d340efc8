package chaos_test

import (
	"context"
	"iter"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos"
)

// streamer is a fault of whole streams as a user would write it.
type streamer struct {
	do func(ctx context.Context, items iter.Seq2[any, error], yield func(any, error) bool)
}

func (streamer) Phase() chaos.Phase { return chaos.PhaseChange }
func (streamer) Inject(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
	return next(ctx, args)
}
func (f streamer) Stream(ctx context.Context, _ chaos.Call, items iter.Seq2[any, error]) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) { f.do(ctx, items, yield) }
}

// insert puts an item before each.
func insert(v any) streamer {
	return streamer{func(ctx context.Context, items iter.Seq2[any, error], yield func(any, error) bool) {
		for item, err := range items {
			if chaos.Changed(ctx); !yield(v, nil) || !yield(item, err) {
				return
			}
		}
	}}
}

// An item of the wrong type is not delivered; the real one takes its place.
func TestStreamerOfTheWrongType(t *testing.T) {
	wrong := streamer{func(ctx context.Context, items iter.Seq2[any, error], yield func(any, error) bool) {
		for _, err := range items {
			if chaos.Changed(ctx); !yield(7, err) {
				return
			}
		}
	}}
	in, ctx := recording(t, chaos.Rule{Target: "words", Fault: wrong})
	got, err := collect(chaos.WrapStream("words", letters)(ctx, 2), 9)
	assert.NoError(t, err)
	assert.Equal(t, []string{"a", "b"}, got)
	e := only(t, in)
	assert.Contains(t, e.Note, "wrong type")
}

// A panic is attributed to its cause: fault, source or consumer.
func TestPanicsInStreams(t *testing.T) {
	boom := streamer{func(_ context.Context, items iter.Seq2[any, error], _ func(any, error) bool) {
		for range items {
			panic("fault")
		}
	}}
	broken := func(context.Context, int) iter.Seq2[string, error] {
		return func(yield func(string, error) bool) {
			yield("a", nil)
			panic("source")
		}
	}
	for _, c := range []struct {
		why       string
		fault     chaos.Fault
		source    func(context.Context, int) iter.Seq2[string, error]
		stop      bool
		delivered bool
	}{
		{"the fault's own", boom, letters, false, true},
		{"the source's, behind a fault that does nothing", streamer{func(_ context.Context, items iter.Seq2[any, error], yield func(any, error) bool) { items(yield) }}, broken, false, false},
		{"the source's, behind a fault that was seen", insert("-"), broken, false, true},
		{"the consumer's, who has seen the fault", insert("-"), letters, true, true},
	} {
		t.Run(c.why, func(t *testing.T) {
			in, ctx := recording(t, chaos.Rule{Target: "words", Fault: c.fault})
			apart(func() {
				for range chaos.WrapStream("words", c.source)(ctx, 3) {
					if c.stop {
						panic("consumer")
					}
				}
			})
			e := only(t, in)
			assert.Equal(t, chaos.OutcomePanicked, e.Outcome)
			assert.Equal(t, c.delivered, e.Delivered)
		})
	}
}

// A stream has keys and a bound injector as functions do.
func TestStreamOptions(t *testing.T) {
	in := plan(t).Injector("", &chaos.InjectorOptions{RecordAll: true})
	words := chaos.WrapStreamWith("words", letters, &chaos.WrapOptions[int]{Injector: in, Key: func(n int) uint64 { return uint64(n) }})
	for _, n := range []int{3, 2, 3} {
		got, err := collect(words(context.Background(), n), 9)
		assert.NoError(t, err)
		assert.Len(t, got, n)
	}
	var seen [][2]uint64
	for _, e := range in.Events() {
		seen = append(seen, [2]uint64{e.Key, e.Occurrence})
	}
	assert.Equal(t, [][2]uint64{{3, 0}, {2, 0}, {3, 1}}, seen)
}

// lateness postpones the first call of its target until another one comes.
type lateness struct {
	mu    sync.Mutex
	first func(context.Context) (any, error)
}

func (f *lateness) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	f.mu.Lock()
	late := f.first
	if f.first = nil; late == nil {
		f.first = func(ctx context.Context) (any, error) { return next(ctx, args) }
	}
	f.mu.Unlock()
	if late == nil {
		return nil, context.DeadlineExceeded
	}
	_, _ = late(ctx)
	return next(ctx, args)
}

// A postponed call is executed within a later one: once, in its own lane, and without
// a trace in either event.
func TestALateCall(t *testing.T) {
	var mu sync.Mutex
	var reached []int
	in, ctx := recording(t, chaos.Rule{Target: "work", Fault: &lateness{}})
	inner := chaos.Wrap("inner", double)
	work := chaos.Wrap("work", func(ctx context.Context, n int) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		reached = append(reached, n)
		return inner(ctx, n)
	})
	_, err := work(chaos.WithLane(ctx, "first"), 1)
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	_, err = work(chaos.WithLane(ctx, "second"), 2)
	assert.NoError(t, err)
	assert.Equal(t, []int{1, 2}, reached)
	var seen []string
	for _, e := range in.Events() {
		seen = append(seen, e.Caller+">"+e.Target+" "+e.Lane+" "+string(e.Effect))
	}
	assert.Equal(t, []string{">work first none", ">work second unknown", "work>inner first unknown", "work>inner second unknown"}, seen)

	_, _ = work(ctx, 3)
	in.Close()
	_, err = work(ctx, 4)
	assert.ErrorIs(t, err, chaos.ErrCellEnded)
	assert.Equal(t, []int{1, 2}, reached)
}

// Sleep with 0 reports to a fault whether the injector was disarmed.
func TestSleepOfNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []error
		ask := faultFunc{chaos.PhaseBefore, func(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
			got = append(got, chaos.Sleep(ctx, 0), chaos.Sleep(ctx, time.Second), chaos.Sleep(ctx, 0))
			return next(ctx, args)
		}}
		in, ctx := recording(t, chaos.Rule{Target: "work", Fault: ask})
		time.AfterFunc(time.Millisecond, in.Disarm)
		_, err := chaos.Wrap("work", double)(ctx, 1)
		assert.NoError(t, err)
		assert.Equal(t, []error{nil, chaos.ErrDisarmed, chaos.ErrDisarmed}, got)
	})
}
