package contract

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"github.com/shakedown-go/shakedown/chaos"
)

// A promptList is one of the distinct prompt lists of a matrix, with what a run without faults
// showed of it: whatever must know how the agent behaves without faults reads that, so that the
// agent runs for all readers once.
type promptList struct {
	source    *worldSource // where its runs get their worlds
	prompts   []string
	spelled   string                                      // the prompts, as one text
	baselines []string                                    // known ones, as many; none: those of the calm run
	gather    Needs                                       // what the calm run gathers
	around    func(chaos.ToolRegistry) chaos.ToolRegistry // of its calm run; nil: that of the options
	making    *semaphore.Weighted                         // of one slot, which whoever makes the calm run takes
	calm      atomic.Pointer[run]                         // of the whole list; nil: no reader needed it
}

// A calmTally counts the calm runs of a matrix in which the agent was called.
type calmTally struct {
	asked atomic.Int64
	left  atomic.Bool // one left user code behind that knows the shared world
}

// calmRun makes the run of a prompt list without faults, in a world of its own or after a
// reset, unless it was made. One whose context ended does not count. Of calls at the same
// time one makes it; the others wait, as long as their own contexts last.
func (w *worker) calmRun(ctx context.Context, l *promptList) {
	if l.making.Acquire(ctx, 1) != nil {
		return
	}
	defer l.making.Release(1)
	if made := l.calm.Load(); made == nil || made.cancelled && ctx.Err() == nil {
		l.calm.Store(w.runCalmly(ctx, l, l.prompts))
	}
}

// runCalmly makes a run without faults, of the list or of its beginning. If the state
// probe compares it, the run reads the state of the world too.
func (w *worker) runCalmly(ctx context.Context, l *promptList, prompts []string) *run {
	r := &liveRun{engine: w.engine, source: l.source, prompts: prompts, needs: l.gather, around: w.engine.o.Around}
	if l.around != nil {
		r.around = l.around
	}
	if l.source.shared() && w.engine.probes() && w.engine.m.World.State != nil {
		r.needs |= NeedState
	}
	s := w.execute(ctx, r, w.calmBubble(l.source))
	if s.abandoned && l.source.shared() {
		w.engine.calm.left.Store(true)
	}
	w.engine.calm.asked.Add(int64(asInt(len(s.all) > 0)))
	return s
}

// prepare makes the runs that precede the cells of a shared world without a
// reset: first the baselines, while the world is as it was, then the probe.
func (e *engine) prepare(ctx context.Context) {
	shared := e.sharedSource()
	if shared == nil || e.m.Reset != nil {
		return
	}
	w := e.newWorker()
	defer w.end()
	for _, scenario := range shared.scenarios {
		for _, p := range scenario.invariants {
			w.learnCalm(ctx, p)
		}
	}
	w.probe(ctx, shared)
}

func (w *worker) learnCalm(ctx context.Context, p *compiledInvariant) {
	if p.needsCalmRun() {
		w.calmRun(ctx, p.list)
	}
}

func (p *compiledInvariant) needsCalmRun() bool {
	return p.gather.Has(NeedCalm) ||
		p.Needs.Has(NeedBaseline) && !p.hasOwnBaseline() && len(p.list.baselines) == 0
}

// calmCopy is the hash of the calm run that cells of the invariant are judged with; 0: there is none.
func (p *compiledInvariant) calmCopy() uint64 {
	if s := p.list.calm.Load(); len(p.calmly()) > 0 {
		return s.copy
	}
	return 0
}

// calmly are the observations of that calm run.
func (p *compiledInvariant) calmly() []*Observation {
	if s := p.list.calm.Load(); s != nil && p.needsCalmRun() {
		return s.all
	}
	return nil
}

func (e *engine) calmNeeds(p *compiledInvariant) Needs {
	switch {
	case !p.gather.Has(NeedCalm):
		return 0
	case e.m.KeepValues:
		return NeedState | NeedResults
	}
	return NeedState | p.gather&NeedResults
}

// asksFirst reports whether an invariant is the first that is asked about the answers to its prompts.
func (s *compiledScenario) asksFirst(p *compiledInvariant) bool {
	at := slices.IndexFunc(s.invariants, func(other *compiledInvariant) bool { return other.list == p.list })
	return at >= 0 && s.invariants[at] == p
}

// calmAnswers are observations with what [CellReport.Calm] has of them.
func calmAnswers(all []*Observation) (kept []*Observation) {
	for _, o := range all {
		own := Observation{Cell: o.Cell, Prompt: o.Prompt, Response: o.Response, Elapsed: o.Elapsed, Dropped: o.Dropped,
			Events: slices.Clone(o.Events)}
		for i := range own.Events {
			e := &own.Events[i]
			e.Args, e.Result, e.Exchange, e.Changes = nil, nil, nil, nil
		}
		kept = append(kept, &own)
	}
	return kept
}

func (p *compiledInvariant) hasOwnBaseline() bool { return p.Baseline != "" && p.Baseline != "auto" }

// addCalm adds to an observation of the i-th prompt what is known of the agent without
// faults. It returns an error if something that the invariant needs is missing.
func (p *compiledInvariant) addCalm(o *Observation, i int) (missing error) {
	o.Baseline, missing = p.baseline(i)
	if !p.gather.Has(NeedCalm) {
		return missing
	}
	calm, err := p.list.calmly(i)
	o.Calm = calm
	if err == nil && p.Needs.Has(NeedState) {
		err = calm.noState
	}
	if missing == nil && err != nil && p.Needs.Has(NeedCalm) {
		missing = fmt.Errorf("no calm run: %w", err)
	}
	return missing
}

// baseline is the calm answer to the i-th prompt of an invariant; "" if the
// invariant needs none.
func (p *compiledInvariant) baseline(i int) (string, error) {
	if !p.Needs.Has(NeedBaseline) {
		return "", nil
	}
	switch {
	case p.hasOwnBaseline():
		return p.Baseline, nil
	case len(p.list.baselines) > 0:
		return p.list.baselines[i], nil
	}
	o, err := p.list.calmly(i)
	if err != nil {
		return "", fmt.Errorf("no baseline: %w", err)
	}
	return o.Response, nil
}

func (l *promptList) calmly(i int) (*Observation, error) {
	s := l.calm.Load()
	switch {
	case s == nil:
		return nil, errors.New("the run was cancelled before the calm run")
	case i < len(s.observations) && s.observations[i].Err != nil:
		return nil, fmt.Errorf("the agent failed in the calm run: %w", s.observations[i].Err)
	case i < len(s.observations):
		return s.observations[i], nil
	case s.undecided != nil:
		return nil, s.undecided
	}
	return nil, errors.New("the calm run ended before this prompt")
}

// statefulWarning begins with the sentence that is usual in the field, and adds
// what it means here.
const statefulWarning = "Warning: No reset_endpoint configured. Contract matrix cells may share state. Results may be contaminated. " +
	"Add reset_endpoint to your config for accurate isolation. Here that is Matrix.Reset, or Matrix.NewWorld for a world per cell: " +
	"the first prompt was sent twice without faults, and %s differed."

func (e *engine) probes() bool {
	return e.sharedSource() != nil && e.m.Reset == nil && !e.m.SkipStateProbe
}

// firstList is the prompt list that the state probe sends the beginning of.
func (s *worldSource) firstList(m *Matrix) *promptList {
	first := s.scenarios[0]
	switch {
	case len(first.Prompts) > 0:
		return s.listOf(first.Prompts, first.Baselines)
	case len(m.Prompts) > 0:
		return s.listOf(m.Prompts, nil)
	}
	return s.listOf(m.Invariants[0].Probes, nil)
}

// probe finds out whether a shared world without a reset remembers: it sends the
// first prompt twice, without faults. If a calm run of the prompts was made for a
// baseline, it is the first of the two.
func (w *worker) probe(ctx context.Context, shared *worldSource) {
	e := w.engine
	if !e.probes() || ctx.Err() != nil {
		return
	}
	list := shared.firstList(e.m)
	if list.calm.Load() == nil {
		list = shared.listOf(list.prompts[:1], nil)
	}
	prompts := list.prompts
	w.calmRun(ctx, list)
	second := w.runCalmly(ctx, list, prompts[:1])
	first := list.calm.Load()
	if ctx.Err() != nil { // which may be why they differ
		return
	}
	e.probed = true
	for _, r := range []*run{first, second} {
		if len(r.observations) == 0 && r.unsound {
			e.warn(fmt.Sprintf("The state probe found out nothing, because World.Err reported an error: %v", r.undecided))
			return
		}
	}
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
func sameState(runs ...*run) bool {
	var states []any
	for _, r := range runs {
		if len(r.observations) > 0 && r.observations[0].noState == nil {
			states = append(states, r.observations[0].Before, r.observations[0].After)
		}
	}
	return !slices.ContainsFunc(states, func(state any) bool { return !reflect.DeepEqual(state, states[0]) })
}

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
