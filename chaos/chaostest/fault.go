package chaostest

import (
	"bytes"
	"context"
	"encoding/json"
	"sync/atomic"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
)

// FaultOptions are the call that a fault is checked on, and what it may do. The zero
// value is a tool call: its arguments and its result are JSON objects.
type FaultOptions struct {
	_ struct{}
	// Args and Result are what the callee is called with and returns, of the
	// types that the fault expects. They are not changed. nil: a json.RawMessage
	// with an object; that of Result has members of every type.
	Args, Result any
	// LosesErrors means that the fault may hide an error of the callee, as one
	// in PhaseAfter may anyway.
	LosesErrors bool
	// IgnoresContext means that the fault may go on after its context has ended.
	IgnoresContext bool
}

// order is what the callee returns unless Result is set.
const order = `{"id":1042,"status":"shipped","total":17.5,"paid":true,"note":null,"items":["kettle","cup"],"customer":{"name":"Ann","since":"2024-02-29"}}`

// Fault checks a fault and returns all violations, joined, each a [*Violation];
// nil: there are none. o may be nil. The callee is one of Fault, so nothing
// outside is touched.
//
// A fault that is not delivered on any call passes if its events agree.
func Fault(f chaos.Fault, o *FaultOptions) error {
	t := &faultCheck{fault: f, clock: read()}
	if o != nil {
		t.FaultOptions = *o
	}
	if t.Args == nil {
		t.Args = json.RawMessage(`{"order":1042,"reason":"damaged"}`)
	}
	if t.Result == nil {
		t.Result = json.RawMessage(order)
	}
	if f == nil {
		t.add(Present, "the fault is nil")
		return t.err()
	}
	t.declarations()
	if t.has(Checked) {
		return t.err() // a plan refuses it
	}
	t.undisturbed()
	if !t.has(Cancelled) && !t.has(Goroutines) { // else each further call could block
		t.inTurn()
		t.passesErrors()
		if t.virtual {
			t.stops()
		}
		t.repeats()
	}
	if t.virtual {
		time.Sleep(t.guard) // for late calls of next; it costs nothing
	}
	return t.err()
}

// faultCheck is the check of one fault.
type faultCheck struct {
	FaultOptions
	report
	clock
	labels
	fault chaos.Fault
	phase chaos.Phase

	fails     bool        // it makes an error of its own
	waits     bool        // it waits; known in virtual time
	otherArgs atomic.Bool // it passed on arguments other than those it was given
}

// fixture is a callee, the fault to check, and an injector between them.
type fixture struct {
	*faultCheck
	in      *chaos.Injector
	fn      func(context.Context, any) (any, error)
	failing error         // of the callee
	pause   time.Duration // that the callee takes
	reached atomic.Int64
}

const target = "orders.status"

// fixture makes an injector that injects into every call. A plan does not refuse the
// fault: declarations has checked it.
func (t *faultCheck) fixture() *fixture {
	s := &fixture{faultCheck: t}
	plan, err := chaos.NewPlan(1, chaos.Rule{Name: "trial", Target: target, Fault: spy{t.fault, t}})
	if err != nil {
		t.add(Checked, "a plan refuses it: %v", err)
		plan, _ = chaos.NewPlan(1)
	}
	s.in = plan.Injector("trial", &chaos.InjectorOptions{RecordAll: true})
	s.fn = chaos.Wrap(target, s.callee)
	return s
}

func (s *fixture) callee(context.Context, any) (any, error) {
	s.reached.Add(1)
	if s.pause > 0 {
		time.Sleep(s.pause)
	}
	if s.failing != nil {
		return nil, s.failing
	}
	return copied(s.Result), nil
}

// copied returns a copy of a document, so that a fault cannot write into the
// original.
func copied(v any) any {
	switch v := v.(type) {
	case json.RawMessage:
		return json.RawMessage(bytes.Clone(v))
	case []byte:
		return bytes.Clone(v)
	}
	return v
}

// call starts a call in a lane, with a label for its goroutines.
func (s *fixture) call(ctx context.Context, lane, label string) *task {
	ctx = chaos.WithLane(chaos.NewContext(ctx, s.in), lane)
	return start(label, func() (any, error) { return s.fn(ctx, copied(s.Args)) })
}

// complete makes a call and waits for its end; after clock.guard it cancels the call.
func (s *fixture) complete(lane string) outcome {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	label := s.next()
	task := s.call(ctx, lane, label)
	o, ok := task.within(s.guard)
	if !ok {
		cancel()
		o = task.ended(s.clock)
		o.cut = true
	}
	if o.stuck || o.cut && o.after > s.prompt && !s.IgnoresContext {
		s.add(Cancelled, "the call went on for %v after its context had ended", o.after)
	}
	if !o.stuck && left(label, s.clock) {
		s.add(Goroutines, "a goroutine was still there after the call had returned")
	}
	return o
}

// event returns the event of the only call.
func (s *fixture) event() (e chaos.Event, ok bool) {
	events := s.in.Events()
	if len(events) == 0 {
		return e, false
	}
	return events[0], true
}
