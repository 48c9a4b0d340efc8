package contract

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// runCalmly makes a run without faults. If the state probe compares it,
// the run reads the state of the world too.
func (w *worker) runCalmly(ctx context.Context, prompts []string) *run {
	r := &runner{engine: w.engine, prompts: prompts}
	if w.engine.probes() && w.engine.m.World.State != nil {
		r.needs = NeedState
	}
	return w.execute(ctx, r, w.engine.o.Harness.Calm)
}

// calmRun is the run of one prompt list without faults, made when the first
// invariant needs it.
type calmRun struct {
	once sync.Once
	run  *run
}

// learnBaseline makes the calm run that the invariant compares with, in a world
// of its own or after a reset. It does nothing if there is one or none is needed.
func (w *worker) learnBaseline(ctx context.Context, p *compiledInvariant) {
	if !p.wantsCalmRun() {
		return
	}
	e := w.engine
	calm := &e.calm[p.list]
	calm.once.Do(func() {
		calm.run = w.runCalmly(ctx, e.lists[p.list])
	})
}

func (p *compiledInvariant) wantsCalmRun() bool {
	return p.Needs.Has(NeedBaseline) && (p.Baseline == "" || p.Baseline == "auto")
}

// baseline is the calm answer to the i-th prompt of an invariant; "" if the
// invariant needs none.
func (e *engine) baseline(p *compiledInvariant, i int) (string, error) {
	if !p.Needs.Has(NeedBaseline) {
		return "", nil
	}
	if !p.wantsCalmRun() {
		return p.Baseline, nil
	}
	s := e.calm[p.list].run
	switch {
	case i < len(s.observations) && s.observations[i].Err != nil:
		return "", fmt.Errorf("no baseline: the agent failed in the calm run: %w", s.observations[i].Err)
	case i < len(s.observations):
		return s.observations[i].Response, nil
	case s.undecided != nil:
		return "", fmt.Errorf("no baseline: %w", s.undecided)
	}
	return "", errors.New("no baseline: the calm run ended before this prompt")
}

// prepare makes the runs that precede the cells of a shared world without a
// reset: first the baselines, while the world is as it was, then the probe.
func (e *engine) prepare(ctx context.Context) {
	if e.m.NewWorld != nil || e.m.Reset != nil {
		return
	}
	w := e.newWorker()
	defer w.end()
	for _, scenario := range e.scenarios {
		for _, p := range scenario.invariants {
			w.learnBaseline(ctx, p)
		}
	}
	w.probe(ctx)
}
