package contract

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
)

// A visit is one independent run: a world is made or reset, the prompts are put
// in order, the world is closed. Its steps are user code and run on a hand; run
// itself is on one goroutine, that of the worker or, in virtual time, the first
// of the bubble. It may be left behind there, so what was found so far is kept
// under a lock.
type visit struct {
	engine  *engine
	weather *weather // nil: calm, and no cell
	cell    Cell
	prompts []string
	needs   Needs
	meet    func(context.Context, *World) error // instead of the prompts
	inquiry *inquiry                            // asked between prompts whether to go on; nil: it goes on

	hands    *hands
	watchdog <-chan time.Time // nil in a bubble
	limit    time.Duration    // of the watchdog
	patience time.Duration
	next     func(*Observation) bool // asks the inquiry; nil: there is none
	over     chan struct{}           // in a bubble, made outside: user code is done

	mu       sync.Mutex // guards what follows
	step     string     // what user code is doing, for people
	bubble   string     // the bubble's number, as stack traces have it
	left     string     // the goroutines that user code left, by name
	asking   *Observation
	injector *chaos.Injector
	last     *Observation // the last that was given events
	from, to uint64       // the calls of last, as EventsSince counts them
	seen     sight
	done     bool
}

// run makes the visit. Its context ends with it, or with the run in real time.
func (v *visit) run(ctx context.Context, cancel context.CancelFunc) {
	l := limits{ctx, cancel, v.watchdog, v.patience}
	world := v.enter(l)
	if world == nil {
		return
	}
	defer v.leave(l, world)
	if v.meet != nil {
		v.begin("listing the tools")
		v.do(l, func() error { return v.meet(ctx, world) })
		return
	}
	in := v.arm()
	defer in.Close()
	tools := world.Tools
	if tools != nil {
		tools = chaos.WrapRegistry(tools, in)
	}
	for i, prompt := range v.prompts {
		if !v.ask(l, world, tools, prompt) || i+1 < len(v.prompts) && !v.goOn() {
			return
		}
	}
}

// goOn reports whether the next prompt is to be put.
func (v *visit) goOn() bool {
	if v.next == nil {
		return true
	}
	v.mu.Lock()
	o := v.seen.observations[len(v.seen.observations)-1]
	v.mu.Unlock()
	return v.next(o)
}

// begin notes what user code does from now on.
func (v *visit) begin(step string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.step = step
}

// do runs user code in the step that began. When that fails nothing can be
// said of the cell, and it returns false.
func (v *visit) do(l limits, fn func() error) bool {
	e := v.hands.call(l, fn)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.seen.abandoned = v.seen.abandoned || e.left
	switch {
	case e.cut != uncut:
		v.seen.undecided = v.why(e.cut)
	case e.err != nil:
		v.seen.undecided = fmt.Errorf("%s: %w", v.step, e.err)
	default:
		return true
	}
	return false
}

// why says what ended the wait for the step; v.mu is held.
func (v *visit) why(c cut) error {
	switch c {
	case cutWatchdog:
		return fmt.Errorf("the watchdog gave up after %v of real time, while %s", v.limit, v.step)
	case cutHung:
		return fmt.Errorf("no end after %v of virtual time, while %s", v.patience, v.step)
	}
	return errors.New("the run was cancelled, while " + v.step)
}

// enter makes the world, or brings the shared one back to its start. It returns
// nil when that failed. A visit that only meets the world leaves it as it is.
func (v *visit) enter(l limits) *World {
	m := v.engine.m
	if m.NewWorld == nil {
		v.begin("resetting the world")
		if m.Reset != nil && v.meet == nil && !v.do(l, func() error { return m.Reset(l.ctx) }) {
			return nil
		}
		return m.World
	}
	v.begin("making the world")
	var world *World
	made := v.do(l, func() (err error) {
		world, err = m.NewWorld(l.ctx)
		switch {
		case err != nil:
		case world == nil:
			err = errors.New("it is nil")
		case world.Agent == nil:
			err = errors.New("it has no agent")
		}
		return err
	})
	if !made { // and not looked at: it may still be written
		return nil
	}
	return world
}

// leave closes a fresh world. An error there is worth a warning: the answers
// are in. Worse is for the cell to tell.
func (v *visit) leave(l limits, world *World) {
	if v.engine.m.NewWorld == nil || world.Close == nil {
		return
	}
	v.begin("closing the world")
	var failure error
	e := v.hands.call(l, func() error {
		failure = world.Close()
		return nil
	})
	v.mu.Lock()
	defer v.mu.Unlock()
	v.seen.abandoned = v.seen.abandoned || e.left
	switch {
	case v.seen.undecided != nil:
	case e.cut != uncut:
		v.seen.undecided = v.why(e.cut)
	case e.err != nil:
		v.seen.undecided = fmt.Errorf("%s: %w", v.step, e.err)
	case failure != nil:
		v.seen.warning = fmt.Sprintf("closing the world of %s: %v", v.name(), failure)
	}
}

// name is the visit in a warning.
func (v *visit) name() string {
	if v.weather == nil {
		return "a calm run"
	}
	return v.cell.String()
}

// arm makes the injector; that of a visit that is no cell has no rules.
func (v *visit) arm() *chaos.Injector {
	var in *chaos.Injector
	if v.weather != nil {
		in = v.weather.injector(v.cell.Trial, v.needs.Has(NeedResults))
	} else {
		in = chaos.NewInjector(0, &chaos.InjectorOptions{MaxLog: -1})
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.injector = in
	return in
}

// ask puts one prompt. It returns false when the visit ends here: an agent that
// did not return is not asked again.
func (v *visit) ask(l limits, world *World, tools chaos.ToolRegistry, prompt string) bool {
	o := &Observation{Cell: v.cell, Prompt: prompt, Tools: v.engine.tools}
	var ok bool
	if o.Before, o.noState, ok = v.state(l, world); !ok {
		return false
	}
	v.expect(o)
	ok, again := v.answer(l, world, tools, o)
	if ok && o.noState == nil {
		o.After, o.noState, ok = v.state(l, world)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.asking = nil
	v.collect(o)
	if !ok {
		v.seen.partial = o
		return false
	}
	v.seen.observations = append(v.seen.observations, o)
	return again
}

// expect notes what the agent is asked; in a bubble, for whoever gives it up
// from outside.
func (v *visit) expect(o *Observation) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.step = "the agent was answering"
	if v.watchdog == nil {
		asking := *o
		v.asking = &asking
	}
}

// answer runs the agent and writes down what came of it: ok is false when that
// cannot be judged, and again when the agent cannot be asked again.
func (v *visit) answer(l limits, world *World, tools chaos.ToolRegistry, o *Observation) (ok, again bool) {
	own := v.agentLimits(l)
	defer own.cancel()
	var text string
	start := time.Now()
	e := v.hands.call(own, func() (err error) {
		text, err = world.Agent(chaos.NewContext(own.ctx, v.injector), o.Prompt, tools)
		return err
	})
	o.Elapsed = time.Since(start)
	o.Err = e.err
	if e.left {
		v.injector.Close()
	} else if e.cut == uncut {
		o.Response = text
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.seen.abandoned = v.seen.abandoned || e.left
	switch e.cut {
	case cutByCtx:
		o.Err = fmt.Errorf("%w: %w", ErrTimeout, context.Cause(own.ctx))
	case cutHung:
		o.Err = fmt.Errorf("%w: no answer after %v of virtual time", ErrHung, v.patience)
	case cutWatchdog:
		l.cancel() // the time of the whole cell is over
		v.seen.undecided = v.why(cutWatchdog)
		o.Err = fmt.Errorf("%w: %w", ErrTimeout, v.seen.undecided)
		return false, false
	}
	return true, e.cut == uncut && returned(e.err)
}

// agentLimits are those of a cell with the time-out of one answer. The agent's
// context ends with its answer.
func (v *visit) agentLimits(l limits) limits {
	if timeout := v.engine.m.Timeout; timeout > 0 {
		l.ctx, l.cancel = context.WithTimeout(l.ctx, timeout)
		l.patience = 0
		return l
	}
	l.ctx, l.cancel = context.WithCancel(l.ctx)
	return l
}

// returned tells a returned error from an agent that panicked or ended its goroutine.
func returned(err error) bool {
	_, panicked := err.(*PanicError)
	return !panicked && err != ErrFailNow
}

// state asks the world for its state, without faults. A world that fails to
// tell is a problem only of the invariants that need it; ok is false when it
// did not even return.
func (v *visit) state(l limits, world *World) (state any, failed error, ok bool) {
	if !v.needs.Has(NeedState) {
		return nil, nil, true
	}
	if world.State == nil {
		return nil, errors.New("the invariant needs the state of the world, and World.State is nil"), true
	}
	v.begin("reading the state of the world")
	var read any
	e := v.hands.call(l, func() (err error) {
		read, err = world.State(chaos.NewContext(l.ctx, nil))
		return err
	})
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case e.cut != uncut:
		v.seen.undecided, v.seen.abandoned = v.why(e.cut), v.seen.abandoned || e.left
		return nil, nil, false
	case e.err != nil:
		return nil, fmt.Errorf("reading the state of the world: %w", e.err), true
	}
	return read, nil, true
}

// collect gives an observation the calls that ended since the one before; v.mu
// is held. So a call that outlives its prompt is in one observation, and only there.
func (v *visit) collect(o *Observation) {
	v.last, v.from = o, v.to
	v.gather()
}

// gather takes the events of the last observation; v.mu is held.
func (v *visit) gather() {
	o := v.last
	o.Events, v.to = v.injector.EventsSince(v.from)
	o.Dropped = toInt(v.to - v.from - uint64(len(o.Events)))
}

// gatherLate gives the last observation the calls that ended after its answer,
// which are nobody else's; v.mu is held.
func (v *visit) gatherLate() {
	if v.last == nil {
		return
	}
	if _, ended := v.injector.EventsSince(v.to); ended > v.to {
		v.gather() // from its beginning, for the order
	}
}
