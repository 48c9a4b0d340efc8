package contract

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/shakedown-go/shakedown/chaos/lint"
)

// A promptList is one of the distinct prompt lists of a matrix, with what is known
// of the agent without faults.
type promptList struct {
	prompts []string
	calm    calmRecord
}

// A calmRecord is what runs without faults showed of one prompt list. Whatever must
// know how the agent behaves without faults reads it, so that the agent runs for
// all readers once. All worlds of a matrix are of one kind, fresh or shared, so a
// list has one record.
type calmRecord struct {
	once sync.Once
	run  *run // of the whole list; nil: no reader needed it

	mu    sync.Mutex // guards what follows
	asked int        // calm runs in which the agent was called
	calls lint.CalmRuns
}

// calmRun returns the run of a prompt list without faults. The first call makes it,
// in a world of its own or after a reset.
func (w *worker) calmRun(ctx context.Context, l *promptList) *run {
	l.calm.once.Do(func() { l.calm.run = w.runCalmly(ctx, l, l.prompts) })
	return l.calm.run
}

// runCalmly makes a run without faults, of the list or of its beginning. If the state
// probe compares it, the run reads the state of the world too.
func (w *worker) runCalmly(ctx context.Context, l *promptList, prompts []string) *run {
	r := &runner{engine: w.engine, prompts: prompts}
	if w.engine.probes() && w.engine.m.World.State != nil {
		r.needs = NeedState
	}
	s := w.execute(ctx, r, w.engine.o.Harness.Calm)
	if len(s.observations) > 0 || s.partial != nil {
		l.calm.mu.Lock()
		l.calm.asked++
		l.calm.mu.Unlock()
	}
	if w.engine.hasRules {
		w.engine.points.meet(s.uncounted)
		l.countCalls(s)
	}
	return s
}

// calmRuns is the number of calm runs that were made.
func (e *engine) calmRuns() (n int) {
	for _, l := range e.lists {
		l.calm.mu.Lock()
		add(&n, l.calm.asked)
		l.calm.mu.Unlock()
	}
	return n
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

// learnBaseline makes the calm run that the invariant compares with, if it needs one.
func (w *worker) learnBaseline(ctx context.Context, p *compiledInvariant) {
	if p.wantsCalmRun() {
		w.calmRun(ctx, p.list)
	}
}

func (p *compiledInvariant) wantsCalmRun() bool {
	return p.Needs.Has(NeedBaseline) && (p.Baseline == "" || p.Baseline == "auto")
}

// baseline is the calm answer to the i-th prompt of an invariant; "" if the
// invariant needs none.
func (p *compiledInvariant) baseline(i int) (string, error) {
	if !p.Needs.Has(NeedBaseline) {
		return "", nil
	}
	if !p.wantsCalmRun() {
		return p.Baseline, nil
	}
	s := p.list.calm.run
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

// statefulWarning begins with the sentence that is usual in the field, and adds
// what it means here.
const statefulWarning = "Warning: No reset_endpoint configured. Contract matrix cells may share state. Results may be contaminated. " +
	"Add reset_endpoint to your config for accurate isolation. Here that is Matrix.Reset, or Matrix.NewWorld for a world per cell: " +
	"the first prompt was sent twice without faults, and %s differed."

// probes reports whether the state probe is to be made.
func (e *engine) probes() bool {
	return e.m.NewWorld == nil && e.m.Reset == nil && !e.m.SkipStateProbe
}

// probe finds out whether a shared world without a reset remembers: it sends the
// first prompt twice, without faults. If a calm run of the prompts was made for a
// baseline, it is the first of the two.
func (w *worker) probe(ctx context.Context) {
	e := w.engine
	if !e.probes() || ctx.Err() != nil {
		return
	}
	prompts := e.m.Prompts
	if len(prompts) == 0 {
		prompts = e.m.Invariants[0].Probes
	}
	list := e.listOf(prompts)
	if list.calm.run == nil {
		list = e.listOf(prompts[:1])
	}
	first := w.calmRun(ctx, list)
	second := w.runCalmly(ctx, list, prompts[:1])
	e.probed = true
	var differ []string
	if first.answer() != second.answer() {
		differ = append(differ, "the answers")
	}
	if !sameState(first, second) {
		differ = append(differ, "the states of the world")
	}
	if len(differ) > 0 {
		e.warn(fmt.Sprintf(statefulWarning, strings.Join(differ, " and ")))
	}
}

// sameState reports whether the first prompt left the state of the world as it
// was, both times. A state that could not be read is not compared.
func sameState(first, second *run) bool {
	var states []any
	for _, r := range []*run{first, second} {
		if len(r.observations) > 0 && r.observations[0].noState == nil {
			states = append(states, r.observations[0].Before, r.observations[0].After)
		}
	}
	for _, state := range states {
		if !reflect.DeepEqual(state, states[0]) {
			return false
		}
	}
	return true
}

// answer is the outcome of the first prompt, as text to compare.
func (r *run) answer() string {
	if len(r.observations) == 0 {
		return fmt.Sprint("undecided: ", r.undecided)
	}
	o := r.observations[0]
	if o.Err != nil {
		return fmt.Sprint("error: ", o.Err)
	}
	return "answer: " + strings.TrimSpace(o.Response)
}
