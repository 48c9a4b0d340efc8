package chaostest

import (
	"context"
	"errors"
	"reflect"
	"sync"

	"github.com/shakedown-go/shakedown/chaos"
)

// spy calls the fault in its place, and checks what it passes to next.
type spy struct {
	fault chaos.Fault
	t     *faultCheck
}

// given is the key that marks the context of the fault.
type given struct{}

var errLate = errors.New("the call is over")

func (s spy) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	w := &watch{t: s.t, ctx: context.WithValue(ctx, given{}, true), args: reflect.TypeOf(args), given: args, next: next,
		turn: make(chan struct{}, 1)}
	defer w.end()
	return s.fault.Inject(w.ctx, c, args, w.pass)
}

// watch is what a spy keeps of one call.
type watch struct {
	t     *faultCheck
	ctx   context.Context
	args  reflect.Type
	given any // as the fault got them
	next  chaos.Next

	turn   chan struct{} // makes overlapping calls of next sequential; a mutex would freeze a bubble
	mu     sync.Mutex
	inside bool
	over   bool
}

func (w *watch) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
}

// enter checks a call of next, and reports whether it may go on.
func (w *watch) enter() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		w.t.add(NextInTime, "next was called after Inject had returned")
		return false
	}
	if w.inside {
		w.t.add(NextInTurn, "next was called while an earlier call of it was under way")
	}
	w.inside = true
	return true
}

func (w *watch) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inside = false
}

func (w *watch) pass(ctx context.Context, args any) (any, error) {
	if !w.enter() {
		return nil, errLate
	}
	w.turn <- struct{}{}
	defer func() { <-w.turn }()
	defer w.leave()
	if ctx == nil || ctx.Value(given{}) == nil {
		w.t.add(Context, "next was given a context that is not derived from that of the call")
		ctx = w.ctx
	}
	if reflect.TypeOf(args) != w.args {
		w.t.add(Types, "next was given %T as arguments, and Inject %v", args, w.args)
	}
	if !equal(args, w.given) {
		w.t.otherArgs.Store(true)
	}
	return w.next(ctx, args)
}

// Phase returns the phase of the fault.
func (s spy) Phase() chaos.Phase { return phaseOf(s.fault) }

func phaseOf(f chaos.Fault) chaos.Phase {
	if p, ok := f.(chaos.Phased); ok {
		return p.Phase()
	}
	return chaos.PhaseInstead
}

// Check returns the problems of the fault.
func (s spy) Check() error {
	if c, ok := s.fault.(chaos.Checked); ok {
		return c.Check()
	}
	return nil
}

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
