package contract

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// learnTools lists the tools of a first world and holds the rules' targets
// against them, before any agent is called.
func (w *worker) learnTools(ctx context.Context) error {
	e := w.engine
	hasRegistry := false
	v := &visit{engine: e, meet: func(ctx context.Context, world *World) (err error) {
		if hasRegistry = world.Tools != nil; hasRegistry {
			e.tools, err = world.Tools.Tools(ctx)
		}
		return err
	}}
	s := w.look(ctx, v, e.o.Calm)
	switch {
	case s.cancelled:
		return fmt.Errorf("contract: the first world: %w", ctx.Err())
	case s.undecided != nil && s.lingering: // but the tools are known, and each cell will tell
		e.warnings = append(e.warnings, fmt.Sprintf("the first world: %v", s.undecided))
	case s.undecided != nil:
		return fmt.Errorf("contract: the first world: %w", s.undecided)
	case s.warning != "":
		e.warnings = append(e.warnings, s.warning)
	}
	known := targets(e.tools, hasRegistry, e.m.Points)
	for i := range e.m.Invariants {
		e.warnings = append(e.warnings, idleTargets(&e.m.Invariants[i], known)...)
	}
	var problems []error
	for _, weather := range e.weathers {
		if err := weather.checkTargets(known, hasRegistry); err != nil {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

// statefulWarning is the field's own sentence, and what it means here.
const statefulWarning = "Warning: No reset_endpoint configured. Contract matrix cells may share state. Results may be contaminated. " +
	"Add reset_endpoint to your config for accurate isolation. Here that is Matrix.Reset, or Matrix.Fresh for a world per cell: " +
	"the first prompt was sent twice without faults, and %s differed."

// probes reports whether the statefulness probe is to be made.
func (e *engine) probes() bool {
	return e.m.NewWorld == nil && e.m.Reset == nil && !e.m.SkipStateProbe
}

// probe finds out whether a shared world without a reset remembers: the first
// prompt twice, without faults. A calm run for a baseline is the first time.
func (w *worker) probe(ctx context.Context) {
	e := w.engine
	if !e.probes() || ctx.Err() != nil {
		return
	}
	prompts := e.m.Prompts
	if len(prompts) == 0 {
		prompts = e.m.Invariants[0].Probes
	}
	var first *sight
	if list := e.listOf(prompts); list >= 0 { // else every invariant has probes of its own
		first = e.calm[list].seen
	}
	if first == nil {
		first = w.lookCalmly(ctx, prompts[:1])
	}
	second := w.lookCalmly(ctx, prompts[:1])
	e.probed = true
	var differ []string
	if first.answer() != second.answer() {
		differ = append(differ, "the answers")
	}
	if !sameState(first, second) {
		differ = append(differ, "the states of the world")
	}
	if len(differ) > 0 {
		e.warnings = append(e.warnings, fmt.Sprintf(statefulWarning, strings.Join(differ, " and ")))
	}
}

// lookCalmly makes a calm run. Where the probe compares it, it has the state of
// the world too.
func (w *worker) lookCalmly(ctx context.Context, prompts []string) *sight {
	v := &visit{engine: w.engine, prompts: prompts}
	if w.engine.probes() && w.engine.m.World.State != nil {
		v.needs = NeedState
	}
	return w.look(ctx, v, w.engine.o.Calm)
}

// sameState reports whether the first prompt left the state of the world as it
// was, both times. A state that could not be read is not compared.
func sameState(first, second *sight) bool {
	var states []any
	for _, s := range []*sight{first, second} {
		if len(s.observations) > 0 && s.observations[0].noState == nil {
			states = append(states, s.observations[0].Before, s.observations[0].After)
		}
	}
	for _, state := range states {
		if !reflect.DeepEqual(state, states[0]) {
			return false
		}
	}
	return true
}

// answer is the answer to the first prompt as far as a comparison goes.
func (s *sight) answer() string {
	if len(s.observations) == 0 {
		return fmt.Sprint("undecided: ", s.undecided)
	}
	o := s.observations[0]
	if o.Err != nil {
		return fmt.Sprint("error: ", o.Err)
	}
	return "answer: " + strings.TrimSpace(o.Response)
}

// calmRun is what one prompt list brings without faults, made when the first
// invariant needs it.
type calmRun struct {
	once sync.Once
	seen *sight
}

// learnBaseline makes the calm run of a cell that compares with one, in a world
// of its own or after a reset.
func (w *worker) learnBaseline(ctx context.Context, p *promise) {
	if !p.wantsCalmRun() {
		return
	}
	e := w.engine
	calm := &e.calm[p.list]
	calm.once.Do(func() {
		calm.seen = w.lookCalmly(ctx, e.lists[p.list])
	})
}

func (p *promise) wantsCalmRun() bool {
	return p.Needs.Has(NeedBaseline) && (p.Baseline == "" || p.Baseline == "auto")
}

// baseline is the calm answer to the i-th prompt of an invariant.
func (e *engine) baseline(p *promise, i int) (string, error) {
	if !p.Needs.Has(NeedBaseline) {
		return "", nil
	}
	if !p.wantsCalmRun() {
		return p.Baseline, nil
	}
	s := e.calm[p.list].seen
	switch {
	case i < len(s.observations) && s.observations[i].Err != nil:
		return "", fmt.Errorf("no baseline: in calm weather the agent failed: %w", s.observations[i].Err)
	case i < len(s.observations):
		return s.observations[i].Response, nil
	case s.undecided != nil:
		return "", fmt.Errorf("no baseline: %w", s.undecided)
	}
	return "", errors.New("no baseline: the agent did not come to this prompt in calm weather")
}

// prepare makes the runs that come before any cell of a shared world without a
// reset: the baselines while nothing has happened to it yet, then the probe.
func (e *engine) prepare(ctx context.Context) {
	if e.m.NewWorld != nil || e.m.Reset != nil {
		return
	}
	w := e.newWorker()
	defer w.end()
	for _, weather := range e.weathers {
		for _, p := range weather.promises {
			w.learnBaseline(ctx, p)
		}
	}
	w.probe(ctx)
}
