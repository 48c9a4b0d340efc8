package contracttest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/search"
	"github.com/shakedown-go/shakedown/internal/redact"
	"github.com/shakedown-go/shakedown/scoring"
)

// sweepRuns is the budget of Sweep where none is set, in virtual time.
const sweepRuns = 2000

// SweepOptions are the settings of [Sweep]; nil and the zero value work.
type SweepOptions struct {
	_ struct{}
	// FailOn is the least severity at which a defect fails its subtest; a less severe one is
	// logged. 0: every severity.
	FailOn contract.Severity
	// RealTime makes the runs without virtual time, for agents that do real I/O. Runs in a
	// shared world are in real time anyway.
	RealTime bool
	// Search has the budget, the faults and the rest. Without a budget it is 2,000 runs, but
	// in real time it must be set: runs cost time there, and perhaps money. Dir is as in
	// [Options]: "" is testdata/shakedown and the name of the test, "-" that nothing is kept.
	Search search.Options
}

// Sweep looks for faults that break the agent, as [search.Sweep] does, without any
// scenario. Each defect is a subtest that fails, also one that did not break again. At the end
// Sweep logs what was tried and what was not. t itself fails if the sweep was stopped early,
// unless a budget of the caller's stopped it, if no fault was delivered at all, and if no run
// decided some invariant. If the sweep cannot be made, Sweep fails t and stops it.
//
// Sweep keeps each defect and runs the kept ones first, as [Run] does. If -run selects kept
// defects alone, nothing is swept. It must be called from the goroutine of t.
func Sweep(t *testing.T, m *contract.Matrix, o *SweepOptions) *search.Swept {
	t.Helper()
	own := *cmp.Or(o, &SweepOptions{})
	given := searching(t, m, &own.Search, own.RealTime)
	own.Search.Dir = dirOf(t, own.Search.Dir)
	old := keptDefects{dir: own.Search.Dir, spec: own.Search.Spec, run: own.Search.Run, failOn: own.FailOn,
		secrets: redact.New(own.Search.Secrets, redact.Patterns)}
	kept := old.test(t, m)
	if onlyKept(t) {
		if !kept {
			t.Errorf("contracttest: no kept defect was selected (-run, -skip); nothing was tested")
		}
		return &search.Swept{Stopped: "-run selects kept defects alone"}
	}
	swept, err := search.Sweep(t.Context(), m, &own.Search)
	if err != nil {
		t.Fatalf("contracttest: the sweep was not made: %v", err)
	}
	for i := range swept.Defects {
		testDefect(t, &swept.Defects[i], own.FailOn)
	}
	t.Logf("\n%v", swept)
	if swept.Stopped != "" && !given {
		t.Errorf("contracttest: the sweep is not complete: %s; set Search.Budget to more, or to as much as is enough",
			swept.Stopped)
	}
	if why := vacuous(swept); why != "" {
		t.Errorf("contracttest: the sweep shows nothing: %s", why)
	}
	return swept
}

func testDefect(t *testing.T, d *contract.Defect, failOn contract.Severity) {
	test, pkg := t.Name(), testedPackage()
	t.Run(d.Sentence, func(t *testing.T) {
		for _, b := range d.Breaks {
			where := ""
			if len(b.At) > 0 {
				where = " at " + strings.Join(b.At, ", ")
			}
			t.Logf("breaks %s (%v)%s: %s", b.Invariant, b.Severity, where, b.Why)
			if b.ID != "" {
				t.Logf("rerun  %s", testLine(test+"/"+keptTest+"/"+b.ID, pkg))
			}
		}
		if d.Unconfirmed {
			t.Logf("unconfirmed: it broke in %d of %d runs more", d.Broke, d.Runs)
		}
		if d.Difference != "" {
			t.Logf("it did not break again: %s", d.Difference)
		}
		if d.Severity >= failOn { // it broke, if only once
			t.Fail()
		}
	})
}

// vacuous says why a sweep that was not stopped shows nothing of some invariant; "": it
// shows something.
func vacuous(s *search.Swept) string {
	tried := 0
	for i := range s.Levels {
		tried += s.Levels[i].Alone + s.Levels[i].Together
	}
	if tried == 0 && s.Stopped == "" && len(s.Defects) == 0 {
		return "nothing was tried: no fault was delivered on any call of the agent"
	}
	var open []string
	for _, c := range s.Invariants {
		if c.Runs > 0 && c.Undecided == c.Runs {
			open = append(open, c.Invariant)
		}
	}
	if len(open) > 0 {
		return "no run decided " + strings.Join(open, ", ")
	}
	return ""
}

// AssertRepeatable fails the test if two runs of the agent without faults differ, for any
// prompt list of the matrix, and names the first difference. Of the options RealTime, Workers,
// Watchdog and Secrets matter. It must be called from the goroutine of t.
func AssertRepeatable(t *testing.T, m *contract.Matrix, o *Options, msgAndArgs ...any) bool {
	t.Helper()
	o = cmp.Or(o, &Options{})
	own := &search.Options{Secrets: o.Secrets, Run: contract.RunOptions{Workers: o.Workers, Watchdog: o.Watchdog}}
	searching(t, m, own, o.RealTime)
	own.Budget = search.Budget{}
	d, err := search.Repeat(t.Context(), m, own)
	switch {
	case err != nil:
		return assert.Fail(t, "whether the agent is repeatable is not known: "+err.Error(), msgAndArgs...)
	case d != nil:
		return assert.Fail(t, "two runs without faults differ: "+d.String(), msgAndArgs...)
	}
	return true
}

// searching has the runs of a search be in virtual time where they can, with a budget there. It
// reports whether the budget is the caller's.
func searching(t *testing.T, m *contract.Matrix, o *search.Options, realTime bool) (given bool) {
	given = o.Budget.Set()
	o.Run.Harness.Deadline = deadline(t)
	if m != nil && m.NewWorld != nil && !realTime {
		prime(t.Context())
		o.Run.Harness.Calm = bubble(t)
		if !given {
			o.Budget.Runs = sweepRuns
		}
	}
	return given
}

// repeat notes in the report whether the agent was seen to differ. It makes two calm runs of each
// prompt list, in virtual time, and runs cells again that met faults: of each scenario, so that
// some runs met the same, and trials that chance may have decided.
func (r *runner) repeat(t *testing.T, m *contract.Matrix, result *contract.Report) {
	t.Helper()
	if m.NewWorld == nil || len(r.virtual) < len(m.Scenarios) || result.Filtered || result.Cancelled {
		return
	}
	o := &search.Options{Run: r.runOptions(t), Secrets: r.o.Secrets}
	runs := 0
	o.OnProgress = func(p search.Progress) { runs = p.Runs }
	if !r.affords(o, result) {
		return
	}
	d, err := search.Repeat(t.Context(), m, o)
	result.CalmRuns += runs
	switch {
	case err != nil: // not tried: such as a matrix whose prompts are those of its scenarios
		return
	case d != nil:
		result.Repeatable, result.Difference = "no", d.String()
		return
	}
	if f := unlike(m, result); f != nil {
		result.Repeatable = "no"
		result.Difference = fmt.Sprintf("the trials of %s/%s, which has no faults: %d of %d held",
			f.Scenario, f.Invariant, f.Held, f.Decided)
		return
	}
	for _, c := range result.Repeats {
		if c.Differ != "" {
			result.Repeatable, result.Difference = "no", c.Differ
			return
		}
	}
	delivered := slices.ContainsFunc(result.Faults, func(f contract.FaultCount) bool { return f.Delivered > 0 })
	switch result.Difference, err = r.again(t, m, result); {
	case err != nil:
	case result.Difference != "":
		result.Repeatable = "no"
		_ = result.Judge() // trials that were taken for copies count; what it says of no decided cell is known
	case !delivered || result.RepeatedRuns() > 0:
		result.Repeatable = "yes"
	}
}

// affords gives o what is left of the run's budget, and reports whether that is anything.
func (r *runner) affords(o *search.Options, result *contract.Report) bool {
	b := r.o.Budget
	if b.Trials > 0 {
		o.Budget.Runs = b.Trials - (result.Score.Total - result.Score.NotRun) - result.CalmRuns
	}
	if b.Time > 0 {
		o.Budget.Time = b.Time - time.Since(r.begun)
	}
	if b.Cost > 0 {
		o.Budget.Cost = b.Cost - r.spent
		for _, j := range result.Judges {
			o.Budget.Cost -= j.Cost
		}
		o.Cost = func(run *contract.Result) float64 { return b.CostOf(&run.Cells[0]) }
	}
	return (b.Trials == 0 || o.Budget.Runs > 0) && (b.Time == 0 || o.Budget.Time > 0) &&
		(b.Cost == 0 || o.Budget.Cost > 0)
}

// unlike is a field without faults of which some trials held and some broke: whatever two
// runs looked like, such an agent is not repeatable. nil: there is none.
func unlike(m *contract.Matrix, r *contract.Report) *contract.Field {
	calm := map[string]bool{}
	for _, s := range m.Scenarios {
		calm[s.Name] = len(s.Rules) == 0
	}
	for i := range r.Fields {
		if f := &r.Fields[i]; calm[f.Scenario] && mixed(f) {
			return f
		}
	}
	return nil
}

func mixed(f *contract.Field) bool { return f.Held > 0 && f.Held < f.Decided }

// mostAgain is how many trials of a field are run again. Where chance alone decides each with
// one half, so many come out as before once in 256 times. So many runs of a scenario that met
// the same are enough to compare reports of a thousand fields: see [compare.Repeats].
const mostAgain = 8

// again runs cells under faults again, with the same faults: one of each scenario, until so many
// runs met the same, and of a field of which some trials held and some broke those that are
// fewer, which chance repeats least. It returns the
// first that came out otherwise. What a judge ruled is left out, since it costs.
func (r *runner) again(t *testing.T, m *contract.Matrix, result *contract.Report) (differs string, err error) {
	own, o := *m, r.runOptions(t)
	own.Invariants = slices.DeleteFunc(slices.Clone(m.Invariants), func(i contract.Invariant) bool {
		return slices.ContainsFunc(result.Judges, func(s scoring.JudgeScore) bool { return s.Invariant == i.Name })
	})
	if len(own.Invariants) == 0 {
		return "", nil
	}
	runs, err := own.Runner(t.Context(), &o)
	if err != nil {
		return "", err
	}
	defer runs.Close()
	cells := slices.DeleteFunc(slices.Clone(result.Cells), func(c contract.CellReport) bool {
		return !slices.ContainsFunc(own.Invariants,
			func(i contract.Invariant) bool { return i.Name == c.Cell.Invariant })
	})
	for i := range result.Repeats {
		n := &result.Repeats[i]
		first := slices.IndexFunc(cells, func(c contract.CellReport) bool {
			return c.Cell.Scenario == n.Scenario && c.Delivered > 0 &&
				(c.State == contract.Held || c.State == contract.Broken)
		})
		most := mostAgain - n.Alike
		switch {
		case first < 0:
			most = 0
		case n.Groups > 1: // further runs of one add nothing to the fewest
			most = 1
		}
		for range most {
			if differs, err = cellAgain(t, runs, &cells[first]); err != nil {
				return "", err
			}
			if differs != "" {
				n.Alike, n.Differ = 0, differs
				return differs, nil
			}
			n.Runs++
			if n.Groups == 1 && n.Alike > 0 {
				n.Alike++
			}
		}
	}
	for i := range result.Fields {
		for _, c := range rarer(&result.Fields[i], cells) {
			if differs, err = cellAgain(t, runs, c); differs != "" || err != nil {
				return differs, err
			}
		}
	}
	return "", nil
}

// rarer are the first cells of the rarer outcome of a field whose trials came out both ways.
func rarer(f *contract.Field, cells []contract.CellReport) (all []*contract.CellReport) {
	state := contract.Broken
	if 2*f.Held < f.Decided {
		state = contract.Held
	}
	for i := range cells {
		c := &cells[i]
		if mixed(f) && c.Cell.Scenario == f.Scenario && c.Cell.Invariant == f.Invariant && c.State == state &&
			len(all) < mostAgain {
			all = append(all, c)
		}
	}
	return all
}

// cellAgain runs a cell again and says how it came out otherwise; "": as before, or it was not
// decided.
func cellAgain(t *testing.T, runs *contract.Runner, c *contract.CellReport) (differs string, err error) {
	second, err := runs.Run(t.Context(), c.Cell, runs.Rules(c.Cell.Scenario))
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(second.Cells, func(own contract.CellReport) bool { return own.Cell == c.Cell })
	if i < 0 {
		return "", nil
	}
	now := &second.Cells[i]
	place := fmt.Sprintf("trial %d of %s/%s, run again", c.Cell.Trial, c.Cell.Scenario, c.Cell.Invariant)
	switch {
	case now.State != contract.Held && now.State != contract.Broken:
		return "", nil
	case now.State != c.State:
		return fmt.Sprintf("%s: %v, then %v", place, c.State, now.State), nil
	case now.Copy != c.Copy:
		return place + ": under the same faults the agent did not do the same", nil
	}
	return "", nil
}
