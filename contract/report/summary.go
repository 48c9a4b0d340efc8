package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/document"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/scoring"
)

func legendText(g *grid) string {
	s := "delivered: the cells in which a fault reached something the agent uses, of those that ran"
	if g.mixed {
		s = "numbers count trials, a sign alone stands for all of them; " + s
	}
	return s
}

func fact(label, text string) document.Fact { return document.Fact{Label: label, Text: text} }

// facts returns the numbers of a report, in words. They are the same in every format.
func facts(r *contract.Report) []document.Fact {
	s := r.Score
	all := []document.Fact{fact("score", scoreText(s)),
		fact("held", newShare(r, s.Passed, s.Decided, s.Interval).String())}
	for _, v := range s.Severities {
		own := newShare(r, v.Passed, v.Decided, v.Interval)
		own.noun = "" // the line above has it
		f := fact(v.Severity.String(), own.String())
		if rest := v.Total - v.Decided; rest > 0 {
			f.Text += fmt.Sprintf("; %s not decided", text.Number(rest))
		}
		all = append(all, f)
	}
	if every := everyText(r); every != "" {
		all = append(all, fact("in a row", every))
	}
	all = append(all, scores(r)...)
	all = append(all, fact("cells", cellsText(r)), fact("run", runText(r)))
	if len(r.Faults) > 0 {
		all = append(all, fact("faults", faultsText(r.Faults)))
	}
	if len(r.Coverage) > 0 {
		all = append(all, fact("coverage", coverageText(r)))
	}
	if len(r.Goals) > 0 {
		all = append(all, fact("goals", goalsText(r)))
	}
	return all
}

func faultsText(faults []contract.FaultCount) string {
	reached, calls := 0, 0
	for _, f := range faults {
		calls += f.Delivered
		if f.Delivered > 0 {
			reached++
		}
	}
	return fmt.Sprintf("%s of %s delivered, on %s", text.Number(reached), text.Plural(len(faults), "rule"),
		text.Plural(calls, "call"))
}

// undeliveredRules describes the rules that were not delivered. It is empty in a part, which explains it.
func undeliveredRules(r *contract.Report) (all []string) {
	for _, f := range r.Faults {
		if f.Delivered == 0 && !r.IsPart() {
			all = append(all, fmt.Sprintf("Rule %s of scenario %s was not delivered (injected into %s): it tested nothing.",
				f.Rule, f.Scenario, text.Plural(f.Undelivered, "call")))
		}
	}
	return all
}

func title(r *contract.Report) string { return cmp.Or(document.Clean(r.Name), "contract") }

func scoreText(s scoring.ContractScore) string {
	if s.Decided == 0 {
		return "none, because no cell was decided"
	}
	return strconv.FormatFloat(s.Value, 'f', 2, 64) + " of 100, weighted by severity"
}

func intervalText(in scoring.Interval, kind string) string {
	return fmt.Sprintf("%s %% interval %s to %s, %s", strconv.FormatFloat(100*in.Level, 'g', 4, 64), percent(in.Low),
		percent(in.High), kind)
}

func percent(share float64) string { return strconv.FormatFloat(100*share, 'f', 1, 64) + " %" }

func cellsText(r *contract.Report) string {
	s := cellCounts(r)
	inconclusive := "inconclusive"
	if r.Undecided > 0 {
		inconclusive += fmt.Sprintf(" (%s undecided by the check)", text.Number(r.Undecided))
	}
	parts := append([]string{text.Number(s.Decided) + " decided"},
		aboveZero(s.Inconclusive, inconclusive, s.Undelivered, "undelivered", s.NotRun, "not run")...)
	return fmt.Sprintf("%s: %s", text.Number(s.Total), strings.Join(parts, ", "))
}

// cellCounts are the numbers of cells by state, which are those of the score unless that
// counts fields.
func cellCounts(r *contract.Report) scoring.ContractScore {
	if !r.Sequential {
		return r.Score
	}
	var s scoring.ContractScore
	for _, f := range r.Fields {
		s.Passed, s.Decided = s.Passed+f.Held, s.Decided+f.Decided
		s.Inconclusive, s.Undelivered = s.Inconclusive+f.Inconclusive, s.Undelivered+f.Undelivered
		s.NotRun += f.NotRun
	}
	s.Total = s.Decided + s.Inconclusive + s.Undelivered + s.NotRun
	return s
}

func runText(r *contract.Report) string {
	return fmt.Sprintf("%s × %s × %s, seed %d", text.Plural(len(r.Scenarios), "scenario"),
		text.Plural(len(r.Invariants), "invariant"), text.Plural(r.Trials, "trial"), r.Seed)
}

// notes returns what a reader must know before trusting the numbers: what breaks without faults,
// the warnings of the report, then what it counts and how it was made.
func notes(r *contract.Report) []string {
	return slices.Concat(calmBroken(r), r.Warnings, undeliveredRules(r), caveats(r))
}

// caveats are the notes that no other member of the report says as they are.
func caveats(r *contract.Report) (all []string) {
	say := func(is bool, format string, args ...any) {
		if is {
			all = append(all, fmt.Sprintf(format, args...))
		}
	}
	if saved := savedText(r); saved != "" {
		all = append(all, saved)
	}
	say(r.Cancelled, "The run ended before all cells had run: signs and numbers are about those that did.")
	say(r.Filtered, "Some cells were left out by a filter: score and verdict are about those that ran.")
	say(r.Shard.Count > 0, "This is shard %v: score and verdict are about its units alone; a merge of all shards judges the whole.", r.Shard)
	say(r.Dropped > 0, "%s did not fit the logs of the cells.", text.Plural(r.Dropped, "event"))
	calls, cells := late(r)
	say(calls > 0, "%s came from agents whose cell had ended, in %s; none reached a tool.",
		text.Plural(calls, "late call"), text.Plural(cells, "cell"))
	say(r.Abandoned > 0, "User code did not end in %s: its goroutines were left behind.",
		text.Plural(r.Abandoned, "cell"))
	say(r.SharedObservations, "All invariants of a scenario and trial judged the same observation, to save calls: their "+
		"outcomes depend on each other.")
	if note := repeatsNote(r); note != "" {
		all = append(all, note)
	}
	all = append(all, judgeNotes(r)...)
	probed := ""
	if r.StateProbed {
		probed = " Two of them checked whether the shared world keeps state between cells."
	}
	say(r.CalmRuns > 0, "The agent also ran without faults: %s, which %s.%s", text.Plural(r.CalmRuns, "calm run"),
		text.Noun(r.CalmRuns, "is no cell", "are no cells"), probed)
	return all
}

// repeatsNote reports whether the agent was seen to differ, in how many runs that could have shown
// it, and which trials are copies; "" if neither is known.
func repeatsNote(r *contract.Report) string {
	var parts []string
	switch n := r.RepeatedRuns(); {
	case r.Repeatable == "no", r.Repeatable == "" && slices.ContainsFunc(r.Repeats,
		func(c contract.RepeatCount) bool { return c.Groups > 0 && c.Alike == 0 }):
	case n > 0:
		parts = append(parts, fmt.Sprintf("The agent was not seen to differ in %s under faults that repeated an earlier one.",
			text.Plural(n, "run")))
	case r.Repeatable == "yes":
		parts = append(parts, "The agent was not seen to differ in calm runs; none under faults was repeated.")
	}
	copied := 0
	for _, f := range r.Fields {
		copied += oneIf(f.Distinct > 0)
	}
	if copied > 0 {
		parts = append(parts, fmt.Sprintf("In %s of %s some trials are copies, which intervals of fields, promised rates and "+
			"pass^k count once.", text.Number(copied), text.Plural(len(r.Fields), "field")))
	}
	return strings.Join(parts, " ")
}

// calmBroken says what breaks without faults; none: nothing does.
func calmBroken(r *contract.Report) []string {
	var names []string
	promised := decisionsOf(r)
	for i := range r.Cells {
		c := &r.Cells[i]
		if isCalm(c) && promised.kept(c) == "" && !slices.Contains(names, c.Cell.Invariant) {
			names = append(names, c.Cell.Invariant)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("The agent breaks %s without any fault, and faults say little about that: mend that first.",
		strings.Join(names, ", "))}
}

func late(r *contract.Report) (calls, cells int) {
	for i := range r.Cells {
		if n := r.Cells[i].LateCalls; n > 0 {
			calls += n
			cells++
		}
	}
	return calls, cells
}

const (
	maxNoTargets = 20  // names in a fact
	nameInFact   = 60  // columns of a name in a fact
	whyInFact    = 200 // columns of the reason why a goal failed
)

// missedGoals are those that make a verdict inconclusive.
func missedGoals(r *contract.Report) (missed []*contract.GoalCount) {
	for i := range r.Goals {
		if g := &r.Goals[i]; !r.IsPart() && !r.Cancelled && !g.Reached() {
			missed = append(missed, g)
		}
	}
	return missed
}

func goalsText(r *contract.Report) string {
	if r.IsPart() || r.Cancelled {
		return "not judged, because not all cells ran"
	}
	missed := missedGoals(r)
	s := fmt.Sprintf("%d of %s reached", len(r.Goals)-len(missed), text.Plural(len(r.Goals), "goal"))
	var names []string
	for _, g := range missed {
		why := fmt.Sprintf("in none of %s", text.Plural(g.Of, "run"))
		if g.Failed != "" {
			why = "it failed: " + document.Clip(g.Failed, whyInFact)
		}
		names = append(names, fmt.Sprintf("%s (%s)", document.Clip(g.Goal, nameInFact), why))
	}
	if len(names) == 0 {
		return s
	}
	return s + "; not: " + listed(names)
}

func coverageText(r *contract.Report) string {
	targets, kinds := map[string]bool{}, map[string]bool{}
	var spared, uncalled []string
	for _, c := range r.Coverage {
		switch {
		case c.Fault != "":
			targets[c.Target], kinds[c.Fault] = true, true
		case c.Uncalled:
			uncalled = append(uncalled, document.Clip(c.Target, nameInFact))
		default:
			spared = append(spared, document.Clip(c.Target, nameInFact))
		}
	}
	s := fmt.Sprintf("faults of %s on %s", text.Plural(len(kinds), "kind"), text.Plural(len(targets), "target"))
	if len(spared) > 0 {
		s += "; no fault on " + listed(spared)
	}
	if len(uncalled) > 0 {
		s += "; never called: " + listed(uncalled)
	}
	return s
}

func listed(names []string) string {
	if more := len(names) - maxNoTargets; more > 0 {
		names = append(names[:maxNoTargets:maxNoTargets], "and "+strconv.Itoa(more)+" more")
	}
	return strings.Join(names, ", ")
}
