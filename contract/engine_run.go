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

// Run runs the matrix and reports on it. First it makes one world (or takes
// the shared one), lists its tools, and returns all problems of the matrix and
// of its rules' targets, joined, before any agent is called.
//
// User code that panics, hangs, ends its goroutine or ignores its context is
// the result of its own cell. A panic on a goroutine that an agent started
// itself cannot be recovered here, and ends the program.
//
// When ctx ends, no further cell is started and Run returns the report so far
// with the context's error; its verdict is not Pass. Other errors: those of
// [Matrix.Validate], of making the first world, and [scoring.ErrNoneRan], with
// a report, when [Harness.Around] left out every cell. A failing verdict is not
// an error.
func (m *Matrix) Run(ctx context.Context, o *RunOptions) (*Report, error) {
	e, err := newEngine(ctx, m, o)
	if err != nil {
		return nil, err
	}
	e.prepare(ctx)
	l := &ruleLinter{engine: e, warn: e.warn, never: map[ruleKey]bool{}}
	defer l.caller.Release()
	l.lintRules(ctx)
	return e.runAll(ctx, l)
}

// RunCell runs one cell of the matrix as Run does: with the same seed and the
// same faults, and after a calm run if the invariant needs a baseline. It does
// not make the state probe and does not call OnCell.
//
// The report retains the observation unless o.Keep is KeepNone or KeepCounts. A
// cell that the matrix does not have is a [*FieldError]. When ctx ends, RunCell
// returns its error with the report so far.
func (m *Matrix) RunCell(ctx context.Context, c Cell, o *RunOptions) (*CellReport, error) {
	e, err := newEngine(ctx, m, o)
	if err != nil {
		return nil, err
	}
	j, err := e.find(c)
	if err != nil {
		return nil, err
	}
	if e.o.Keep < KeepNone {
		e.o.Keep = KeepAll
	}
	w := e.newWorker()
	defer w.end()
	r := w.run(ctx, j)[0]
	r.trim(e.o.Keep)
	if r.cancelled {
		return &r, ctx.Err()
	}
	return &r, nil
}

// A run is what one independent run of the agent showed: an observation per
// prompt, and what went wrong around them. A [runner] makes it.
type run struct {
	observations []*Observation
	partial      *Observation // of the prompt whose answer cannot be judged
	undecided    error        // why observations are missing; nil: none is
	refused      error        // why an injection point refused to make a call; nil: none did
	leaked       string       // goroutines left behind in a bubble
	lingering    bool         // user code ended, and only its bubble did not
	warning      string
	cancelled    bool           // the context of the matrix's run ended
	abandoned    bool           // user code was left behind
	unended      bool           // a call did not end, in a run without faults
	uncounted    []*Observation // whose faults the report has not counted yet
	overlaps     []overlap
	hosts        []string // see chosenPorts
	late         int
	dropped      int
	deliveries
}

// deliveries are the faults of some observations.
type deliveries struct {
	delivered, undelivered int  // calls
	absorbed               bool // some were delivered, and none is known to have reached the agent itself
}

// sum counts faults and calls. A cancelled run decides nothing: anything in it,
// even an answer, may come from the cancellation.
func (r *run) sum(ctx context.Context, in *chaos.Injector) {
	if ctx.Err() != nil {
		r.undecided, r.cancelled = errors.New("the run was cancelled"), true
	}
	if in != nil {
		r.late, r.dropped, r.refused = toInt(in.LateCalls()), toInt(in.Dropped()), in.Refusal()
	}
	r.uncounted = r.observations[:len(r.observations):len(r.observations)]
	if r.partial != nil {
		r.uncounted = append(r.uncounted, r.partial)
	}
	r.deliveries = countDeliveries(r.uncounted)
}

// elapsed is how long the agent took for all its answers.
func (r *run) elapsed() (sum time.Duration) {
	for _, o := range r.observations {
		sum = plus(sum, o.Elapsed)
	}
	if r.partial != nil {
		sum = plus(sum, r.partial.Elapsed)
	}
	return sum
}

func countDeliveries(observations []*Observation) (d deliveries) {
	for _, o := range observations {
		for i := range o.Events {
			switch e := &o.Events[i]; {
			case e.Delivered:
				d.delivered++
			case e.Rule != "":
				d.undelivered++
			}
		}
	}
	d.absorbed = d.delivered > 0 && !reachedAgent(observations)
	return d
}

// upTo returns the faults that may have caused the ruling: of a broken cell those
// up to the prompt that broke it. So a broken cell has the same counts whether
// or not the later prompts are sent.
func (r *run) upTo(found ruling) deliveries {
	if found.state != Broken || found.at < 0 || found.at+1 == len(r.observations) && r.partial == nil {
		return r.deliveries
	}
	return countDeliveries(r.observations[:found.at+1])
}

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
	return job{}, fields.Wrong("Cell", c.String(),
		"a cell of the matrix, scenario/invariant/trial, as Matrix.Cells lists them")
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
