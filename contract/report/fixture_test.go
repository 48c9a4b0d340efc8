package report_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/scoring"
)

// An outcome changes a cell that held into another.
type outcome func(c *contract.CellReport)

// A madeScenario is a scenario of a made-up report; a calm one has no faults.
type madeScenario struct {
	name string
	calm bool
}

// A madeInvariant is an invariant of a made-up report.
type madeInvariant struct {
	id       string
	severity contract.Severity
	calmOnly bool // it applies in the calm scenario only
}

// build makes a report as the engine would: each cell as outcomes says, under
// its name or, for all trials, under "scenario/invariant".
func build(t require.TestingT, name string, trials int, scenarios []madeScenario, invariants []madeInvariant, outcomes map[string]outcome) *contract.Report {
	r := &contract.Report{Name: name, Seed: 18446744073709551615, Trials: trials}
	rules := make(map[string]bool)
	for _, p := range invariants {
		r.Invariants = append(r.Invariants, p.id)
	}
	for _, w := range scenarios {
		r.Scenarios = append(r.Scenarios, w.name)
		rules[w.name] = !w.calm
		for trial := 1; trial <= trials; trial++ {
			for _, p := range invariants {
				if p.calmOnly && !w.calm {
					continue
				}
				c := held(w, p, trial)
				for _, key := range []string{w.name + "/*", w.name + "/" + p.id, c.Cell.String()} {
					if change := outcomes[key]; change != nil {
						change(&c)
					}
				}
				r.Cells = append(r.Cells, c)
			}
		}
	}
	score(t, r, rules)
	return r
}

func held(w madeScenario, p madeInvariant, trial int) contract.CellReport {
	c := contract.CellReport{
		Cell:     contract.Cell{Scenario: w.name, Invariant: p.id, Trial: trial},
		Severity: p.severity, State: contract.Held,
	}
	if !w.calm {
		c.Delivered = 1
	}
	c.Rerun = "go run ./examples/quickstart -agent fragile -cell " + c.Cell.String()
	return c
}

func score(t require.TestingT, r *contract.Report, rules map[string]bool) {
	cells := make([]scoring.Cell, 0, len(r.Cells))
	at := map[scoring.Cell]int{}
	order := func(a, b contract.Cell) int { // that of the matrix
		return cmp.Or(cmp.Compare(slices.Index(r.Scenarios, a.Scenario), slices.Index(r.Scenarios, b.Scenario)),
			cmp.Compare(a.Trial, b.Trial), cmp.Compare(slices.Index(r.Invariants, a.Invariant), slices.Index(r.Invariants, b.Invariant)))
	}
	slices.SortStableFunc(r.Cells, func(a, b contract.CellReport) int { return order(a.Cell, b.Cell) })
	slices.SortStableFunc(r.Fields, func(a, b contract.Field) int {
		return order(contract.Cell{Scenario: a.Scenario, Invariant: a.Invariant}, contract.Cell{Scenario: b.Scenario, Invariant: b.Invariant})
	})
	r.Counts = nil
	for _, c := range r.Cells {
		cell := scoring.Cell{
			Scenario: c.Cell.Scenario, Invariant: c.Cell.Invariant, Severity: c.Severity, State: c.State,
			Violated: c.Violated, Delivered: min(c.Delivered, 1), HasRules: rules[c.Cell.Scenario],
		}
		cells = append(cells, cell)
		i, seen := at[cell]
		if !seen {
			i = len(r.Counts)
			at[cell], r.Counts = i, append(r.Counts, cell)
		}
		r.Counts[i].Count++
	}
	err := r.Judge()
	if !errors.Is(err, scoring.ErrNoneRan) && !errors.Is(err, scoring.ErrNoDecidedCell) {
		require.NoError(t, err)
	}
	chaosScore(t, r, cells, rules)
}

// chaosScore sets the score of the cells under rules, as the engine does.
func chaosScore(t require.TestingT, r *contract.Report, cells []scoring.Cell, rules map[string]bool) {
	type twin struct {
		invariant string
		trial     int
	}
	calm := map[twin]contract.CellState{}
	for _, c := range r.Cells {
		if !rules[c.Cell.Scenario] {
			calm[twin{c.Cell.Invariant, c.Cell.Trial}] = c.State
		}
	}
	var under []scoring.Cell
	left := map[contract.CellState]int{}
	ruled := false
	for i, c := range r.Cells {
		state := calm[twin{c.Cell.Invariant, c.Cell.Trial}]
		decided := c.State == contract.Held || c.State == contract.Broken
		ruled = ruled || rules[c.Cell.Scenario]
		switch {
		case !rules[c.Cell.Scenario]:
		case decided && (state == contract.Broken || state == contract.Inconclusive):
			left[state]++
		default:
			under = append(under, cells[i])
		}
	}
	if !ruled {
		return
	}
	s, err := scoring.Chaos(under, left[contract.Broken], left[contract.Inconclusive], nil)
	require.NoError(t, err)
	r.Chaos = &s
}

func inconclusive(why string) outcome {
	return func(c *contract.CellReport) { c.State, c.Why = contract.Inconclusive, why }
}

func undelivered(c *contract.CellReport) {
	c.State, c.Delivered, c.Why = contract.Undelivered, 0, "no rule matched a call"
}

func unprovoked(c *contract.CellReport) {
	undelivered(c)
	c.Violated, c.Why = true, "the answer does not name order 1042"
	c.Evidence = seen(c, "Order shipped.")
}

func notRun(c *contract.CellReport) { c.State, c.Delivered = contract.NotRun, 0 }

// broken makes the cell broken, with what the agent answered and the events that led to it.
func broken(why, response string, events ...chaos.Event) outcome {
	return func(c *contract.CellReport) {
		c.State, c.Violated, c.Why = contract.Broken, true, why
		c.Evidence = seen(c, response, events...)
	}
}

func seen(c *contract.CellReport, response string, events ...chaos.Event) *contract.Observation {
	c.Elapsed = 1250 * time.Millisecond
	return &contract.Observation{
		Cell: c.Cell, Prompt: "Refund order 1042 and tell the customer.", Response: response,
		Elapsed: c.Elapsed, Events: append([]chaos.Event{}, events...),
	}
}

// lostReply is a refund that was made while its reply was lost.
func lostReply(call uint64) chaos.Event {
	return chaos.Event{
		Cell: "refund-reply-lost/1", Target: "refund", Key: 9007199254740993, Ordinal: call - 1, Attempt: 1,
		Start: 3 * time.Millisecond, End: 53 * time.Millisecond, Spent: 50 * time.Millisecond, Asked: 50 * time.Millisecond,
		Rule: "refund:lost_reply", Fault: "lost_reply", Outcome: chaos.OutcomeInjected, Delivered: true,
		Effect: chaos.EffectDone, Err: "context deadline exceeded", Args: json.RawMessage(`{"order":1042,"amount":"19.90"}`),
	}
}

// idle is a call whose fault was injected without effect.
func idle(target string) chaos.Event {
	e := plain(target)
	e.Rule, e.Fault, e.Idle, e.Note = target+":null", "null", []string{target + ":null"}, "the result was null already"
	return e
}

// down is a call that a rule failed before it reached the tool.
func down() chaos.Event {
	return chaos.Event{
		Target: "ship", Attempt: 1, Rule: "ship:fail", Fault: "fail", Outcome: chaos.OutcomeInjected, Delivered: true,
		Effect: chaos.EffectNone, Err: "503 service unavailable", Masked: []string{"ship:hang"},
	}
}

// plain is a call that no rule matched.
func plain(target string) chaos.Event {
	return chaos.Event{
		Target: target, Attempt: 1, Outcome: chaos.OutcomeOK, Effect: chaos.EffectNone,
		End: time.Millisecond, Result: json.RawMessage(`{"ok":true}`),
	}
}

// lie is a result that a rule changed on its way, after another delayed it.
func lie(call uint64) chaos.Event {
	return chaos.Event{
		Target: "orders.get", Caller: "agent", Lane: "worker-2", Attempt: 2, Ordinal: call - 1, Rule: "stale-amount", Fault: "scale",
		Also: []string{"slow-orders"}, Outcome: chaos.OutcomeOK, Delivered: true, Effect: chaos.EffectNone,
		Changes: []chaos.Change{{Path: "/amount", Before: json.RawMessage("19.9"), After: json.RawMessage("1990")}},
	}
}

var (
	deskScenarios = []madeScenario{
		{name: "calm", calm: true}, {name: "refund-reply-lost"}, {name: "shipping-down"},
		{name: "orders-flaky"}, {name: "orders-lie"}, {name: "notify-slow"},
	}
	deskInvariants = []madeInvariant{
		{id: "one-refund", severity: contract.Critical}, {id: "no-false-claim", severity: contract.Critical},
		{id: "names-the-order", severity: contract.High}, {id: "answers-in-time", severity: contract.Medium},
		{id: "at-most-12-calls", severity: contract.Low}, {id: "same-as-yesterday", severity: contract.Low, calmOnly: true},
	}
)

// desk is a run of an agent that breaks in several ways.
func desk(t require.TestingT) *contract.Report {
	twice := broken("2 refunds for order 1042, want 1", "Done: I refunded order 1042.", plain("orders.get"), lostReply(1), idle("refund"))
	r := build(t, "order desk", 5, deskScenarios, deskInvariants, map[string]outcome{
		"refund-reply-lost/one-refund/1": twice, "refund-reply-lost/one-refund/2": twice,
		"refund-reply-lost/one-refund/3": twice, "refund-reply-lost/one-refund/5": twice,
		"shipping-down/no-false-claim/2": broken("the answer says \"shipped\"\nand no shipment exists\nfor order 1042", "Your order has shipped! \x1b[2J\u202eevil\u202c "+
			"It will be with you tomorrow before noon, and you will get a message with a number to follow it by as soon as the parcel has left the house. ✓", down()),
		"orders-flaky/names-the-order": unprovoked,
		"orders-lie/answers-in-time/4": broken("it took 61 s, allowed 30 s", "", lie(1), lie(2), lie(3), lie(4), lie(5), lie(6), lie(7)),
		"orders-lie/at-most-12-calls":  inconclusive("the log dropped 3 events, so the calls cannot be counted"),
		"notify-slow/*":                undelivered,
		"notify-slow/names-the-order":  notRun,
	})
	r.Warnings = []string{"Warning: No reset_endpoint configured. Contract matrix cells may share state."}
	r.Dropped, r.Abandoned, r.StateProbed, r.CalmRuns = 3, 1, true, 4
	r.Faults = []contract.FaultCount{{Scenario: "refund-reply-lost", Rule: "lost", Target: "refund", Fault: "lost_reply", Cells: 30, Delivered: 31, Undelivered: 1}}
	r.Cells[2].Elapsed = 1500 * time.Millisecond
	r.Cells[30].LateCalls, r.Cells[30].Abandoned = 2, true
	return r
}

// passed is a small run in which everything held, once.
func passed(t require.TestingT) *contract.Report {
	return build(t, "", 1, deskScenarios[:3], deskInvariants[:3], nil)
}

// starved is a run whose faults reached nothing that the agent uses.
func starved(t testing.TB) *contract.Report {
	r := build(t, "nothing arrives", 2, deskScenarios[1:3], deskInvariants[:2], map[string]outcome{
		"refund-reply-lost/*": undelivered, "shipping-down/*": undelivered,
	})
	r.Faults = []contract.FaultCount{
		{Scenario: "refund-reply-lost", Rule: "lost", Target: "refund", Fault: "lost_reply"},
		{Scenario: "shipping-down", Rule: "ship:replace", Target: "ship", Fault: "replace", Undelivered: 4},
	}
	return r
}

// wide is a run of more invariants than fit side by side.
func wide(t testing.TB) *contract.Report {
	var invariants []madeInvariant
	for i := range 24 {
		invariants = append(invariants, madeInvariant{id: fmt.Sprintf("promise-number-%d-kept", i+1), severity: contract.Severity(i%4 + 1)})
	}
	return build(t, "wide", 3, deskScenarios[:2], invariants, map[string]outcome{
		"refund-reply-lost/promise-number-7-kept/2": broken("it was not kept", "No."),
	})
}

// reports are the runs that every format is shown with.
func reports(t testing.TB) map[string]*contract.Report {
	return map[string]*contract.Report{"desk": desk(t), "passed": passed(t), "starved": starved(t), "wide": wide(t), "explained": explained(t)}
}

// explained is a run with goals and coverage, whose defects were searched for.
func explained(t testing.TB) *contract.Report {
	r := desk(t)
	r.Name = "explained"
	r.Goals = []contract.GoalCount{
		{Goal: "called-refund", Cells: 150, Of: 150},
		{Goal: "recovered-ship", Scenarios: []string{"shipping-down"}, Of: 25},
		{Goal: "answered-shipped", Cells: 3, Of: 150, Failed: "panic: index out of range"},
	}
	r.Coverage = []contract.CoverCount{
		{Target: "mail.send", Uncalled: true},
		{Target: "orders.get", Fault: "scale", Try: 2, Delivered: 7}, {Target: "orders.get", Fault: "scale", Try: 3, Delivered: 1},
		{Target: "orders.list"},
		{Target: "refund", Fault: "lost_reply", Try: 1, Delivered: 31}, {Target: "ship", Fault: "fail", Try: 1, Delivered: 12_000},
	}
	first := contract.Cell{Scenario: "refund-reply-lost", Invariant: "one-refund", Trial: 1}
	second := first
	second.Trial = 2
	r.Defects = []contract.Defect{
		{Sentence: "refund does its work and its reply is lost", Severity: contract.Critical,
			Deliveries: []contract.Delivery{{Rule: "refund:lost_reply", Fault: "lost_reply", Target: "refund", Key: 9007199254740993, Ordinal: 1, Attempt: 1}},
			Breaks: []contract.Break{{ID: "0123abcd", Invariant: "one-refund", Severity: contract.Critical, Why: "2 refunds for order 1042, want 1",
				Cells: []contract.Cell{first, second}, At: []string{"ship"}}},
			Facts: []string{"when it only fails, it holds"}, Rerun: "go run ./examples/quickstart -fewest"},
		{Sentence: "orders.get fails", Severity: contract.Low, Breaks: []contract.Break{{Invariant: "at-most-12-calls", Severity: contract.Low, Why: "13 calls"}},
			Broke: 4, Runs: 24, Rate: &scoring.Interval{Low: .05, High: .38, Level: .95}, Unconfirmed: true, Cut: true, Difference: "call 3: ship for refund"},
	}
	r.SearchRuns, r.SearchElapsed, r.SearchStopped = 101, 2*time.Second, "the budget of time, 2s, was used up"
	r.Repeatable, r.Difference = "no", "call 3: ship for refund"
	key := []contract.CureHabit{{Name: "idempotency-key", Does: "an idempotency key", Tools: []string{"refund"}}}
	r.Defects[0].Cure = &contract.Cure{Habits: key, Held: 2, Cells: 2, Kept: 12, Fewer: 1, Usual: 1,
		Places: []contract.CurePlace{{Scenario: "refund-reply-lost", Invariant: "one-refund", Cells: 2, Held: 2}},
		Cost:   contract.CureCost{Calls: -1, Time: 20 * time.Second}, Calm: contract.CureCost{Calls: .5}}
	r.Defects[1].Cure = &contract.Cure{Why: "no habit here mends it", Held: 4, Cells: 5, Random: true, Cut: true,
		Nearest: []contract.CureHabit{{Name: "bounded-retries", Does: "bounded retries with back-off", Tools: []string{"orders.get"}}}}
	together := *r.Defects[0].Cure
	together.Defects = 1
	r.Cure = &together
	r.CureSearch = &contract.CureSearch{Runs: 120, Elapsed: time.Second, Stopped: "the 120 runs of the budget were made",
		Abstained: []string{"deadline: there are no tools"}}
	return r
}

// A format is one way to write a report, by its file name's ending.
type format struct {
	ending string
	write  func(w io.Writer, r *contract.Report) error
}

// render is what a format writes.
func render(t require.TestingT, f format, r *contract.Report) []byte {
	var b bytes.Buffer
	require.NoError(t, f.write(&b, r))
	return b.Bytes()
}
