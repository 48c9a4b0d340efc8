package chaos_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
)

func double(_ context.Context, n int) (int, error) { return 2 * n, nil }

func TestWrapWithoutInjectorIsTheFunctionItself(t *testing.T) {
	f := chaos.Wrap("work", double)
	for name, ctx := range map[string]context.Context{
		"bare":               context.Background(),
		"only a lane":        chaos.WithLane(context.Background(), "a"),
		"injector taken out": chaos.NewContext(chaos.NewContext(context.Background(), chaos.NewInjector(1, nil)), nil),
	} {
		got, err := f(ctx, 21)
		assert.NoError(t, err, name)
		assert.Equal(t, 42, got, name)
	}
}

// What the caller of one call gets, and what its event says, for one or more rules
// that all match the call.
func TestOneCall(t *testing.T) {
	own := errors.New("the callee's own")
	type want struct {
		out                int
		err                error // matched
		injected           bool
		calls              int
		rule               string
		delivered          bool
		outcome            chaos.Outcome
		effect             chaos.Effect
		also, idle, masked []string
	}
	rule := func(name string, f chaos.Fault) chaos.Rule { return chaos.Rule{Name: name, Target: "work", Fault: f} }
	for _, tt := range []struct {
		name, why string
		fails     error
		rules     []chaos.Rule
		want      want
	}{
		{"no rule", "a recorded call leaves an event all the same", nil, nil,
			want{out: 42, calls: 1, outcome: chaos.OutcomeOK, effect: chaos.EffectUnknown}},
		{"own failure", "a callee's error is not an injected one", own, nil,
			want{err: own, calls: 1, outcome: chaos.OutcomeFailed, effect: chaos.EffectUnknown}},
		{"fail", "the callee is not reached", nil, []chaos.Rule{rule("f", down())},
			want{err: errDown, injected: true, rule: "f", delivered: true, outcome: chaos.OutcomeInjected, effect: chaos.EffectNone}},
		{"two failures", "the first decides, the second is masked", nil, []chaos.Rule{rule("a", down()), rule("b", failer{own})},
			want{err: errDown, injected: true, rule: "a", delivered: true, outcome: chaos.OutcomeInjected, effect: chaos.EffectNone, masked: []string{"b"}}},
		{"failure hides change", "there is no result to change", nil, []chaos.Rule{rule("c", replace(7)), rule("f", down())},
			want{err: errDown, injected: true, rule: "f", delivered: true, outcome: chaos.OutcomeInjected, effect: chaos.EffectNone, masked: []string{"c"}}},
		{"failure hides lost reply", "there is no reply to lose", nil, []chaos.Rule{rule("l", loseReply()), rule("f", down())},
			want{err: errDown, injected: true, rule: "f", delivered: true, outcome: chaos.OutcomeInjected, effect: chaos.EffectNone, masked: []string{"l"}}},
		{"change", "the callee ran, its result is another", nil, []chaos.Rule{rule("c", replace(7))},
			want{out: 7, calls: 1, rule: "c", delivered: true, outcome: chaos.OutcomeOK, effect: chaos.EffectUnknown}},
		{"two changes", "the last one decides what the caller gets: nobody saw the first", nil, []chaos.Rule{rule("c", replace(7)), rule("d", replace(8))},
			want{out: 8, calls: 1, rule: "d", delivered: true, outcome: chaos.OutcomeOK, effect: chaos.EffectUnknown, idle: []string{"c"}}},
		{"change of a failure", "an error has no result to change: not delivered", own, []chaos.Rule{rule("c", replace(7))},
			want{err: own, calls: 1, rule: "c", outcome: chaos.OutcomeFailed, effect: chaos.EffectUnknown}},
		{"wrong type", "an event with a note, never a panic", nil, []chaos.Rule{rule("c", replace("seven"))},
			want{out: 42, calls: 1, rule: "c", outcome: chaos.OutcomeOK, effect: chaos.EffectUnknown}},
		{"wrong type beside a right one", "only the wrong one is undelivered", nil, []chaos.Rule{rule("c", replace(7)), rule("w", replace("seven"))},
			want{out: 7, calls: 1, rule: "c", delivered: true, outcome: chaos.OutcomeOK, effect: chaos.EffectUnknown, idle: []string{"w"}}},
		{"lost reply", "the work is done and the caller does not know", nil, []chaos.Rule{rule("l", loseReply())},
			want{err: context.DeadlineExceeded, injected: true, calls: 1, rule: "l", delivered: true, outcome: chaos.OutcomeInjected, effect: chaos.EffectUnknown}},
		{"change and lost reply", "the loss is outermost: nobody saw the change", nil, []chaos.Rule{rule("l", loseReply()), rule("c", replace(7))},
			want{err: context.DeadlineExceeded, injected: true, calls: 1, rule: "l", delivered: true, outcome: chaos.OutcomeInjected, effect: chaos.EffectUnknown, masked: []string{"c"}}},
		{"twice", "the callee ran two times, the caller got one result", nil, []chaos.Rule{rule("t", twice())},
			want{out: 42, calls: 2, rule: "t", delivered: true, outcome: chaos.OutcomeOK, effect: chaos.EffectUnknown}},
		{"twice, failing", "the callee's error stays the callee's, though there were two", own, []chaos.Rule{rule("t", twice())},
			want{err: own, calls: 2, rule: "t", delivered: true, outcome: chaos.OutcomeFailed, effect: chaos.EffectUnknown}},
		{"failer that makes no error", "lets the call through, in company too", nil, []chaos.Rule{rule("n", failer{nil}), rule("d", delay(time.Second))},
			want{out: 42, calls: 1, rule: "d", delivered: true, outcome: chaos.OutcomeOK, effect: chaos.EffectUnknown, idle: []string{"n"}}},
		{"failer that makes no error, alone", "lets the call through: injected, not delivered", nil, []chaos.Rule{rule("n", failer{nil})},
			want{out: 42, calls: 1, rule: "n", outcome: chaos.OutcomeOK, effect: chaos.EffectUnknown}},
		{"failer that makes no error, before another", "the first decides, also where it lets the call through", nil, []chaos.Rule{rule("n", failer{nil}), rule("f", down())},
			want{out: 42, calls: 1, rule: "n", outcome: chaos.OutcomeOK, effect: chaos.EffectUnknown, masked: []string{"f"}}},
		{"two delays", "the last is named, the other too", nil, []chaos.Rule{rule("d", delay(time.Second)), rule("e", delay(time.Second))},
			want{out: 42, calls: 1, rule: "e", delivered: true, outcome: chaos.OutcomeOK, effect: chaos.EffectUnknown, also: []string{"d"}}},
		{"delay and fail", "both are delivered; the failure decides", nil, []chaos.Rule{rule("f", down()), rule("d", delay(time.Second))},
			want{err: errDown, injected: true, rule: "f", delivered: true, outcome: chaos.OutcomeInjected, effect: chaos.EffectNone, also: []string{"d"}}},
		{"delay of nothing", "a delay that did not wait was not delivered", nil, []chaos.Rule{rule("d", delay(0))},
			want{out: 42, calls: 1, rule: "d", outcome: chaos.OutcomeOK, effect: chaos.EffectUnknown}},
		{"passes on", "a fault that only calls next did nothing", nil, []chaos.Rule{rule("p", passing(chaos.PhaseInstead, nil))},
			want{out: 42, calls: 1, rule: "p", outcome: chaos.OutcomeOK, effect: chaos.EffectUnknown}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				work := chaos.Wrap("work", func(_ context.Context, n int) (int, error) {
					calls++
					if tt.fails != nil {
						return 0, tt.fails
					}
					return 2 * n, nil
				})
				in, ctx := recording(t, tt.rules...)
				out, err := work(ctx, 21)
				e := only(t, in)
				assert.Equal(t, tt.want.out, out, tt.why)
				assert.ErrorIs(t, err, tt.want.err, tt.why)
				assert.Equal(t, tt.want.injected, errors.Is(err, chaos.ErrInjected), tt.why)
				assert.Equal(t, tt.want.calls, calls, tt.why)
				assert.Equal(t, tt.want.rule, e.Rule, tt.why)
				assert.Equal(t, tt.want.delivered, e.Delivered, tt.why)
				assert.Equal(t, tt.want.outcome, e.Outcome, tt.why)
				assert.Equal(t, tt.want.effect, e.Effect, tt.why)
				assert.Equal(t, tt.want.also, e.Also, tt.why)
				assert.Equal(t, tt.want.idle, e.Idle, tt.why)
				assert.Equal(t, tt.want.masked, e.Masked, tt.why)
			})
		})
	}
}

func TestInjectedErrorSaysWhereAndReadsAsTheRealOne(t *testing.T) {
	_, ctx := recording(t, chaos.Rule{Name: "f", Target: "work", When: ordinals(1), Fault: down()})
	work := chaos.Wrap("work", double)
	_, _ = work(ctx, 1)
	_, err := work(ctx, 1)
	var injected *chaos.InjectedError
	require.ErrorAs(t, err, &injected)
	assert.Equal(t, chaos.InjectedError{Rule: "f", Target: "work", Ordinal: 1, Err: errDown}, *injected)
	assert.Equal(t, "connection refused", err.Error(), "nothing in the text tells of a test")
}

// A result may be replaced by a Go value where the call has JSON, and by JSON where it has a Go value.
func TestResultsAreConverted(t *testing.T) {
	_, ctx := recording(t, chaos.Rule{Target: "add", Fault: replace(map[string]int{"sum": 41})},
		chaos.Rule{Target: "work", Fault: replace(json.RawMessage(`41`))})
	doc, err := chaos.WrapRegistry(desk(t), nil).CallTool(ctx, "add", json.RawMessage(`{"a":1,"b":2}`))
	require.NoError(t, err)
	assert.JSONEq(t, `{"sum":41}`, string(doc))
	got, err := chaos.Wrap("work", double)(ctx, 1)
	require.NoError(t, err)
	assert.Equal(t, 41, got)
}

func TestPanics(t *testing.T) {
	boom := faultFunc{chaos.PhaseInstead, func(context.Context, chaos.Call, any, chaos.Next) (any, error) { panic("boom") }}
	for _, tt := range []struct {
		name, why string
		rules     []chaos.Rule
		callee    func(context.Context, int) (int, error)
		delivered bool
		effect    chaos.Effect
	}{
		{"of the callee", "its event says so, and the panic goes on", nil,
			func(context.Context, int) (int, error) { panic("boom") }, false, chaos.EffectUnknown},
		{"of the callee under a delay", "the delay was delivered", []chaos.Rule{{Target: "work", Fault: delay(time.Second)}},
			func(context.Context, int) (int, error) { panic("boom") }, true, chaos.EffectUnknown},
		{"of a fault", "that is what the caller saw", []chaos.Rule{{Target: "work", Fault: boom}}, double, true, chaos.EffectNone},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in, ctx := recording(t, tt.rules...)
				assert.PanicsWithValue(t, "boom", func() { _, _ = chaos.Wrap("work", tt.callee)(ctx, 1) })
				e := only(t, in)
				assert.Equal(t, chaos.OutcomePanicked, e.Outcome, tt.why)
				assert.Equal(t, tt.delivered, e.Delivered, tt.why)
				assert.Equal(t, tt.effect, e.Effect, tt.why)
			})
		})
	}
}

func TestGoexitIsRecorded(t *testing.T) {
	in, ctx := recording(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = chaos.Wrap("work", func(context.Context, int) (int, error) { runtime.Goexit(); return 0, nil })(ctx, 1)
	}()
	<-done
	assert.Equal(t, chaos.OutcomePanicked, only(t, in).Outcome)
}

func TestCallerAndPassThrough(t *testing.T) {
	in, ctx := recording(t, chaos.Rule{Name: "in", Target: "inner", When: ordinals(0), Fault: down()})
	inner := chaos.Wrap("inner", double)
	outer := chaos.Wrap("outer", func(ctx context.Context, n int) (int, error) { return inner(ctx, n) })
	again := chaos.Wrap("outer", outer) // the same point, wrapped twice
	_, err := again(ctx, 1)
	require.ErrorIs(t, err, errDown)
	var targets, callers []string
	for _, e := range in.Events() {
		targets, callers = append(targets, e.Target), append(callers, e.Caller)
	}
	assert.Equal(t, []string{"outer", "inner"}, targets, "in the order in which they began; one event for a point wrapped twice")
	assert.Equal(t, []string{"", "outer"}, callers)
}

func TestAttempt(t *testing.T) {
	in, ctx := recording(t, chaos.Rule{Target: "work", When: ordinals(0, 1, 4), Fault: down()})
	work := chaos.WrapWith("work", double, &chaos.WrapOptions[int]{Key: func(n int) uint64 { return uint64(n) }})
	for _, n := range []int{7, 7, 7, 7, 7, 7} { // fails, fails, succeeds, succeeds, fails, succeeds
		_, _ = work(ctx, n)
	}
	_, _ = work(chaos.WithAttempt(ctx, 9), 7)
	var got []int
	for _, e := range in.Events() {
		got = append(got, e.Attempt)
	}
	assert.Equal(t, []int{1, 2, 3, 1, 1, 2, 9}, got)
}

func TestBoundInjectorSurvivesADroppedContext(t *testing.T) {
	in := plan(t, chaos.Rule{Target: "work", Fault: down()}).Injector("cell", nil)
	work := chaos.WrapWith("work", double, &chaos.WrapOptions[int]{Injector: in})
	_, err := work(context.Background(), 1)
	assert.ErrorIs(t, err, chaos.ErrInjected)
	_, other := recording(t)
	_, err = work(other, 1)
	assert.ErrorIs(t, err, chaos.ErrInjected, "the bound injector wins over the context's")
}

func TestEventKeepsValues(t *testing.T) {
	type order struct {
		ID int `json:"id"`
	}
	in := plan(t, chaos.Rule{Target: "odd", Fault: replace(make(chan int))}).
		Injector("cell", &chaos.InjectorOptions{RecordAll: true, KeepValues: true})
	ctx := chaos.NewContext(context.Background(), in)
	_, _ = chaos.Wrap("find", func(_ context.Context, id int) (order, error) { return order{id}, nil })(ctx, 7)
	_, _ = chaos.Wrap("fail", func(context.Context, string) (int, error) { return 0, errDown })(ctx, "x")
	_, _ = chaos.Wrap("odd", func(context.Context, chan int) (chan int, error) { return nil, nil })(ctx, nil)
	events := in.Events()
	require.Len(t, events, 3)
	assert.JSONEq(t, `7`, string(events[0].Args))
	assert.JSONEq(t, `{"id":7}`, string(events[0].Result))
	assert.JSONEq(t, `"x"`, string(events[1].Args))
	assert.Empty(t, events[1].Result, "a failed call has no result")
	assert.Contains(t, events[2].Note, "not kept", "a channel has no JSON; the event says so")
	for _, e := range events {
		_, err := json.Marshal(e)
		assert.NoError(t, err, "every event has JSON")
	}
}
