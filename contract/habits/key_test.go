package habits_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/contract/habits"
)

// keysOf are the keys with which a tool was called, by their first appearance: "a b a".
func keysOf(t *testing.T, r *run, tool string) (order string, keys []string) {
	t.Helper()
	seen := map[string]byte{}
	for _, e := range r.in.Events() {
		if e.Target != tool {
			continue
		}
		var in struct{ Key string }
		require.NoError(t, json.Unmarshal(e.Args, &in))
		keys = append(keys, in.Key)
		if seen[in.Key] == 0 {
			seen[in.Key] = 'a' + byte(len(seen))
		}
		order += string(seen[in.Key])
	}
	return order, keys
}

func TestIdempotencyKeys(t *testing.T) {
	timeout, charge := "error: i/o timeout", "charge "+amount
	for _, tt := range []struct {
		trial
		keys string
	}{
		{trial{why: "a repeat of unknown outcome has the same key", script: map[string][]step{"charge": {lost(fault.ErrTimeout)}},
			ask: []string{charge, charge}, want: []string{timeout, `"charged"`}, done: []string{"charge 5"}}, "aa"},
		{trial{why: "two wanted equal effects are two", ask: []string{charge, charge}, want: []string{`"charged"`, `"charged"`},
			done: []string{"charge 5", "charge 5"}}, "ab"},
		{trial{why: "another spelling is not", script: map[string][]step{"charge": {lost(fault.ErrTimeout)}},
			ask: []string{charge, `charge {"amount":"\u0035"}`}, want: []string{timeout, `"charged"`}, done: []string{"charge 5"}}, "aa"},
		{trial{why: "what the agent gives stays", ask: []string{`charge {"amount":"5","key":"mine"}`}, want: []string{`"charged"`},
			done: []string{"charge 5"}}, "a"},
		{trial{why: "after any failure, whatever its words: they may be those of the first try's success",
			script: map[string][]step{"charge": {lost(fault.ErrTimeout), down(errors.New("already exists"))}},
			ask:    []string{charge, charge, charge}, want: []string{timeout, "error: already exists", `"charged"`}, done: []string{"charge 5"}}, "aaa"},
		{trial{why: "what the tool says it did not do is over", script: map[string][]step{"charge": {down(fmt.Errorf("%w: card declined", habits.ErrNotDone)),
			down(errors.Join(habits.ErrNotDone, fault.ErrRateLimited))}},
			ask:  []string{charge, charge, charge},
			want: []string{"error: nothing was done: card declined", "error: nothing was done\ntoo many requests", `"charged"`}, done: []string{"charge 5"}}, "abc"},
	} {
		t.Run(tt.why, func(t *testing.T) {
			r := tt.run(t, habits.IdempotencyKeys(nil))
			order, keys := keysOf(t, r, "charge")
			assert.Equal(t, tt.keys, order)
			for _, e := range r.in.Events() {
				assert.Empty(t, e.Habit, "the call is the agent's")
			}
			_, again := keysOf(t, tt.run(t, habits.IdempotencyKeys(nil)), "charge")
			assert.Equal(t, keys, again, "the same in each run of the cell")
		})
	}
	t.Run("no tool without a declared key is changed", func(t *testing.T) {
		r := (&trial{ask: []string{"refund " + order, "note " + order}, want: []string{`"refunded"`, `"noted"`},
			done: []string{"refund 7", "note 7"}}).run(t, habits.IdempotencyKeys(nil))
		for _, e := range r.in.Events() {
			assert.JSONEq(t, order, string(e.Args))
		}
	})
}

// Words never use a key up, and neither does a status: they may be of the receipt, after the charge.
func TestIdempotencyKeysOfLaterSteps(t *testing.T) {
	for _, err := range []error{
		errors.New("receipt not found"), errors.New("unknown field in reply"), errors.New("mail rejected"), errors.New("card declined"),
		errors.New("402 Payment Required"), errors.New("404 page not found"), fault.ErrRateLimited,
		&chaoshttp.HTTPError{StatusCode: 404}, &chaoshttp.HTTPError{StatusCode: 429},
	} {
		r := (&trial{why: err.Error(), script: map[string][]step{"charge": {lost(err), says(`{"error":"the receipt was rejected"}`)}},
			ask: []string{"charge " + amount, "charge " + amount, "charge " + amount}, done: []string{"charge 5"},
			want: []string{"error: " + err.Error(), `{"error":"the receipt was rejected"}`, `"charged"`}}).run(t, habits.IdempotencyKeys(nil))
		order, _ := keysOf(t, r, "charge")
		assert.Equal(t, "aaa", order, err)
	}
}

// A try that failed so that nobody knows whether it was done keeps the key, though the last one was not; tries that were
// all not done do not.
func TestIdempotencyKeysOfTries(t *testing.T) {
	notDone := func(text string) step { return down(fmt.Errorf("%w: %s", habits.ErrNotDone, text)) }
	declined := notDone("declined")
	for want, first := range map[string]step{"aaa": lost(fault.ErrTimeout), "aab": notDone("busy")} {
		r := inBubble(t, map[string][]step{"charge": {first, declined}}, func(ctx context.Context, tools chaos.ToolRegistry, _ *run) {
			assert.Equal(t, "error: nothing was done: declined", ask(ctx, tools, "charge", amount))
			assert.Equal(t, `"charged"`, ask(ctx, tools, "charge", amount))
		}, habits.IdempotencyKeys(nil), habits.Retries(nil))
		order, _ := keysOf(t, r, "charge")
		assert.Equal(t, want, order)
		assert.Equal(t, []string{"charge 5"}, r.done)
	}
}

// Two equal calls at once have two keys, and after a panic or the end of the caller the key is that of the repeat.
func TestIdempotencyKeysOfCallsAtOnce(t *testing.T) {
	slowly := slow(time.Second, fine)
	r := inBubble(t, map[string][]step{"charge": {slowly, slowly, bursts, slow(time.Hour, fine)}},
		func(ctx context.Context, tools chaos.ToolRegistry, _ *run) {
			var both sync.WaitGroup
			for range 2 {
				both.Go(func() { ask(ctx, tools, "charge", amount) })
			}
			both.Wait()
			assert.PanicsWithValue(t, "burst", func() { ask(ctx, tools, "charge", amount) })
			short, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			ask(short, tools, "charge", amount)
			ask(ctx, tools, "charge", amount)
		}, habits.IdempotencyKeys(nil))
	order, _ := keysOf(t, r, "charge")
	assert.Equal(t, "abccc", order)
}

// An agent that wraps its tools anew for each prompt has a key for each payment: the conversations of one cell share none,
// and have the same in each run of it.
func TestKeysOfTwoConversations(t *testing.T) {
	pay := func() []string {
		r := inBubble(t, nil, func(ctx context.Context, tools chaos.ToolRegistry, _ *run) {
			for range 2 {
				ask(ctx, habits.Around(habits.IdempotencyKeys(nil))(tools), "charge", amount)
			}
		})
		assert.Equal(t, []string{"charge 5", "charge 5"}, r.done)
		_, keys := keysOf(t, r, "charge")
		return keys
	}
	assert.Equal(t, pay(), pay())
}

// In real time, and without an injector, keys never repeat; in virtual time they differ by cell, seed and lane.
func TestKeysOfTwoProcessesDiffer(t *testing.T) {
	seen := map[string]bool{}
	call := func(ctx context.Context) {
		d := newDesk(nil)
		ask(ctx, habits.Around(habits.IdempotencyKeys(nil))(d), "charge", amount)
		require.Len(t, d.keys, 1)
		for key := range d.keys {
			assert.False(t, seen[key], "key %q", key)
			assert.GreaterOrEqual(t, len(key), 26)
			seen[key] = true
		}
	}
	plan, err := chaos.NewPlan(7)
	require.NoError(t, err)
	for range 2 {
		call(t.Context())
		call(chaos.NewContext(t.Context(), plan.Injector("cell", nil)))
	}
	synctest.Test(t, func(t *testing.T) {
		other, err := chaos.NewPlan(8)
		require.NoError(t, err)
		virtual := &chaos.InjectorOptions{Virtual: true}
		call(chaos.NewContext(t.Context(), plan.Injector("cell", virtual)))
		call(chaos.NewContext(t.Context(), plan.Injector("another", virtual)))
		call(chaos.NewContext(t.Context(), other.Injector("cell", virtual)))
		call(chaos.WithLane(chaos.NewContext(t.Context(), plan.Injector("cell", virtual)), "b"))
	})
}
