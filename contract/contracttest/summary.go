package contracttest

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/internal/usercode"
	"github.com/shakedown-go/shakedown/scoring"
)

const (
	lineWidth  = 160  // columns of a subtest's line
	maxRepeats = 5    // lines of subtests for one reason
	maxKept    = 1000 // observations that are kept for the end, where the report keeps none
)

// A reason is why cells of an invariant are not held.
type reason struct {
	invariant string
	state     contract.CellState
	why       string
}

// outcomes has what the text at the end needs and the report may not keep.
type outcomes struct {
	keep   contract.KeepPolicy
	mu     sync.Mutex
	lines  map[reason]int        // by reasons without numbers
	failed int                   // cells that fail their subtests
	cells  []contract.CellReport // those that were not held, with KeepCounts
	kept   map[evidenceKey]kept
}

// kept is an observation and the trial that it is of.
type kept struct {
	trial int
	*contract.Observation
}

// An evidenceKey names the cells of which one observation is enough.
type evidenceKey struct {
	scenario string
	reason
}

func reasonOf(c *contract.CellReport) reason { return reason{c.Cell.Invariant, c.State, c.Why} }

func newOutcomes(keep contract.KeepPolicy) *outcomes {
	return &outcomes{keep: keep, lines: make(map[reason]int), kept: make(map[evidenceKey]kept)}
}

// broke counts a broken cell, and whether it fails its subtest. It reports whether
// enough cells gave the same reason before, or one that differs in numbers only: later
// ones have no line, and the text at the end counts them.
func (o *outcomes) broke(c *contract.CellReport, fails bool) (repeated bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if fails {
		o.failed++
	}
	alike := reasonOf(c)
	alike.why = text.WithoutNumbers(alike.why)
	o.lines[alike]++
	return o.lines[alike] > maxRepeats
}

// failures is the number of cells that failed their subtests.
func (o *outcomes) failures() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.failed
}

// collect keeps the report of a cell that was not held, if the policy does not. Of the
// cells of a scenario with the same reason the first trial's observation is kept.
func (o *outcomes) collect(c *contract.CellReport) {
	if o.keep < contract.KeepNone || c.State == contract.Held || c.State == contract.NotRun {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	key := evidenceKey{c.Cell.Scenario, reasonOf(c)}
	before, seen := o.kept[key]
	if c.Evidence != nil && (seen && c.Cell.Trial < before.trial || !seen && len(o.kept) < maxKept) {
		o.kept[key] = kept{c.Cell.Trial, c.Evidence}
	}
	if o.keep == contract.KeepCounts {
		own := *c
		own.Evidence = nil
		o.cells = append(o.cells, own)
	}
}

// shown is the report with the cells and the observations that were collected.
func (o *outcomes) shown(r *contract.Report) *contract.Report {
	if o.keep < contract.KeepNone {
		return r
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	own := *r
	own.Cells = slices.Concat(r.Cells, o.cells)
	if o.keep == contract.KeepCounts {
		inOrder(own.Cells, r)
	}
	for i := range own.Cells {
		c := &own.Cells[i]
		if k := o.kept[evidenceKey{c.Cell.Scenario, reasonOf(c)}]; k.trial == c.Cell.Trial {
			c.Evidence = k.Observation
		}
	}
	return &own
}

// redacted is the report that is shown, without secrets in what is said of cells and in
// what they said.
func (r *runner) redacted(result *contract.Report) *contract.Report {
	own := *r.shown(result)
	own.Warnings = slices.Clone(own.Warnings)
	for i, w := range own.Warnings {
		own.Warnings[i] = r.secrets.Text(w)
	}
	own.Goals = slices.Clone(own.Goals)
	for i := range own.Goals {
		own.Goals[i].Failed = r.secrets.Text(own.Goals[i].Failed)
	}
	own.SearchStopped = r.secrets.Text(own.SearchStopped)
	own.Cells = slices.Clone(own.Cells)
	for i := range own.Cells {
		if c := &own.Cells[i]; c.State != contract.Held || c.Violated {
			c.Why, c.Evidence = r.secrets.Text(c.Why), r.withoutSecrets(c.Evidence)
		}
	}
	return &own
}

// withoutSecrets is a copy of an observation, as far as a text shows it; nil: of none.
func (r *runner) withoutSecrets(o *contract.Observation) *contract.Observation {
	if o == nil {
		return nil
	}
	own := *o
	own.Prompt, own.Response = r.secrets.Text(o.Prompt), r.secrets.Text(o.Response)
	if o.Original != nil {
		original := r.secrets.Text(*o.Original)
		own.Original = &original
	}
	if o.Err != nil {
		own.Err = errors.New(r.secrets.Text(usercode.ErrorText(o.Err)))
	}
	own.Events = slices.Clone(o.Events)
	for i := range own.Events {
		e := &own.Events[i]
		e.Err, e.Note = r.secrets.Text(e.Err), r.secrets.Text(e.Note)
		e.Changes = slices.Clone(e.Changes)
		for k := range e.Changes {
			for _, value := range []*json.RawMessage{&e.Changes[k].Before, &e.Changes[k].After} {
				*value = json.RawMessage(r.secrets.Text(string(*value)))
			}
		}
	}
	return &own
}

// inOrder sorts cells as the matrix has them.
func inOrder(cells []contract.CellReport, r *contract.Report) {
	place := func(names []string) map[string]int {
		at := make(map[string]int, len(names))
		for i, name := range names {
			at[name] = i
		}
		return at
	}
	scenarios, invariants := place(r.Scenarios), place(r.Invariants)
	slices.SortFunc(cells, func(a, b contract.CellReport) int {
		return cmp.Or(cmp.Compare(scenarios[a.Cell.Scenario], scenarios[b.Cell.Scenario]),
			cmp.Compare(a.Cell.Trial, b.Cell.Trial),
			cmp.Compare(invariants[a.Cell.Invariant], invariants[b.Cell.Invariant]))
	})
}

// summary logs the report: what broke and what was not decided, then the table.
func (r *runner) summary(t *testing.T, result *contract.Report) {
	t.Helper()
	if failed := r.failures(); failed > 0 && result.Score.Verdict == scoring.Pass {
		t.Logf("contracttest: %s (see Options.FailOn), although the verdict is PASS: %s",
			text.Plural(failed, "broken cell")+text.Noun(failed, " fails", " fail")+" the test", result.Score.Why)
	}
	var b strings.Builder
	if err := report.Text(&b, r.redacted(result), &report.TextOptions{TableLast: true}); err != nil {
		t.Error(err)
		return
	}
	t.Log("\n" + strings.TrimSpace(b.String()))
}
