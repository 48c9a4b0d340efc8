package fault

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
)

// Delay makes a call take d longer: the caller waits, then the call goes
// through. d is more than 0. Concurrent callers wait at the same time.
//
// The following holds for all latencies. If the context ends during the wait,
// the call returns its error and the callee is not reached. If the injector is
// disarmed during the wait, the call goes through at once. If the context had
// already ended, there is no wait: the call goes through, and the fault is not
// delivered.
func Delay(d time.Duration) chaos.Fault { return latency{of: fixed{d}} }

// Uniform is [Delay] by a time that is uniformly distributed from lo up to hi
// and drawn for each call from its coordinates. 0 ≤ lo < hi.
func Uniform(lo, hi time.Duration) chaos.Fault { return latency{of: uniform{lo, hi}} }

// Normal is [Delay] by a time with a normal distribution of that mean and
// standard deviation, drawn for each call from its coordinates. mean is at
// least 0, stddev more than 0.
//
// The distribution is truncated at 0, not clamped. If the mean is less than two
// deviations, that raises the average noticeably: with mean = stddev it is 1.29
// means.
func Normal(mean, stddev time.Duration) chaos.Fault { return latency{of: normal{mean, stddev}} }

// Exponential is [Delay] by a time with the exponential distribution of that
// mean, drawn for each call from its coordinates. It is the waiting time for
// events that come at a constant rate: most delays are short, one in twenty is
// over three means. mean is more than 0.
func Exponential(mean time.Duration) chaos.Fault { return latency{of: exponential{mean}} }

// Spike is [Delay] by usual for most calls, and by spike for a share of them.
// Which calls those are is drawn from their coordinates. usual is at least 0;
// if it is 0, only the spikes are delivered. spike is more than usual, share
// more than 0 and less than 1.
func Spike(usual, spike time.Duration, share float64) chaos.Fault {
	return latency{of: spiky{usual, spike, share}}
}

// latency is a delay of a distribution.
type latency struct {
	*label
	of distribution
}

// distribution is a quantile function: it maps a uniform draw in [0,1) to a time.
type distribution interface {
	quantile(u float64) time.Duration
	check(c *param.Check)
	params() any
}

// drawLatency is the salt of the draw: ASCII for "latency".
const drawLatency = 0x6c6174656e6379

func (l latency) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	if _, err := pause(ctx, l.delay(c)); err != nil {
		return nil, err
	}
	return next(ctx, args)
}

func (l latency) delay(c chaos.Call) time.Duration {
	if g, ok := l.of.(growing); ok {
		return g.at(c)
	}
	return l.of.quantile(c.Draw(drawLatency))
}

func (l latency) Phase() chaos.Phase { return chaos.PhaseBefore }

func (l latency) Check() error {
	c := param.Check{Kind: l.named("latency")}
	l.of.check(&c)
	return c.Err()
}

func (l latency) Describe() chaos.Description {
	return param.With(l.on(chaos.Description{
		Kind: "latency", Class: chaos.ClassTiming, Visibility: chaos.Implicit,
		Persistence: chaos.Transient, Effect: chaos.EffectDone,
	}), l.of.params())
}

// pause waits for d; a negative d has no end. It returns the context's error if
// that ends first, and reports whether the injector was disarmed during the
// wait.
func pause(ctx context.Context, d time.Duration) (disarmed bool, err error) {
	err = chaos.Sleep(ctx, d)
	if errors.Is(err, chaos.ErrDisarmed) {
		return true, nil
	}
	return false, err
}

// latencyParams are the parameters of all distributions.
type latencyParams struct {
	Distribution string `json:"distribution"`
	Duration     string `json:"duration,omitempty"`
	Lo           string `json:"lo,omitempty"`
	Hi           string `json:"hi,omitempty"`
	Mean         string `json:"mean,omitempty"`
	Stddev       string `json:"stddev,omitempty"`

	Usual string  `json:"usual,omitempty"`
	Spike string  `json:"spike,omitempty"`
	Share float64 `json:"share,omitempty"`
	Step  string  `json:"step,omitempty"`
	Most  string  `json:"most,omitempty"`
	Over  string  `json:"over,omitempty"`
}

type fixed struct{ d time.Duration }

func (f fixed) quantile(float64) time.Duration { return f.d }
func (f fixed) params() any                    { return latencyParams{Distribution: "fixed", Duration: f.d.String()} }

func (f fixed) check(c *param.Check) {
	c.That(f.d > 0, "duration", f.d, "a duration of more than 0: a delay of nothing is no fault")
}

type uniform struct{ lo, hi time.Duration }

func (f uniform) quantile(u float64) time.Duration { return f.lo + span(u*float64(f.hi-f.lo)) }

func (f uniform) params() any {
	return latencyParams{Distribution: "uniform", Lo: f.lo.String(), Hi: f.hi.String()}
}

func (f uniform) check(c *param.Check) {
	c.Wait("lo", f.lo)
	c.That(f.hi > f.lo, "hi", f.hi, "a duration of more than lo, which is "+f.lo.String())
}

type normal struct{ mean, stddev time.Duration }

// quantile computes from the upper tail, which keeps its precision for the
// draws that matter and never returns infinity.
func (f normal) quantile(u float64) time.Duration {
	mean, stddev := float64(f.mean), float64(f.stddev)
	positive := math.Erfc(-mean/(stddev*math.Sqrt2)) / 2 // the share of the bell above 0
	z := math.Erfcinv(2*(1-u)*positive) * math.Sqrt2
	return span(mean + z*stddev)
}

func (f normal) params() any {
	return latencyParams{Distribution: "normal", Mean: f.mean.String(), Stddev: f.stddev.String()}
}

func (f normal) check(c *param.Check) {
	c.Wait("mean", f.mean)
	c.That(f.stddev > 0, "stddev", f.stddev, "a duration of more than 0; Delay has no spread")
}

type exponential struct{ mean time.Duration }

func (f exponential) quantile(u float64) time.Duration {
	return span(-math.Log1p(-u) * float64(f.mean))
}

func (f exponential) params() any {
	return latencyParams{Distribution: "exponential", Mean: f.mean.String()}
}

func (f exponential) check(c *param.Check) {
	c.That(f.mean > 0, "mean", f.mean, "a duration of more than 0")
}

type spiky struct {
	usual, spike time.Duration
	share        float64
}

func (s spiky) quantile(u float64) time.Duration {
	if u >= 1-s.share {
		return s.spike
	}
	return s.usual
}

func (s spiky) params() any {
	return latencyParams{Distribution: "spike", Usual: s.usual.String(), Spike: s.spike.String(), Share: s.share}
}

func (s spiky) check(c *param.Check) {
	c.Wait("usual", s.usual)
	c.That(s.spike > s.usual, "spike", s.spike, "a duration of more than usual, which is "+s.usual.String())
	c.That(s.share > 0 && s.share < 1, "share", s.share, "a number between 0 and 1")
}

// span converts nanoseconds into a wait. A conversion that overflowed would be
// negative, and the wait would have no end.
func span(ns float64) time.Duration {
	if ns >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(max(ns, 0))
}
