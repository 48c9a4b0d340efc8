package fault_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/internal/telltale"
	"github.com/shakedown-go/shakedown/chaos/lies"
)

// deliveries are the rules that an event says were delivered, in their order.
func deliveries(e chaos.Event) []string {
	if !e.Delivered {
		return nil
	}
	names := append(slices.Clone(e.Also), e.Rule)
	slices.Sort(names)
	return names
}

// Of several changes of one result those count that can be seen in what the
// caller got.
func TestDeliveredChangesAreThoseThatTheCallerGot(t *testing.T) {
	doc := func(s string) json.RawMessage { return json.RawMessage(s) }
	for _, tt := range []struct {
		why    string
		faults map[string]chaos.Fault // by name, in the order of the names
		want   string
		names  []string
	}{
		{"two lies that cancel out were told to nobody", map[string]chaos.Fault{"a": lies.FlipSign("$.n"), "b": lies.FlipSign("$.n")}, `{"n":5,"s":"open"}`, nil},
		{"a lie that was replaced, too", map[string]chaos.Fault{"a": lies.FlipSign("$.n"), "b": fault.Replace(doc(`{"n":7}`))}, `{"n":7}`, []string{"b"}},
		{"a lie beside another", map[string]chaos.Fault{"a": lies.FlipSign("$.n"), "b": lies.Null("$.s")}, `{"n":-5,"s":null}`, []string{"a", "b"}},
		{"what cancels out in one place does not hide another", map[string]chaos.Fault{"a": lies.FlipSign("$.n"), "b": lies.FlipSign("$.n"), "c": lies.Null("$.s")},
			`{"n":5,"s":null}`, []string{"c"}},
		{"of three in one place the last", map[string]chaos.Fault{"a": lies.FlipSign("$.n"), "b": lies.FlipSign("$.n"), "c": lies.FlipSign("$.n")}, `{"n":-5,"s":"open"}`, []string{"c"}},
		{"a replacement by what was there", map[string]chaos.Fault{"a": lies.FlipSign("$.n"), "b": fault.Replace(doc(`{"s":"open","n":5.0}`))}, `{"s":"open","n":5.0}`, nil},
		{"a result that a lost reply took away", map[string]chaos.Fault{"a": lies.FlipSign("$.n"), "b": fault.LoseReplyAfter(0)}, ``, []string{"b"}},
	} {
		t.Run(tt.why, func(t *testing.T) {
			var rules []chaos.Rule
			for name, f := range tt.faults {
				rules = append(rules, chaos.Rule{Name: name, Fault: f, Limit: 1})
			}
			slices.SortFunc(rules, func(a, b chaos.Rule) int { return int(a.Name[0]) - int(b.Name[0]) })
			ctx, in := withRules(t, rules...)
			get := chaos.Wrap(target, func(context.Context, int) (json.RawMessage, error) { return doc(`{"n":5,"s":"open"}`), nil })
			got, _ := get(ctx, 0)
			assert.Equal(t, tt.want, string(got))
			e := onlyEvent(t, in)
			assert.Equal(t, tt.names, deliveries(e))
			var unfired []string
			for name := range tt.faults {
				if !slices.Contains(tt.names, name) {
					unfired = append(unfired, name)
				}
			}
			assert.ElementsMatch(t, unfired, in.Undelivered(), "their limits are there for the next call")
		})
	}
}

// Executions count that reached the callee, be they the end of it.
func TestRepetitionsCountWhereTheyReachTheCallee(t *testing.T) {
	for _, tt := range []struct {
		why       string
		second    func(in *chaos.Injector)
		first     func(in *chaos.Injector)
		delivered bool
		runs      int
	}{
		{why: "twice", delivered: true, runs: 2},
		{why: "the second one panics, which the caller sees", second: func(*chaos.Injector) { panic("paid twice") }, delivered: true, runs: 2},
		{why: "the first one panics, as it would have", first: func(*chaos.Injector) { panic("paid") }, runs: 1},
		{why: "the cell ended in between", first: func(in *chaos.Injector) { in.Close() }, runs: 1},
		{why: "the injector was disarmed in between", first: func(in *chaos.Injector) { in.Disarm() }, runs: 1},
	} {
		for name, f := range map[string]chaos.Fault{"Duplicate": fault.Duplicate(), "DeliverTwice": fault.DeliverTwice()} {
			t.Run(tt.why+"/"+name, func(t *testing.T) {
				ctx, in := withRules(t, chaos.Rule{Fault: f, Limit: 1})
				runs := 0
				pay := chaos.Wrap(target, func(context.Context, int) (int, error) {
					switch runs++; {
					case runs == 1 && tt.first != nil:
						tt.first(in)
					case runs == 2 && tt.second != nil:
						tt.second(in)
					}
					return 1, nil
				})
				func() {
					defer func() { _ = recover() }()
					_, _ = pay(ctx, 0)
				}()
				assert.Equal(t, tt.runs, runs)
				assert.Equal(t, tt.delivered, onlyEvent(t, in).Delivered)
				assert.Equal(t, !tt.delivered, len(in.Undelivered()) == 1)
			})
		}
	}
}

// A value that does not fit the call is put in nobody's place: the call goes
// through, the caller reads nothing of a test, and the event says why.
func TestAValueThatDoesNotFitGoesUndelivered(t *testing.T) {
	none := make(chan int) // has no JSON, and is no order
	misfits := map[string]chaos.Fault{
		"SilentNoOpWith": fault.SilentNoOpWith(none), "As handoff_dropped": fault.As("handoff_dropped", fault.SilentNoOpWith(none)), "CycleHandoff": fault.CycleHandoff(none),
		"Replace": fault.Replace(none), "As forced_verdict": fault.As("forced_verdict", fault.Replace(none)), "another JSON": fault.SilentNoOpWith(json.RawMessage(`[1]`)),
	}
	type order struct{ ID int }
	for name, f := range misfits {
		ctx, in := withRules(t, chaos.Rule{Fault: f, Limit: 1})
		get := chaos.Wrap(target, func(context.Context, int) (order, error) { return order{7}, nil })
		for range 2 {
			got, err := get(ctx, 0)
			assert.NoError(t, err, name)
			assert.Equal(t, order{7}, got, name)
		}
		for _, e := range in.Events() {
			assert.False(t, e.Delivered, name)
			assert.Equal(t, chaos.OutcomeOK, e.Outcome, name)
			assert.Contains(t, e.Note, "wrong type", name)
		}
		assert.Len(t, in.Undelivered(), 1, name)
		if name == "another JSON" {
			continue
		}
		ctx, in = withRules(t, chaos.Rule{Fault: f})
		tool := chaos.WrapDispatch(func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`{"ID":7}`), nil
		})
		doc, err := tool(ctx, target, json.RawMessage(`7`))
		require.NoError(t, err, name)
		assert.Equal(t, `{"ID":7}`, string(doc), name)
		assert.Empty(t, telltale.Find(string(doc)), name)
		assert.False(t, onlyEvent(t, in).Delivered, name)
	}
}

// Whoever writes to the bytes that one call was given does not change what the
// next one gets.
func TestGivenBytesBelongToTheCall(t *testing.T) {
	value := json.RawMessage(`{"n":7}`)
	for name, f := range map[string]chaos.Fault{
		"Replace": fault.Replace(value), "SilentNoOpWith": fault.SilentNoOpWith(value), "As handoff_dropped": fault.As("handoff_dropped", fault.SilentNoOpWith(value)),
		"CycleHandoff": fault.CycleHandoff(value), "As forced_verdict": fault.As("forced_verdict", fault.Replace(value)),
	} {
		for form, get := range map[string]func(context.Context) []byte{
			"JSON": func(ctx context.Context) []byte {
				doc, _ := chaos.Wrap(target, func(context.Context, int) (json.RawMessage, error) { return json.RawMessage(`{}`), nil })(ctx, 0)
				return doc
			},
			"bytes": func(ctx context.Context) []byte {
				doc, _ := chaos.Wrap(target, func(context.Context, int) ([]byte, error) { return []byte(`{}`), nil })(ctx, 0)
				return doc
			},
		} {
			ctx, _ := withRules(t, chaos.Rule{Fault: f})
			for range 3 {
				got := get(ctx)
				assert.Equal(t, `{"n":7}`, string(got), "%s, %s", name, form)
				clear(got)
			}
		}
	}
	f := fault.Replace(value)
	clear(value)
	ctx, _ := withRules(t, chaos.Rule{Fault: f})
	got, _ := chaos.Wrap(target, func(context.Context, int) (json.RawMessage, error) { return nil, nil })(ctx, 0)
	assert.Equal(t, `{"n":7}`, string(got), "nor does who made the fault of it")
}

// A fault that a tool recovers from is delivered all the same: what the agent
// sees of it is for a contract to check.
func TestAFaultThatAToolGetsOverIsDelivered(t *testing.T) {
	ctx, in := withRules(t, chaos.Rule{Target: "cache", Fault: fault.Fail(fault.ErrUnavailable)})
	cache := chaos.Wrap("cache", func(context.Context, int) (int, error) { return 1, nil })
	price := chaos.Wrap("price", func(ctx context.Context, id int) (int, error) {
		if v, err := cache(ctx, id); err == nil {
			return v, nil
		}
		return 2, nil // from the source
	})
	got, err := price(ctx, 7)
	assert.NoError(t, err)
	assert.Equal(t, 2, got)
	events := in.Events()
	require.Len(t, events, 2)
	assert.Equal(t, chaos.OutcomeOK, events[0].Outcome)
	assert.Equal(t, "price", events[1].Caller)
	assert.True(t, events[1].Delivered)
	assert.Empty(t, in.Undelivered())
}

// The consumer of a stream that is delivered twice sees the first delivery, and
// nothing of the second: neither its items nor its error, nor that it has none.
func TestDeliveredTwiceOnAStreamShowsTheFirst(t *testing.T) {
	broken := errors.New("conflict: already delivered")
	for name, failing := range map[string]int{"the second fails": 2, "the first fails": 1} {
		t.Run(name, func(t *testing.T) {
			ctx, in := withRules(t, chaos.Rule{Target: "feed", Fault: fault.DeliverTwice()})
			runs := 0
			feed := chaos.WrapStream("feed", func(context.Context, int) iter.Seq2[int, error] {
				return func(yield func(int, error) bool) {
					runs++
					if yield(1, nil) && runs == failing {
						yield(0, broken)
					}
				}
			})
			var items []int
			var errs []error
			for item, err := range feed(ctx, 0) {
				if err != nil {
					errs = append(errs, err)
					continue
				}
				items = append(items, item)
			}
			assert.Equal(t, 2, runs)
			assert.Equal(t, []int{1}, items)
			event := in.Events()[0]
			assert.True(t, event.Delivered)
			if failing == 2 {
				assert.Empty(t, errs, "nobody sees how the second delivery ended")
				assert.Equal(t, chaos.OutcomeOK, event.Outcome)
				return
			}
			assert.Equal(t, []error{broken}, errs)
			assert.Equal(t, chaos.OutcomeFailed, event.Outcome)
		})
	}
}

// A stream without end whose reply was to be lost comes through from the moment
// in which the injector is disarmed: what was held back first, then the rest.
func TestLostStreamArrivesWhenDisarmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, in := withRules(t, chaos.Rule{Target: "feed", Fault: fault.LoseReplyAfter(time.Second)})
		feed := chaos.WrapStream("feed", func(ctx context.Context, _ int) iter.Seq2[int, error] {
			return func(yield func(int, error) bool) {
				for n := 0; n < 100; n++ {
					time.Sleep(time.Second)
					if n == 3 {
						in.Disarm()
					}
					if !yield(n, nil) {
						return
					}
				}
			}
		})
		start := time.Now()
		var items []int
		for item, err := range feed(ctx, 0) {
			require.NoError(t, err)
			if items = append(items, item); len(items) == 6 {
				break
			}
		}
		assert.Equal(t, []int{0, 1, 2, 3, 4, 5}, items)
		assert.Equal(t, 6*time.Second, time.Since(start), "nothing was waited for but the source")
		assert.False(t, in.Events()[0].Delivered)
	})
}

// A call that panics takes its time like any other.
func TestTimeBudgetCountsAPanickingCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plan, err := chaos.NewPlan(1, chaos.Rule{Target: "work", Fault: fault.TimeBudget(time.Second, 0)})
		require.NoError(t, err)
		work := chaos.Wrap("work", func(context.Context, int) (int, error) {
			time.Sleep(2 * time.Second)
			panic("out of luck")
		})
		ctx := chaos.NewContext(t.Context(), plan.Injector("", nil))
		assert.Panics(t, func() { _, _ = work(ctx, 0) })
		_, err = work(ctx, 0)
		require.ErrorIs(t, err, fault.ErrResourceExhausted)
	})
}

// What a fault says of every item of a long stream is noted once.
func TestNotesOfALongStreamAreBounded(t *testing.T) {
	lower := fault.Mutate("lower", func(s string) string { return s + "." })
	for name, f := range map[string]chaos.Fault{"a result of the wrong type": fault.Replace("text"), "items of another type": lower} {
		t.Run(name, func(t *testing.T) {
			ctx, in := withRules(t, chaos.Rule{Target: "feed", Fault: f})
			feed := chaos.WrapStream("feed", func(context.Context, int) iter.Seq2[float64, error] {
				return func(yield func(float64, error) bool) {
					for n := 0; n < 1000 && yield(float64(n), nil); n++ {
					}
				}
			})
			for _, err := range feed(ctx, 0) {
				require.NoError(t, err)
			}
			note := in.Events()[0].Note
			assert.NotEmpty(t, note)
			assert.Less(t, len(note), 200)
		})
	}
}

// A change that changes nothing is not delivered, and hands on the very bytes
// of the result, whatever they are; one that does is declared as it was seen.
func FuzzChangesOfDocuments(f *testing.F) {
	for _, doc := range []string{`{"a":1,"b":[null,1e400]}`, ``, `null`, `"\ud800"`, `{"a":`, `12345678901234567890`, "\xff", ` {} `, `-0`} {
		f.Add([]byte(doc), []byte(`{"b":2}`))
	}
	same := func(v any) any { return v }
	f.Fuzz(func(t *testing.T, doc, other []byte) {
		tool := chaos.Wrap(target, func(context.Context, int) (json.RawMessage, error) { return doc, nil })
		dispatch := chaos.Wrap(target, func(context.Context, int) (string, error) { return string(doc), nil })
		for _, rule := range []chaos.Rule{
			{Fault: fault.Mutate("nothing", same)}, {Fault: fault.Mutate("nothing", func(m map[string]any) map[string]any { return m })},
		} {
			ctx, in := withRules(t, rule)
			got, err := tool(ctx, 0)
			require.NoError(t, err)
			assert.Equal(t, string(doc), string(got))
			text, err := dispatch(ctx, 0)
			require.NoError(t, err)
			assert.Equal(t, string(doc), text)
			for _, e := range in.Events() {
				assert.False(t, e.Delivered)
				assert.Empty(t, e.Changes)
			}
		}
		ctx, in := withRules(t, chaos.Rule{Fault: fault.Replace(json.RawMessage(other))})
		got, err := tool(ctx, 0)
		require.NoError(t, err)
		e := onlyEvent(t, in)
		if e.Delivered {
			assert.Equal(t, string(other), string(got))
			assert.Len(t, e.Changes, 1)
		} else {
			assert.Equal(t, string(doc), string(got))
		}
		_, err = json.Marshal(e)
		assert.NoError(t, err)
	})
}
