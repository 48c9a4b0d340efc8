package habits_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/contract/habits"
)

func TestLookFirst(t *testing.T) {
	const look, again = "look-before-repeat: get", "look-before-repeat: refund"
	refund, timeout := "refund "+order, lost(fault.ErrTimeout)
	shown := `{"done":true,"note":"The answer of refund was lost, but its work was done, as is shown.","shown":{"refunds":1}}`
	for _, tt := range []trial{
		{why: "the work was done", script: map[string][]step{"refund": {timeout}}, ask: []string{refund}, want: []string{shown},
			calls: []string{look, "refund", look, look}, done: []string{"refund 7"}},
		{why: "the work was not done", script: map[string][]step{"refund": {down(fault.ErrTimeout)}}, ask: []string{refund},
			want: []string{`"refunded"`}, calls: []string{look, "refund", look, again}, done: []string{"refund 7"}},
		{why: "not for ever", script: map[string][]step{"refund": {down(errOdd), down(errOdd), down(errOdd)}}, ask: []string{refund},
			want: []string{"error: something went wrong"}, calls: []string{look, "refund", look, again, look, again, look}},
		{why: "a permanent failure needs no look", script: map[string][]step{"refund": {down(errors.New("amount is not allowed"))}},
			ask: []string{refund}, want: []string{"error: amount is not allowed"}, calls: []string{look, "refund"}},
		{why: "nor does what was not done, which is the business of retries", script: map[string][]step{"refund": {down(habits.ErrNotDone)}},
			ask: []string{refund}, want: []string{"error: nothing was done"}, calls: []string{look, "refund"}},
		{why: "without a view from before nobody knows", script: map[string][]step{"refund": {timeout}, "get": {down(errOdd)}},
			ask: []string{refund}, want: []string{"error: i/o timeout"}, calls: []string{look, "refund"}, done: []string{"refund 7"}},
		{why: "nor if a look fails", script: map[string][]step{"refund": {down(fault.ErrTimeout)}, "get": {fine, down(errOdd)}},
			ask: []string{refund}, want: []string{"error: i/o timeout"}, calls: []string{look, "refund", look}},
		{why: "nor if the looks differ: what changes by itself shows nothing",
			script: map[string][]step{"refund": {down(fault.ErrTimeout)}, "get": {says("1"), says("2"), says("3")}},
			ask:    []string{refund}, want: []string{"error: i/o timeout"}, calls: []string{look, "refund", look, look}},
		{why: "an argument that the read needs is missing", script: map[string][]step{"refund": {timeout}}, ask: []string{"refund " + amount},
			want: []string{"error: i/o timeout"}, calls: []string{"refund"}, done: []string{"refund 5"}},
	} {
		t.Run(tt.why, func(t *testing.T) { tt.run(t, habits.LookFirst(nil)) })
	}
}

// A repeat comes no sooner than the callee asked; if that is too long, there is none, but a look whether it was done.
func TestLookFirstKeepsTheAskedWait(t *testing.T) {
	const look, again = "look-before-repeat: get", "look-before-repeat: refund"
	for text, want := range map[string]struct {
		calls []string
		last  time.Duration
	}{
		"gateway error; retry after 20s": {[]string{look, "refund", look, again, look, again, look}, time.Minute},
		"busy, try again in 500ms":       {[]string{look, "refund", look, again, look, again, look}, 3 * time.Second},
		"gateway error; retry after 60s": {[]string{look, "refund", look}, time.Second},
	} {
		fails := down(errors.New(text))
		r := inBubble(t, map[string][]step{"refund": {fails, fails, fails}}, func(ctx context.Context, tools chaos.ToolRegistry, r *run) {
			assert.Equal(t, "error: "+text, ask(ctx, tools, "refund", order))
			assert.Equal(t, want.last, time.Since(r.began), text)
		}, habits.LookFirst(nil), habits.Retries(nil))
		assert.Equal(t, want.calls, r.calls(), text)
	}
	inBubble(t, map[string][]step{"refund": {lost(errors.New("retry after 20s"))}}, func(ctx context.Context, tools chaos.ToolRegistry, r *run) {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		assert.Contains(t, ask(ctx, tools, "refund", order), `"done":true`, "the caller has less time than that")
		assert.Equal(t, 2*time.Second, time.Since(r.began))
	}, habits.LookFirst(nil))
}

// A lost result may be made anew, and a tool named that the declarations do not show.
func TestLookFirstOptions(t *testing.T) {
	h := habits.LookFirst(&habits.Options{Tools: "{note,charge}", Tries: 2, Wait: time.Minute,
		Reads: map[string]string{"note": "get"},
		Result: func(tool string, args, shown json.RawMessage) (json.RawMessage, error) {
			return json.Marshal([]any{tool, args, shown})
		}})
	names, why := h.On(newDesk(nil).tools)
	assert.Equal(t, []string{"note"}, names)
	assert.Empty(t, why)
	(&trial{script: map[string][]step{"note": {lost(errOdd)}}, ask: []string{"note " + order}, want: []string{`["note",{"order":"7"},{"refunds":1}]`},
		done: []string{"note 7"}}).run(t, h)
	fails := habits.LookFirst(&habits.Options{Result: func(string, json.RawMessage, json.RawMessage) (json.RawMessage, error) { return nil, errOdd }})
	(&trial{why: "the work was done all the same", script: map[string][]step{"refund": {lost(fault.ErrTimeout)}}, ask: []string{"refund " + order}, done: []string{"refund 7"},
		want: []string{`{"done":true,"note":"The answer of refund was lost, but its work was done, as is shown.","shown":{"refunds":1}}`}}).run(t, fails)
}

// Calls about the same thing wait for each other, so that the effect of one is not taken for that of the other; who
// gives up does not wait.
func TestLookFirstWaitsForOthers(t *testing.T) {
	r := inBubble(t, map[string][]step{"refund": {slow(time.Second, down(fault.ErrTimeout))}},
		func(ctx context.Context, tools chaos.ToolRegistry, r *run) {
			var both sync.WaitGroup
			both.Go(func() { assert.Equal(t, `"refunded"`, ask(ctx, tools, "refund", `{"order":"7","amount":"1"}`)) })
			time.Sleep(time.Millisecond)
			both.Go(func() { assert.Equal(t, `"refunded"`, ask(ctx, tools, "refund", `{"order":"7","amount":"2"}`)) })
			short, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			assert.Equal(t, "error: context deadline exceeded", ask(short, tools, "refund", order))
			assert.Equal(t, time.Second+time.Millisecond, time.Since(r.began))
			both.Wait()
		}, habits.LookFirst(nil))
	assert.Equal(t, []string{"refund 71", "refund 72"}, r.done)
}

// A tool that calls another one about the same thing does not wait for itself; what a look then shows is the effect of
// the other, so it is not taken for its own. Another call still waits for both.
func TestLookFirstOfCallsWithin(t *testing.T) {
	tries := func(then step) step {
		return func(ctx context.Context, work func() string) (json.RawMessage, error) {
			if _, err := calls("refund", `{"order":"7","amount":"1"}`)(ctx, work); err != nil {
				return nil, err
			}
			return then(ctx, func() string { return `"moved"` })
		}
	}
	for want, then := range map[string]step{`"moved"`: fine, "error: i/o timeout": down(fault.ErrTimeout)} {
		r := inBubble(t, map[string][]step{"charge": {tries(then)}, "refund": {slow(time.Second, fine)}},
			func(ctx context.Context, tools chaos.ToolRegistry, r *run) {
				var both sync.WaitGroup
				both.Go(func() { assert.Equal(t, want, ask(within(ctx, tools), tools, "charge", order)) })
				time.Sleep(time.Millisecond)
				both.Go(func() { assert.Equal(t, `"refunded"`, ask(ctx, tools, "refund", `{"order":"7","amount":"2"}`)) })
				both.Wait()
				assert.Equal(t, time.Second, time.Since(r.began))
			}, habits.LookFirst(&habits.Options{Reads: map[string]string{"charge": "get"}}))
		const look = "look-before-repeat: get"
		assert.Equal(t, []string{look, "charge", "refund", look, "refund"}, r.calls())
	}
}

// Several reads of which one may show the effect, and none that needs an argument of the effect, are reasons to abstain.
func TestLookFirstAbstains(t *testing.T) {
	refund := chaos.Tool{Name: "refund", Effect: chaos.EffectDone, InputSchema: schema("order", "amount")}
	read := func(name, needs string) chaos.Tool {
		return chaos.Tool{Name: name, Effect: chaos.EffectNone, InputSchema: schema(needs, "x")}
	}
	for _, tt := range []struct {
		why   string
		tools []chaos.Tool
		want  string
	}{
		{"no reads", []chaos.Tool{refund}, "refund: no tool is known to show its effect"},
		{"a read of other things", []chaos.Tool{refund, read("user", "id")},
			"refund: no tool is known to show its effect, user: it is not declared to have an effect"},
		{"nobody knows which", []chaos.Tool{refund, read("a", "order"), read("b", "amount")},
			"refund: more than one tool could show its effect: name it in Reads"},
		{"a key does not matter", []chaos.Tool{{Name: "note"}}, "note: it is not declared to have an effect"},
	} {
		names, why := habits.LookFirst(nil).On(tt.tools)
		assert.Empty(t, names, tt.why)
		assert.Contains(t, why, tt.want, tt.why)
	}
}
