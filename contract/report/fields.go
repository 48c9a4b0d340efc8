package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/document"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/scoring"
	"github.com/shakedown-go/shakedown/scoring/stats"
)

// A share is a share of cells or fields with its interval and the kind of it.
type share struct {
	passed, decided int
	noun            string
	interval        scoring.Interval
	kind            string
}

func newShare(r *contract.Report, passed, decided int, in scoring.Interval) share {
	s := share{passed, decided, "decided cell", in, kindOf(in, "by scenario")}
	if r.Sequential {
		s.noun = "decided field"
	}
	if in.Clusters == 0 && r.SharedObservations {
		s.kind += ", by observation"
	}
	return s
}

// The kinds of intervals besides those by cluster.
const (
	kindExact   = "exact"
	kindAnyTime = "any-time"
)

// kindOf is the kind of the interval of a share: by cluster, if there are several.
func kindOf(in scoring.Interval, byCluster string) string {
	if in.Clusters > 0 {
		return byCluster
	}
	return kindExact
}

// String formats the share and its interval. Cells count alike here; the score weights them.
func (s share) String() string {
	if s.decided == 0 {
		return "none decided"
	}
	of := text.Number(s.decided)
	if s.noun != "" {
		of = text.Plural(s.decided, s.noun)
	}
	line := fmt.Sprintf("%s of %s, %s", text.Number(s.passed), of, percent(float64(s.passed)/float64(s.decided)))
	if s.interval.Level > 0 {
		line += " (" + intervalText(s.interval, s.kind) + ")"
	}
	return line
}

// everyText says how often all of k trials of a field held, for some k; "" where that would
// say nothing, as of copies, or be biased.
func everyText(r *contract.Report) string {
	var tasks []stats.Tally
	least, most := 0, 0
	for _, f := range r.Fields {
		if held, decided := f.Counted(); decided > 0 {
			tasks = append(tasks, stats.Tally{Passed: held, Trials: decided})
			if least == 0 || decided < least {
				least = decided
			}
			most = max(most, decided)
		}
	}
	if r.Sequential || most < 2 {
		return ""
	}
	var parts []string
	kind := ""
	for _, k := range tries(r.Trials) {
		few := 0
		for _, t := range tasks {
			few += oneIf(t.Trials < k)
		}
		if few > 0 {
			parts = append(parts,
				fmt.Sprintf("pass^%d not known, with fewer decided trials in %s", k, text.Plural(few, "field")))
			break
		}
		estimate, err := stats.PassEvery(tasks, k, scoring.Level95)
		if err != nil {
			return ""
		}
		part := fmt.Sprintf("pass^%d %s", k, percent(estimate.Value))
		if in := estimate.Interval; in.Level > 0 {
			part += fmt.Sprintf(" (%s to %s)", percent(in.Low), percent(in.High))
			kind = ", 95 % intervals by field"
		}
		parts = append(parts, part)
	}
	trials := text.Plural(most, "decided trial")
	if least < most {
		trials = text.Number(least) + " to " + trials
	}
	return fmt.Sprintf("%s; the mean over %s of %s each%s", strings.Join(parts, ", "),
		text.Plural(len(tasks), "field"), trials, kind)
}

// tries are how many trials in a row a report tells of: 1, 2, 5, and all that there are.
func tries(trials int) (all []int) {
	for _, k := range []int{1, 2, 5} {
		if k < trials {
			all = append(all, k)
		}
	}
	return append(all, max(trials, 1))
}

// notable are the fields that a list names: promised rates, also those that a budget never
// reached, those that lack trials, and those of which some trials held and some broke. Those
// that need attention come first. A Pass waits for no open rate: one beside it had no
// delivered fault where none had to be.
func notable(r *contract.Report) []contract.Field {
	var all []contract.Field
	for _, f := range r.Fields {
		mixed := f.Held > 0 && f.Held < f.Decided
		ran := f.Decided+f.Undelivered+f.Inconclusive > 0 || r.Sequential && !r.Cancelled && f.NotRun < r.Trials
		counts := f.Standing.Decision != stats.Open || f.Copies || r.Score.Verdict != scoring.Pass
		if ran && f.AtLeast != 0 && counts || mixed || lacks(r, f) {
			all = append(all, f)
		}
	}
	slices.SortStableFunc(all, func(a, b contract.Field) int {
		return cmp.Or(cmp.Compare(urgency(r, a), urgency(r, b)), -cmp.Compare(a.Severity, b.Severity))
	})
	return all
}

const asStated = "within its promise"

// decisions are those on promised rates. Copies have none: they are judged by their cells.
type decisions map[place]*stats.Decision

func decisionsOf(r *contract.Report) decisions {
	all := decisions{}
	for _, f := range r.Fields {
		if f.AtLeast != 0 && !f.Copies {
			all[place{f.Scenario, f.Invariant}] = new(f.Standing.Decision)
		}
	}
	return all
}

// kept says how the rate of a cell is kept; "": there is none, or it was rejected. Some trials of
// one that is kept were to be expected to break.
func (p decisions) kept(c *contract.CellReport) string {
	switch d := p.of(c); {
	case d == nil || *d == stats.Rejected:
		return ""
	case *d == stats.Accepted:
		return asStated
	}
	return asStated + " so far"
}

func (p decisions) of(c *contract.CellReport) *stats.Decision {
	return p[place{c.Cell.Scenario, c.Cell.Invariant}]
}

// lacks reports whether a budget ended before a field was decided.
func lacks(r *contract.Report, f contract.Field) bool {
	return r.Sequential && !r.Cancelled && f.AtLeast == 0 && f.Standing.Decision == stats.Open && f.Standing.Passes > 0
}

func urgency(r *contract.Report, f contract.Field) int {
	switch d := f.Standing.Decision; {
	case f.AtLeast != 0 && d == stats.Rejected, f.Copies && f.Held < f.Decided+f.Unprovoked:
		return 0
	case f.Copies:
		return 3
	case f.AtLeast != 0 && d == stats.Open, lacks(r, f):
		return 1
	case f.AtLeast == 0:
		return 2
	}
	return 3
}

func markOfField(r *contract.Report, f contract.Field) mark {
	return []mark{markBroken, markInconclusive, markBroken, markHeld}[urgency(r, f)]
}

func placeText(f contract.Field) string {
	return fmt.Sprintf("%s / %s (%v)", document.Clip(f.Scenario, 60), document.Clip(f.Invariant, 60), f.Severity)
}

func stands(f contract.Field) string {
	return strings.TrimPrefix(f.String(), f.Scenario+" / "+f.Invariant+": ")
}

func standsText(r *contract.Report, f contract.Field) string {
	s := stands(f)
	if f.Interval.Level == 0 {
		return s
	}
	kind := kindExact
	if r.Sequential {
		kind = kindAnyTime
	}
	return s + " (" + intervalText(f.Interval, kind) + ")"
}

// savedText says how many cells a run saved; "" if it was not sequential.
func savedText(r *contract.Report) string {
	if !r.Sequential {
		return ""
	}
	return fmt.Sprintf("Fields took trials until they were decided: %s not needed and not run. The score counts fields.",
		text.Plural(r.Saved, "cell")+text.Noun(r.Saved, " was", " were"))
}
