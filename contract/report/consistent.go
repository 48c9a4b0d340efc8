package report

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/scoring"
)

// checkConsistent recomputes the counts, the score and the verdict of a report, and
// returns every contradiction: a report that was edited, or joined from two, must
// not be shown.
//
// If cells were not kept, only the counts remain to compute from. A report without
// counts, which the engine does not write, is judged by its cells. Then a scenario
// has rules if one of its cells or a row of the faults says so, and no scenario
// accepts undelivered faults.
func checkConsistent(r *contract.Report) error {
	p := problems{fields.ListUpTo(maxProblems)}
	p.faults(r)
	if r.Fingerprint != nil {
		p.Add(r.Fingerprint.Check())
	}
	p.scores(r)
	p.coverage(r)
	p.goals(r)
	p.defects(r)
	if r.CalmRuns < 0 {
		p.Wrong("calmRuns", r.CalmRuns, "0 or more")
	}
	counts := r.Counts
	if len(r.Cells) > 0 {
		p.cells(r)
		byScenario := rulesOf(r)
		ours := countCells(r.Cells, byScenario)
		if len(counts) == 0 {
			counts = ours
		} else {
			p.counts(ours, counts)
		}
	}
	if p.Count() > 0 {
		return p.Err()
	}
	p.severities(r.Fields, counts)
	if p.Count() > 0 {
		return p.Err()
	}
	want := *r
	want.Counts, want.Fields = counts, slices.Clone(r.Fields)
	err := want.Judge()
	if _, bad := errors.AsType[*scoring.FieldError](err); bad {
		return fields.Because("counts", fielderror.Found("not to be scored"), err, "")
	}
	p.score(r.Score, want.Score)
	if len(r.Fields) > 0 { // older reports have none
		p.fields(r, &want)
	}
	return p.Err()
}

// problems collects contradictions.
type problems struct{ *fielderror.List }

// cells checks each cell against the lists of the report and the cells before it.
func (p problems) cells(r *contract.Report) {
	scenarios, invariants := setOf(r.Scenarios), setOf(r.Invariants)
	seen := make(map[contract.Cell]bool, len(r.Cells))
	longest := map[place]int{}
	var abandoned, undecided, absorbed, last int
	for i := range r.Cells {
		c := &r.Cells[i]
		at := func(field string) string { return fmt.Sprintf("cells[%d].%s", i, field) }
		if !scenarios[c.Cell.Scenario] {
			p.Wrong(at("cell.scenario"), c.Cell.Scenario, "one of scenarios")
		}
		if !invariants[c.Cell.Invariant] {
			p.Wrong(at("cell.invariant"), c.Cell.Invariant, "one of invariants")
		}
		if c.Cell.Trial < 1 || c.Cell.Trial > r.Trials {
			p.Wrong(at("cell.trial"), c.Cell.Trial, fmt.Sprintf("1 to the %d of trials", r.Trials))
		}
		if seen[c.Cell] {
			p.Wrong(at("cell"), fielderror.Found(clip(c.Cell.String(), 60)+" a second time"), "each cell once")
		}
		seen[c.Cell] = true
		last = max(last, c.Cell.Trial)
		field := place{c.Cell.Scenario, c.Cell.Invariant}
		longest[field] = max(longest[field], c.Cell.Trial)
		if min(int64(c.Elapsed), int64(c.Delivered), int64(c.Undelivered), int64(c.LateCalls)) < 0 {
			p.Wrong(at("elapsedNs, delivered, undelivered and lateCalls"),
				found("%d, %d, %d and %d", c.Elapsed, c.Delivered, c.Undelivered, c.LateCalls), "0 or more")
		}
		if c.Rewritten < 0 || c.Rewritten > c.Delivered {
			p.Wrong(at("rewritten"), c.Rewritten, fmt.Sprintf("0 to the %d of delivered", c.Delivered))
		}
		if c.Violated != (c.State == contract.Broken) && c.State != contract.Undelivered {
			p.Wrong(at("broke"), c.Violated, "true with state broken, true or false with undelivered, else false")
		}
		abandoned += one(c.Abandoned)
		undecided += one(c.Undecided)
		absorbed += one(c.Absorbed)
	}
	p.gaps(longest, len(r.Cells))
	if last < r.Trials && !r.Cancelled && !r.Sequential {
		p.Wrong("trials", r.Trials, fmt.Sprintf("%d, as the cells say", last))
	}
	for _, n := range []struct {
		field     string
		is, cells int
	}{{"abandoned", r.Abandoned, abandoned}, {"undecided", r.Undecided, undecided},
		{"absorbed", r.Absorbed, absorbed}} {
		if n.is != n.cells {
			p.Wrong(n.field, n.is, fmt.Sprintf("the %d cells that say so", n.cells))
		}
	}
}

// mostGaps bounds the trials that are left out before others of their fields: comparisons and
// [Compact] need a byte for each, so a short text could take all memory.
const mostGaps = 10_000_000

// gaps checks the highest trials of the fields against the number of cells.
func (p problems) gaps(longest map[place]int, cells int) {
	gaps := -float64(cells) // a sum of ints could overflow
	for _, n := range longest {
		gaps += float64(n)
	}
	if gaps > mostGaps {
		p.Wrong("cells", found("%.4g trials that are left out before others", gaps),
			fmt.Sprintf("at most %d", mostGaps))
	}
}

// faults checks the rows of the rules against the list of scenarios and each other.
func (p problems) faults(r *contract.Report) {
	scenarios := setOf(r.Scenarios)
	seen := make(map[[2]string]bool, len(r.Faults))
	for i, f := range r.Faults {
		at := func(field string) string { return fmt.Sprintf("faults[%d].%s", i, field) }
		if !scenarios[f.Scenario] {
			p.Wrong(at("scenario"), f.Scenario, "one of scenarios")
		}
		if rule := [2]string{f.Scenario, f.Rule}; seen[rule] {
			p.Wrong(at("rule"), fielderror.Found(clip(f.Rule, 60)+" a second time"), "each rule of a scenario once")
		} else {
			seen[rule] = true
		}
		if min(f.Cells, f.Undelivered) < 0 {
			p.Wrong(at("cells and undelivered"), found("%d and %d", f.Cells, f.Undelivered), "0 or more")
		}
		if f.Delivered < f.Cells || f.Cells == 0 && f.Delivered != 0 {
			p.Wrong(at("delivered"), f.Delivered,
				fmt.Sprintf("a call or more in each of the %d cells, and none elsewhere", f.Cells))
		}
	}
}

// found describes several values in words.
func found(format string, args ...any) fielderror.Found {
	return fielderror.Found(fmt.Sprintf(format, args...))
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}

func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// rulesOf returns for each scenario whether it has rules, and whether it accepts
// undelivered faults.
func rulesOf(r *contract.Report) map[string]scoring.Cell {
	by := make(map[string]scoring.Cell, len(r.Scenarios))
	for _, c := range r.Counts {
		by[c.Scenario] = scoring.Cell{HasRules: c.HasRules, AllowUndelivered: c.AllowUndelivered}
	}
	if len(r.Counts) > 0 {
		return by
	}
	for _, f := range r.Faults {
		by[f.Scenario] = scoring.Cell{HasRules: true}
	}
	for i := range r.Cells {
		if c := &r.Cells[i]; c.Delivered > 0 || c.State == contract.Undelivered {
			by[c.Cell.Scenario] = scoring.Cell{HasRules: true}
		}
	}
	return by
}

// countCells counts equal cells, as the engine does. The counts have the order in
// which their cells first occur.
func countCells(cells []contract.CellReport, byScenario map[string]scoring.Cell) []scoring.Cell {
	var counts []scoring.Cell
	index := make(map[scoring.Cell]int)
	for i := range cells {
		c := &cells[i]
		cell := byScenario[c.Cell.Scenario]
		cell.Scenario, cell.Invariant, cell.Severity = c.Cell.Scenario, c.Cell.Invariant, c.Severity
		cell.State, cell.Violated, cell.Delivered = c.State, c.Violated, min(c.Delivered, 1)
		at, seen := index[cell]
		if !seen {
			at = len(counts)
			index[cell] = at
			counts = append(counts, cell)
		}
		counts[at].Count++
	}
	return counts
}

// counts compares two lists of counts, in any order.
func (p problems) counts(ours, stated []scoring.Cell) {
	left := make(map[scoring.Cell]int, len(ours))
	key := func(c scoring.Cell) (scoring.Cell, int) {
		n := max(c.Count, 1)
		c.Count, c.Delivered = 0, min(c.Delivered, 1)
		return c, n
	}
	for _, c := range ours {
		k, n := key(c)
		left[k] += n
	}
	for i, c := range stated {
		k, n := key(c)
		if left[k] < n {
			p.Wrong(fmt.Sprintf("counts[%d].count", i), n, fmt.Sprintf("the %d cells that it counts", left[k]))
		}
		left[k] -= n
	}
	for _, c := range ours {
		if k, n := key(c); left[k] > 0 {
			p.Wrong("counts",
				found("without %d of %s/%s, %v", left[k], clip(c.Scenario, 60), clip(c.Invariant, 60), c.State),
				fmt.Sprintf("all %d such cells", n))
		}
	}
}

// tolerance is the allowed difference from a number computed here: an older release
// or another processor may round the last digits differently.
const tolerance = 1e-9

// score compares the score with the one computed from the counts. The reason for
// the verdict is text and is not compared.
func (p problems) score(is, want scoring.ContractScore) {
	for _, n := range []struct {
		name     string
		is, want int
	}{
		{"total", is.Total, want.Total}, {"decided", is.Decided, want.Decided}, {"passed", is.Passed, want.Passed},
		{"inconclusive", is.Inconclusive, want.Inconclusive}, {"undelivered", is.Undelivered, want.Undelivered},
		{"notRun", is.NotRun, want.NotRun},
	} {
		if n.is != n.want {
			p.Wrong("score."+n.name, n.is, fmt.Sprintf("%d, as the cells say", n.want))
		}
	}
	if is.Verdict != want.Verdict {
		p.Wrong("score.verdict", is.Verdict, fmt.Sprintf("%v, as the cells say", want.Verdict))
	}
	if math.Abs(is.Value-want.Value) > tolerance {
		p.Wrong("score.value", is.Value, fmt.Sprintf("%v, as the cells say", want.Value))
	}
	p.interval("score.interval", is.Interval, want.Interval)
	if len(is.Severities) != len(want.Severities) {
		p.Wrong("score.severities", found("a list of %d", len(is.Severities)),
			fmt.Sprintf("%d, as the cells say", len(want.Severities)))
		return
	}
	for i, s := range is.Severities {
		w, at := want.Severities[i], fmt.Sprintf("score.severities[%d]", i)
		if s.Severity != w.Severity || s.Passed != w.Passed || s.Decided != w.Decided || s.Total != w.Total {
			p.Wrong(at, found("%v: %d of %d decided, %d in all", s.Severity, s.Passed, s.Decided, s.Total),
				fmt.Sprintf("%v: %d of %d decided, %d in all, as the cells say", w.Severity, w.Passed, w.Decided,
					w.Total))
		}
		p.interval(at+".interval", s.Interval, w.Interval)
	}
}

func (p problems) interval(field string, is, want scoring.Interval) {
	if math.Abs(is.Low-want.Low) > tolerance || math.Abs(is.High-want.High) > tolerance ||
		math.Abs(is.Level-want.Level) > tolerance || is.Clusters != want.Clusters {
		p.Wrong(field, found("%v to %v at %v", is.Low, is.High, is.Level),
			fmt.Sprintf("%v to %v at %v, as the cells say", want.Low, want.High, want.Level))
	}
}
