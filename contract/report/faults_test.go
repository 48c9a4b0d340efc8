package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
)

// reads are faults on n calls whose errors all differ, so that each has its line.
func reads(n int) (events []chaos.Event) {
	for i := range n {
		events = append(events, chaos.Event{Target: "read", Ordinal: uint64(i), Rule: "r", Fault: "f", Delivered: true, Err: fmt.Sprintf("read failed, %c", 'a'+i)})
	}
	return events
}

func TestFaultsThatDidWorkAndTheLastAreFirst(t *testing.T) {
	lost := chaos.Event{Target: "refund", Rule: "r", Fault: "lost", Delivered: true, Effect: chaos.EffectDone, Err: "timeout"}
	for _, row := range []struct {
		why    string
		events []chaos.Event
		want   []string
	}{
		{"one whose call did its work, and the last", append(reads(12), lost, reads(13)[12]), []string{
			"refund, call 1: lost", "read, call 13", "read, call 1:", "read, call 2:", "read, call 3:", "read, call 4:", "read, call 5:", "read, call 6:",
			"… and 6 more"}},
		{"all of them did work", works(8), []string{
			"w, call 1:", "w, call 2:", "w, call 3:", "w, call 4:", "w, call 5:", "w, call 6:", "w, call 7:", "w, call 8:"}},
	} {
		got := (&group{cell: &contract.CellReport{Evidence: &contract.Observation{Events: row.events}}}).faults(maxFaults)
		if assert.Len(t, got, len(row.want), "%s: %q", row.why, got) {
			for i, want := range row.want {
				assert.Contains(t, got[i], want, row.why)
			}
		}
	}
}

// works are faults on n calls that did their work, each of another kind.
func works(n int) (events []chaos.Event) {
	for i := range n {
		events = append(events, chaos.Event{Target: "w", Ordinal: uint64(i), Rule: "r", Fault: fmt.Sprint("f", i), Delivered: true, Effect: chaos.EffectDone})
	}
	return events
}

// What is shown of the groups does not depend on the order in which trials are listed.
func TestGroupsOfAnInvariantAndAReason(t *testing.T) {
	cell := func(scenario, invariant string, trial, delivered int, severity contract.Severity, why string) contract.CellReport {
		return contract.CellReport{Cell: contract.Cell{Scenario: scenario, Invariant: invariant, Trial: trial}, Severity: severity,
			State: contract.Broken, Violated: true, Delivered: delivered, Why: why, Evidence: &contract.Observation{}}
	}
	r := &contract.Report{Scenarios: []string{"down", "calm", "slow"}, Invariants: []string{"i", "j"}, Cells: []contract.CellReport{
		cell("down", "i", 1, 1, contract.Low, "x"), cell("down", "j", 1, 1, contract.Critical, "x"), cell("down", "i", 2, 1, contract.Low, "x"),
		cell("calm", "i", 1, 0, contract.Low, "x"), cell("calm", "i", 2, 0, contract.Low, "y"),
		cell("slow", "i", 2, 1, contract.Low, "x"), cell("slow", "j", 2, 1, contract.Critical, "port 80"), cell("slow", "j", 1, 1, contract.Critical, "port 8080"),
	}}
	show := func(groups []*group) (lines []string) {
		for _, b := range groups {
			item := itemOf(b, 0)
			lines = append(lines, strings.Join(item.Names, " / ")+item.Text+": "+b.why())
			lines = append(lines, b.also()...)
		}
		return lines
	}
	assert.Equal(t, []string{
		"calm / i (low): broken in 1 of 2 trials: x", "down in all 2 trials", "slow",
		"calm / i (low): broken in 1 of 2 trials: y",
		"down / j (critical): broken: x",
		"slow / j (critical): broken in all 2 trials: port 80",
	}, show(broken(r, newGrid(r))))
}

// Every delivered call has a line, and those whose work was done come before all others but the last call's.
func TestFaultsCountEveryDeliveredCall(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var events []chaos.Event
		var done, delivered []string
		for i := range rapid.IntRange(0, 60).Draw(t, "events") {
			e := chaos.Event{Target: "t", Ordinal: uint64(i), Fault: "f", Delivered: rapid.Bool().Draw(t, "delivered")}
			e.Rule = rapid.SampledFrom([]string{"", "r", "s"}).Draw(t, "rule")
			e.Effect = rapid.SampledFrom([]chaos.Effect{chaos.EffectNone, chaos.EffectDone}).Draw(t, "effect")
			if e.Rule != "" && e.Delivered {
				delivered = append(delivered, faultLine(&e))
				if e.Effect == chaos.EffectDone {
					done = append(done, faultLine(&e))
				}
			}
			events = append(events, e)
		}
		o := &contract.Observation{Events: events}
		lines := faultLines(o)
		assert.ElementsMatch(t, delivered, lines)
		assert.Equal(t, append([]string{}, done...), append([]string{}, lines[:len(done)]...))
		shown := (&group{cell: &contract.CellReport{Evidence: o}}).faults(maxFaults)
		assert.Len(t, shown, max(1, min(len(lines), maxFaults+1)))
	})
}

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
		assert.Equal(t, row.want, faultLine(&row.e), row.why)
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
		{"a run that broke something and was cancelled: its verdict says nothing of that", contract.Report{Cancelled: true},
			"The run ended before all cells had run: signs and numbers are about those that did."},
		{"a part of the matrix", contract.Report{Filtered: true}, "Some cells were left out by a filter: score and verdict are about those that ran."},
		{"a log that was too small", contract.Report{Dropped: 3}, "3 events did not fit the logs of the cells."},
		{"late calls", contract.Report{Cells: late}, "3 late calls came from agents whose cell had ended, in 2 cells; none reached a tool."},
		{"agents left behind", contract.Report{Abandoned: 1}, "User code did not end in 1 cell: its goroutines were left behind."},
		{"shared observations", contract.Report{SharedObservations: true},
			"All invariants of a scenario and trial judged the same observation, to save calls: their outcomes depend on each other."},
		{"the state probe and more", contract.Report{StateProbed: true, CalmRuns: 3},
			"The agent also ran without faults: 3 calm runs, which are no cells. Two of them checked whether the shared world keeps state between cells."},
		{"a baseline", contract.Report{CalmRuns: 1}, "The agent also ran without faults: 1 calm run, which is no cell."},
	} {
		assert.Equal(t, []string{row.want}, notes(&row.r), row.why)
	}
	assert.Empty(t, notes(&contract.Report{}))
}

func TestEveryCellIsInTheGridOnce(t *testing.T) {
	r := &contract.Report{Scenarios: []string{"a"}, Invariants: []string{"i"}}
	states := []contract.CellState{contract.NotRun, contract.Held, contract.Broken, contract.Inconclusive, contract.Undelivered}
	for _, state := range states {
		r.Cells = append(r.Cells, contract.CellReport{Cell: contract.Cell{Scenario: "a", Invariant: "i"}, State: state})
	}
	g := newGrid(r)
	assert.Equal(t, len(r.Cells), g.used.cells)
	f := g.fields[place{"a", "i"}]
	assert.Equal(t, len(states), f.cells)
	assert.Equal(t, 4, f.ran())
	assert.Equal(t, "1 broken, 1 inconclusive, 1 undelivered, 1 held, 1 not run", f.words())
	assert.Nil(t, g.fields[place{"a", "j"}], "an invariant that does not apply")
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
	for _, u := range undecided(r) {
		got = append(got, u.outcome())
	}
	assert.Equal(t, []string{": 2 cells inconclusive: reset failed", ": 1 cell undelivered: no fault was delivered",
		": 1 cell inconclusive: no reason was given"}, got, "what broke without a fault is among the broken")
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
	var got []string
	for _, u := range undecided(r) {
		got = append(got, u.scenarios()[0]+u.outcome())
	}
	assert.Equal(t, []string{"down-0 and 8 other scenarios: 18 cells inconclusive: port 0 is closed", "never: 1 cell undelivered: no call"}, got)
}
