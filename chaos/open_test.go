package chaos_test

import (
	"context"
	"encoding/json"
	"iter"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
)

// holdAlone holds the call by a wait of its own, which package chaos cannot see.
func holdAlone(phase chaos.Phase) chaos.Fault {
	return faultFunc{phase, func(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
		if phase == chaos.PhaseAfter {
			if _, err := next(ctx, args); err != nil {
				return nil, err
			}
		}
		<-ctx.Done()
		return nil, ctx.Err()
	}}
}

func passing(phase chaos.Phase, args any) chaos.Fault {
	return faultFunc{phase, func(ctx context.Context, _ chaos.Call, was any, next chaos.Next) (any, error) {
		if args != nil {
			was = args
		}
		return next(ctx, was)
	}}
}

// stalls lets n items of a stream through and holds it then.
type stalls struct{ n int }

func (stalls) Phase() chaos.Phase { return chaos.PhaseChange }
func (stalls) Inject(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
	return next(ctx, args)
}
func (s stalls) Stream(ctx context.Context, _ chaos.Call, items iter.Seq2[any, error]) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		n := 0
		for item, err := range items {
			if n == s.n {
				_ = chaos.Sleep(ctx, -1)
			}
			if n++; !yield(item, err) {
				return
			}
		}
	}
}

// stuck is a callee that does not return before its context ends. Of a second execution
// it waits for that alone.
func stuck(from int32) func(context.Context, int) (int, error) {
	var runs atomic.Int32
	return func(ctx context.Context, n int) (int, error) {
		if runs.Add(1) >= from {
			<-ctx.Done()
		}
		return n, ctx.Err()
	}
}

func three(context.Context, int) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		for i := range 3 {
			if !yield(i, nil) {
				return
			}
		}
	}
}

// A caller gives up on its call after three seconds and leaves it behind. Then the cell
// ends.
func TestACallThatIsOpenWhenItsCellEndsHasItsEvent(t *testing.T) {
	works := func(context.Context, int) (int, error) { return 7, nil }
	function := func(fn func(context.Context, int) (int, error)) func(context.Context, *chaos.Injector) {
		return func(ctx context.Context, _ *chaos.Injector) { _, _ = chaos.Wrap("lookup", fn)(ctx, 1) }
	}
	tool, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "lookup", Effect: chaos.EffectDone},
		func(context.Context, struct{}) (string, error) { return "found", nil }))
	require.NoError(t, err)
	callTool := func(ctx context.Context, _ *chaos.Injector) {
		_, _ = chaos.WrapRegistry(tool, nil).CallTool(ctx, "lookup", nil)
	}
	stream := func(ctx context.Context, _ *chaos.Injector) {
		for range chaos.WrapStream("lookup", three)(ctx, 1) {
		}
	}
	rule := func(name string, f chaos.Fault) chaos.Rule { return chaos.Rule{Name: name, Target: "lookup", Fault: f} }
	type want struct {
		rule         string
		delivered    bool
		effect       chaos.Effect
		spent        time.Duration
		also, idle   []string
		masked       []string
		changesShown int
	}
	for _, tt := range []struct {
		name, why string
		rules     []chaos.Rule
		call      func(context.Context, *chaos.Injector)
		want      want
	}{
		{"a function", "its fault holds it", []chaos.Rule{rule("hang", hang())}, function(works),
			want{rule: "hang", delivered: true, effect: chaos.EffectNone, spent: 3 * time.Second}},
		{"a tool", "it was not reached", []chaos.Rule{rule("hang", hang())}, callTool,
			want{rule: "hang", delivered: true, effect: chaos.EffectNone, spent: 3 * time.Second}},
		{"a point", "it is a call like any other", []chaos.Rule{rule("hang", hang())},
			func(ctx context.Context, _ *chaos.Injector) { _ = chaos.Point(ctx, "lookup") },
			want{rule: "hang", delivered: true, effect: chaos.EffectNone, spent: 3 * time.Second}},
		{"a stream", "it is held before its first item", []chaos.Rule{rule("hang", hang())}, stream,
			want{rule: "hang", delivered: true, effect: chaos.EffectNone, spent: 3 * time.Second}},
		{"a stream under way", "it is held between its items", []chaos.Rule{rule("stall", stalls{2})}, stream,
			want{rule: "stall", delivered: true, effect: chaos.EffectUnknown, spent: 3 * time.Second}},
		{"a stream that nobody reads on", "the consumer holds it, not the fault", []chaos.Rule{rule("stall", stalls{9})},
			func(ctx context.Context, _ *chaos.Injector) {
				for range chaos.WrapStream("lookup", three)(ctx, 1) {
					<-ctx.Done()
				}
			}, want{rule: "stall", effect: chaos.EffectUnknown}},
		{"by name", "a request waits too", []chaos.Rule{rule("hang", hang())},
			func(ctx context.Context, in *chaos.Injector) { _, _ = in.InjectNow(ctx, "hang") },
			want{rule: "hang", delivered: true, effect: chaos.EffectNone, spent: 3 * time.Second}},
		{"a wait of the fault's own", "whose code runs holds the call", []chaos.Rule{rule("own", holdAlone(chaos.PhaseInstead))},
			function(works), want{rule: "own", delivered: true, effect: chaos.EffectNone}},
		{"a reply that is lost", "the work was done", []chaos.Rule{rule("lost", holdAlone(chaos.PhaseAfter))}, callTool,
			want{rule: "lost", delivered: true, effect: chaos.EffectDone}},
		{"a reply that is lost, changed before", "no caller has seen the change",
			[]chaos.Rule{rule("change", replace(8)), rule("lost", holdAlone(chaos.PhaseAfter))}, function(works),
			want{rule: "lost", delivered: true, effect: chaos.EffectUnknown, masked: []string{"change"}}},
		{"no fault", "the callee holds it by itself", nil, function(stuck(1)), want{effect: chaos.EffectUnknown}},
		{"a change of the result", "there is no result yet", []chaos.Rule{rule("change", replace(8))}, function(stuck(1)),
			want{rule: "change", effect: chaos.EffectUnknown}},
		{"a delay before", "its wait is over, and was seen", []chaos.Rule{rule("slow", delay(time.Second))}, function(stuck(1)),
			want{rule: "slow", delivered: true, effect: chaos.EffectUnknown, spent: time.Second}},
		{"a delay before a hang", "both hold it", []chaos.Rule{rule("slow", delay(time.Second)), rule("own", holdAlone(chaos.PhaseInstead))},
			function(works), want{rule: "own", delivered: true, effect: chaos.EffectNone, spent: time.Second, also: []string{"slow"}}},
		{"a hang before a failure", "the failure's turn did not come", []chaos.Rule{rule("hang", hang()), rule("down", down())},
			function(works), want{rule: "hang", delivered: true, effect: chaos.EffectNone, spent: 3 * time.Second, masked: []string{"down"}}},
		{"other arguments", "the callee has them", []chaos.Rule{rule("other", passing(chaos.PhaseInstead, 2))}, function(stuck(1)),
			want{rule: "other", delivered: true, effect: chaos.EffectUnknown}},
		{"the same arguments", "nothing is different", []chaos.Rule{rule("same", passing(chaos.PhaseInstead, nil))}, function(stuck(1)),
			want{rule: "same", effect: chaos.EffectUnknown}},
		{"a second execution", "the callee was reached once more", []chaos.Rule{rule("twice", twice())}, function(stuck(2)),
			want{rule: "twice", delivered: true, effect: chaos.EffectUnknown}},
		{"a body that waits", "the call has returned, and its reader waits", []chaos.Rule{rule("late", outlasting())},
			func(ctx context.Context, _ *chaos.Injector) {
				r, _ := chaos.Wrap("lookup", openTail)(ctx, 1)
				_ = chaos.Sleep(r.late, -1)
			}, want{rule: "late", delivered: true, effect: chaos.EffectUnknown, spent: 3 * time.Second}},
		{"a body that was changed", "its reader got the difference", []chaos.Rule{rule("late", outlasting())},
			func(ctx context.Context, _ *chaos.Injector) {
				r, _ := chaos.Wrap("lookup", openTail)(ctx, 1)
				chaos.Changed(r.late, chaos.Change{Path: "/late"})
			}, want{rule: "late", delivered: true, effect: chaos.EffectUnknown, changesShown: 1}},
		{"a body that nobody reads", "nothing of the fault was seen", []chaos.Rule{rule("late", outlasting())},
			func(ctx context.Context, _ *chaos.Injector) { _, _ = chaos.Wrap("lookup", openTail)(ctx, 1) },
			want{rule: "late", effect: chaos.EffectUnknown}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for i := range tt.rules {
					tt.rules[i].Limit = 5 // so that reservations are counted
				}
				in := plan(t, tt.rules...).Injector("cell", &chaos.InjectorOptions{RecordAll: true, KeepValues: true})
				ctx, cancel := context.WithCancel(chaos.NewContext(context.Background(), in))
				go tt.call(ctx, in)
				time.Sleep(3 * time.Second)
				assert.Empty(t, in.Events(), "a call under way has no event")
				in.End()
				e := only(t, in)
				assert.Equal(t, chaos.OutcomeOpen, e.Outcome)
				assert.Equal(t, 3*time.Second, e.End)
				assert.Empty(t, e.Err)
				got := want{e.Rule, e.Delivered, e.Effect, e.Spent, e.Also, e.Idle, e.Masked, len(e.Changes)}
				assert.Equal(t, tt.want, got, tt.why)
				cancel()
				synctest.Wait()
				in.End()
				assert.Equal(t, e, only(t, in), "its end leaves no second event, and does not change the first")
				assert.Zero(t, chaos.Pending(in))
				undelivered := tt.want.masked
				if !tt.want.delivered && tt.rules != nil {
					undelivered = []string{tt.want.rule}
				}
				assert.Equal(t, undelivered, in.Undelivered())
			})
		})
	}
}

// Calls that enclose others end at one time, in the order in which they began.
func TestOpenCallsAreRecordedInTheOrderInWhichTheyBegan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, ctx := recording(t, chaos.Rule{Target: "inner", Fault: hang()})
		var told []string
		stop := in.Watch(func(_ context.Context, e chaos.Event) { told = append(told, e.Target) })
		defer stop()
		ctx, cancel := context.WithCancel(ctx)
		inner := chaos.Wrap("inner", func(context.Context, int) (int, error) { return 0, nil })
		go func() { _, _ = chaos.Wrap("outer", inner)(ctx, 1) }()
		time.Sleep(time.Second)
		in.End()
		events := in.Events()
		require.Len(t, events, 2)
		assert.Equal(t, []string{"outer", "inner"}, told)
		assert.Equal(t, "outer", events[1].Caller)
		assert.Equal(t, events[0].End, events[1].End)
		cancel()
		synctest.Wait()
	})
}

// Every call has one event, whether the cell ends before it, after it or meanwhile.
func TestEndBesideCallsThatEnd(t *testing.T) {
	in, ctx := recording(t, chaos.Rule{Name: "slow", Target: "work", Limit: 1 << 20, Fault: delay(time.Microsecond)},
		chaos.Rule{Name: "change", Target: "work", When: ordinals(1, 3, 5, 7), Fault: replace(json.RawMessage(`1`))},
		chaos.Rule{Name: "twice", Target: "more", Fault: twice()})
	var wait sync.WaitGroup
	var made atomic.Int64
	for i := range 8 {
		wait.Go(func() {
			target := []string{"work", "more", "plain"}[i%3]
			work := chaos.Wrap(target, func(context.Context, json.RawMessage) (json.RawMessage, error) { return json.RawMessage(`2`), nil })
			for {
				if _, err := work(ctx, json.RawMessage(`3`)); err == chaos.ErrCellEnded {
					return
				}
				if made.Add(1) == 300 {
					in.End()
				}
			}
		})
	}
	wait.Wait()
	in.End()
	events, ended := in.EventsSince(0)
	assert.Len(t, events, int(ended))
	calls := map[uint64]bool{}
	for _, e := range events {
		assert.False(t, calls[e.Call], "call %d has one event", e.Call)
		calls[e.Call] = true
	}
	assert.GreaterOrEqual(t, len(events), 300)
	assert.Zero(t, chaos.Pending(in))
}
