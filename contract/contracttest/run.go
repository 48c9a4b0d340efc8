package contracttest

import (
	"cmp"
	"errors"
	"sync"
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
	// Reports is a folder for the report in every format; see [Run]. "": that of
	// the environment variable SHAKEDOWN_REPORTS, else that of t.ArtifactDir if go
	// test runs with -artifacts, else none.
	Reports string
}

// Run runs the matrix, each cell as a subtest of t, and returns the report.
//
// A cell whose invariant broke fails its subtest, unless the invariant's severity
// is below FailOn. A cell in which no fault was delivered, or that is
// inconclusive, is skipped with the reason. If the verdict is inconclusive, t
// itself fails. If the matrix is not valid, Run fails t and stops it.
//
// A failing subtest has the reason in one line, or none if five others of the
// invariant had the same, but for numbers in it. At the end Run logs the report, as [report.Text] does with
// TableLast: a block for each reason with the evidence of one cell, the reasons of
// undecided cells, and the table with the verdict.
//
// If [Options].Reports, SHAKEDOWN_REPORTS or -artifacts asks for it, Run also writes
// the report to files as [report.Files] does. In Reports and SHAKEDOWN_REPORTS their
// folder is the import path of the test's package, its name, and the name of the
// matrix if it has one. A test that runs several matrices gives each a name of
// its own; of two with one name the later one's files stay. A relative path is
// relative to the folder of the package. If the files cannot be written, t fails.
//
// Run must be called from the goroutine of t.
func Run(t *testing.T, m *contract.Matrix, o *Options) *contract.Report {
	t.Helper()
	o = cmp.Or(o, &Options{})
	pkg := testedPackage()
	r := &runner{o: o, virtual: m != nil && m.NewWorld != nil && !o.RealTime, rerun: rerunLine(t.Name(), pkg),
		outcomes: newOutcomes(o.Keep)}
	result, err := r.matrix(m).Run(t.Context(), &contract.RunOptions{
		Workers: o.Workers, Keep: o.Keep, AllowInconclusive: o.AllowInconclusive, Watchdog: o.Watchdog,
		Harness: contract.Harness{
			Around: func(c contract.Cell, run func(contract.Bubble) *contract.CellReport) { r.cell(t, c, run) },
			Calm:   r.bubble(t),
			Rerun:  r.rerun,
		},
	})
	switch {
	case errors.Is(err, scoring.ErrNoneRan):
		t.Errorf("contracttest: no cell of the matrix was selected (-run, -skip); nothing was tested")
		return result
	case result != nil && result.Score.Verdict == scoring.Inconclusive:
		t.Errorf("contracttest: the verdict is %v: %s", result.Score.Verdict, result.Score.Why)
	}
	if result != nil {
		r.summary(t, result)
		r.files(t, pkg, result)
	}
	if err != nil {
		t.Fatalf("contracttest: the matrix did not run: %v", err)
	}
	return result
}

type runner struct {
	o       *Options
	virtual bool
	rerun   func(contract.Cell) string
	primed  sync.Once
	*outcomes
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
		r.collect(result)
		switch {
		case result.Violated:
			r.tell(t, result)
		case result.State == contract.Undelivered, result.State == contract.Inconclusive:
			t.Skipf("%v: %s", result.State, result.Why)
		}
	})
}

// tell logs why a cell broke, and fails its subtest if it is severe enough.
func (r *runner) tell(t *testing.T, c *contract.CellReport) {
	fails := c.Severity >= r.o.FailOn
	if !r.broke(c, fails) {
		t.Log(report.Line(c, lineWidth))
	}
	if fails {
		t.Fail()
	}
}

func (r *runner) bubble(t *testing.T) contract.Bubble {
	if !r.virtual {
		return nil
	}
	r.primed.Do(func() { prime(t.Context()) })
	return bubble(t)
}
