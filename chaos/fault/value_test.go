package fault_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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

// A replaced Go result must have the type of the real one.
func TestReplaceGoValues(t *testing.T) {
	t.Run("another value", func(t *testing.T) {
		got, e := through(t, order{ID: 1}, fault.Replace(order{ID: 2}))
		assert.Equal(t, order{ID: 2}, got)
		assert.True(t, e.Delivered)
	})
	t.Run("an equal value", func(t *testing.T) {
		_, e := through(t, []int{1, 2}, fault.Replace([]int{1, 2}))
		assert.False(t, e.Delivered)
	})
	t.Run("what JSON does not show", func(t *testing.T) {
		got, e := through(t, order{note: "a"}, fault.Replace(order{note: "b"}))
		assert.Equal(t, "b", got.note)
		assert.True(t, e.Delivered)
	})
	t.Run("nil is the zero value", func(t *testing.T) {
		got, e := through(t, 7, fault.Replace(nil))
		assert.Zero(t, got)
		assert.True(t, e.Delivered)
	})
	t.Run("nil for a zero value", func(t *testing.T) {
		_, e := through(t, 0, fault.Replace(nil))
		assert.False(t, e.Delivered)
	})
	t.Run("another type is refused, and the event says so", func(t *testing.T) {
		got, e := through(t, 7, fault.Replace("seven"))
		assert.Equal(t, 7, got, "the real result")
		assert.False(t, e.Delivered)
		assert.Empty(t, e.Changes)
		assert.Contains(t, e.Note, "wrong type")
	})
	t.Run("a result without JSON", func(t *testing.T) {
		got, e := through(t, math.Inf(1), fault.Replace(math.Inf(-1)))
		assert.True(t, math.IsInf(got, -1))
		assert.True(t, e.Delivered)
	})
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
	t.Run("the result's type", func(t *testing.T) {
		got, e := through(t, 7, fault.Mutate("negate", func(n int) int { return -n }))
		assert.Equal(t, -7, got)
		assert.True(t, e.Delivered)
	})
	t.Run("unchanged", func(t *testing.T) {
		_, e := through(t, 0, fault.Mutate("negate", func(n int) int { return -n }))
		assert.False(t, e.Delivered)
	})
	t.Run("what JSON does not show", func(t *testing.T) {
		got, e := through(t, order{note: "a"}, fault.Mutate("note", func(o order) order {
			o.note = "b"
			return o
		}))
		assert.Equal(t, "b", got.note)
		assert.True(t, e.Delivered)
	})
	t.Run("another type is left alone", func(t *testing.T) {
		got, e := through(t, 7, fault.Mutate("shout", func(s order) order { return s }))
		assert.Equal(t, 7, got)
		assert.False(t, e.Delivered)
		assert.Contains(t, e.Note, `mutate "shout": the result, int, does not fit fault_test.order`)
	})
	t.Run("changed in place all the same", func(t *testing.T) {
		_, e := through(t, []int{1}, fault.Mutate("zero", func(s []int) []int {
			s[0] = 0
			return s
		}))
		assert.True(t, e.Delivered)
		assert.Equal(t, raw(`[1]`), e.Changes[0].Before)
		assert.Equal(t, raw(`[0]`), e.Changes[0].After)
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
