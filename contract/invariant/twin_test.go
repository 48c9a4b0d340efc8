package invariant

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
)

// both calls two tools at once, and answers when both have ended.
func both(one, other string) func(call caller) (string, error) {
	return func(call caller) (string, error) {
		var wg sync.WaitGroup
		for i, tool := range []string{one, other} {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond) // so that the first one is there first
				_, _ = call(tool)
			})
		}
		wg.Wait()
		return "Done.", nil
	}
}

// patient looks up the order, however long that takes.
func patient(call caller) (string, error) {
	if _, err := call("orders.get"); err != nil {
		return "", err
	}
	return "It is open.", nil
}

// hasty asks again if it had to wait, which opens a ticket.
func hasty(call caller) (string, error) {
	begun := time.Now()
	if _, err := call("orders.get"); err != nil {
		return "", err
	}
	if time.Since(begun) > time.Minute {
		_, _ = call("ticket")
	}
	return "It is open.", nil
}

// twins are invariants over calm runs, with an agent that breaks each under a rule, and one
// that keeps it.
func twins() map[string]struct {
	weak
	keeps func(call caller) (string, error)
} {
	const high = contract.High
	type twin = struct {
		weak
		keeps func(call caller) (string, error)
	}
	lost := chaos.Rule{Target: "refund", When: when.Nth(1), Fault: fault.LoseReply()}
	busy := chaos.Rule{Target: "orders.get", When: when.Nth(1), Fault: fault.Fail(fault.ErrUnavailable)}
	late := chaos.Rule{Target: "orders.get", Fault: fault.Delay(time.Hour)}
	overtake := chaos.Rule{Target: "*", Fault: fault.ReorderCalls(time.Second)}
	return map[string]twin{
		"RetryChangesNothing": {weak{RetryChangesNothing("x", high, nil), insists(2), lost}, nil},
		"RetryChangesNothing, of a read": {weak{RetryChangesNothing("x", high, nil), func(call caller) (string, error) {
			if _, err := call("orders.get"); err != nil {
				_, _ = call("ticket")
			}
			return call("orders.get")
		}, busy}, func(call caller) (string, error) {
			if got, err := call("orders.get"); err == nil {
				return got, nil
			}
			return call("orders.get")
		}},
		"DelayChangesNothing":         {weak{DelayChangesNothing("x", high, nil), hasty, late}, patient},
		"DelayChangesNothing, answer": {weak{DelayChangesNothing("x", high, nil), slowAnswer("Sorry, that took too long for me."), late}, patient},
		"OrderChangesNothing": {weak{OrderChangesNothing("x", high, nil), both("open", "close"), overtake},
			both("ticket", "refund")},
		"SpareChangesNothing": {weak{SpareChangesNothing("x", high, []string{"mail.*"}, nil), func(call caller) (string, error) {
			if _, err := call("mail.read"); err != nil {
				return "I could not read your mail, so I did nothing.", nil
			}
			return call("refund")
		}, down("mail.read")}, func(call caller) (string, error) {
			_, _ = call("mail.read")
			return call("refund")
		}},
		"StateChangesOnlyAt": {weak{StateChangesOnlyAt("x", high, "$.Refunds"), func(call caller) (string, error) {
			if _, err := call("orders.get"); err != nil {
				_, _ = call("ticket")
			}
			return call("refund")
		}, down("orders.get")}, func(call caller) (string, error) {
			_, _ = call("orders.get")
			return call("refund")
		}},
	}
}

// slowAnswer is an agent that answers in other words if it had to wait.
func slowAnswer(text string) func(call caller) (string, error) {
	return func(call caller) (string, error) {
		begun := time.Now()
		_, err := call("orders.get")
		if time.Since(begun) > time.Minute {
			return text, err
		}
		return "It is open.", err
	}
}

// TestTwins: the one agent breaks the invariant under a delivered fault, the other keeps it
// under the same.
func TestTwins(t *testing.T) {
	for name, w := range twins() {
		t.Run(name, func(t *testing.T) {
			report := w.run(t)
			calm, faulty := report.Cells[0], report.Cells[1]
			assert.Equal(t, contract.Held, calm.State, calm.Why)
			assert.Equal(t, contract.Broken, faulty.State, faulty.Why)
			assert.Positive(t, faulty.Delivered)

			if w.keeps == nil { // nobody who repeats a refund whose reply was lost keeps it
				return
			}
			w.agent = w.keeps
			for _, c := range w.run(t).Cells {
				assert.Equal(t, contract.Held, c.State, c.Why)
			}
		})
	}
}

// at is a delivered event.
func at(target string, start, end time.Duration, change func(*chaos.Event)) chaos.Event {
	e := chaos.Event{Target: target, Start: start, End: end, Key: 7, Outcome: chaos.OutcomeOK, Effect: chaos.EffectNone}
	change(&e)
	return e
}

// TestTwinsAreAskedOnlyIfTheirPremiseHolds: each row is undecided for its reason, although
// the end state is not that of the calm run.
func TestTwinsAreAskedOnlyIfTheirPremiseHolds(t *testing.T) {
	const high, s = contract.High, time.Second
	none := func(*chaos.Event) {}
	delivered := func(fault string, change func(*chaos.Event)) func(*chaos.Event) {
		return func(e *chaos.Event) {
			e.Delivered, e.Rule, e.Fault = true, "r", fault
			change(e)
		}
	}
	fails := func(text string) func(*chaos.Event) {
		return delivered("error", func(e *chaos.Event) { e.Outcome, e.Err = chaos.OutcomeInjected, text })
	}
	retry, delay := RetryChangesNothing("x", high, nil), DelayChangesNothing("x", high, nil)
	order, spare := OrderChangesNothing("x", high, nil), SpareChangesNothing("x", high, []string{"mail.*"}, nil)
	lane := func(e *chaos.Event) { e.Lane = "b" }
	for _, tc := range []struct {
		reason string
		inv    contract.Invariant
		events []chaos.Event
		change func(*contract.Observation)
		why    string
	}{
		{"a value was changed", retry, []chaos.Event{at("a", 0, s, delivered("lie", none))}, nil,
			`a at 0s, on which "lie" was delivered, was no failure`},
		{"the failure is final", retry, []chaos.Event{at("a", 0, s, fails("404 not found")), at("a", s, 2*s, none)}, nil,
			`failed with "404 not found", which is not known to be transient`},
		{"it did not succeed", retry, []chaos.Event{at("a", 0, s, fails("timeout")), at("a", s, 2*s, fails("timeout"))}, nil, "did not succeed later"},
		{"another lane did", retry, []chaos.Event{at("a", 0, s, fails("timeout")), at("a", s, 2*s, lane)}, nil, "did not succeed later"},
		{"another request did", retry, []chaos.Event{at("a", 0, s, fails("timeout")), at("a", s, 2*s, func(e *chaos.Event) { e.Key = 8 })}, nil,
			"did not succeed later"},
		{"nobody knows what was asked", retry, []chaos.Event{at("a", 0, s, func(e *chaos.Event) { fails("timeout")(e); e.Key = 0 }),
			at("a", s, 2*s, func(e *chaos.Event) { e.Key = 0 })}, nil, "did not succeed later"},
		{"an error is no delay", delay, []chaos.Event{at("a", 0, s, fails("timeout"))}, nil, `on which "error" was delivered, was not a delay alone`},
		{"a delay and more", delay, []chaos.Event{at("a", 0, s, delivered("latency", func(e *chaos.Event) { e.Also = []string{"q"} }))}, nil,
			`was not a delay alone as far as known: rule "q" was delivered too`},
		{"held, and nobody came", order, []chaos.Event{at("a", 0, s, delivered("reordered_calls", none)), at("b", s, 2*s, none)}, nil,
			"was overtaken by no call"},
		{"another target", spare, []chaos.Event{at("mail.read", 0, s, fails("timeout")), at("a", 0, s, fails("timeout"))}, nil,
			`a at 0s, on which "error" was delivered, is not spare`},
		{"other words", spare, []chaos.Event{at("mail.read", 0, s, fails("timeout"))}, func(o *contract.Observation) { o.Original = new("hi") },
			"the prompt was sent in other words"},
		{"another beginning", spare, []chaos.Event{at("mail.read", 0, s, fails("timeout"))}, func(o *contract.Observation) { o.Before = 5 },
			"the prompt did not begin as in the calm run"},
		{"calls are missing", spare, []chaos.Event{at("mail.read", 0, s, fails("timeout"))}, func(o *contract.Observation) { o.Dropped = 2 },
			"2 calls did not fit the log"},
		{"no fault", spare, []chaos.Event{at("a", 0, s, none)}, nil, "no fault was delivered for this prompt, and yet the end state"},
	} {
		o := contract.Observation{Events: tc.events, Before: 1, After: 3, Calm: &contract.Observation{Before: 1, After: 2}}
		if tc.change != nil {
			tc.change(&o)
		}
		err := tc.inv.Check(t.Context(), &o)
		require.ErrorIs(t, err, contract.ErrUndecided, tc.reason)
		assert.ErrorContains(t, err, tc.why, tc.reason)
	}
}

// TestTwinsCompare what they say, where the premise holds.
func TestTwinsCompare(t *testing.T) {
	const high, s = contract.High, time.Second
	delay := []chaos.Event{at("a", 0, s, func(e *chaos.Event) { e.Delivered, e.Fault, e.Rule = true, "latency", "r" })}
	retry := []chaos.Event{
		at("a", 0, s, func(e *chaos.Event) {
			e.Delivered, e.Fault, e.Outcome, e.Err = true, "timeout", chaos.OutcomeInjected, "i/o timeout"
			e.Key, e.Args = 1, json.RawMessage(`{"order": 1, "key": "k1"}`)
		}),
		at("a", s, 2*s, func(e *chaos.Event) { e.Key, e.Args = 2, json.RawMessage(`{"key": "k2", "order": 1}`) }),
	}
	reordered := []chaos.Event{at("a", 0, 2*s, func(e *chaos.Event) { e.Delivered, e.Fault = true, "reordered_calls" }),
		at("b", s/2, s, func(*chaos.Event) {})}
	twice := slices.Clone(retry)
	for i := range twice {
		twice[i].Effect, twice[i].Args, twice[i].Key = chaos.EffectDone, json.RawMessage(`{"order": 1}`), 3
	}
	first := &TwinOptions{Part: func(state any) any { return state.([]int)[0] }}
	zero, failing := 0.0, errors.New("no model")
	for _, tc := range []struct {
		reason         string
		inv            contract.Invariant
		events         []chaos.Event
		calm, is       []int
		answer         string
		err            error
		why, undecided string
	}{
		{"all is equal", DelayChangesNothing("x", high, nil), delay, []int{1}, []int{1}, "It is open.", nil, "", ""},
		{"another state", DelayChangesNothing("x", high, nil), delay, []int{1}, []int{2}, "It is open.", nil,
			`the end state is not that of the calm run: what it is there changed at "/0": 1 became 2`, ""},
		{"another answer", DelayChangesNothing("x", high, nil), delay, []int{1}, []int{1}, "I gave up waiting for it", nil,
			"like the calm run, at least 0.75 is expected", ""},
		{"similar enough", DelayChangesNothing("x", high, &TwinOptions{Threshold: &zero}), delay, []int{1}, []int{1}, "no", nil, "", ""},
		{"no similarity", DelayChangesNothing("x", high, &TwinOptions{Similarity: func(context.Context, string, string) (float64, error) {
			return 0, failing
		}}), delay, []int{1}, []int{1}, "no", nil, "", "the similarity to the calm run could not be had: no model"},
		{"an error", DelayChangesNothing("x", high, nil), delay, []int{1}, []int{1}, "", context.DeadlineExceeded,
			"the agent failed, and did not in the calm run: context deadline exceeded", ""},
		{"the part is not", DelayChangesNothing("x", high, first), delay, []int{1, 2}, []int{5, 2}, "It is open.", nil, "1 became 5", ""},
		{"a retry with a new idempotency key", RetryChangesNothing("x", high, nil), retry, []int{1}, []int{2}, "", nil, "1 became 2", ""},
		{"it ended in an error, and the state is right", RetryChangesNothing("x", high, nil), retry, []int{1}, []int{1}, "", failing, "", ""},
		{"the calls show an effect twice, the state does not", RetryChangesNothing("x", high, nil), twice, []int{1}, []int{1}, "", nil, "",
			"the calls show an effect twice, and the state is as in the calm run"},
		{"one that does not", OrderChangesNothing("x", high, nil), reordered, []int{1, 2}, []int{1, 2}, "other words", nil, "", ""},
	} {
		o := contract.Observation{Events: tc.events, Before: []int{0}, After: tc.is, Response: tc.answer, Err: tc.err,
			Tools: []chaos.Tool{{Name: "a", IdempotencyKey: "/key", Effect: chaos.EffectDone}},
			Calm:  &contract.Observation{Before: []int{0}, After: tc.calm, Response: "It is open."}}
		err := tc.inv.Check(t.Context(), &o)
		switch {
		case tc.undecided != "":
			assert.ErrorIs(t, err, contract.ErrUndecided, tc.reason)
			assert.ErrorContains(t, err, tc.undecided, tc.reason)
		case tc.why != "":
			assert.NotErrorIs(t, err, contract.ErrUndecided, tc.reason)
			assert.ErrorContains(t, err, tc.why, tc.reason)
		default:
			assert.NoError(t, err, tc.reason)
		}
	}
}

// TestDelaysAreThoseOfTheCatalogues: the faults of class timing that do not show as an error,
// but for those that change more than the time.
func TestDelaysAreThoseOfTheCatalogues(t *testing.T) {
	more := map[string]string{
		"ignored_cancellation": "the callee works on after its caller gave up",
		"delayed_visibility":   "reads return older values",
	}
	var kinds []string
	for _, r := range slices.Concat(fault.Rows(), chaoshttp.Rows()) {
		if isDelay(r) && more[r.Kind] == "" {
			kinds = append(kinds, r.Kind)
		}
	}
	assert.ElementsMatch(t, delays[:], kinds)
}

func isDelay(r *catalog.Row) bool {
	return r.Class == chaos.ClassTiming && r.Visibility == chaos.Implicit
}

func TestStateChangesOnlyAt(t *testing.T) {
	for _, tc := range []struct {
		reason        string
		paths         []string
		before, after string
		why           string
	}{
		{"nothing changed", []string{"$.a"}, `{"a": 1}`, `{"a": 1}`, ""},
		{"at the place", []string{"$.a"}, `{"a": 1, "b": 1}`, `{"a": 2, "b": 1}`, ""},
		{"it came", []string{"$.a"}, `{}`, `{"a": 1}`, ""},
		{"another one came", []string{"$.a"}, `{}`, `{"b": 1}`, `the state changed at "", which no path allows: null became {"b":1}`},
		{"one element", []string{"$.a[1]"}, `{"a": [1, 2, 3]}`, `{"a": [1, 5, 3]}`, ""},
		{"elements were added", []string{"$.a[*]"}, `{"a": null}`, `{"a": [1]}`, ""},
		{"by a condition", []string{"$.o[?(@.id == 7)].s"}, `{"o": [{"id": 7, "s": "open"}, {"id": 8, "s": "open"}]}`,
			`{"o": [{"id": 7, "s": "paid"}, {"id": 8, "s": "open"}]}`, ""},
		{"at any depth", []string{"$..at"}, `{"at": 1, "x": {"at": 1, "y": 2}}`, `{"at": 2, "x": {"at": 3, "y": 2}}`, ""},
		{"two paths, one within the other", []string{"$.a", "$.a.b"}, `{"a": {"b": 1}, "c": 1}`, `{"a": {"b": 2}, "c": 1}`, ""},
	} {
		o := contract.Observation{Before: json.RawMessage(tc.before), After: json.RawMessage(tc.after)}
		err := StateChangesOnlyAt("x", contract.High, tc.paths...).Check(t.Context(), &o)
		if tc.why == "" {
			assert.NoError(t, err, tc.reason)
		} else {
			assert.ErrorContains(t, err, tc.why, tc.reason)
			assert.NotErrorIs(t, err, contract.ErrUndecided, tc.reason)
		}
	}
	o := contract.Observation{Before: func() {}, After: 1}
	assert.ErrorIs(t, StateChangesOnlyAt("x", contract.High, "$.a").Check(t.Context(), &o), contract.ErrUndecided)
	for path, says := range map[string]string{"": "paths[0]", "a": "paths[0]", "$": "at which everything may change", "$[": "paths[0]"} {
		assert.ErrorContains(t, StateChangesOnlyAt("x", contract.High, path).Err, says)
	}
	assert.ErrorContains(t, StateChangesOnlyAt("x", contract.High).Err, "paths is missing; allowed: at least one")
	assert.ErrorContains(t, SpareChangesNothing("x", contract.High, nil, nil).Err, "targets is missing; allowed: at least one")
}

// TestTwinsOfSeveralPrompts: what an earlier prompt left behind makes a later one undecided,
// and a prompt without a fault holds if it is as in the calm run.
func TestTwinsOfSeveralPrompts(t *testing.T) {
	for _, tc := range []struct {
		reason string
		inv    contract.Invariant
		rule   chaos.Rule
		state  contract.CellState
		why    string
	}{
		{"the fault was made good, the second prompt met none", RetryChangesNothing("x", contract.High, nil),
			chaos.Rule{Target: "orders.get", When: when.Nth(1), Fault: fault.Timeout(time.Second)}, contract.Held, ""},
		{"the fault was made good in the second prompt, the first met none", RetryChangesNothing("x", contract.High, nil),
			chaos.Rule{Target: "orders.get", When: when.Nth(2), Fault: fault.Timeout(time.Second)}, contract.Held, ""},
		{"the refund failed for good", SpareChangesNothing("x", contract.High, []string{"refund"}, nil),
			chaos.Rule{Target: "refund", When: when.Nth(1), Fault: fault.AuthExpired()}, contract.Broken,
			"the end state is not that of the calm run"},
		{"whose loss another invariant may not ask about", DelayChangesNothing("x", contract.High, nil),
			chaos.Rule{Target: "refund", When: when.Nth(1), Fault: fault.AuthExpired()}, contract.NotRun, "was not a delay alone"},
	} {
		w := weak{inv: tc.inv, rule: tc.rule, agent: func(call caller) (string, error) {
			for range 3 {
				if _, err := call("orders.get"); err == nil {
					break
				}
			}
			_, _ = call("refund")
			return "Done.", nil
		}}
		cell := w.over(t, "Refund order 1042.", "And again.").Cells[1]
		assert.Equal(t, tc.state, cell.State, "%s: %s", tc.reason, cell.Why)
		assert.Contains(t, cell.Why, tc.why, tc.reason)
		assert.Positive(t, cell.Delivered, tc.reason)
	}
}
