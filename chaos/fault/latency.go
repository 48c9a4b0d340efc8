package fault

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
)

func latencyRows() []*catalog.Row { return []*catalog.Row{latencyRow} }

// Delay makes a call take d longer: the caller waits, then the call goes
// through. d is more than 0. Concurrent callers wait at the same time.
//
// The following holds for all latencies. If the context ends during the wait,
// the call returns its error and the callee is not reached. If the injector is
// disarmed during the wait, the call goes through at once. If the context had
// already ended, there is no wait: the call goes through, and the fault is not
// delivered.
func Delay(d time.Duration) chaos.Fault {
	return &latency{latencyParams: latencyParams{Distribution: fixed, Duration: &d}}
}

// Uniform is [Delay] by a time that is uniformly distributed from lo up to hi
// and drawn for each call from its coordinates. 0 ≤ lo < hi.
func Uniform(lo, hi time.Duration) chaos.Fault {
	return &latency{latencyParams: latencyParams{Distribution: "uniform", Lo: &lo, Hi: &hi}}
}

// Normal is [Delay] by a time with a normal distribution of that mean and
// standard deviation, drawn for each call from its coordinates. mean is at
// least 0, stddev more than 0.
//
// The distribution is truncated at 0, not clamped. If the mean is less than two
// deviations, that raises the average noticeably: with mean = stddev it is 1.29
// means.
func Normal(mean, stddev time.Duration) chaos.Fault {
	return &latency{latencyParams: latencyParams{Distribution: "normal", Mean: &mean, Stddev: &stddev}}
}

// Exponential is [Delay] by a time with the exponential distribution of that
// mean, drawn for each call from its coordinates. It is the waiting time for
// events that come at a constant rate: most delays are short, one in twenty is
// over three means. mean is more than 0.
func Exponential(mean time.Duration) chaos.Fault {
	return &latency{latencyParams: latencyParams{Distribution: "exponential", Mean: &mean}}
}

// Spike is [Delay] by usual for most calls, and by spike for a share of them.
// Which calls those are is drawn from their coordinates. usual is at least 0;
// if it is 0, only the spikes are delivered. spike is more than usual, share
// more than 0 and less than 1.
func Spike(usual, spike time.Duration, share float64) chaos.Fault {
	return &latency{latencyParams: latencyParams{Distribution: "spike", Usual: &usual, Spike: &spike, Share: share}}
}

// RampUp is [Delay] by a time that grows with every call of a lane to the
// target: step for the first call, twice step for the second, and so on up to
// most. step is more than 0, most at least step.
func RampUp(step, most time.Duration) chaos.Fault {
	return &latency{latencyParams: latencyParams{Distribution: "degrading", Step: &step, Most: &most}}
}

// RampUpWith is [RampUp] by the clock: the delay grows evenly from 0, when the
// injector is armed, to most after the time over, and then stays there. Both
// are more than 0.
func RampUpWith(most, over time.Duration) chaos.Fault {
	return &latency{latencyParams: latencyParams{Distribution: "degrading_over", Most: &most, Over: &over}}
}

var latencyRow = catalog.Fault(catalog.Row{
	Kind: "latency", Doc: "The call takes longer.",
	Go: "fault.Delay(d), fault.Uniform(lo, hi), fault.Normal(mean, stddev), fault.Exponential(mean), " +
		"fault.Spike(usual, spike, share), fault.RampUp(step, most), fault.RampUpWith(most, over)",
	Example: `{"distribution":"fixed","duration":"2s"}`,
	Class:   chaos.ClassTiming, Visibility: chaos.Implicit, Persistence: chaos.Transient, Effect: chaos.EffectDone,
}, latencyParams.fault)

// latencyParams are the parameters of all distributions. Those of the
// distribution are set, also if they are 0, and the others are nil.
type latencyParams struct {
	Distribution string         `json:"distribution" bounds:"enum=fixed|uniform|normal|exponential|spike|degrading|degrading_over"`
	Duration     *time.Duration `json:"duration,omitempty" doc:"of fixed: the delay"`
	Lo           *time.Duration `json:"lo,omitempty" doc:"of uniform: the least, included"`
	Hi           *time.Duration `json:"hi,omitempty" doc:"of uniform: the most, excluded"`
	Mean         *time.Duration `json:"mean,omitempty" doc:"of normal and exponential: the mean"`
	Stddev       *time.Duration `json:"stddev,omitempty" doc:"of normal: the standard deviation"`
	Usual        *time.Duration `json:"usual,omitempty" doc:"of spike: the delay of most calls"`
	Spike        *time.Duration `json:"spike,omitempty" doc:"of spike: the delay of the others"`
	Share        float64        `json:"share,omitempty" bounds:"min=0,max=1" allowed:"a number between 0 and 1" doc:"of spike: the share of the others"`
	Step         *time.Duration `json:"step,omitempty" doc:"of degrading: the delay that each call adds"`
	Most         *time.Duration `json:"most,omitempty" doc:"of degrading and degrading_over: the longest delay"`
	Over         *time.Duration `json:"over,omitempty" doc:"of degrading_over: the time until the longest delay"`
}

const fixed = "fixed" // the distribution of Delay

// fault makes the fault of parameters that a document may have left out.
func (p latencyParams) fault() chaos.Fault {
	given := func(d *time.Duration) time.Duration {
		if d == nil {
			return 0
		}
		return *d
	}
	switch p.Distribution {
	case "uniform":
		return Uniform(given(p.Lo), given(p.Hi))
	case "normal":
		return Normal(given(p.Mean), given(p.Stddev))
	case "exponential":
		return Exponential(given(p.Mean))
	case "spike":
		return Spike(given(p.Usual), given(p.Spike), p.Share)
	case "degrading":
		return RampUp(given(p.Step), given(p.Most))
	case "degrading_over":
		return RampUpWith(given(p.Most), given(p.Over))
	}
	return Delay(given(p.Duration))
}

// latency is a delay of a distribution. Its label is that of a hand-off, which
// only a fixed delay can have.
type latency struct {
	label
	latencyParams
}

func (l *latency) as(kind string) chaos.Fault { return &latency{label{kind}, l.latencyParams} }

func (l *latency) Check() error {
	if l.of(latencyRow) == handoffDelayedRow {
		if l.Distribution == fixed {
			return handoffDelayedRow.Check(l.params()).Err()
		}
		c := catalog.Check{Kind: handoffDelayedRow.Kind}
		c.That(false, "distribution", l.Distribution, "a fixed delay, which is Delay")
		return c.Err()
	}
	c := l.check(latencyRow, l.latencyParams)
	more := func(param string, d *time.Duration, why string) {
		c.That(*d > 0, param, *d, "a duration of more than 0"+why)
	}
	over := func(param string, d *time.Duration, of string, least time.Duration) {
		c.That(*d > least, param, *d, "a duration of more than "+of+", which is "+least.String())
	}
	switch l.Distribution {
	case "uniform":
		c.Wait("lo", *l.Lo)
		over("hi", l.Hi, "lo", *l.Lo)
	case "normal":
		c.Wait("mean", *l.Mean)
		more("stddev", l.Stddev, "; Delay has no spread")
	case "exponential":
		more("mean", l.Mean, "")
	case "spike":
		c.Wait("usual", *l.Usual)
		over("spike", l.Spike, "usual", *l.Usual)
		// without the bounds themselves
		c.That(l.Share != 0 && l.Share != 1, "share", l.Share, "a number between 0 and 1")
	case "degrading":
		more("step", l.Step, "")
		c.That(*l.Most >= *l.Step, "most", *l.Most, "a duration of at least step, which is "+l.Step.String())
	case "degrading_over":
		more("most", l.Most, "")
		more("over", l.Over, "")
	default:
		more("duration", l.Duration, ": a delay of nothing is no fault")
	}
	return c.Err()
}

func (l *latency) Describe() chaos.Description { return l.of(latencyRow).Describe(l.params()) }

// params are the parameters that the kind has.
func (l *latency) params() any {
	if l.of(latencyRow) == handoffDelayedRow && l.Duration != nil {
		return delay{*l.Duration}
	}
	return l.latencyParams
}

func (l *latency) Phase() chaos.Phase { return chaos.PhaseBefore }

func (l *latency) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	if _, err := pause(ctx, l.delay(c)); err != nil {
		return nil, err
	}
	return next(ctx, args)
}

// drawLatency is the salt of the draw: ASCII for "latency".
const drawLatency = 0x6c6174656e6379

// delay is the delay of one call.
func (l *latency) delay(c chaos.Call) time.Duration {
	switch l.Distribution {
	case "degrading":
		return stepwise(c.Ordinal, *l.Step, *l.Most)
	case "degrading_over":
		share := math.Min(1, math.Max(0, float64(c.Elapsed())/float64(*l.Over)))
		return span(float64(*l.Most) * share)
	}
	return l.quantile(c.Draw(drawLatency))
}

// quantile maps a uniform draw in [0,1) to a delay.
func (l *latency) quantile(u float64) time.Duration {
	switch l.Distribution {
	case "uniform":
		return *l.Lo + span(u*float64(*l.Hi-*l.Lo))
	case "normal":
		return normal(u, float64(*l.Mean), float64(*l.Stddev))
	case "exponential":
		return span(-math.Log1p(-u) * float64(*l.Mean))
	case "spike":
		if u >= 1-l.Share {
			return *l.Spike
		}
		return *l.Usual
	}
	return *l.Duration
}

// normal computes the quantile from the upper tail, which keeps its precision
// for the draws that matter and never returns infinity.
func normal(u, mean, stddev float64) time.Duration {
	positive := math.Erfc(-mean/(stddev*math.Sqrt2)) / 2 // the share of the bell above 0
	z := math.Erfcinv(2*(1-u)*positive) * math.Sqrt2
	return span(mean + z*stddev)
}

func stepwise(ordinal uint64, step, most time.Duration) time.Duration {
	if n := float64(ordinal) + 1; float64(step)*n < float64(most) {
		return time.Duration(n) * step
	}
	return most
}

// span converts nanoseconds into a wait. A conversion that overflowed would be
// negative, and the wait would have no end.
func span(ns float64) time.Duration {
	if ns >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(max(ns, 0))
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

// skip marks a call that the fault did not affect: a fault that acts before the
// callee and waits for a time of 0 is not delivered.
func skip(ctx context.Context) { _ = chaos.Sleep(ctx, 0) }
