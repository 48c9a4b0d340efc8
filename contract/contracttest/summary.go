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

func (r *runner) summary(t *testing.T, result *contract.Report) {
	t.Helper()
	if failed := int(r.failed.Load()); failed > 0 && (result.Score.Verdict == scoring.Pass || result.Partial()) {
		verdict := result.Score.Verdict.String()
		if result.Partial() {
			verdict = "PARTIAL"
		}
		t.Logf("contracttest: %s (see Options.FailOn), although the verdict is %s: %s",
			text.Plural(failed, "broken cell")+text.Noun(failed, " fails", " fail")+" the test", verdict, result.Score.Why)
	}
	var b strings.Builder
	if err := report.Text(&b, r.redacted(result), &report.TextOptions{TableLast: true}); err != nil {
		t.Error(err)
		return
	}
	t.Log("\n" + strings.TrimSpace(b.String()))
}
