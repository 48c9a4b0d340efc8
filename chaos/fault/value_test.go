package fault_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
)

type order struct {
	ID     int    `json:"id"`
	Status string `json:"status"`
	note   string
}

// through sends one result through a fault, at a point whose result has its type.
func through[T any](t *testing.T, result T, f chaos.Fault) (T, chaos.Event) {
	t.Helper()
	ctx, in := withRules(t, chaos.Rule{Fault: f})
	got, err := chaos.Wrap(target, func(context.Context, int) (T, error) { return result, nil })(ctx, 0)
	require.NoError(t, err)
	return got, onlyEvent(t, in)
}

func raw(doc string) json.RawMessage { return json.RawMessage(doc) }

// A replaced JSON result is changed only if its value is.
func TestReplaceJSON(t *testing.T) {
	for _, c := range []struct {
		why          string
		result, want string
		with         any
		delivered    bool
	}{
		{"another document", `{"id":1}`, `{"id":2}`, raw(`{"id":2}`), true},
		{"a Go value is encoded", `{"id":1}`, `{"id":2,"status":"lost"}`, order{ID: 2, Status: "lost"}, true},
		{"a string is a JSON string", `"shipped"`, `"lost"`, "lost", true},
		{"nil is null", `{"id":1}`, `null`, nil, true},
		{"an empty object is not null", `{}`, `null`, nil, true},
		{"the same bytes", `{"id":1}`, `{"id":1}`, raw(`{"id":1}`), false},
		{"the same members in another order", `{"a":1,"b":2}`, `{"a":1,"b":2}`, raw(`{ "b":2, "a":1.0 }`), false},
		{"the same value from Go", `{"id":1,"status":""}`, `{"id":1,"status":""}`, order{ID: 1}, false},
		{"null already", `null`, `null`, nil, false},
	} {
		t.Run(c.why, func(t *testing.T) {
			got, e := through(t, raw(c.result), fault.Replace(c.with))
			assert.Equal(t, c.want, string(got))
			assert.Equal(t, c.delivered, e.Delivered)
			if c.delivered {
				assert.Equal(t, []chaos.Change{{Before: raw(c.result), After: raw(c.want)}}, e.Changes)
			} else {
				assert.Empty(t, e.Changes)
			}
			assert.Empty(t, e.Note)
		})
	}
}

// gives checks what becomes of a Go result under a fault. note, if there is one, is in its event.
func gives[T any](t *testing.T, why string, f chaos.Fault, result, want T, delivered bool, note string) {
	t.Helper()
	t.Run(why, func(t *testing.T) {
		got, e := through(t, result, f)
		assert.Equal(t, want, got)
		assert.Equal(t, delivered, e.Delivered)
		assert.Contains(t, e.Note, note)
		if !delivered {
			assert.Empty(t, e.Changes)
		}
	})
}

// A replaced Go result must have the type of the real one.
func TestReplaceGoValues(t *testing.T) {
	gives(t, "another value", fault.Replace(order{ID: 2}), order{ID: 1}, order{ID: 2}, true, "")
	gives(t, "an equal value", fault.Replace([]int{1, 2}), []int{1, 2}, []int{1, 2}, false, "")
	gives(t, "what JSON does not show", fault.Replace(order{note: "b"}), order{note: "a"}, order{note: "b"}, true, "")
	gives(t, "nil is the zero value", fault.Replace(nil), 7, 0, true, "")
	gives(t, "nil for a zero value", fault.Replace(nil), 0, 0, false, "")
	gives(t, "another type is refused, and the event says so", fault.Replace("seven"), 7, 7, false, "wrong type")
	gives(t, "a result without JSON", fault.Replace(math.Inf(-1)), math.Inf(1), math.Inf(-1), true, "")
}

// Text that is no JSON is replaced like any other, and the event stays JSON.
func TestReplaceBrokenJSON(t *testing.T) {
	_, e := through(t, raw(`<html>`), fault.Replace(raw(`{"id":`)))
	assert.True(t, e.Delivered)
	assert.Equal(t, []chaos.Change{{Before: raw(`"\u003chtml\u003e"`), After: raw(`"{\"id\":"`)}}, e.Changes)
	_, err := json.Marshal(e)
	assert.NoError(t, err)
}

// The three types in which dispatch functions return JSON are served alike.
func TestReplaceTextTypes(t *testing.T) {
	text, _ := through(t, `{"id":1}`, fault.Replace(order{ID: 2}))
	assert.JSONEq(t, `{"id":2,"status":""}`, text)
	bytes, _ := through(t, []byte(`{"id":1}`), fault.Replace(raw(`{"id":2}`)))
	assert.JSONEq(t, `{"id":2}`, string(bytes))
	plain, _ := through(t, "shipped", fault.Replace("lost"))
	assert.Equal(t, "lost", plain)
}

func TestMutateJSON(t *testing.T) {
	cancel := func(o order) order {
		o.Status = "cancelled"
		return o
	}
	for _, c := range []struct {
		why          string
		result, want string
		fault        chaos.Fault
		delivered    bool
	}{
		{"decoded into a struct and encoded again", `{"id":1,"status":"open"}`, `{"id":1,"status":"cancelled"}`,
			fault.Mutate("cancel", cancel), true},
		{"left as it was, spelling and unknown members included", `{"id":1.0, "status":"cancelled", "more":[]}`,
			`{"id":1.0, "status":"cancelled", "more":[]}`, fault.Mutate("cancel", cancel), false},
		{"a map, though changed in place", `{"id":1}`, `{}`, fault.Mutate("drop id", func(m map[string]any) map[string]any {
			delete(m, "id")
			return m
		}), true},
		{"any JSON value", `[1,2]`, `2`, fault.Mutate("count", func(v any) any { return len(v.([]any)) }), true},
		{"the document itself", `[1,2]`, `[1,`, fault.Mutate("cut", func(d json.RawMessage) json.RawMessage { return d[:3] }), true},
		{"the document in another spelling", `[1,2]`, `[1,2]`,
			fault.Mutate("respell", func(json.RawMessage) json.RawMessage { return raw(`[1.0, 2]`) }), false},
		{"what does not decode into T", `[1,2]`, `[1,2]`, fault.Mutate("cancel", cancel), false},
	} {
		t.Run(c.why, func(t *testing.T) {
			got, e := through(t, raw(c.result), c.fault)
			assert.Equal(t, c.want, string(got))
			assert.Equal(t, c.delivered, e.Delivered)
			assert.Equal(t, c.delivered, len(e.Changes) == 1)
			_, err := json.Marshal(e)
			assert.NoError(t, err)
		})
	}
}

func TestMutateGoValues(t *testing.T) {
	negate := fault.Mutate("negate", func(n int) int { return -n })
	gives(t, "the result's type", negate, 7, -7, true, "")
	gives(t, "unchanged", negate, 0, 0, false, "")
	gives(t, "what JSON does not show", fault.Mutate("note", func(o order) order { o.note = "b"; return o }),
		order{note: "a"}, order{note: "b"}, true, "")
	gives(t, "another type is left alone", fault.Mutate("shout", func(s order) order { return s }), 7, 7, false,
		`mutate "shout": the result, int, does not fit fault_test.order`)
	t.Run("changed in place all the same", func(t *testing.T) {
		_, e := through(t, []int{1}, fault.Mutate("zero", func(s []int) []int { s[0] = 0; return s }))
		assert.True(t, e.Delivered)
		assert.Equal(t, []chaos.Change{{Before: raw(`[1]`), After: raw(`[0]`)}}, e.Changes)
	})
}

// An error is no result: there is nothing to change, and the caller gets it as
// it is.
func TestChangesLeaveErrorsAlone(t *testing.T) {
	for _, f := range []chaos.Fault{fault.Replace("lost"), add("!")} {
		everywhere(t, func(t *testing.T, _ string, d *desk, call ask) {
			d.fail = errors.New("no such order")
			ctx, in := withRules(t, chaos.Rule{Fault: f})
			_, err := call(ctx)
			assert.Equal(t, d.fail, err)
			e := onlyEvent(t, in)
			assert.False(t, e.Delivered)
			assert.Equal(t, chaos.OutcomeFailed, e.Outcome)
			assert.Len(t, in.Undelivered(), 1)
		})
	}
}

// A panic of fn is the caller's, as that of a callee would be.
func TestMutatePanics(t *testing.T) {
	everywhere(t, func(t *testing.T, _ string, d *desk, call ask) {
		ctx, _ := withRules(t, chaos.Rule{Fault: fault.Mutate("break", func(string) string { panic("boom") })})
		assert.PanicsWithValue(t, "boom", func() { _, _ = call(ctx) })
	})
}

// Of several executions the caller sees the first reply, also where they part.
func TestFirstReplyCounts(t *testing.T) {
	t.Run("results", func(t *testing.T) {
		everywhere(t, func(t *testing.T, _ string, d *desk, call ask) {
			d.reply = []string{"first", "second", "third"}
			ctx, _ := withRules(t, chaos.Rule{Fault: fault.Repeat(3)})
			value, err := call(ctx)
			assert.NoError(t, err)
			assert.Equal(t, "first", value)
			assert.Equal(t, 3, d.calls)
		})
	})
	errFirst, errSecond := errors.New("conflict"), errors.New("too late")
	for why, replies := range map[string][]error{
		"the second fails": {nil, errSecond},
		"the first fails":  {errFirst, nil},
		"both fail":        {errFirst, errSecond},
	} {
		t.Run(why, func(t *testing.T) {
			ctx, in := withRules(t, chaos.Rule{Fault: fault.Duplicate()})
			calls := 0
			_, err := chaos.Wrap(target, func(context.Context, int) (int, error) {
				calls++
				return calls, replies[calls-1]
			})(ctx, 0)
			assert.Equal(t, replies[0], err, "as the callee made it")
			e := onlyEvent(t, in)
			assert.True(t, e.Delivered)
			assert.NotEqual(t, chaos.OutcomeInjected, e.Outcome)
		})
	}
}

// A caller that has gone is not served twice.
func TestRepeatEndsWithTheContext(t *testing.T) {
	ctx, in := withRules(t, chaos.Rule{Fault: fault.Repeat(5)})
	ctx, cancel := context.WithCancel(ctx)
	calls := 0
	_, _ = chaos.Wrap(target, func(context.Context, int) (int, error) {
		if calls++; calls == 2 {
			cancel()
		}
		return calls, nil
	})(ctx, 0)
	assert.Equal(t, 2, calls)
	assert.True(t, onlyEvent(t, in).Delivered)
}

// explosive is a result whose JSON methods panic, as those of nil receivers do.
type explosive struct{ n int }

func (explosive) MarshalJSON() ([]byte, error) { panic("boom") }
func (*explosive) UnmarshalJSON([]byte) error  { panic("boom") }

// What a change cannot show or read, it changes or leaves without a panic.
func TestJSONMethodsThatPanic(t *testing.T) {
	work := chaos.Wrap(target, func(context.Context, int) (explosive, error) { return explosive{1}, nil })
	ctx, in := withRules(t, chaos.Rule{Fault: fault.Replace(explosive{2})})
	got, err := work(ctx, 0)
	assert.NoError(t, err)
	assert.Equal(t, explosive{2}, got)
	assert.True(t, onlyEvent(t, in).Delivered)

	text := chaos.Wrap(target, func(context.Context, int) (string, error) { return `{}`, nil })
	for _, f := range []chaos.Fault{fault.Replace(explosive{2}), fault.Mutate("grow", func(e explosive) explosive { return explosive{e.n + 1} })} {
		ctx, in = withRules(t, chaos.Rule{Fault: f})
		same, err := text(ctx, 0)
		assert.NoError(t, err)
		assert.Equal(t, `{}`, same)
		assert.False(t, onlyEvent(t, in).Delivered)
	}
	assert.NotPanics(t, func() { fault.Replace(explosive{}).(chaos.Described).Describe() })
}

// outcomes makes calls, one a second, and shows which came back well.
func outcomes(n int, call func() error) (s string) {
	for i := range n {
		if i > 0 {
			time.Sleep(time.Second)
		}
		if call() == nil {
			s += "."
		} else {
			s += "x"
		}
	}
	return s
}

// Budgets let calls through until they are used up; only calls that failed are
// reported as delivered.
func TestBudgets(t *testing.T) {
	const openai = `{"choices":[],"usage":{"prompt_tokens":30,"completion_tokens":10,"total_tokens":40}}`
	const anthropic = `{"content":[],"usage":{"input_tokens":10,"cache_creation_input_tokens":5,"cache_read_input_tokens":15,"output_tokens":10}}`
	const s = time.Second
	for _, c := range []struct {
		why    string
		fault  chaos.Fault
		answer string
		want   string // of eight calls, one a second
		is     error
		text   string // of the first error
	}{
		{"calls", fault.CallBudget(3, 0), "", "...xxxxx", fault.ErrResourceExhausted, "quota exceeded: 3 of 3 calls used"},
		{"calls, filled again", fault.CallBudget(2, 4*s), "", "..xx..xx", fault.ErrResourceExhausted, "quota exceeded: 2 of 2 calls used, try again in 2s"},
		{"a rate", fault.RateLimit(2, 3*s), "", "..x..x..", fault.ErrRateLimited, "too many requests: the limit is 2, try again in 1s"},
		{"tokens of OpenAI", fault.TokenBudget(100, fault.OpenAIUsage, 0), openai, "...xxxxx", fault.ErrResourceExhausted, "quota exceeded: 120 of 100 tokens used"},
		{"tokens of Anthropic", fault.TokenBudget(80, fault.AnthropicUsage, 0), anthropic, "..xxxxxx", fault.ErrResourceExhausted, "quota exceeded: 80 of 80 tokens used"},
		{"tokens that nobody counts", fault.TokenBudget(1, fault.OpenAIUsage, 0), `"ok"`, "........", nil, ""},
		{"cost", fault.CostBudget(0.001, 10, 20, fault.OpenAIUsage, 0), openai, "..xxxxxx", fault.ErrResourceExhausted, "quota exceeded: 0.001 of 0.001 used"},
		{"memory", fault.MemoryBudget(100, 0), openai, "..xxxxxx", syscall.ENOMEM, "cannot allocate memory"},
		{"a full disk", fault.DiskFull(), "", "xxxxxxxx", syscall.ENOSPC, "write: no space left on device"},
		{"time that nobody takes", fault.TimeBudget(s, 0), "", "........", nil, ""},
		{"concurrency of one after the other", fault.ConcurrencyLimit(1), "", "........", nil, ""},
	} {
		t.Run(c.why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				reached := 0
				tools := chaos.WrapRegistry(answering{func(context.Context) (json.RawMessage, error) {
					reached++
					return json.RawMessage(c.answer), nil
				}}, nil)
				ctx, in := withRules(t, chaos.Rule{Fault: c.fault})
				var first error
				got := outcomes(8, func() error {
					_, err := tools.CallTool(ctx, target, json.RawMessage(`{"n":123456}`))
					if first == nil {
						first = err
					}
					return err
				})
				assert.Equal(t, c.want, got)
				failed := 0
				for i, e := range in.Events() {
					assert.Equal(t, got[i] == 'x', e.Delivered)
					if e.Delivered {
						failed++
					}
				}
				assert.Equal(t, 8-failed, reached)
				if c.is == nil {
					assert.NoError(t, first)
					return
				}
				assert.ErrorIs(t, first, c.is)
				assert.ErrorIs(t, first, chaos.ErrInjected)
				assert.ErrorIs(t, first, fault.ErrResourceExhausted)
				assert.EqualError(t, first, c.text)
				var budget *fault.BudgetError
				assert.ErrorAs(t, first, &budget)
			})
		})
	}
}

// answering is a registry whose tools give one answer.
type answering struct {
	answer func(context.Context) (json.RawMessage, error)
}

func (a answering) Tools(context.Context) ([]chaos.Tool, error) { return nil, nil }
func (a answering) CallTool(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
	return a.answer(ctx)
}

// A result that does not say what it used is free, which its event notes.
func TestUnknownUsage(t *testing.T) {
	ctx, in := withRules(t, chaos.Rule{Fault: fault.TokenBudget(1, fault.OpenAIUsage, 0)})
	_, err := wrapped(t, &desk{})(ctx)
	assert.NoError(t, err)
	assert.Contains(t, onlyEvent(t, in).Note, "does not say what it used of the token budget")
}

// The time of all calls counts, whoever makes them.
func TestTimeBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		work := chaos.Wrap(target, func(context.Context, int) (int, error) {
			time.Sleep(2 * time.Second)
			return 0, nil
		})
		ctx, _ := withRules(t, chaos.Rule{Fault: fault.TimeBudget(5*time.Second, 0)})
		assert.Equal(t, "...xx", outcomes(5, func() error { _, err := work(ctx, 0); return err }))
	})
}

// Of more calls at once than the limit the later ones fail; one that ends, even
// by a panic, makes room.
func TestConcurrencyLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		work := chaos.Wrap(target, func(_ context.Context, n int) (int, error) {
			time.Sleep(time.Second)
			if n == 0 {
				panic("boom")
			}
			return 0, nil
		})
		ctx, in := withRules(t, chaos.Rule{Fault: fault.ConcurrencyLimit(2)})
		var callers sync.WaitGroup
		var mu sync.Mutex
		var failed []error
		for i := range 6 {
			callers.Go(func() {
				defer func() { _ = recover() }()
				time.Sleep(time.Duration(i) * 400 * time.Millisecond)
				if _, err := work(ctx, i); err != nil {
					mu.Lock()
					defer mu.Unlock()
					failed = append(failed, err)
				}
			})
		}
		callers.Wait()
		require.Len(t, failed, 2, "the third, while two were under way, and the sixth")
		assert.ErrorIs(t, failed[0], fault.ErrRateLimited)
		assert.Len(t, in.Events(), 6)
	})
}

// Two cells share no budget, and all targets of a rule share one.
func TestBudgetsOfCellsAndTargets(t *testing.T) {
	p, err := chaos.NewPlan(1, chaos.Rule{Target: "*", Fault: fault.CallBudget(2, 0)})
	require.NoError(t, err)
	for range 2 {
		ctx := chaos.NewContext(t.Context(), p.Injector("cell", nil))
		assert.NoError(t, chaos.Point(ctx, "a"))
		assert.NoError(t, chaos.Point(ctx, "b"))
		assert.ErrorIs(t, chaos.Point(ctx, "c"), fault.ErrResourceExhausted)
	}
}

// A budget hides no other fault, and pays for no call that another one failed.
func TestBudgetsBesideOtherFaults(t *testing.T) {
	ctx, in := withRules(t, chaos.Rule{Name: "budget", Fault: fault.CallBudget(1, 0)}, chaos.Rule{Name: "down", Fault: fault.Fail(errBusy)})
	assert.ErrorIs(t, chaos.Point(ctx, target), errBusy)
	err := chaos.Point(ctx, target)
	assert.ErrorIs(t, err, fault.ErrResourceExhausted)
	assert.False(t, errors.Is(err, errBusy))
	events := in.Events()
	assert.Equal(t, []string{"down", "budget"}, []string{events[0].Rule, events[1].Rule})
	assert.Equal(t, []string{"down"}, events[1].Masked)
}

// Counted by many goroutines at once, a budget is spent exactly.
func TestBudgetsOfManyCallers(t *testing.T) {
	var through, reached sync.Map
	work := chaos.Wrap(target, func(_ context.Context, n int) (int, error) {
		reached.Store(n, true)
		return 0, nil
	})
	ctx, _ := withRules(t, chaos.Rule{Name: "calls", Fault: fault.CallBudget(50, 0)}, chaos.Rule{Name: "rate", Fault: fault.RateLimit(60, time.Hour)})
	var callers sync.WaitGroup
	for w := range 8 {
		callers.Go(func() {
			for i := range 25 {
				if _, err := work(ctx, 100*w+i); err == nil {
					through.Store(100*w+i, true)
				}
			}
		})
	}
	callers.Wait()
	count := func(m *sync.Map) (n int) {
		m.Range(func(any, any) bool { n++; return true })
		return n
	}
	assert.Equal(t, 50, count(&through))
	assert.Equal(t, 50, count(&reached))
}
