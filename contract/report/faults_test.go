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

func TestEqualFaultsAreOneLine(t *testing.T) {
	event := func(ordinal uint64, lane, err string) chaos.Event {
		return chaos.Event{Target: "t", Lane: lane, Ordinal: ordinal, Rule: "r", Fault: "f", Delivered: true, Err: err}
	}
	b := &group{cell: &contract.CellReport{Evidence: &contract.Observation{Events: []chaos.Event{
		event(3, "", "down"), event(0, "", "down"), event(1, "", "down"), event(2, "", "slow"), event(4, "b", "down"), event(6, "", "down"), event(2, "", "down"),
	}}}}
	assert.Equal(t, []string{
		"t, calls 1 to 4, 7: f (rule r), the caller got: down", // with the last, so they are first
		"t, call 3: f (rule r), the caller got: slow",
		"t, call 5 in lane b: f (rule r), the caller got: down",
	}, b.faults(maxFaults))
	waits := []chaos.Event{event(0, "", "down"), event(1, "", "down"), event(2, "", "down")}
	waits[0].Spent, waits[1].Spent, waits[2].Spent = 3*time.Second, time.Second, 2*time.Second
	b.cell.Evidence.Events = waits
	assert.Equal(t, []string{"t, calls 1 to 3: f (rule r), waited 1s to 3s, the caller got: down"}, b.faults(maxFaults))
}

func TestNumberedIsShort(t *testing.T) {
	var odd []int
	for i := range 100 {
		odd = append(odd, 2*i+1)
	}
	assert.Equal(t, "1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, … and 88 more", numbered(odd))
	assert.Equal(t, "1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25", numbered(odd[:13]), "one more is as short as the word for it")
	assert.Equal(t, "1, 2, 4 to 6, 8", numbered([]int{1, 2, 4, 5, 6, 8}), "two in a row are not worth a range")
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
		"calm / i (low): broken in 1 of 2 trials (1): x", "down in all 2 trials", "slow",
		"calm / i (low): broken in 1 of 2 trials (2): y",
		"down / j (critical): broken: x",
		"slow / j (critical): broken in all 2 trials: port 80",
	}, show(broken(r, newGrid(r))))
}

// Every delivered call is on exactly one line, and the lines that are shown hide none
// that did work, unless the last line says so.
func TestFaultsCountEveryDeliveredCall(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var events []chaos.Event
		delivered, works := 0, 0
		for i := range rapid.IntRange(0, 60).Draw(t, "events") {
			e := chaos.Event{Target: "t", Ordinal: uint64(i), Fault: "f", Delivered: rapid.Bool().Draw(t, "delivered")}
			e.Rule = rapid.SampledFrom([]string{"", "r", "s"}).Draw(t, "rule")
			e.Err = rapid.SampledFrom([]string{"", "down", "slow", "gone"}).Draw(t, "err")
			e.Effect = rapid.SampledFrom([]chaos.Effect{chaos.EffectNone, chaos.EffectDone}).Draw(t, "effect")
			if e.Rule != "" && e.Delivered {
				delivered++
				works += oneIf(e.Effect == chaos.EffectDone)
			}
			events = append(events, e)
		}
		c := &contract.CellReport{Evidence: &contract.Observation{Events: events, Response: "it is slow"}}
		ranked := rankedFaults(c)
		seen, rest := map[uint64]bool{}, false
		for _, f := range ranked {
			assert.False(t, f.weighty && rest, "a fault that did work is behind one that did not")
			rest = rest || !f.weighty
			for _, n := range f.calls {
				assert.False(t, seen[n], "call %d is on two lines", n)
				seen[n] = true
			}
		}
		assert.Len(t, seen, delivered)
		shown := (&group{cell: c}).faults(maxFaults)
		weighty := slices.IndexFunc(ranked, func(f *rankedFault) bool { return !f.weighty })
		if weighty < 0 {
			weighty = len(ranked)
		}
		assert.GreaterOrEqual(t, len(shown), min(weighty, maxFaults), "of %d that did work", works)
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
