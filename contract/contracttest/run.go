package contracttest

import (
	"cmp"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/scoring"
)

// Options are the settings of [Run]; nil and the zero value work.
type Options struct {
	_ struct{}
	// FailOn is the least severity at which a broken invariant fails its
	// subtest; a less severe one is logged. 0: every severity.
	FailOn contract.Severity
	// RealTime runs cells without virtual time, for agents that do real I/O.
	RealTime bool
	// Workers is the number of cells run at once; 0: GOMAXPROCS.
	Workers int
	// AllowUndelivered accepts scenarios in which no fault was delivered.
	AllowUndelivered bool
	// AllowInconclusive is the number of inconclusive cells that are accepted.
	AllowInconclusive int
	// Keep selects the observations that the report retains.
	Keep contract.KeepPolicy
	// Watchdog is the real-time limit of a cell, as in [contract.RunOptions].
	Watchdog time.Duration
}

// Run runs the matrix, each cell as a subtest of t, and returns the report.
//
// A cell whose invariant broke fails its subtest, unless the invariant's severity
// is below FailOn. A cell in which no fault was delivered, or that is
// inconclusive, is skipped with the reason. If the verdict is inconclusive, t
// itself fails. If the matrix is not valid, Run fails t and stops it.
//
// Run must be called from the goroutine of t.
func Run(t *testing.T, m *contract.Matrix, o *Options) *contract.Report {
	t.Helper()
	o = cmp.Or(o, &Options{})
	r := &runner{o: o, virtual: m != nil && m.NewWorld != nil && !o.RealTime, rerun: rerunLine(t.Name(), testedPackage())}
	result, err := r.matrix(m).Run(t.Context(), &contract.RunOptions{
		Workers: o.Workers, Keep: o.Keep, AllowInconclusive: o.AllowInconclusive, Watchdog: o.Watchdog,
		Harness: contract.Harness{
			Around: func(c contract.Cell, run func(contract.Bubble) *contract.CellReport) { r.cell(t, c, run) },
			Calm:   r.bubble(t),
			Rerun:  r.rerun,
		},
	})
	if result != nil {
		for _, w := range result.Warnings {
			t.Log(w)
		}
	}
	switch {
	case errors.Is(err, scoring.ErrNoneRan):
		t.Errorf("contracttest: no cell of the matrix was selected (-run, -skip); nothing was tested")
	case err != nil:
		t.Fatalf("contracttest: the matrix did not run: %v", err)
	case result.Score.Verdict == scoring.Inconclusive:
		t.Errorf("contracttest: the verdict is %v: %s", result.Score.Verdict, result.Score.Why)
	}
	return result
}

type runner struct {
	o       *Options
	virtual bool
	rerun   func(contract.Cell) string
}

// matrix returns m, or a copy with AllowUndelivered in every scenario.
func (r *runner) matrix(m *contract.Matrix) *contract.Matrix {
	if m == nil || !r.o.AllowUndelivered {
		return m
	}
	own := *m
	own.Scenarios = append([]contract.Scenario(nil), m.Scenarios...)
	for i := range own.Scenarios {
		own.Scenarios[i].AllowUndelivered = true
	}
	return &own
}

// cell runs one cell as a subtest.
func (r *runner) cell(t *testing.T, c contract.Cell, run func(contract.Bubble) *contract.CellReport) {
	t.Run(c.String(), func(t *testing.T) {
		result := run(r.bubble(t))
		switch {
		case result.Violated && result.Severity >= r.o.FailOn:
			t.Error(render(result))
		case result.Violated:
			t.Log(render(result))
		case result.State == contract.Undelivered, result.State == contract.Inconclusive:
			t.Skipf("%v: %s", result.State, result.Why)
		}
	})
}

// render formats the cell as a report does.
func render(c *contract.CellReport) string {
	var b strings.Builder
	if err := report.Cell(&b, c, nil); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(b.String())
}

func (r *runner) bubble(t *testing.T) contract.Bubble {
	if !r.virtual {
		return nil
	}
	return bubble(t)
}
