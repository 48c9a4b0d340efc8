package contract

import (
	"context"
	"errors"
	"fmt"
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
	case s.undecided != "":
		return fmt.Errorf("contract: the first world: %s", s.undecided)
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
	"Add reset_endpoint to your config for accurate isolation. Here that is Matrix.Reset, or Matrix.Fresh for a world per cell."

// probe finds out whether a shared world without a reset remembers: the first
// prompt twice, without faults.
func (w *worker) probe(ctx context.Context) {
	e := w.engine
	if e.m.Fresh != nil || e.m.Reset != nil || e.m.NoStatefulnessProbe || ctx.Err() != nil {
		return
	}
	first := e.m.Prompts
	if len(first) == 0 {
		first = e.m.Invariants[0].Probes
	}
	var answers [2]string
	for i := range answers {
		answers[i] = w.look(ctx, &visit{engine: e, prompts: first[:1]}, e.o.Calm).answer()
	}
	e.probed = true
	if answers[0] != answers[1] {
		e.warnings = append(e.warnings, statefulWarning)
	}
}

// answer is the last answer as far as a comparison goes.
func (s *sight) answer() string {
	if s.undecided != "" || len(s.observations) == 0 {
		return "undecided: " + s.undecided
	}
	o := s.observations[len(s.observations)-1]
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
		calm.seen = w.look(ctx, &visit{engine: e, prompts: e.lists[p.list]}, e.o.Calm)
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
	case s.undecided != "":
		return "", fmt.Errorf("no baseline: %s", s.undecided)
	}
	return "", errors.New("no baseline: the agent did not come to this prompt in calm weather")
}

// prepare makes the runs that come before any cell.
func (e *engine) prepare(ctx context.Context) {
	w := e.newWorker()
	defer w.end()
	w.probe(ctx)
	if e.m.Fresh != nil || e.m.Reset != nil {
		return
	}
	for _, weather := range e.weathers { // while nothing has happened to the world yet
		for _, p := range weather.promises {
			w.learnBaseline(ctx, p)
		}
	}
}
