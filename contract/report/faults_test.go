package report

import (
	"errors"
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

func TestFaultsThatMatterAreFirstAndNeverLeftOut(t *testing.T) {
	lost := chaos.Event{Target: "refund", Rule: "r", Fault: "lost", Delivered: true, Effect: chaos.EffectDone, Err: "timeout"}
	for _, row := range []struct {
		why   string
		o     contract.Observation
		cause string
		want  []string
	}{
		{"one whose call did its work, and the last", contract.Observation{Events: append(reads(12), lost, reads(13)[12])}, "two refunds", []string{
			"refund, call 1: lost", "read, call 13", "read, call 1:", "read, call 2:", "read, call 3:", "… and 9 more"}},
		{"the one that the answer quotes", contract.Observation{Events: reads(12), Response: "Sorry: read failed, f."}, "no answer", []string{
			"read, call 6:", "read, call 12:", "read, call 1:", "read, call 2:", "read, call 3:", "… and 7 more"}},
		{"the one that the agent's error quotes", contract.Observation{Events: reads(12), Err: errors.New("agent: read failed, h")}, "no answer", []string{
			"read, call 8:", "read, call 12:", "read, call 1:", "read, call 2:", "read, call 3:", "… and 7 more"}},
		{"the one that the reason quotes, which is the last", contract.Observation{Events: reads(12)}, "the agent failed: read failed, l", []string{
			"read, call 12:", "read, call 1:", "read, call 2:", "read, call 3:", "read, call 4:", "… and 7 more"}},
		{"more than usual, if all of them did work", contract.Observation{Events: works(8)}, "", []string{
			"w, call 1:", "w, call 2:", "w, call 3:", "w, call 4:", "w, call 5:", "w, call 6:", "w, call 7:", "w, call 8:"}},
	} {
		b := &group{cell: &contract.CellReport{Evidence: &row.o, Why: row.cause}}
		got := b.faults(maxFaults)
		if assert.Len(t, got, len(row.want), "%s: %q", row.why, got) {
			for i, want := range row.want {
				assert.Contains(t, got[i], want, row.why)
			}
		}
	}
	b := &group{cell: &contract.CellReport{Evidence: &contract.Observation{Events: append(works(25), reads(3)...)}}}
	got := b.faults(maxFaults)
	assert.Len(t, got, maxWeighty+1)
	assert.Equal(t, "… and 8 more; 6 of them did work", got[maxWeighty], "a bound says what it hides; the last of all is shown")
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
			lines = append(lines, strings.Join(headOf(b).Names, " / ")+headOf(b).Text+": "+b.why())
			lines = append(lines, b.also()...)
		}
		return lines
	}
	assert.Equal(t, []string{
		"calm / i (low): broken in 1 of 2 trials (1): x", "down in all 2 trials", "slow",
		"calm / i (low): broken in 1 of 2 trials (2): y",
		"down / j (critical): broken: x",
		"slow / j (critical): broken in 1 of 2 trials (2): port 80",
		"slow / j (critical): broken in 1 of 2 trials (1): port 8080",
	}, show(broken(r, newGrid(r), 5)))
	assert.Equal(t, []string{
		"slow / j (critical): broken in all 2 trials: port 80\n(the reasons of the others differ in numbers only)",
	}, show(slices.DeleteFunc(broken(r, newGrid(r), 4), func(b *group) bool { return b.cell.Cell.Scenario != "slow" })), "too many to show all")
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
				works += one(e.Effect == chaos.EffectDone)
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
		assert.GreaterOrEqual(t, len(shown), min(weighty, maxWeighty), "of %d that did work", works)
	})
}
