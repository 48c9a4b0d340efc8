package contracttest

import (
	"slices"
	"strings"
	"testing"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/scoring"
)

const (
	lineWidth  = 160 // columns of a subtest's line
	maxRepeats = 5   // lines of subtests for one reason
)

// A reason is why cells of an invariant broke, without its numbers.
type reason struct{ invariant, why string }

// broke counts a broken cell, and whether it fails its subtest. It reports whether
// enough cells gave the same reason before, or one that differs in numbers only: later
// ones have no line, and the text at the end counts them.
func (r *runner) broke(c *contract.CellReport, fails bool) (repeated bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if fails {
		r.failed++
	}
	alike := reason{c.Cell.Invariant, text.WithoutNumbers(c.Why)}
	r.lines[alike]++
	return r.lines[alike] > maxRepeats
}

// redacted is the report that is shown, without secrets in what is said of cells and in
// what they said.
func (r *runner) redacted(result *contract.Report) *contract.Report {
	own := *result
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
			c.Redact(r.secrets.Text)
		}
	}
	return &own
}

// summary logs the report: what broke and what was not decided, then the table.
func (r *runner) summary(t *testing.T, result *contract.Report) {
	t.Helper()
	if failed := r.failed; failed > 0 && result.Score.Verdict == scoring.Pass {
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
