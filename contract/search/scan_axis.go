package search

import (
	"fmt"
	"math"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"

	"github.com/shakedown-go/shakedown/internal/fielderror"
)

// An Axis is a fault that can be more or less of something, for [Scan]. [Rate], [Burst]
// and [Delay] are ready-made.
type Axis struct {
	_ struct{}
	// Name appears in results.
	Name string
	// From and To are the ends of the axis, both included; From is below To.
	From, To float64
	// Rules returns the rules at a value. Required.
	Rules func(value float64) []chaos.Rule

	whole    bool                 // only whole numbers make sense
	doubling bool                 // each value is the same multiple of the one before
	format   func(float64) string // for people; nil: as a number
	err      error                // what the arguments of its constructor lacked
}

// Rate is the axis of how many of the calls to a target meet a fault: 0 to 1.
func Rate(target string, f chaos.Fault) Axis {
	return Axis{Name: "rate of " + kindAt(target, f), From: 0, To: 1,
		Rules: func(p float64) []chaos.Rule {
			return []chaos.Rule{{Name: scanRule, Target: target, When: when.Prob(p), Fault: f}}
		},
		format: func(p float64) string { return fmt.Sprintf("%.4g %%", 100*p) },
		err:    checkAxis(target, f),
	}
}

// Burst is the axis of how often in a row each operation at a target meets a fault: its
// first 0 to 16 calls with equal arguments.
func Burst(target string, f chaos.Fault) Axis {
	return Axis{Name: kindAt(target, f) + " in a row", From: 0, To: 16, whole: true,
		Rules: func(n float64) []chaos.Rule {
			return []chaos.Rule{{Name: scanRule, Target: target, When: firstOf(n), Fault: f}}
		},
		err: checkAxis(target, f),
	}
}

// Delay is the axis of how much longer each call to a target takes: 10 ms to 10 min 55 s,
// doubling. In real time it waits.
func Delay(target string) Axis {
	return Axis{Name: "delay of " + target, From: float64(10 * time.Millisecond),
		To:       float64(10 << 16 * time.Millisecond),
		doubling: true,
		Rules: func(d float64) []chaos.Rule {
			return []chaos.Rule{{Name: scanRule, Target: target, Fault: fault.Delay(time.Duration(d))}}
		},
		format: func(d float64) string { return time.Duration(d).Round(time.Millisecond).String() },
		err:    checkAxis(target, fault.Delay(time.Second)),
	}
}

// scanRule is the name of the rule of a ready-made axis: the same at each value, so that
// its draws are nested.
const scanRule = "scan"

func kindAt(target string, f chaos.Fault) string {
	return kindOf(f, fmt.Sprintf("%T", f)) + " at " + target
}

func checkAxis(target string, f chaos.Fault) error {
	p := fields.List()
	p.Demand(f != nil, "Axis: fault", fielderror.Found("nil"), "a fault")
	p.Demand(target != "", "Axis: target", fielderror.Found(`""`), "a glob over injection points")
	return p.Err()
}

// firstOf matches the first calls with equal arguments.
type firstOf int

func (n firstOf) Match(c chaos.Call) bool { return c.Occurrence < uint64(n) }

func (a *Axis) check() error {
	p := fields.List()
	p.Add(a.err)
	if length := a.To - a.From; !(length > 0) || math.IsInf(length, 1) {
		p.Wrong("Axis.From", fmt.Sprint(a.From), fmt.Sprintf("a finite value below To, which is %v", a.To))
	}
	p.Demand(a.Rules != nil, "Axis.Rules", fielderror.Found("nil"), "a function")
	return p.Err()
}

// valueAt is the value at a share of the axis, from 0 to 1.
func (a *Axis) valueAt(share float64) (value float64) {
	switch {
	case share <= 0:
		return a.From
	case share >= 1:
		return a.To
	case a.doubling:
		value = a.From * math.Pow(a.To/a.From, share)
	default:
		value = a.From + share*(a.To-a.From)
	}
	if a.whole {
		value = math.Round(value)
	}
	return value
}

// share is where on the axis a value is, from 0 to 1.
func (a *Axis) share(value float64) float64 {
	if a.doubling {
		return math.Log(value/a.From) / math.Log(a.To/a.From)
	}
	return (value - a.From) / (a.To - a.From)
}

func (a *Axis) text(value float64) string {
	if a.format == nil {
		return fmt.Sprint(value)
	}
	return a.format(value)
}
