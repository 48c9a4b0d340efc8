package habits_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/contract/habits"
	"github.com/shakedown-go/shakedown/internal/failure"
)

// each has all habits. A clock must not be remembered: it is what the assumption of that habit leaves out.
func each() []*habits.Habit {
	all := habits.All()
	for i, h := range all {
		if h.Name == "remembered-reads" {
			all[i] = habits.RememberReads(&habits.Options{Tools: "get"})
		}
	}
	return all
}

// some draws habits, in any order; among them those that must be.
func some(rt *rapid.T, must ...string) (all []*habits.Habit) {
	for _, h := range rapid.Permutation(each()).Draw(rt, "habits") {
		if slices.Contains(must, h.Name) || rapid.Bool().Draw(rt, h.Name) {
			all = append(all, h)
		}
	}
	return all
}

type request struct {
	tool, args string
	wait       time.Duration
}

func requests(rt *rapid.T) []request {
	return rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) request {
		return request{rapid.SampledFrom([]string{"get", "refund", "charge", "note", "clock", "made-up"}).Draw(rt, "tool"),
			rapid.SampledFrom([]string{order, amount, `{"order":"8","amount":"5"}`, `{"key":"k"}`, `{}`, ``, `null`}).Draw(rt, "args"),
			time.Duration(rapid.IntRange(0, 100).Draw(rt, "wait")) * time.Second}
	}), 1, 12).Draw(rt, "requests")
}

// Without failures habits change nothing: each call returns what the registry returns, and each effect is done as
// often as it was asked for.
func TestWithoutFailuresNothingChanges(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		list := requests(rt)
		made := func(all ...*habits.Habit) (got, done []string) {
			r := inBubble(t, nil, func(ctx context.Context, tools chaos.ToolRegistry, _ *run) {
				for _, q := range list {
					got = append(got, ask(ctx, tools, q.tool, q.args))
					time.Sleep(q.wait)
				}
			}, all...)
			return got, r.done
		}
		want, wanted := made()
		got, done := made(some(rt)...)
		assert.Equal(rt, want, got)
		assert.Equal(rt, wanted, done)
	})
}

// failures draws what happens to calls: some do their work and fail, some fail before it, some never end.
func failures(rt *rapid.T, label string) []step {
	return rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) step {
		err := rapid.SampledFrom([]error{fault.ErrTimeout, fault.ErrUnavailable, fault.ErrConnectionReset, errOdd, errors.New("conflict: in progress")}).Draw(rt, "error")
		return rapid.SampledFrom([]step{lost(err), down(err), down(fault.ErrRateLimited), fine, says(`{"error":"busy"}`), bursts,
			slow(time.Hour, fine), slow(5*time.Second, lost(err))}).Draw(rt, "step")
	}), 0, 8).Draw(rt, label)
}

// succeeds asks as a user would who gives up after a minute, and reports whether the answer says that all is well.
func succeeds(ctx context.Context, tools chaos.ToolRegistry, name, args string) (ok bool) {
	defer func() { _ = recover() }()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	result, err := tools.CallTool(ctx, name, json.RawMessage(args))
	return err == nil && failure.Read(result) != failure.Failed
}

// With a declared key no request is done twice, and one that succeeds is done, whatever fails, whatever other habits
// there are and however often the agent repeats it.
func TestUnderAKeyNoRequestIsDoneTwice(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		script := map[string][]step{"charge": failures(rt, "failures")}
		all, n := some(rt, "idempotency-key"), rapid.IntRange(1, 3).Draw(rt, "requests")
		r := inBubble(t, script, func(ctx context.Context, tools chaos.ToolRegistry, _ *run) {
			for range n {
				for !succeeds(ctx, tools, "charge", amount) {
				}
			}
		}, all...)
		assert.Len(rt, r.done, n, "%d requests", n)
	})
}

// An effect that the agent asks for once is done at most once, and is done if its result says so, whatever other
// habits there are and however the reads fail. Without a key that takes a look, or no repeat.
func TestWithALookNoEffectIsDoneTwice(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		script := map[string][]step{"refund": failures(rt, "failures"), "get": failures(rt, "of reads")}
		all := some(rt)
		ok := false
		r := inBubble(t, script, func(ctx context.Context, tools chaos.ToolRegistry, _ *run) {
			ok = succeeds(ctx, tools, "refund", order)
		}, all...)
		assert.LessOrEqual(rt, len(r.done), 1)
		assert.True(rt, !ok || len(r.done) == 1, "a success without the effect")
	})
}

// Every habit says what it does and assumes, in the words of a report, and where it acts.
func TestAll(t *testing.T) {
	on := map[string][]string{}
	for _, h := range habits.All() {
		names, why := h.On(newDesk(nil).tools)
		assert.Empty(t, why, h.Name)
		on[h.Name] = names
		assert.Regexp(t, `^[a-z][^.]+$`, h.Does)
		assert.Regexp(t, `^[a-z][^.]+$`, h.Assumes)
		_, why = h.On(nil)
		assert.Equal(t, "there are no tools", why)
	}
	everything := []string{"get", "refund", "charge", "note", "clock"}
	assert.Equal(t, map[string][]string{
		"failures-told": everything, "stop-when-permanent": everything, "bounded-retries": everything, "deadline": everything,
		"one-at-a-time": {"refund", "charge"}, "remembered-reads": {"get", "clock"}, "idempotency-key": {"charge"},
		"look-before-repeat": {"refund"}, "result-schema": {"get", "refund"},
	}, on)
}

// A habit for some tools acts on no others, but sees what they change.
func TestOnly(t *testing.T) {
	names, why := habits.Retries(nil).Only("note", "refund").On(newDesk(nil).tools)
	assert.Equal(t, []string{"refund", "note"}, names)
	assert.Empty(t, why)
	_, why = habits.Retries(&habits.Options{Tools: "get"}).Only().On(newDesk(nil).tools[:1])
	assert.Equal(t, "get: it is not for this tool", why)
	r := (&trial{ask: []string{"get " + order, "clock " + order, "refund " + order, "get " + order, "get " + order},
		want: []string{`{"refunds":0}`, `"2000-01-01 00:00:00 +0000 UTC"`, `"refunded"`, `{"refunds":1}`, `{"refunds":1}`},
		done: []string{"refund 7"}}).run(t, habits.RememberReads(nil).Only("get"))
	assert.Len(t, r.calls(), 4)
}

// Wrong options make a habit abstain, and say so; it then changes nothing.
func TestWrongOptions(t *testing.T) {
	for want, h := range map[string]*habits.Habit{
		"Tries is -1; allowed: 0 or more": habits.Retries(&habits.Options{Tries: -1}),
		"For is -1ns; allowed: 0 or more": habits.RememberReads(&habits.Options{For: -1}),
		"After is set, but bounded-retries does not know it, For is set, but bounded-retries does not know it": habits.Retries(&habits.Options{After: 1, For: 1}),
		`Tools is "[": `:                      habits.TellFailures(&habits.Options{Tools: "["}),
		"get: the options leave it out":       habits.TellFailures(&habits.Options{Tools: "x*"}),
		"the habit is the zero value":         {},
		"get: it declares no idempotency key": habits.IdempotencyKeys(nil),
	} {
		names, why := h.On([]chaos.Tool{{Name: "get"}})
		assert.Empty(t, names)
		assert.True(t, strings.HasPrefix(why, want), why)
		script := map[string][]step{"get": {down(errOdd)}}
		assert.Equal(t, "error: something went wrong", ask(t.Context(), habits.Around(h, nil)(newDesk(script)), "get", order), want)
	}
}

// Whatever the order given, the habits stand in the one that works: all tries have one key, each has its own deadline,
// and the failure is told when all is over.
func TestTheOrderGivenDoesNotMatter(t *testing.T) {
	script := map[string][]step{"charge": {slow(time.Hour, fine), lost(errOdd), slow(time.Hour, fine), down(errors.New("forbidden"))}}
	rapid.Check(t, func(rt *rapid.T) {
		r := inBubble(t, script, func(ctx context.Context, tools chaos.ToolRegistry, _ *run) {
			for range 2 {
				assert.Equal(rt, `{"error":{"tool":"charge","kind":"other","retry":"does not help","done":"unknown","message":"forbidden"}}`,
					strings.Replace(ask(ctx, tools, "charge", amount), "not called again: ", "", 1))
			}
		}, rapid.Permutation(habits.All()).Draw(rt, "order")...)
		order, _ := keysOf(t, r, "charge")
		assert.Equal(rt, "aaaa", order)
		assert.Equal(rt, []string{"charge", "bounded-retries: charge", "bounded-retries: charge", "bounded-retries: charge"}, r.calls())
	})
}

// Each registry has a state of its own, and may be used by many at once; no goroutine stays.
func TestManyAtOnce(t *testing.T) {
	around := habits.Around(each()...)
	r := inBubble(t, nil, func(ctx context.Context, _ chaos.ToolRegistry, r *run) {
		var all sync.WaitGroup
		for i := range 4 {
			tools := around(chaos.WrapRegistry(r.desk, r.in))
			for k := range 16 {
				all.Go(func() {
					ctx := chaos.WithLane(ctx, fmt.Sprint(i, k))
					assert.Equal(t, `"charged"`, ask(ctx, tools, "charge", fmt.Sprintf(`{"amount":"%d"}`, k)))
					assert.JSONEq(t, `{"refunds":0}`, ask(ctx, tools, "get", order))
					_, err := tools.Tools(ctx)
					assert.NoError(t, err)
				})
			}
		}
		all.Wait()
	})
	assert.Len(t, r.done, 4*16)
}

// The declarations are asked for once, when the agent does not list the tools; that meets no fault and leaves no
// event. While it fails the habits know nothing, and the call passes.
func TestHowDeclarationsAreLearned(t *testing.T) {
	plan, err := chaos.NewPlan(1, chaos.Rule{Name: "r", Target: chaos.ListTarget, Fault: fault.Fail(errOdd)})
	require.NoError(t, err)
	in := plan.Injector("", &chaos.InjectorOptions{RecordAll: true})
	ctx := chaos.NewContext(t.Context(), in)
	d := &deaf{desk: newDesk(map[string][]step{"get": {down(errOdd), down(errOdd)}})}
	tools := habits.Around(habits.RememberReads(nil))(chaos.WrapRegistry(d, in))
	d.deaf = true
	for range 2 {
		assert.Equal(t, "error: something went wrong", ask(ctx, tools, "get", order))
	}
	assert.Equal(t, 2, d.listed)
	d.deaf = false
	for range 3 {
		assert.JSONEq(t, `{"refunds":0}`, ask(ctx, tools, "get", order))
	}
	assert.Equal(t, 3, d.listed)
	events := in.Events()
	assert.Len(t, events, 3, "and the last two were remembered")
	_, err = tools.Tools(ctx)
	require.EqualError(t, err, "something went wrong", "the agent's own listing meets the fault")
}

// deaf is a desk that may not list its tools.
type deaf struct {
	*desk
	deaf   bool
	listed int
}

func (d *deaf) Tools(ctx context.Context) ([]chaos.Tool, error) {
	if d.listed++; d.deaf {
		return nil, errOdd
	}
	return d.desk.Tools(ctx)
}
