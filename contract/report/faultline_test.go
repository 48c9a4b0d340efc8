package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/text"
)

func TestFaultLine(t *testing.T) {
	change := chaos.Change{Path: "/total", Before: json.RawMessage("1"), After: json.RawMessage("100")}
	for _, row := range []struct {
		why  string
		e    chaos.Event
		want string
	}{
		{"a call counts from 1", chaos.Event{Target: "refund", Fault: "fail", Rule: "down", Ordinal: 3}, "refund, call 4: fail (rule down)"},
		{"within its lane", chaos.Event{Target: "t", Fault: "f", Rule: "r", Lane: "b"}, "t, call 1 in lane b: f (rule r)"},
		{"rules that helped are named", chaos.Event{Target: "t", Fault: "f", Rule: "r", Also: []string{"s", "u"}}, "t, call 1: f (rule r, with s, with u)"},
		{"a wait is shown", chaos.Event{Target: "t", Fault: "latency", Rule: "r", Spent: 1500 * time.Millisecond}, "t, call 1: latency (rule r), waited 1.5s"},
		{"so is what the caller got", chaos.Event{Target: "t", Fault: "f", Rule: "r", Err: "timeout", Effect: chaos.EffectUnknown},
			"t, call 1: f (rule r), the caller got: timeout"},
		{"and that the work was done all the same", chaos.Event{Target: "t", Fault: "f", Rule: "r", Err: "timeout", Effect: chaos.EffectDone},
			"t, call 1: f (rule r), the caller got: timeout; the work was done"},
		{"a lie is shown with both values", chaos.Event{Target: "t", Fault: "f", Rule: "r", Changes: []chaos.Change{change}},
			"t, call 1: f (rule r), /total: 1 became 100"},
		{"a whole result has no path", chaos.Event{Target: "t", Fault: "f", Rule: "r", Changes: []chaos.Change{{Before: json.RawMessage("{}"), After: json.RawMessage("null")}}},
			"t, call 1: f (rule r), {} became null"},
		{"many changes are counted", chaos.Event{Target: "t", Fault: "f", Rule: "r", Changes: slices.Repeat([]chaos.Change{change}, 5)},
			"t, call 1: f (rule r), /total: 1 became 100, /total: 1 became 100, /total: 1 became 100, and 2 more changes"},
	} {
		row.e.Delivered = true
		c := &contract.CellReport{Evidence: &contract.Observation{Events: []chaos.Event{row.e}}}
		assert.Equal(t, row.want, rankedFaults(c)[0].text, row.why)
	}
}

func TestFaultsAreThoseThatWereDelivered(t *testing.T) {
	c := &contract.CellReport{Delivered: 1, Evidence: &contract.Observation{Dropped: 2, Events: []chaos.Event{
		{Target: "calm"},
		{Target: "idle", Rule: "r", Fault: "f"},
		{Target: "reached", Rule: "r", Fault: "f", Delivered: true},
	}}}
	b := &group{cell: c}
	assert.Equal(t, []string{"reached, call 1: f (rule r)", "2 events did not fit the log"}, b.faults(100))
}

func TestNotes(t *testing.T) {
	late := []contract.CellReport{{LateCalls: 2}, {}, {LateCalls: 1}}
	for _, row := range []struct {
		why  string
		r    contract.Report
		want string
	}{
		{"a warning", contract.Report{Warnings: []string{"a\nb"}}, "a\nb"},
		{"a part of the matrix", contract.Report{Filtered: true}, "Some cells were left out by a filter: score and verdict are about those that ran."},
		{"a log that was too small", contract.Report{Dropped: 3}, "3 events did not fit the logs of the cells."},
		{"late calls", contract.Report{Cells: late}, "3 late calls came from agents whose cell had ended, in 2 cells; none reached a tool."},
		{"agents left behind", contract.Report{Abandoned: 1}, "User code did not end in 1 cell: its goroutines were left behind."},
		{"shared observations", contract.Report{SharedObservations: true},
			"All invariants of a scenario and trial judged the same observation, to save calls: their outcomes depend on each other."},
		{"the state probe of an older report", contract.Report{StateProbed: true}, "Two calm runs, which are no cells, checked whether the shared world keeps state between cells."},
		{"the state probe", contract.Report{StateProbed: true, CalmRuns: 2}, "Two calm runs, which are no cells, checked whether the shared world keeps state between cells."},
		{"the state probe and more", contract.Report{StateProbed: true, CalmRuns: 3},
			"The agent also ran 3 times without faults: calm runs, which are no cells. Two of them checked whether the shared world keeps state between cells."},
		{"a baseline", contract.Report{CalmRuns: 1}, "The agent also ran once without faults: a calm run, which is no cell."},
		{"several", contract.Report{CalmRuns: 3}, "The agent also ran 3 times without faults: calm runs, which are no cells."},
	} {
		assert.Equal(t, []string{row.want}, notes(&row.r), row.why)
	}
	assert.Empty(t, notes(&contract.Report{}))
}

func TestEveryCellIsInTheGridOnce(t *testing.T) {
	r := &contract.Report{Scenarios: []string{"a"}, Invariants: []string{"i"}}
	states := []contract.CellState{contract.NotRun, contract.Held, contract.Broken, contract.Inconclusive, contract.Undelivered}
	for _, scenario := range []string{"a", "not listed"} {
		for _, state := range states {
			r.Cells = append(r.Cells, contract.CellReport{Cell: contract.Cell{Scenario: scenario, Invariant: "i"}, State: state})
		}
	}
	g := newGrid(r)
	assert.Equal(t, []string{"a", "not listed"}, g.scenarios)
	assert.Equal(t, len(r.Cells), g.used.cells)
	for _, scenario := range g.scenarios {
		assert.Equal(t, len(states), g.at(scenario, "i").cells)
		assert.Equal(t, 4, g.at(scenario, "i").ran())
		assert.Equal(t, "1 broken, 1 inconclusive, 1 undelivered, 1 held, 1 not run", g.at(scenario, "i").words())
	}
	assert.Nil(t, g.at("a", "j"), "an invariant that does not apply")
	assert.Equal(t, []string{"a"}, r.Scenarios, "the report is left alone")
}

func TestUndecidedCellsAreGroupedByTheirReason(t *testing.T) {
	cell := func(invariant string, state contract.CellState, why string) contract.CellReport {
		return contract.CellReport{Cell: contract.Cell{Scenario: "s", Invariant: invariant}, State: state, Why: why}
	}
	r := &contract.Report{Cells: []contract.CellReport{
		cell("i", contract.Inconclusive, "reset failed"), cell("j", contract.Undelivered, ""),
		cell("j", contract.Inconclusive, "reset failed"), cell("j", contract.Inconclusive, ""),
		cell("i", contract.Held, ""), {State: contract.Undelivered, Violated: true},
	}}
	var got []string
	for _, u := range undecided(r, 100) {
		got = append(got, text.Plural(u.cells, "cell")+" "+u.mark.short()+": "+u.reason())
	}
	assert.Equal(t, []string{"2 cells inconclusive: reset failed", "1 cell undelivered: no fault was delivered",
		"1 cell inconclusive: no reason was given"}, got, "what broke without a fault is among the broken")
}

// A reason of many scenarios hides no other.
func TestUndecidedReasonsOfManyScenariosAreOne(t *testing.T) {
	r := &contract.Report{}
	for i := range 9 {
		for trial := range 2 {
			r.Cells = append(r.Cells, contract.CellReport{Cell: contract.Cell{Scenario: fmt.Sprintf("down-%d", i), Invariant: "i", Trial: trial + 1},
				State: contract.Inconclusive, Why: fmt.Sprintf("port %d is closed", i)})
		}
	}
	r.Cells = append(r.Cells, contract.CellReport{Cell: contract.Cell{Scenario: "never", Invariant: "i", Trial: 1}, State: contract.Undelivered, Why: "no call"})
	lines := func(most int) (got []string) {
		for _, u := range undecided(r, most) {
			got = append(got, u.scenarios[0]+u.outcome()+": "+u.reason())
		}
		return got
	}
	assert.Equal(t, []string{"down-0 and 8 other scenarios: 18 cells inconclusive: port 0 is closed", "never: 1 cell undelivered: no call"}, lines(9))
	assert.Len(t, lines(10), 10)
}
