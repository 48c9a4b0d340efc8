package contract

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/spared"
	"github.com/shakedown-go/shakedown/internal/usercode"
)

// A liveRun makes one independent run: it makes or resets the world, sends the
// prompts in order and closes the world. These steps are user code, which caller
// runs. The method run is on one goroutine: the worker's or, in virtual time, the
// bubble's first. That one may be left behind, so a lock guards the result so far.
type liveRun struct {
	engine   *engine
	source   *worldSource      // of the world
	scenario *compiledScenario // nil: no faults, and not a cell
	cell     Cell
	prompts  []string
	needs    Needs
	inspect  func(context.Context, *World) error // runs instead of the prompts, if set
	inquiry  *inquiry                            // decides between prompts whether to go on; nil: always
	around   func(chaos.ToolRegistry) chaos.ToolRegistry

	outer    context.Context // of whoever asked for the run; in a bubble it is not that of user code
	caller   *usercode.Loop
	watchdog <-chan time.Time // nil in a bubble
	limit    time.Duration    // of the watchdog
	patience time.Duration
	next     func(*Observation) bool // asks the inquiry; nil: there is none
	userDone chan struct{}           // in a bubble, but made outside of it: receives when user code is done

	world *World // what newWorld returned, and said what the agent did: of calls that may be left behind
	said  string

	mu       sync.Mutex   // guards what follows
	step     string       // what user code is doing, for messages
	bubble   string       // the bubble's number in stack traces
	left     string       // the goroutines that user code left, by name
	asking   *Observation // of the prompt that is being answered, in a bubble
	injector *chaos.Injector
	last     *Observation // the last that got events
	from, to uint64       // the range of last's events, for EventsSince
	result   run
	done     bool // in a bubble: the run ended and so did its grace
	over     bool // it must not begin any more
}

func (r *liveRun) run(ctx context.Context, cancel context.CancelFunc) {
	in := r.makeInjector()
	if in == nil {
		return
	}
	ctx = chaos.NewContext(r.engine.m.withCell(ctx, r.cell), in)
	l := usercode.Limits{Ctx: ctx, Cancel: cancel, Watchdog: r.watchdog, Patience: r.patience}
	world := r.enter(l)
	if world == nil {
		in.Close()
		return
	}
	defer r.leave(l, world)
	defer in.Close()
	if r.inspect != nil {
		r.do(l, "listing the tools", func() error { return r.inspect(ctx, world) })
		return
	}
	in.Arm()
	tools := world.Tools
	if tools != nil {
		tools = chaos.WrapRegistry(tools, in)
		if r.around != nil {
			if tools = r.wrap(l, tools); tools == nil {
				return
			}
		}
	}
	for i, prompt := range r.prompts {
		if !r.sendPrompt(l, world, tools, prompt) || i+1 < len(r.prompts) && !r.goOn() {
			return
		}
	}
}

// wrap puts what Around makes around the tools; nil: it failed. Its variable of the closure is on the heap, which cells
// without Around need not pay for.
func (r *liveRun) wrap(l usercode.Limits, tools chaos.ToolRegistry) (wrapped chaos.ToolRegistry) {
	if !r.do(l, "wrapping the tools by Around", func() error {
		wrapped = cmp.Or(r.around(tools), tools)
		return nil
	}) {
		return nil
	}
	return wrapped
}

func (r *liveRun) goOn() bool {
	r.mu.Lock()
	over, o := r.over || r.outer.Err() != nil, r.result.observations[len(r.result.observations)-1]
	r.mu.Unlock()
	return !over && (r.next == nil || r.next(o))
}

func (r *liveRun) begin(step string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.step = step
}

// call runs user code in a step, and notes if it was left behind. Unless it returned in time,
// the cell cannot be decided, and ok is false.
func (r *liveRun) call(l usercode.Limits, step string, fn func() error) (err error, ok bool) {
	r.begin(step)
	e := r.caller.Call(l, fn)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.abandoned = r.result.abandoned || e.Left
	if ok = e.Cut == usercode.Uncut; !ok {
		r.result.undecided = cmp.Or(r.result.undecided, r.why(e.Cut))
	}
	return e.Err, ok
}

// do is call. If the code fails, the cell cannot be decided either.
func (r *liveRun) do(l usercode.Limits, step string, fn func() error) bool {
	err, ok := r.call(l, step, fn)
	if err != nil && ok {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.result.undecided = cmp.Or(r.result.undecided, fmt.Errorf("%s: %w", step, err))
	}
	return ok && err == nil
}

// why says what ended the wait for the step; r.mu is held.
func (r *liveRun) why(c usercode.Cut) error {
	switch c {
	case usercode.CutWatchdog:
		limit := r.limit.Round(time.Millisecond)
		return fmt.Errorf("the watchdog gave up after %v of real time, while %s", limit, r.step)
	case usercode.CutHung:
		return fmt.Errorf("no end after %v of virtual time, while %s", r.patience, r.step)
	}
	return errors.New("the run was cancelled, while " + r.step)
}

// enter makes the world, or resets the shared one. It returns nil when that
// failed. A run that only inspects a shared world does not reset it.
func (r *liveRun) enter(l usercode.Limits) *World {
	m := r.engine.m
	if r.source.shared() {
		if m.Reset != nil && r.inspect == nil &&
			!r.do(l, "resetting the world", func() error { return m.Reset(l.Ctx) }) {
			return nil
		}
		return m.World
	}
	made := r.do(l, "making the world", func() (err error) {
		r.world, err = r.source.newWorld(l.Ctx)
		switch {
		case err != nil:
		case r.world == nil:
			err = errors.New("it is nil")
		case r.world.Agent == nil:
			err = errors.New("it has no agent")
		}
		return err
	})
	if !made { // it is not read, because it may still be written
		return nil
	}
	return r.world
}

// leave closes a fresh world. An error of Close is a warning, because the answers
// are complete. Any other failure makes the cell inconclusive.
func (r *liveRun) leave(l usercode.Limits, world *World) {
	if r.source.shared() || world.Close == nil {
		return
	}
	var failure error
	r.do(l, "closing the world", func() error {
		failure = usercode.Sound(world.Close())
		return nil
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.result.undecided != nil || failure == nil { // undecided: Close may still run
		return
	}
	name := "a calm run"
	if r.scenario != nil {
		name = r.cell.String()
	}
	r.result.warning = fmt.Sprintf("closing the world of %s: %v", name, failure)
}

// makeInjector makes the injector, inert until the world is there: calls that make
// the world get no fault, and are not counted. It has no rules if the run is not a cell.
// nil: it is too late for a run, as in a bubble that begins after it was given up.
func (r *liveRun) makeInjector() *chaos.Injector {
	o := &chaos.InjectorOptions{RecordAll: true, AwaitArm: true, Virtual: r.watchdog == nil}
	var in *chaos.Injector
	if r.scenario != nil {
		o.KeepValues = r.engine.m.KeepValues || r.needs.Has(NeedResults)
		o.KeepExchanges, o.OnEvent = r.engine.m.KeepValues, r.engine.o.OnEvent
		in = r.scenario.injector(r.cell.Trial, o)
	} else {
		o.KeepValues = r.needs.Has(NeedResults)
		in = chaos.NewInjector(0, o)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return nil
	}
	r.injector = in
	return in
}

// sendPrompt sends one prompt. It returns false when the run ends here: an agent that
// did not return is not asked again.
func (r *liveRun) sendPrompt(l usercode.Limits, world *World, tools chaos.ToolRegistry, prompt string) bool {
	o := &Observation{Cell: r.cell, Prompt: prompt, Tools: r.source.tools, began: r.injector.Elapsed()}
	if !r.rewrite(l, o) {
		return false
	}
	var ok bool
	if o.Before, o.noState, ok = r.state(l, world); !ok {
		return false
	}
	r.expect(o)
	ok, again := r.answer(l, world, tools, o)
	ok = ok && r.sound(l, world)
	if ok && o.noState == nil {
		o.After, o.noState, ok = r.state(l, world)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asking = nil
	r.collect(o)
	if !ok {
		r.result.partial = o
		return false
	}
	r.result.observations = append(r.result.observations, o)
	return again
}

func (r *liveRun) rewrite(l usercode.Limits, o *Observation) bool {
	if r.scenario == nil || r.scenario.Rewrite == nil {
		return true
	}
	original, text := o.Prompt, ""
	if !r.do(l, "rewriting the prompt", func() error {
		text = r.scenario.Rewrite(original)
		return nil
	}) {
		return false
	}
	if text != original {
		o.Original, o.Prompt = &original, text
	}
	return true
}

// expect notes the prompt that the agent answers now. In a bubble it is kept for
// fail, which runs outside.
func (r *liveRun) expect(o *Observation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.step = "the agent was answering"
	if r.watchdog == nil {
		asking := *o
		r.asking = &asking
	}
}

// answer runs the agent and fills in the observation. It returns ok false if the
// answer cannot be judged, and again false if the agent must not be asked again.
func (r *liveRun) answer(l usercode.Limits, world *World, tools chaos.ToolRegistry, o *Observation) (ok, again bool) {
	own := r.agentLimits(l)
	defer own.Cancel()
	start := time.Now()
	e := r.caller.Call(own, func() (err error) {
		r.said, err = world.Agent(own.Ctx, o.Prompt, tools)
		return err
	})
	o.Elapsed = time.Since(start)
	o.Err = e.Err
	if e.Left {
		r.injector.Close()
	} else if e.Cut == usercode.Uncut {
		o.Response = r.said
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.abandoned = r.result.abandoned || e.Left
	switch e.Cut {
	case usercode.CutByCtx:
		o.Err = fmt.Errorf("%w: %w", ErrTimeout, usercode.Sound(context.Cause(own.Ctx)))
	case usercode.CutHung:
		o.Err = fmt.Errorf("%w: no answer after %v of virtual time", ErrHung, r.patience)
	case usercode.CutWatchdog:
		l.Cancel() // the time of the whole cell is over
		r.result.undecided = r.why(usercode.CutWatchdog)
		o.Err = fmt.Errorf("%w: %w", ErrTimeout, r.result.undecided)
		return false, false
	}
	return true, e.Cut == usercode.Uncut && returned(e.Err)
}

// sound reports whether the world says that its agent's answer counts. Then the cell is
// decided by the earlier answers, or not at all.
func (r *liveRun) sound(l usercode.Limits, world *World) bool {
	if world.Err == nil {
		return true
	}
	var unsound error
	if !r.do(l, "asking World.Err", func() error {
		unsound = usercode.Sound(world.Err())
		return nil
	}) {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if unsound == nil {
		return true
	}
	r.result.undecided, r.result.unsound = unsound, true
	return false
}

// agentLimits are the limits of the run with the time-out of one answer. The
// agent's context ends with its answer.
func (r *liveRun) agentLimits(l usercode.Limits) usercode.Limits {
	if timeout := r.engine.m.Timeout; timeout > 0 {
		l.Ctx, l.Cancel = context.WithTimeout(l.Ctx, timeout)
		l.Patience = 0
		return l
	}
	l.Ctx, l.Cancel = context.WithCancel(l.Ctx)
	return l
}

// returned reports whether the agent returned err; else it panicked or ended its
// goroutine.
func returned(err error) bool {
	_, panicked := err.(*PanicError)
	return !panicked && err != ErrFailNow
}

// state reads the state of the world, without faults. An error of World.State
// concerns only the invariants that need the state. If State does not return,
// ok is false.
func (r *liveRun) state(l usercode.Limits, world *World) (state any, missing error, ok bool) {
	if !r.needs.Has(NeedState) {
		return nil, nil, true
	}
	if world.State == nil {
		return nil, errors.New("the invariant needs the state of the world, and World.State is nil"), true
	}
	const step = "reading the state of the world"
	var read any
	err, ok := r.call(l, step, func() (err error) {
		read, err = world.State(chaos.NewContext(spared.NewContext(l.Ctx), nil))
		return err
	})
	switch {
	case !ok: // it may still be written
		return nil, nil, false
	case err != nil:
		return nil, fmt.Errorf("%s: %w", step, err), true
	}
	return read, nil, true
}

// collect gives an observation the calls that ended since the previous one; r.mu
// is held. So a call that outlives its prompt is in exactly one observation.
func (r *liveRun) collect(o *Observation) {
	r.last, r.from = o, r.to
	r.gather()
}

func (r *liveRun) gather() {
	o := r.last
	o.Events, r.to = r.injector.EventsSince(r.from)
	o.Dropped = toInt(r.to - r.from - uint64(len(o.Events)))
}

// gatherLate gives the last observation the calls that ended after its answer,
// which no other observation has. A call that never ended goes to the observation in which
// it began, because its fault held it from then on; r.mu is held.
func (r *liveRun) gatherLate() {
	if r.last == nil {
		return
	}
	if _, ended := r.injector.EventsSince(r.to); ended == r.to {
		return
	}
	r.gather() // from the beginning, so that the events are in order
	var own []chaos.Event
	for _, e := range r.last.Events {
		o := r.during(e.Start)
		if e.Outcome != chaos.OutcomeOpen || o == r.last {
			own = append(own, e)
			continue
		}
		o.Events = append(o.Events, e)
		slices.SortStableFunc(o.Events, func(a, b chaos.Event) int { return cmp.Compare(a.Start, b.Start) })
	}
	r.last.Events = own
}

// during is the observation of the prompt that was being answered at a time; the first,
// if none was yet. r.mu is held.
func (r *liveRun) during(elapsed time.Duration) *Observation {
	o := r.last
	for i := len(r.result.observations) - 1; i >= 0 && o.began > elapsed; i-- {
		o = r.result.observations[i]
	}
	return o
}

func (w *worker) execute(ctx context.Context, r *liveRun, bubble Bubble) *run {
	r.outer = ctx
	if ctx.Err() != nil { // it decides nothing, so the agent is not called
		return r.sumLocked()
	}
	if r.result.undecided = cmp.Or(r.result.undecided, w.engine.refusal(bubble != nil)); r.result.undecided != nil {
		return r.sumLocked()
	}
	r.limit = w.engine.cellLimit(bubble != nil, len(r.prompts))
	w.watch(r.limit)
	defer w.watchdog.Stop()
	if bubble != nil {
		return w.executeInBubble(ctx, r, bubble)
	}
	r.caller, r.watchdog = &w.caller, w.watchdog.C
	if r.inquiry != nil {
		r.next = func(o *Observation) bool { return w.between(ctx, r.inquiry, o) }
	}
	own, cancel := context.WithCancel(ctx)
	defer cancel()
	r.run(own, cancel)
	r.endCalls()
	return r.sumLocked()
}

// endCalls gives the calls that are open their events. In a bubble it runs inside.
func (r *liveRun) endCalls() {
	r.mu.Lock()
	in := r.injector
	r.mu.Unlock()
	if in != nil {
		in.End()
	}
}

// close ends the run: it does not begin any more, and later calls get ErrCellEnded. r.mu
// is held.
func (r *liveRun) close() {
	r.over = true
	if r.injector != nil {
		r.injector.Close()
	}
}

func (r *liveRun) sumLocked() *run {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sum()
}

// sum ends the run and returns a copy of the result so far; r.mu is held.
func (r *liveRun) sum() *run {
	r.close()
	r.gatherLate()
	result := r.result // a copy: the run may go on
	result.sum(r.outer, r.injector)
	if r.injector != nil && r.engine.head != nil && r.scenario != nil {
		result.overlaps = r.scenario.overlaps(r.injector)
	}
	return &result
}
