package chaostest

import (
	"context"
	"errors"
)

// stops ends calls by their context and by Disarm, before they begin and while they
// wait.
func (t *faultCheck) stops() {
	if !t.IgnoresContext {
		t.cancelledBefore()
	}
	if !t.waits || t.has(Cancelled) {
		return
	}
	if !t.IgnoresContext {
		t.again(t.cancelledDuring)
	}
	t.again(t.disarmedDuring)
}

// again repeats an attempt that a slow machine may disturb. A violation counts only if
// each attempt finds one.
func (t *faultCheck) again(attempt func(*report) (judged bool)) {
	var last report
	for range t.retries {
		last = report{}
		if attempt(&last) && len(last.found) == 0 {
			return
		}
	}
	for _, err := range last.found {
		v := err.(*Violation)
		t.add(v.Check, "%s", v.Detail)
	}
}

func (t *faultCheck) cancelledBefore() {
	t.again(func(r *report) bool {
		s := t.fixture()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		label := t.next()
		o := s.call(ctx, "", label).ended(t.clock)
		if o.stuck || o.after > t.prompt {
			r.add(Cancelled, "with a context that had ended before, the call took %v", o.after)
		} else if left(label, t.clock) {
			r.add(Goroutines, "a goroutine was still there after a call whose context had ended")
		}
		return true
	})
}

// cancelledDuring cancels a call that waits.
func (t *faultCheck) cancelledDuring(r *report) (judged bool) {
	s := t.fixture()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	label := t.next()
	task := s.call(ctx, "", label)
	if _, over := task.within(t.settle); over {
		return false
	}
	cancel()
	o := task.ended(t.clock)
	switch {
	case o.stuck || o.after > t.prompt:
		r.add(Cancelled, "the call went on for %v after its context had ended", o.after)
	case left(label, t.clock):
		r.add(Goroutines, "a goroutine was still there after a call whose context had ended")
	case t.waitedOut(o):
		return false
	case o.err == nil && o.panicked == nil:
		r.add(Cancelled, "the context ended during the wait, and the caller got no error")
	case o.err != nil && !errors.Is(o.err, context.Canceled):
		r.add(Cancelled, "the context ended during the wait, and the caller got %q in place of its error", o.err)
	}
	return true
}

// waitedOut reports whether the wait may have ended by itself.
func (t *faultCheck) waitedOut(o outcome) bool { return !t.endless && o.took >= t.lasts }

// disarmedDuring disarms the injector while a call waits: the call goes through.
func (t *faultCheck) disarmedDuring(r *report) (judged bool) {
	s := t.fixture()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel() // in case Disarm does not end the call
	before := t.begun.Load()
	task := s.call(ctx, "", t.next())
	if _, over := task.within(t.settle); over {
		return false
	}
	// on a slow machine the call may not have begun
	for waited := t.settle; t.begun.Load() == before; waited += t.settle {
		if _, over := task.within(t.settle); over || waited > t.prompt {
			return false
		}
	}
	s.in.Disarm()
	o := task.ended(t.clock)
	reached := s.reached.Load()
	switch {
	case o.stuck || o.after > t.prompt:
		r.add(Disarmed, "the call went on waiting for %v after the injector was disarmed", o.after)
	case t.waitedOut(o):
		return false
	case o.panicked != nil:
		r.add(Disarmed, "the injector was disarmed during the wait, and the call panicked: %v", o.panicked)
	case o.err != nil:
		r.add(Disarmed, "the injector was disarmed during the wait, and the call failed: %v", o.err)
	case reached == 0 || !equal(o.result, t.Result):
		r.add(Disarmed,
			"the injector was disarmed during the wait; the callee was reached %d times and the caller got %s", reached,
			show(o.result))
	}
	return true
}
