package contract

import (
	"cmp"
	"context"
	"slices"

	"golang.org/x/sync/semaphore"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/fielderror"
)

// A Runner makes single runs of the agent of a matrix, under rules of the caller's, for
// what searches for faults. [Matrix.Runner] makes it. Its methods are safe for
// concurrent use.
type Runner struct {
	engine    *engine
	scenarios map[string]*compiledScenario // "": what a scenario has that is not of the matrix
	turn      *semaphore.Weighted          // of one slot, which a run in the shared world takes
	pool      workerPool
}

// A Result is what one run of a prompt list showed.
type Result struct {
	// Cells has a report for each invariant with the prompts of the run, in the order of the
	// matrix. [RunOptions.Keep] selects which of them have evidence.
	Cells []CellReport
	// Observations are the answers to all prompts, in order; the last may be cut short. With
	// NeedCalm in [RunOptions.Gather] each has its calm observation. They must not be changed.
	Observations []*Observation
}

// Runner returns a Runner of the matrix. It does what [Matrix.Run] does before its first
// cell: it checks the matrix and makes one world of each kind to list the tools. The
// matrix needs no scenarios, and [Invariant.Applies] plays no part. A shared world
// must have a Reset, since a run would else begin in the world that others left.
//
// Of the options, Around, Gather, Keep, Watchdog and Harness.Calm matter: each run is in the
// bubble of Calm, except those in [Matrix.World]. Errors are those of [Matrix.Run].
func (m *Matrix) Runner(ctx context.Context, o *RunOptions) (*Runner, error) {
	e, err := newEngine(ctx, m, o, true)
	if err != nil {
		return nil, err
	}
	if e.sharedSource() != nil && m.Reset == nil {
		return nil, fields.Wrong("Reset", fielderror.Found("nil beside World"),
			"a function that resets World, or NewWorld in place of both: "+
				"a run must not begin in the world that another run left")
	}
	r, err := e.newRunner(ctx, e.sources...)
	if err != nil {
		return nil, err
	}
	r.scenarios = make(map[string]*compiledScenario, len(e.scenarios))
	for _, s := range e.scenarios {
		r.scenarios[s.Name] = s
	}
	return r, nil
}

// newRunner makes the first worlds of the sources, and a Runner of jobs in their worlds.
func (e *engine) newRunner(ctx context.Context, sources ...*worldSource) (*Runner, error) {
	if err := e.open(ctx); err != nil {
		return nil, err
	}
	if err := e.learn(ctx, sources); err != nil {
		e.close()
		return nil, err
	}
	return &Runner{engine: e, turn: semaphore.NewWeighted(1), pool: workerPool{engine: e}}, nil
}

// Run makes one run under the rules as [Matrix.Run] does, and judges it by every invariant that
// has the prompts of c.Invariant. All prompts are sent, also after an invariant broke. OnCell,
// Harness.Around and Harness.Rerun are not called.
//
// The scenario and the trial of c are coordinates of draws, so any name and any number
// from 1 may be given. A call meets the faults that it meets in a cell of that
// scenario and trial if the rules have the names that [Runner.Rules] returns. If the
// matrix has the scenario, its worlds, prompts, Layer and Rewrite are in force.
//
// With worlds of their own, any number of runs may be under way at once; in
// [Matrix.World] each waits for its turn and follows a Reset.
//
// Errors: a [*FieldError] for each problem of the cell or the rules and for a Runner that
// was closed, before anything runs; and that of ctx when it ends, with a result if the run
// had begun.
func (r *Runner) Run(ctx context.Context, c Cell, rules []chaos.Rule) (*Result, error) {
	return r.RunAround(ctx, c, rules, nil)
}

// RunAround is Run with a function in the place of [RunOptions.Around]; nil: with that. A calm run that an
// invariant needs is made with the function too, for each run anew.
func (r *Runner) RunAround(ctx context.Context, c Cell, rules []chaos.Rule,
	around func(chaos.ToolRegistry) chaos.ToolRegistry) (*Result, error) {
	if ctx == nil {
		return nil, fields.Wrong("ctx", fielderror.Found("nil"), "a context")
	}
	s, asked, err := r.under(c, rules)
	if err != nil {
		return nil, err
	}
	if around != nil {
		asked = comparedAround(asked, around)
	}
	result, err := r.do(ctx, job{scenario: s, trial: c.Trial, invariants: asked, around: around})
	if result != nil && r.engine.o.Gather.Has(NeedCalm) {
		result.Observations = slices.Clone(result.Observations)
		for i, o := range result.Observations {
			own := *o                     // that of the cells has none
			_ = asked[0].addCalm(&own, i) // what is missing is the cells' Why
			own.Baseline = ""
			result.Observations[i] = &own
		}
	}
	return result, err
}

// RunCell runs one cell of the matrix as Run does, with the same faults, but without the state
// probe and OnCell.
//
// The report retains the observation unless o.Keep is KeepNone or KeepCounts. A
// cell that the matrix does not have is a [*FieldError]. When ctx ends, RunCell
// returns its error, with the report so far if the cell had begun.
func (m *Matrix) RunCell(ctx context.Context, c Cell, o *RunOptions) (*CellReport, error) {
	e, err := newEngine(ctx, m, o, false)
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
	r, err := e.newRunner(ctx, j.scenario.source)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	// Not Runner.Run: that would ask the other invariants too, which may cost money, send
	// all prompts and leave out Around, and it refuses a shared world without Reset.
	result, err := r.do(ctx, j)
	if result == nil {
		return nil, err
	}
	return &result.Cells[0], err
}

// Rules returns the rules of a scenario of the matrix, with the names that its plan gave
// them; nil for any other scenario.
func (r *Runner) Rules(scenario string) []chaos.Rule {
	s := r.scenarios[scenario]
	if s == nil || s.index < 0 {
		return nil
	}
	return s.plan.Rules()
}

// Tools returns the tools of the matrix's worlds, as the first one listed them. In a
// scenario with worlds of its own they may be others: see [Runner.ToolsIn].
func (r *Runner) Tools() []chaos.Tool { return r.ToolsIn("") }

// ToolsIn returns the tools of the worlds of a scenario, as the first one listed them; for a name
// that is no scenario's those of the matrix's worlds.
func (r *Runner) ToolsIn(scenario string) []chaos.Tool {
	s := cmp.Or(r.scenarios[scenario], r.scenarios[""], r.engine.scenarios[0])
	return slices.Clone(s.source.tools)
}

// Close ends the goroutines that the Runner keeps between its runs. No run may begin
// after it; one that is under way ends as it would, and then what [Matrix.Open] made is closed.
// It may be called several times.
func (r *Runner) Close() { r.pool.close() }

// under returns the scenario of a run under the rules, and the invariants that judge it.
func (r *Runner) under(c Cell, rules []chaos.Rule) (*compiledScenario, []*compiledInvariant, error) {
	p := fields.List()
	base := r.scenarios[c.Scenario]
	if base == nil {
		base = r.scenarios[""]
	}
	var plan *chaos.Plan
	var err error
	if base != nil {
		plan, err = base.plan.With(rules...)
	} else {
		plan, err = chaos.NewPlan(r.engine.m.Seed, rules...)
		p.Wrong("Cell.Scenario", c.Scenario, "a scenario of the matrix, which has no worlds for any other")
	}
	if c.Trial < 1 {
		p.Wrong("Cell.Trial", c.Trial, "1 or more")
	}
	if err != nil {
		p.Each("rules", err)
	}
	if p.Count() > 0 {
		return nil, nil, p.Err()
	}
	s := &compiledScenario{Scenario: base.Scenario, index: -1, source: base.source, plan: plan}
	s.Name, s.Rules = c.Scenario, rules
	asked := askedWith(base.invariants, c.Invariant)
	switch {
	case asked == nil:
		p.Wrong("Cell.Invariant", c.Invariant, "an invariant of the matrix")
	case len(asked[0].list.prompts) == 0:
		p.Wrong("Prompts", fielderror.Found("empty"), "at least one: invariant "+c.Invariant+" has no probes")
	}
	p.Add(r.engine.checkTargets(s))
	return s, asked, p.Err()
}

// askedWith returns the invariants that have the prompts of the named one; nil if there
// is none of that name.
func askedWith(all []*compiledInvariant, name string) []*compiledInvariant {
	i := slices.IndexFunc(all, func(p *compiledInvariant) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	other := func(p *compiledInvariant) bool { return p.list != all[i].list }
	if !slices.ContainsFunc(all, other) {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), other)
}

// comparedAround returns invariants with the same prompts that are judged with a calm run of their own.
func comparedAround(
	all []*compiledInvariant, around func(chaos.ToolRegistry) chaos.ToolRegistry,
) (own []*compiledInvariant) {
	l := all[0].list
	list := &promptList{source: l.source, prompts: l.prompts, spelled: l.spelled, baselines: l.baselines,
		gather: l.gather, around: around, making: semaphore.NewWeighted(1)}
	for _, p := range all {
		copied := *p
		copied.list = list
		own = append(own, &copied)
	}
	return own
}

// do makes the run of a job when it is its turn. The error is that of ctx, if it ended;
// there is no result if the run had not begun.
func (r *Runner) do(ctx context.Context, j job) (*Result, error) {
	cells, err := r.inTurn(ctx, j)
	if cells == nil {
		return nil, err
	}
	result := &Result{Cells: cells}
	for i := range cells {
		c := &cells[i]
		result.Observations = c.observed
		c.notes = nil
		c.trim(r.engine.o.Keep)
	}
	return result, err
}

// inTurn is do with all that the cells of a run file need.
func (r *Runner) inTurn(ctx context.Context, j job) ([]CellReport, error) {
	err := ctx.Err()
	if err == nil && j.shared() {
		if err = r.turn.Acquire(ctx, 1); err == nil {
			defer r.turn.Release(1)
		}
	}
	if err != nil {
		return nil, err
	}
	w := r.pool.take()
	if w == nil {
		return nil, fields.Wrong("Runner", fielderror.Found("closed"), "a Runner before its Close")
	}
	defer r.pool.give(w)
	cells := w.run(ctx, j)
	for i := range cells {
		if n := cells[i].notes; n != nil && n.Cancelled {
			err = ctx.Err()
		}
	}
	return cells, err
}
