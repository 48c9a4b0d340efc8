package chaostest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// A Point is an injection point of a wrapper of your own, for [Wrapper]. A handle with many targets,
// such as a connection of a database, is a Point for each.
type Point struct {
	_ struct{}
	// Target is the name of the injection point. Required.
	Target string
	// Open opens the wrapper anew, around a callee that calls reached whenever a call to Target
	// reaches it, and fails with the error of that. The function that it returns makes one call to
	// Target, perhaps after others, and returns what the caller gets: equal values for calls that
	// went well. It is called many times. Required.
	Open func(reached func() error) (call func(context.Context) (any, error))
	// Replacement is a result, as faults see it, that may come in place of the callee's, and Replaced
	// what the caller gets then. nil: results of this point are not replaced.
	Replacement, Replaced any
}

// Wrapper checks the points of a wrapper and returns all violations, joined, each a [*Violation];
// nil: there are none. Each fault that is delivered must show to the caller or to the callee, and
// each one that shows must be delivered. A call that no rule acts on must be as one without an
// injector, and allocate no more. Allocations are not compared under the race detector.
func Wrapper(points ...Point) error {
	c := &checker{clock: read()}
	for _, p := range points {
		pointCheck{p, c}.check()
	}
	if len(points) == 0 {
		c.add(Present, "there is no point")
	}
	return c.err()
}

type pointCheck struct {
	Point
	*checker
}

// A setup is what a trial is made under.
type setup struct {
	rules   []chaos.Rule
	record  bool  // calls are recorded; without that and rules there is no injector
	failing error // of the callee, or of the source of a stream at its end
	take    int   // items of a stream that are read; 0: all
	rounds  int   // how often the source gives its items; 0: once
	stop    stop
}

// trial is what became of one call through a wrapper.
type trial struct {
	outcome
	items   []any // of a stream
	reached int   // how often the callee was
	pulled  int   // items that were taken from the source of a stream
	event   chaos.Event
	events  int // of the target; event is the first
}

// elsewhere is a target that no wrapper has.
const elsewhere = "chaostest.elsewhere"

var errLost = errors.New("connection lost")

// under has a rule for a target that always acts; nil: one for another target.
func under(target string, f chaos.Fault) setup {
	return setup{rules: []chaos.Rule{{Name: "trial", Target: target, Fault: f}}}
}

// context is that of a trial.
func (s setup) context(ctx context.Context, c *checker) (context.Context, *chaos.Injector) {
	if s.rules == nil && !s.record {
		return ctx, nil
	}
	plan, err := chaos.NewPlan(1, s.rules...)
	if err != nil {
		c.add(Present, "a plan refuses the rules: %v", err)
		plan, _ = chaos.NewPlan(1)
	}
	in := plan.Injector("trial", &chaos.InjectorOptions{RecordAll: s.record})
	return chaos.NewContext(ctx, in), in
}

// run makes the call of a trial, and finds its event.
func (s setup) run(c *checker, target string, call func(context.Context) (any, error)) (t trial) {
	ctx, in := s.context(context.Background(), c)
	task := c.start(ctx, call)
	if t.outcome = task.finish(in, s.stop); in != nil {
		for _, e := range in.Events() {
			if e.Target != target {
				continue
			}
			if t.events++; t.events == 1 {
				t.event = e
			}
		}
		if in.Disarm(); t.stuck {
			task.ended() // so that no goroutine is left
		}
	}
	return t
}

func (p pointCheck) try(s setup) trial {
	var reached atomic.Int64
	call := p.Open(func() error { reached.Add(1); return s.failing })
	t := s.run(p.checker, p.Target, call)
	t.reached = int(reached.Load())
	return t
}

func (p pointCheck) check() {
	base := p.try(setup{})
	if base.err != nil || base.panicked != nil || base.cut || base.reached != 1 {
		p.add(Transparent, "%s: a call without an injector reached the callee %d times and ended with %v %v", p.Target,
			base.reached, base.err, base.panicked)
		return
	}
	p.calm(p.Target, base, p.try)
	faults := []chaos.Fault{fault.Fail(errLost), fault.LoseReplyAfter(0), fault.Duplicate(), fault.DeliverTwice(),
		fault.Delay(time.Nanosecond)}
	for _, f := range faults {
		p.honest(p.Target, f, base, p.try(under(p.Target, f)))
	}
	if p.Replacement != nil {
		f := fault.Replace(p.Replacement)
		t := p.try(under(p.Target, f))
		if p.honest(p.Target, f, base, t); t.event.Delivered && !reflect.DeepEqual(t.result, p.Replaced) {
			p.add(Honest, "%s: the caller got %s in place of the replacement, %s", p.Target, show(t.result),
				show(p.Replaced))
		}
	}
	if p.virtual {
		p.stops(p.Target, base, p.try)
	}
	p.allocates(p.Target, func(s setup) float64 {
		call := p.Open(func() error { return nil })
		ctx, _ := s.context(context.Background(), p.checker)
		return allocations(func() { _, _ = call(ctx) })
	})
}

// calm makes calls that no rule acts on.
func (c *checker) calm(target string, base trial, try func(setup) trial) {
	for where, s := range map[string]setup{"under a rule for another target": under(elsewhere, fault.Fail(errLost)),
		"that is recorded": {record: true}} {
		t := try(s)
		if what := differs(base, t, c.virtual); what != "" {
			c.add(Transparent, "%s: a call %s is not as one without an injector: %s", target, where, what)
		}
		if s.record && t.events != 1 || !s.record && t.events > 0 {
			c.add(Honest, "%s: a call %s left %d events of that target", target, where, t.events)
		} else if s.record && (t.event.Delivered || t.event.Outcome != chaos.OutcomeOK) {
			c.add(Honest, "%s: a call %s counts as delivered, or as %s", target, where, t.event.Outcome)
		}
	}
	bare := try(setup{failing: errCallee})
	slow := under(target, fault.Delay(time.Nanosecond))
	slow.failing = errCallee
	for _, s := range []setup{{failing: errCallee, record: true}, slow} {
		t := try(s)
		if bare.err == nil || t.err == nil || t.err.Error() != bare.err.Error() || t.reached != bare.reached {
			c.add(PassesErrors, "%s: the callee failed with %q, and the caller got %v after %d executions", target,
				errCallee, t.err, t.reached)
		}
	}
}

// differs says in what a trial differs for its caller or callee from one without faults; "": in nothing.
func differs(base, t trial, virtual bool) string {
	switch {
	case t.panicked != nil:
		return fmt.Sprintf("it panicked: %v", t.panicked)
	case t.reached != base.reached:
		return fmt.Sprintf("the callee was reached %d times", t.reached)
	case (t.err != nil) != (base.err != nil):
		return fmt.Sprintf("the caller got the error %v", t.err)
	case !reflect.DeepEqual(t.result, base.result), !reflect.DeepEqual(t.items, base.items):
		return fmt.Sprintf("the caller got %s%s", show(t.result), show(t.items))
	case virtual && t.took != base.took:
		return fmt.Sprintf("it took %v", t.took)
	}
	return ""
}

// honest compares what a fault made of a call with its event.
func (c *checker) honest(target string, f chaos.Fault, base, t trial) {
	kind, what := f.(chaos.Described).Describe().Kind, differs(base, t, c.virtual)
	switch {
	case t.stuck || t.cut:
		c.add(Cancelled, "%s: under %s the call did not end", target, kind)
	case t.events != 1:
		c.add(Honest, "%s: under %s the call left %d events of that target", target, kind, t.events)
	case t.event.Delivered && what == "" && (c.virtual || t.event.Spent == 0):
		c.add(Honest, "%s: %s counts as delivered, and the call was as one without it", target, kind)
	case !t.event.Delivered && what != "":
		c.add(Honest, "%s: %s does not count as delivered, and %s", target, kind, what)
	case t.event.Outcome == chaos.OutcomeOK && t.err != nil, t.event.Outcome == chaos.OutcomeInjected && t.err == nil:
		c.add(Honest, "%s: under %s the caller got the error %v, and the event says %q", target, kind, t.err,
			t.event.Outcome)
	}
}

// stops ends calls while a fault waits: by their context, and by Disarm.
func (c *checker) stops(target string, base trial, try func(setup) trial) {
	hangs := under(target, fault.Hang())
	hangs.stop = func(cancel context.CancelFunc, _ *chaos.Injector) { cancel() }
	if t := try(hangs); t.stuck || t.after > c.prompt || t.err == nil {
		c.add(Cancelled, "%s: the context ended while a fault waited, and the call ended %v later with %v", target,
			t.after, t.err)
	}
	hangs.stop = func(_ context.CancelFunc, in *chaos.Injector) { in.Disarm() }
	t := try(hangs)
	if t.took = base.took; t.stuck || t.after > c.prompt || differs(base, t, false) != "" {
		c.add(Disarmed, "%s: the injector was disarmed while a fault waited, and after %v %s", target, t.after,
			differs(base, t, false))
	}
}

// allocates compares the allocations of calls that no rule acts on with those without an injector.
func (c *checker) allocates(target string, count func(setup) float64) {
	if raceDetector {
		return
	}
	without := count(setup{})
	never := func(w chaos.When) setup {
		return setup{rules: []chaos.Rule{{Name: "trial", Target: target, When: w, Fault: fault.Fail(errLost)}}}
	}
	for what, s := range map[string]setup{"no rule is for it": under(elsewhere, fault.Fail(errLost)),
		"a rule is never drawn": never(when.Prob(0)), "a rule is for a later call": never(when.Nth(math.MaxInt32))} {
		if n := count(s); n > without {
			c.add(Allocates, "%s: where %s, a call allocates %v times, and without an injector %v times", target, what,
				n, without)
		}
	}
}

// allocations is the mean number of allocations of do, rounded down, as testing.AllocsPerRun counts
// them; the least of three, since other goroutines allocate too.
func allocations(do func()) float64 {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const runs = 100
	least := math.Inf(1)
	do()
	for range 3 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range runs {
			do()
		}
		runtime.ReadMemStats(&after)
		least = min(least, float64((after.Mallocs-before.Mallocs)/runs))
	}
	return least
}
