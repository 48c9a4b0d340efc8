package chaostest

import (
	"context"
	"errors"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
)

// clock has the times that the checks wait, in virtual or in real time.
type clock struct {
	virtual bool
	settle  time.Duration // after which a call under way is taken to wait
	guard   time.Duration // after which a call under way is cancelled
	prompt  time.Duration // the most that "at once" may take
}

// read makes the clock for virtual or real time. In a bubble of testing/synctest a
// sleep takes exactly as long as it says; a real one of a nanosecond takes longer.
func read() clock {
	start := time.Now()
	time.Sleep(time.Nanosecond)
	if time.Since(start) == 1 {
		return clock{virtual: true, settle: 1, guard: 1000 * time.Hour, prompt: 0}
	}
	return clock{settle: time.Millisecond, guard: time.Second, prompt: 5 * time.Second}
}

type outcome struct {
	result   any
	err      error
	panicked any
	took     time.Duration
	cut      bool          // it was cancelled after clock.guard
	after    time.Duration // how long it took to end after it was cancelled
	stuck    bool          // it has not ended
}

// checker is what the checks of faults and of triggers share.
type checker struct {
	report
	clock
}

// A task is a call in a goroutine of its own.
type task struct {
	*checker
	start  time.Time
	cancel context.CancelFunc
	done   chan outcome
}

// stop ends a call that waits; nil: its context ends, after clock.guard.
type stop func(context.CancelFunc, *chaos.Injector)

var errExit = errors.New("it ended its goroutine")

func (c *checker) start(ctx context.Context, call func(context.Context) (any, error)) *task {
	ctx, cancel := context.WithCancel(ctx)
	t := &task{checker: c, start: time.Now(), cancel: cancel, done: make(chan outcome, 1)}
	go func() {
		o := outcome{panicked: errExit}
		defer func() {
			if p := recover(); p != nil {
				o.panicked = p
			}
			o.took = time.Since(t.start)
			t.done <- o
		}()
		o.result, o.err = call(ctx)
		o.panicked = nil
	}()
	return t
}

func (t *task) within(d time.Duration) (outcome, bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case o := <-t.done:
		return o, true
	case <-timer.C:
		return outcome{}, false
	}
}

// ended waits for a call that should end now, for longer than prompt, so that a slow end is
// measured.
func (t *task) ended() outcome {
	since := time.Now()
	o, ok := t.within(max(2*t.prompt, t.guard))
	o.after, o.stuck = time.Since(since), !ok
	return o
}

// finish waits for the end of a call. Once it waits, it is stopped.
func (t *task) finish(in *chaos.Injector, stop stop) outcome {
	defer t.cancel()
	wait := t.settle
	if stop == nil {
		wait, stop = t.guard, func(cancel context.CancelFunc, _ *chaos.Injector) { cancel() }
	}
	o, over := t.within(wait)
	if !over {
		stop(t.cancel, in)
		o = t.ended()
		o.cut = true
	}
	return o
}

// A spy is the fault between an injector and a check. It watches how the fault uses next.
type spy struct {
	fault chaos.Fault
	t     *faultCheck
}

// given is the key that marks the context of the fault.
type given struct{}

var errLate = errors.New("the call is over")

func (s spy) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	ours := context.WithValue(ctx, given{}, true)
	turn := make(chan struct{}, 1) // makes overlapping calls of next sequential; a mutex would freeze a bubble
	var over atomic.Bool
	defer over.Store(true)
	return s.fault.Inject(ours, c, args, func(ctx context.Context, passed any) (any, error) {
		if over.Load() {
			s.t.add(NextInTime, "next was called after Inject had returned")
			return nil, errLate
		}
		select {
		case turn <- struct{}{}:
		default:
			s.t.add(NextInTurn, "next was called while an earlier call of it was under way")
			turn <- struct{}{}
		}
		defer func() { <-turn }()
		if ctx == nil || ctx.Value(given{}) == nil {
			s.t.add(Context, "next was given a context that is not derived from that of the call")
			ctx = ours
		}
		if reflect.TypeOf(passed) != reflect.TypeOf(args) {
			s.t.add(Types, "next was given %T as arguments, and Inject %v", passed, reflect.TypeOf(args))
		}
		if !equal(passed, args) {
			s.t.otherArgs.Store(true)
		}
		return next(ctx, passed)
	})
}

// Phase returns the phase of the fault.
func (s spy) Phase() chaos.Phase { return phaseOf(s.fault) }

// Fresh returns a spy of a fresh fault, if the fault is Stateful.
func (s spy) Fresh() chaos.Fault {
	stateful, ok := s.fault.(chaos.Stateful)
	if !ok {
		return s
	}
	fresh := stateful.Fresh()
	if fresh == nil {
		s.t.add(Fresh, "Fresh returned nil")
		return s
	}
	return spy{fresh, s.t}
}
