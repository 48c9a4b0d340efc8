package contracttest

import (
	"cmp"
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/planjson"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/habits"
	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/contract/search"
	"github.com/shakedown-go/shakedown/internal/redact"
	"github.com/shakedown-go/shakedown/scoring"
	"github.com/shakedown-go/shakedown/scoring/stats"
)

// Options are the settings of [Run]; nil and the zero value work. Those that [contract.RunOptions] has
// too mean what they mean there.
type Options struct {
	_ struct{}
	// FailOn is the least severity at which a broken invariant fails its subtest. 0: every severity.
	FailOn contract.Severity
	// RealTime runs cells without virtual time, for agents that do real I/O.
	RealTime bool
	// Workers is the number of cells run at once; 0: GOMAXPROCS.
	Workers int
	// Sequential ends each field when it is decided, and Budget limits what that spends:
	// see [contract.RunOptions].
	Sequential bool
	Budget     contract.Budget
	// KeepAll retains the observations of all cells, not only of the broken and inconclusive ones.
	KeepAll bool
	// Watchdog is the real-time limit of a cell; it stays under the deadline of go test (-timeout).
	Watchdog time.Duration
	// Explain bounds what Run spends on finding the defects behind broken cells. nil: as long as
	// SHAKEDOWN_EXPLAIN says; without that 2,000 runs or 2 s where all scenarios run in virtual time,
	// and nothing in real time. A budget that bounds nothing turns it off.
	Explain *search.Budget
	// Cure has Run also look for habits that mend the defects, as [search.Cure] does, for as much time and cost as
	// Explain and three times its runs. Habits are those that it tries, as in [search.Options].
	Cure   bool
	Habits []*habits.Habit
	// Cost returns what a run has cost, as in [search.Options].
	Cost func(*contract.Result) float64
	// Spec decodes and encodes the rules of kept defects. Faults with Go code need it; a
	// defect whose rules cannot be written is reported, and not kept.
	Spec *planjson.Options
	// SaveFailures makes a file of each broken cell, in the folder "sessions" of Dir, such as
	// SaveCell of package contract/replay. It returns the name of the session, its text, and what
	// could not be saved, which is logged. It is called for several cells at once. No file is
	// replaced, and a session that breaks again is not saved again. Values of calls are kept for
	// it, so reports show them too. nil: nothing is saved.
	SaveFailures func(m *contract.Matrix, c *contract.CellReport, secrets []string,
	) (name string, file []byte, err error)
	// Dir is the folder of files that belong to the test, the sessions of SaveFailures and
	// the kept defects; "": testdata/shakedown and the name of the test. "-": nothing is
	// written. Two matrices of a test need two folders, or cells of other names.
	Dir string
	// Secrets are texts that neither the log nor a file of Dir may hold. What looks like a key is
	// redacted without. The report that Run returns, and its files, have all that was said.
	Secrets []string
	// Finish completes the report before it is logged and written, such as judge.Correct; an error fails t.
	Finish func(*contract.Report) error
	// File is the path of the run file; "": that of SHAKEDOWN_FILE, with which -run should select one
	// Run; else none is written. It names the build of SHAKEDOWN_BUILD, else the hash of the executable.
	File string
	// Shard is the share of the units that this Run makes; zero: that of SHAKEDOWN_SHARD, else all. The
	// run file has the shard in its name ([contract.Shard.File]). A shard does not explain. The first
	// one alone runs kept defects, and finds out whether the agent repeats itself.
	Shard contract.Shard
	// Resume is the path of a run file from which Run goes on; "": that of SHAKEDOWN_RESUME, else none.
	// Cells that it has are subtests too.
	Resume string
	// OnRun, OnEvent and OnCell watch the runs of cells; package chaosotel makes spans of them.
	OnRun   func(context.Context, contract.Cell) context.Context
	OnEvent func(context.Context, chaos.Event)
	OnCell  func(*contract.CellReport)
	// Reports is a folder for the report in every format; "": that of SHAKEDOWN_REPORTS, else none.
	Reports string
}

// Run runs the matrix, each cell as a subtest of t, and returns the report.
//
// A cell whose invariant broke fails its subtest, unless its severity is below FailOn. A cell in which no
// fault was delivered, or that is inconclusive, is skipped with the reason. If the verdict is inconclusive,
// t itself fails, unless it is PARTIAL: see [contract.Report.Partial]. A broken trial of a promised rate is
// logged; t fails when the rate was rejected. If the matrix is not valid, Run fails t and stops it.
//
// At the end Run logs the report. For [Options].Reports it also writes it as [report.Files] does, in a
// folder named after the test's package, the test, and the matrix if it has a name.
//
// If cells broke, Run looks for the defects behind them ([Options].Explain), and keeps each as a file in
// the folder "kept" of Dir. A later Run runs the kept defects first, as subtests kept/ID; one whose faults
// no longer reach the agent is skipped.
//
// If all scenarios run in virtual time, Run also finds out whether the agent repeats itself
// ([contract.Report].Repeatable and Repeats). It runs each prompt list twice without faults, as far as
// Budget has room: calm runs, which [contract.Report].CalmRuns counts. It runs a cell of each scenario with
// faults again until eight runs met the same, and up to eight trials of an invariant that held in some and
// broke in others; Budget does not count these. A cell that a judge rules on is not run again.
//
// Run must be called from the goroutine of t.
func Run(t *testing.T, m *contract.Matrix, o *Options) *contract.Report {
	t.Helper()
	o = cmp.Or(o, &Options{})
	pkg := testedPackage()
	r := &runner{o: o, virtual: virtualScenarios(m, o), rates: rates(m),
		saver: newSaver(t, m, o), secrets: redact.New(o.Secrets, redact.Patterns)}
	defer r.saver.end(t, r.secrets)
	old := keptDefects{dir: dirOf(t, o.Dir), spec: o.Spec, run: r.runOptions(t), failOn: o.FailOn, secrets: r.secrets}
	shard, err := shardOf(o, os.Getenv(shardVariable))
	if err != nil {
		t.Fatal(err)
	}
	kept := shard.Index <= 1 && old.test(t, m)
	r.begun = time.Now()
	if cost := o.Budget.CostOf; cost != nil { // one call at a time, for each run
		own := *o
		own.Budget.CostOf = func(c *contract.CellReport) float64 {
			v := cost(c)
			r.spent += v
			return v
		}
		o = &own
	}
	result, err := m.Run(t.Context(), &contract.RunOptions{
		Workers: o.Workers, Keep: o.keep(), Watchdog: o.Watchdog, OnRun: o.OnRun, OnEvent: o.OnEvent, OnCell: o.OnCell,
		Gather: r.saver.gather(), Sequential: o.Sequential, Budget: o.Budget,
		File: shard.File(cmp.Or(o.File, os.Getenv(fileVariable))), Build: os.Getenv(buildVariable),
		Shard: shard, Resume: cmp.Or(o.Resume, os.Getenv(resumeVariable)),
		Harness: contract.Harness{
			Around: func(c contract.Cell, run func(contract.Bubble) *contract.CellReport) { r.cell(t, c, run) },
			Calm:   r.calmBubble(t),
			Rerun:  testLine(t.Name(), pkg, "{scenario}", "{invariant}", "{trial}"), Deadline: deadline(t),
		},
	})
	if result != nil {
		noteOthersShards(result, os.LookupEnv)
	}
	if result != nil && result.Score.Decided > 0 && shard.Index <= 1 {
		// Without a decided cell two runs may be alike because neither did anything.
		r.repeat(t, m, result)
	}
	switch {
	case errors.Is(err, scoring.ErrNoneRan) && kept:
		return result
	case errors.Is(err, scoring.ErrNoneRan):
		t.Errorf("contracttest: no cell of the matrix was selected (-run, -skip); nothing was tested")
		return result
	case result != nil && result.Partial():
		t.Logf("contracttest: PARTIAL: %s", result.Score.Why)
	case result != nil && result.Score.Verdict == scoring.Inconclusive:
		t.Errorf("contracttest: the verdict is %v: %s", result.Score.Verdict, result.Score.Why)
	}
	if result != nil {
		r.rejected(t, result)
		if result.Shard.Count == 0 {
			r.explain(t, m, result)
		}
		if o.Finish != nil {
			if err := o.Finish(result); err != nil {
				t.Errorf("contracttest: Options.Finish: %s", r.secrets.Text(err.Error()))
			}
		}
		r.summary(t, result)
		r.files(t, pkg, result)
	}
	if err != nil {
		t.Fatalf("contracttest: the matrix did not run: %s", r.secrets.Text(err.Error()))
	}
	return result
}

type runner struct {
	o       *Options
	virtual map[string]bool // scenarios whose cells run in virtual time
	rates   map[string]bool // invariants that promise a rate
	begun   time.Time
	spent   float64 // what the runs of the cells have cost, as Budget.CostOf says
	primed  sync.Once
	saver   *saver // nil: broken cells are not saved
	secrets *redact.Redactor
	failed  atomic.Int64 // cells that fail their subtests
}

func (o *Options) keep() contract.KeepPolicy {
	if o.KeepAll {
		return contract.KeepAll
	}
	return contract.KeepBroken
}

func (r *runner) cell(t *testing.T, c contract.Cell, run func(contract.Bubble) *contract.CellReport) {
	t.Run(c.String(), func(t *testing.T) {
		result := run(r.bubble(t, c))
		switch {
		case result.Violated:
			r.tell(t, result)
			r.saver.save(result)
		case result.DoesNotApply:
			t.Skip(r.secrets.Text(result.Why))
		case result.State == contract.Undelivered, result.State == contract.Inconclusive:
			t.Skipf("%v: %s", result.State, r.secrets.Text(result.Why))
		}
	})
}

// tell logs why a cell broke, and fails its subtest if it is severe enough.
func (r *runner) tell(t *testing.T, c *contract.CellReport) {
	fails := c.Severity >= r.o.FailOn && !r.rates[c.Cell.Invariant]
	own := *c
	own.Why = r.secrets.Text(c.Why)
	const columns = 160
	t.Log(report.Line(&own, columns))
	if fails {
		r.failed.Add(1)
		t.Fail()
	}
}

func rates(m *contract.Matrix) map[string]bool {
	rates := map[string]bool{}
	if m != nil {
		for _, i := range m.Invariants {
			rates[i.Name] = i.IsRate()
		}
	}
	return rates
}

// rejected fails the test for each rate that was rejected, or is not judged and broke, if it is
// severe enough.
func (r *runner) rejected(t *testing.T, result *contract.Report) {
	t.Helper()
	for _, f := range result.Fields {
		brokeInCopies := f.Copies && f.Held < f.Decided+f.Unprovoked // then it is no rate that its trials kept
		if f.AtLeast == 0 || f.Standing.Decision != stats.Rejected && !brokeInCopies {
			continue
		}
		if f.Severity >= r.o.FailOn {
			t.Errorf("contracttest: %v (%v)", f, f.Severity)
		} else {
			t.Logf("contracttest: %v (%v)", f, f.Severity)
		}
	}
}

// virtualScenarios are the scenarios whose cells run in virtual time: those whose worlds
// are made for each cell.
func virtualScenarios(m *contract.Matrix, o *Options) map[string]bool {
	if m == nil || o.RealTime {
		return nil
	}
	virtual := make(map[string]bool, len(m.Scenarios))
	for _, s := range m.Scenarios {
		if m.NewWorld != nil || s.NewWorld != nil {
			virtual[s.Name] = true
		}
	}
	return virtual
}

// bubble is the bubble of a cell; nil: real time.
func (r *runner) bubble(t *testing.T, c contract.Cell) contract.Bubble {
	if !r.virtual[c.Scenario] {
		return nil
	}
	return r.calmBubble(t)
}

func (r *runner) calmBubble(t *testing.T) contract.Bubble {
	if len(r.virtual) == 0 {
		return nil
	}
	r.primed.Do(func() { prime(t.Context()) })
	return bubble(t)
}
