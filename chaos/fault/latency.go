package fault

import (
	"cmp"
	"context"
	"errors"
	"math"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
)

// Delay makes a call take d longer: the caller waits, then the call goes
// through. d is more than 0. Concurrent callers wait at the same time.
//
// The following holds for all latencies. If the context ends during the wait,
// the call returns its error and the callee is not reached. If the injector is
// disarmed during the wait, the call goes through at once. If the context had
// already ended, there is no wait: the call goes through, and the fault is not
// delivered.
func Delay(d time.Duration) chaos.Fault {
	return latency.Of(latencyParams{Distribution: fixed, Duration: &d})
}

// Uniform is [Delay] by a time that is uniformly distributed from lo up to hi
// and drawn for each call from its coordinates. 0 ≤ lo < hi.
func Uniform(lo, hi time.Duration) chaos.Fault {
	return latency.Of(latencyParams{Distribution: "uniform", Lo: &lo, Hi: &hi})
}

// Normal is [Delay] by a time with a normal distribution of that mean and
// standard deviation, drawn for each call from its coordinates. mean is at
// least 0, stddev more than 0.
//
// The distribution is truncated at 0, not clamped. If the mean is less than two
// deviations, that raises the average noticeably: with mean = stddev it is 1.29
// means.
func Normal(mean, stddev time.Duration) chaos.Fault {
	return latency.Of(latencyParams{Distribution: "normal", Mean: &mean, Stddev: &stddev})
}

// Exponential is [Delay] by a time with the exponential distribution of that
// mean, drawn for each call from its coordinates. It is the waiting time for
// events that come at a constant rate: most delays are short, one in twenty is
// over three means. mean is more than 0.
func Exponential(mean time.Duration) chaos.Fault {
	return latency.Of(latencyParams{Distribution: "exponential", Mean: &mean})
}

// Spike is [Delay] by usual for most calls, and by spike for a share of them.
// Which calls those are is drawn from their coordinates. usual is at least 0;
// if it is 0, only the spikes are delivered. spike is more than usual, share
// more than 0 and less than 1.
func Spike(usual, spike time.Duration, share float64) chaos.Fault {
	return latency.Of(latencyParams{Distribution: "spike", Usual: &usual, Spike: &spike, Share: share})
}

// RampUp is [Delay] by a time that grows with every call of a lane to the
// target: step for the first call, twice step for the second, and so on up to
// most. step is more than 0, most at least step.
func RampUp(step, most time.Duration) chaos.Fault {
	return latency.Of(latencyParams{Distribution: "degrading", Step: &step, Most: &most})
}

// RampUpWith is [RampUp] by the clock: the delay grows evenly from 0, when the
// injector is armed, to most after the time over, and then stays there. Both
// are more than 0.
func RampUpWith(most, over time.Duration) chaos.Fault {
	return latency.Of(latencyParams{Distribution: "degrading_over", Most: &most, Over: &over})
}

var latency = &catalog.Inject[latencyParams]{
	Row: catalog.Row{Kind: "latency", Doc: "The call takes longer.",
		Go:      "fault.Delay(d), fault.Uniform(lo, hi), fault.Normal(mean, stddev), fault.Exponential(mean), " + "fault.Spike(usual, spike, share), fault.RampUp(step, most), fault.RampUpWith(most, over)",
		Example: `{"distribution":"fixed","duration":"2s"}`, Class: chaos.ClassTiming},
	Phase:   chaos.PhaseBefore,
	Prepare: latencyParams.ofDistribution,
	Inject: func(ctx context.Context, c chaos.Call, p latencyParams, args any, next chaos.Next) (any, error) {
		if _, err := pause(ctx, p.delay(c)); err != nil {
			return nil, err
		}
		return next(ctx, args)
	},
}

// latencyParams are the parameters of all distributions. Those of the
// distribution are set, also if they are 0, and the others are nil.
type latencyParams struct {
	Distribution string         `json:"distribution,omitempty" bounds:"enum=fixed|uniform|normal|exponential|spike|degrading|degrading_over"`
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

// ofDistribution sets the parameters of the distribution, which a document may have
// left out, and no others.
func (p latencyParams) ofDistribution() latencyParams {
	given := func(d *time.Duration) *time.Duration { return cmp.Or(d, new(time.Duration)) }
	switch p.Distribution {
	case "uniform":
		return latencyParams{Distribution: p.Distribution, Lo: given(p.Lo), Hi: given(p.Hi)}
	case "normal":
		return latencyParams{Distribution: p.Distribution, Mean: given(p.Mean), Stddev: given(p.Stddev)}
	case "exponential":
		return latencyParams{Distribution: p.Distribution, Mean: given(p.Mean)}
	case "spike":
		return latencyParams{Distribution: p.Distribution, Usual: given(p.Usual), Spike: given(p.Spike), Share: p.Share}
	case "degrading":
		return latencyParams{Distribution: p.Distribution, Step: given(p.Step), Most: given(p.Most)}
	case "degrading_over":
		return latencyParams{Distribution: p.Distribution, Most: given(p.Most), Over: given(p.Over)}
	}
	if p.Distribution == "" && p != (latencyParams{Duration: p.Duration}) {
		return p // which Check refuses: it belongs to another distribution
	}
	return latencyParams{Distribution: fixed, Duration: given(p.Duration)}
}

func (p latencyParams) Check(c *catalog.Check) {
	more := func(param string, d *time.Duration, why string) {
		c.That(*d > 0, param, *d, "a duration of more than 0"+why)
	}
	over := func(param string, d *time.Duration, of string, least time.Duration) {
		c.That(*d > least, param, *d, "a duration of more than "+of+", which is "+least.String())
	}
	switch p.Distribution {
	case "uniform":
		c.Wait("lo", *p.Lo)
		over("hi", p.Hi, "lo", *p.Lo)
	case "normal":
		c.Wait("mean", *p.Mean)
		more("stddev", p.Stddev, "; Delay has no spread")
	case "exponential":
		more("mean", p.Mean, "")
	case "spike":
		c.Wait("usual", *p.Usual)
		over("spike", p.Spike, "usual", *p.Usual)
		// without the bounds themselves
		c.That(p.Share != 0 && p.Share != 1, "share", p.Share, "a number between 0 and 1")
	case "degrading":
		more("step", p.Step, "")
		c.That(*p.Most >= *p.Step, "most", *p.Most, "a duration of at least step, which is "+p.Step.String())
	case "degrading_over":
		more("most", p.Most, "")
		more("over", p.Over, "")
	case "":
		c.That(false, "distribution", nil, catalog.List(latency)[0].Parameters()[0].Allowed)
	default:
		more("duration", p.Duration, ": a delay of nothing is no fault")
	}
}

// drawLatency is the salt of the draw: ASCII for "latency".
const drawLatency = 0x6c6174656e6379

func (p latencyParams) delay(c chaos.Call) time.Duration {
	switch p.Distribution {
	case "degrading":
		return stepwise(c.Ordinal, *p.Step, *p.Most)
	case "degrading_over":
		share := math.Min(1, math.Max(0, float64(c.Elapsed())/float64(*p.Over)))
		return span(float64(*p.Most) * share)
	}
	return p.quantile(c.Draw(drawLatency))
}

// quantile maps a uniform draw in [0,1) to a delay.
func (p latencyParams) quantile(u float64) time.Duration {
	switch p.Distribution {
	case "uniform":
		return *p.Lo + span(u*float64(*p.Hi-*p.Lo))
	case "normal":
		return normal(u, float64(*p.Mean), float64(*p.Stddev))
	case "exponential":
		return span(-math.Log1p(-u) * float64(*p.Mean))
	case "spike":
		if u >= 1-p.Share {
			return *p.Spike
		}
		return *p.Usual
	}
	return *p.Duration
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

// wait are the parameters of a fault after which the caller has waited for
// nothing.
type wait struct {
	Duration time.Duration `json:"duration" bounds:"min=0" doc:"time until the caller learns of it"`
}

// Timeout makes a call time out before it reaches its callee. The caller waits
// d, or until its own context ends, and gets [ErrTimeout] or the context's
// error. d is at least 0. If the injector is disarmed during the wait, or the
// context had ended before it, the call goes through.
func Timeout(d time.Duration) chaos.Fault { return TimeoutWith(d, nil) }

// TimeoutWith is [Timeout] with the text of err; nil: that of ErrTimeout. The error
// matches err and everything that [ErrTimeout] matches.
func TimeoutWith(d time.Duration, err error) chaos.Fault {
	return timeout.Of(waitMessage{wait{d}, err})
}

var timeout = &catalog.Inject[waitMessage]{
	Row: catalog.Row{Kind: "timeout", Doc: "The call times out before it reaches its callee.",
		Go: "fault.Timeout(d), fault.TimeoutWith(d, err)", Example: `{"duration":"10s"}`, Class: chaos.ClassTiming,
		Visibility: chaos.Explicit, Effect: chaos.EffectNone},
	Inject: func(ctx context.Context, _ chaos.Call, p waitMessage, args any, next chaos.Next) (any, error) {
		gets := ErrTimeout
		if p.Err != nil {
			gets = &netError{text: p.Err.Error(), timeout: true, like: []error{p.Err, ErrTimeout}}
		}
		return timesOut(ctx, p.Duration, gets, args, next)
	},
}

type waitMessage struct {
	wait
	Err error `json:"message,omitempty" doc:"text of the error; left out: that of a time-out"`
}

// timesOut waits and fails, or lets the call through if the injector is
// disarmed.
func timesOut(ctx context.Context, d time.Duration, gets error, args any, next chaos.Next) (any, error) {
	disarmed, err := pause(ctx, d)
	switch {
	case disarmed:
		return next(ctx, args)
	case err != nil:
		return nil, err
	}
	return nil, gets
}

// LoseReply is [LoseReplyAfter] with a wait of one second.
func LoseReply() chaos.Fault { return LoseReplyAfter(time.Second) }

// LoseReplyAfter lets the call happen and loses its reply. The callee does its
// work and its result is dropped. After a further d, or when its own context
// ends, the caller gets the same as with [Timeout]. d is at least 0. This fault
// finds callers that do their work twice when they retry.
//
// An error of the callee is lost like any other reply. A call that another
// fault failed has no reply to lose and is not changed. If the injector is
// disarmed during the wait, the caller gets the reply.
func LoseReplyAfter(d time.Duration) chaos.Fault { return LoseReplyAfterWith(d, nil) }

// LoseReplyWith is [LoseReply] with err in place of [ErrTimeout], such as
// [ErrConnectionReset], or the status of an RPC; nil: ErrTimeout.
func LoseReplyWith(err error) chaos.Fault { return LoseReplyAfterWith(time.Second, err) }

// LoseReplyAfterWith is [LoseReplyAfter] with the error of [LoseReplyWith].
func LoseReplyAfterWith(d time.Duration, err error) chaos.Fault {
	return loseReply.Of(lostReply{&d, err})
}

type lostReply struct {
	Duration *time.Duration `json:"duration,omitempty" bounds:"min=0" doc:"time until the caller learns of it; left out: one second"`
	Err      error          `json:"message,omitempty" doc:"text of the error; left out: that of a time-out"`
}

var loseReply = &catalog.Inject[lostReply]{
	Row: catalog.Row{Kind: "lost_reply", Doc: "The callee does its work and the reply is lost.",
		Go:      "fault.LoseReply(), fault.LoseReplyAfter(d), fault.LoseReplyWith(err), fault.LoseReplyAfterWith(d, err)",
		Example: `{"duration":"1s"}`, Class: chaos.ClassTiming, Visibility: chaos.Explicit},
	Phase: chaos.PhaseAfter,
	Inject: func(ctx context.Context, c chaos.Call, p lostReply, args any, next chaos.Next) (any, error) {
		result, failed := next(ctx, args)
		if unreached(failed, c) {
			return result, failed
		}
		wait := time.Second
		if p.Duration != nil {
			wait = *p.Duration
		}
		disarmed, err := pause(ctx, wait)
		switch {
		case disarmed:
			return result, failed
		case err != nil:
			return nil, err
		}
		return nil, cmp.Or(p.Err, ErrTimeout)
	},
}

// unreached reports whether the error is not the callee's own: another fault
// made it on this very call, or the injector was closed. An error injected into
// a nested call is the callee's reply like any other.
func unreached(err error, c chaos.Call) bool {
	var injected *chaos.InjectedError
	return errors.Is(err, chaos.ErrCellEnded) ||
		errors.As(err, &injected) && injected.Target == c.Target && injected.Ordinal == c.Ordinal
}

// Hang makes a call hang before it reaches its callee. It returns the context's
// error when that ends; without an end of the context it never returns. If the
// injector is disarmed meanwhile, or the context had ended before, the call
// goes through.
func Hang() chaos.Fault { return hang.Of(catalog.None{}) }

var hang = &catalog.Inject[catalog.None]{
	Row: catalog.Row{Kind: "hang", Doc: "The call hangs until its context ends.", Go: "fault.Hang()",
		Class: chaos.ClassTiming, Visibility: chaos.Explicit, Effect: chaos.EffectNone},
	Inject: func(ctx context.Context, _ chaos.Call, _ catalog.None, args any, next chaos.Next) (any, error) {
		if _, err := pause(ctx, -1); err != nil {
			return nil, err
		}
		return next(ctx, args)
	},
}
