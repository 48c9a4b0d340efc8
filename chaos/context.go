package chaos

import (
	"context"

	"github.com/shakedown-go/shakedown/internal/spared"
)

// frame is what the context carries: all settings in one value, found by a type
// assertion or one Value lookup.
type frame struct {
	context.Context
	in        *Injector // nil when only a lane or a turn was set
	lane      string
	laneHash  uint64
	turn      int
	attempt   int        // of the next call; 0: counted
	habit     string     // that makes the next call of its own; empty: none
	target    string     // the enclosing injection point
	spared    bool       // also by a bound injector: see package spared
	pinned    int16      // 1 + the index of the rule that the context is pinned to; 0: the executing one
	injection *injection // the call that faults act on, for Sleep and Changed
	held      *withheld  // keeps what Changed declares; nil: nothing does
}

type frameKey struct{}

// Value returns the frame itself for its key, and asks the parent for other keys.
func (f *frame) Value(key any) any {
	if _, ok := key.(frameKey); ok {
		return f
	}
	return f.Context.Value(key)
}

func frameOf(ctx context.Context) *frame {
	if f, ok := ctx.(*frame); ok {
		return f
	}
	if ctx == nil {
		return nil
	}
	f, _ := ctx.Value(frameKey{}).(*frame)
	return f
}

func derive(ctx context.Context) *frame {
	f := &frame{}
	if old := frameOf(ctx); old != nil {
		*f = *old
	}
	f.Context = orBackground(ctx)
	return f
}

// orBackground replaces a nil context, which works while there is no injector.
func orBackground(ctx context.Context) context.Context {
	if ctx == nil {
		return context.Background()
	}
	return ctx
}

// NewContext returns a context that carries the injector to wrapped calls. A nil
// injector makes them inert again.
func NewContext(ctx context.Context, in *Injector) context.Context {
	f := derive(ctx)
	if f.in != in {
		f.target, f.injection = "", nil
	}
	f.in, f.spared = in, in == nil && spared.Is(ctx)
	return f
}

// FromContext returns the injector that a context carries, or nil.
func FromContext(ctx context.Context) *Injector {
	if f := frameOf(ctx); f != nil {
		return f.in
	}
	return nil
}

// WithLane names the strand of concurrent work that the context belongs to; "" is
// the default lane. Calls are counted per lane. Give each goroutine that calls the same
// targets at the same time a lane of its own, with a name that is the same in every run
// ("worker-3"): then every trigger is reproducible. The innermost name counts.
func WithLane(ctx context.Context, name string) context.Context {
	f := derive(ctx)
	f.lane, f.laneHash = name, laneHash(name)
	return f
}

// LaneOf returns the lane that a context belongs to; "" is the default lane.
func LaneOf(ctx context.Context) string {
	if f := frameOf(ctx); f != nil {
		return f.lane
	}
	return ""
}

// WithTurn sets the agent's turn, which triggers can use and events show.
func WithTurn(ctx context.Context, n int) context.Context {
	f := derive(ctx)
	f.turn = n
	return f
}

// WithAttempt sets [Event.Attempt] of the calls made directly with this context:
// they are the n-th attempt (1: the first; 0: counted). Without it attempts are
// counted from the failures of equal calls.
func WithAttempt(ctx context.Context, n int) context.Context {
	f := derive(ctx)
	f.attempt = n
	return f
}

// WithHabit sets [Event.Habit] of the calls made directly with this context: they are calls that
// middleware around the tools makes of its own, such as a retry or a look-up, and not the agent's.
// "": the agent's. Package contract/habits sets it.
func WithHabit(ctx context.Context, name string) context.Context {
	f := derive(ctx)
	f.habit = name
	return f
}

// inside reports whether a call of target is the enclosing call, at a second wrapper (say,
// a wrapped function in a wrapped registry).
func (f *frame) inside(in *Injector, target string) bool {
	return f != nil && f.target == target && f.in == in && target != ""
}

func (f *frame) caller() string {
	if f == nil {
		return ""
	}
	return f.target
}

func (f *frame) within(ctx context.Context, parent *frame, s *site) {
	if parent != nil {
		f.lane, f.laneHash, f.turn = parent.lane, parent.laneHash, parent.turn
	}
	f.Context, f.in, f.target = orBackground(ctx), s.in, s.target
}
