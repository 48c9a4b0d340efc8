package contract

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"slices"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/fielderror"
)

// engine is one run of a matrix.
type engine struct {
	m         *Matrix
	o         RunOptions
	scenarios []*compiledScenario
	lists     []*promptList // the distinct ones
	tools     []chaos.Tool
	known     []string // the injection points that are known before the first cell
	hasRules  bool     // some scenario has rules, so the calls without faults are counted
	points    pointLearner
	warnings  []string
	probed    bool
}

// newEngine checks everything that can be checked without calling an agent.
func newEngine(ctx context.Context, m *Matrix, o *RunOptions) (*engine, error) {
	scenarios, err := m.compile()
	e := &engine{m: m, scenarios: scenarios}
	if o != nil {
		e.o = *o
	}
	if err := errors.Join(err, e.o.check()); err != nil {
		return nil, err
	}
	if ctx == nil {
		return nil, fields.Wrong("ctx", fielderror.Found("nil"), "a context")
	}
	e.assignInvariants()
	w := e.newWorker()
	defer w.end()
	if err := w.learnTools(ctx); err != nil {
		return nil, err
	}
	return e, nil
}

func (o *RunOptions) check() error {
	p := fields.List()
	if o.Workers < 0 {
		p.Wrong("RunOptions.Workers", o.Workers, "1 or more, or 0 for GOMAXPROCS")
	}
	if o.AllowInconclusive < 0 {
		p.Wrong("RunOptions.AllowInconclusive", o.AllowInconclusive, "0 or more")
	}
	if o.Watchdog < 0 {
		p.Wrong("RunOptions.Watchdog", o.Watchdog, "a duration above 0, or 0 for five minutes")
	}
	if o.Keep > KeepCounts {
		p.Wrong("RunOptions.Keep", uint8(o.Keep), "KeepBroken, KeepAll, KeepNone or KeepCounts")
	}
	return p.Err()
}

// A compiledInvariant is an invariant with its list of prompts.
type compiledInvariant struct {
	*Invariant
	list *promptList
}

// assignInvariants gives each scenario the invariants that apply in it.
func (e *engine) assignInvariants() {
	all := make([]*compiledInvariant, len(e.m.Invariants))
	for i := range all {
		inv := &e.m.Invariants[i]
		prompts := e.m.Prompts
		if len(inv.Probes) > 0 {
			prompts = inv.Probes
		}
		all[i] = &compiledInvariant{inv, e.listOf(prompts)}
	}
	for _, s := range e.scenarios {
		e.hasRules = e.hasRules || len(s.Rules) > 0
		for _, p := range all {
			if s.applies(p.Applies) {
				s.invariants = append(s.invariants, p)
			}
		}
	}
}

// listOf returns the entry of a prompt list, which it adds if there is none. It must
// not be called while cells run.
func (e *engine) listOf(prompts []string) *promptList {
	for _, l := range e.lists {
		if slices.Equal(l.prompts, prompts) {
			return l
		}
	}
	l := &promptList{prompts: prompts}
	e.lists = append(e.lists, l)
	return l
}

// warn adds a warning about the whole run. It must not be called while cells run.
func (e *engine) warn(text string) {
	if len(e.warnings) < maxWarnings {
		e.warnings = append(e.warnings, text)
	}
}

// A job is what a worker does at a time: one cell, or with ShareObservations all
// cells of a scenario and trial.
type job struct {
	scenario   *compiledScenario
	trial      int
	invariants []*compiledInvariant
}

func (j job) cell(p *compiledInvariant) Cell { return Cell{j.scenario.Name, p.Name, j.trial} }

// jobs yields the jobs in the order of [Matrix.Cells]. Each is made when it is
// taken, because all of them may not fit in memory.
func (e *engine) jobs() iter.Seq[job] {
	return func(yield func(job) bool) {
		for _, s := range e.scenarios {
			size := 1
			if e.m.ShareObservations {
				size = max(len(s.invariants), 1)
			}
			for trial := 1; trial <= e.m.trials(); trial++ {
				for invariants := range slices.Chunk(s.invariants, size) {
					if !yield(job{s, trial, invariants}) {
						return
					}
				}
			}
		}
	}
}

// find makes the job of a single cell.
func (e *engine) find(c Cell) (job, error) {
	for _, s := range e.scenarios {
		for i, p := range s.invariants {
			if s.Name == c.Scenario && p.Name == c.Invariant && c.Trial >= 1 && c.Trial <= e.m.trials() {
				return job{s, c.Trial, s.invariants[i : i+1]}, nil
			}
		}
	}
	return job{}, fields.Wrong("Cell", c.String(), "a cell of the matrix, scenario/invariant/trial, as Matrix.Cells lists them")
}

func (e *engine) workers() int {
	switch {
	case e.m.NewWorld == nil:
		return 1
	case e.o.Workers > 0:
		return e.o.Workers
	}
	return runtime.GOMAXPROCS(0)
}

const defaultWatchdog = 5 * time.Minute

func (e *engine) watchdog() time.Duration {
	if e.o.Watchdog > 0 {
		return e.o.Watchdog
	}
	return defaultWatchdog
}
