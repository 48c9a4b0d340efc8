package chaostest

import (
	"context"
	"errors"
)

// stops ends calls by their context and by Disarm, before they begin and while they
// wait. Only virtual time shows what happens at once.
func (t *faultCheck) stops() {
	if !t.IgnoresContext {
		t.cancelledBefore()
	}
	if !t.waits || t.has(Cancelled) {
		return
	}
	if !t.IgnoresContext {
		t.cancelledDuring()
	}
	t.disarmedDuring()
}

func (t *faultCheck) cancelledBefore() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	label := t.next()
	o := t.fixture().call(ctx, "", label).ended(t.clock)
	if o.stuck || o.after > t.prompt {
		t.add(Cancelled, "with a context that had ended before, the call took %v", o.after)
	} else if left(label, t.clock) {
		t.add(Goroutines, "a goroutine was still there after a call whose context had ended")
	}
}

// cancelledDuring cancels a call that waits.
func (t *faultCheck) cancelledDuring() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	label := t.next()
	task := t.fixture().call(ctx, "", label)
	if _, over := task.within(t.settle); over {
		return
	}
	cancel()
	o := task.ended(t.clock)
	switch {
	case o.stuck || o.after > t.prompt:
		t.add(Cancelled, "the call went on for %v after its context had ended", o.after)
	case left(label, t.clock):
		t.add(Goroutines, "a goroutine was still there after a call whose context had ended")
	case o.err == nil && o.panicked == nil:
		t.add(Cancelled, "the context ended during the wait, and the caller got no error")
	case o.err != nil && !errors.Is(o.err, context.Canceled):
		t.add(Cancelled, "the context ended during the wait, and the caller got %q in place of its error", o.err)
	}
}

// disarmedDuring disarms the injector while a call waits: the call goes through.
func (t *faultCheck) disarmedDuring() {
	s := t.fixture()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel() // in case Disarm does not end the call
	task := s.call(ctx, "", t.next())
	if _, over := task.within(t.settle); over {
		return
	}
	s.in.Disarm()
	o := task.ended(t.clock)
	reached := s.reached.Load()
	switch {
	case o.stuck || o.after > t.prompt:
		t.add(Disarmed, "the call went on waiting for %v after the injector was disarmed", o.after)
	case o.panicked != nil:
		t.add(Disarmed, "the injector was disarmed during the wait, and the call panicked: %v", o.panicked)
	case o.err != nil:
		t.add(Disarmed, "the injector was disarmed during the wait, and the call failed: %v", o.err)
	case reached == 0 || !equal(o.result, t.Result):
		t.add(Disarmed,
			"the injector was disarmed during the wait; the callee was reached %d times and the caller got %s", reached,
			show(o.result))
	}
}
