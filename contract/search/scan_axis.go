package search

import (
	"fmt"
	"math"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"

	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/usercode"
)

// An Axis is a fault that can be more or less of something, for [Scan]. [Rate], [Burst]
// and [Delay] are ready-made.
type Axis struct {
	_ struct{}
	// Name appears in results.
	Name string
	// From and To are the ends of the axis, both included; From is below To.
	From, To float64
	// Whole reports whether only whole numbers make sense.
	Whole bool
	// Doubling spaces the values so that each is the same multiple of the one before. From
	// is then more than 0.
	Doubling bool
	// Rules returns the rules at a value. Required.
	Rules func(value float64) []chaos.Rule
	// Format writes a value for people; nil: as a number.
	Format func(value float64) string

	err error // what the arguments of its constructor lacked
}

// Rate is the axis of how many of the calls to a target meet a fault: 0 to 1.
func Rate(target string, f chaos.Fault) Axis {
	return Axis{Name: "rate of " + kindAt(target, f), From: 0, To: 1,
		Rules: func(p float64) []chaos.Rule {
			return []chaos.Rule{{Name: scanRule, Target: target, When: when.Prob(p), Fault: f}}
		},
		Format: func(p float64) string { return fmt.Sprintf("%.4g %%", 100*p) },
		err:    checkAxis(target, f),
	}
}

// Burst is the axis of how often in a row each operation at a target meets a fault: its
// first 0 to 16 calls with equal arguments.
func Burst(target string, f chaos.Fault) Axis {
	return Axis{Name: kindAt(target, f) + " in a row", From: 0, To: 16, Whole: true,
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
		Doubling: true,
		Rules: func(d float64) []chaos.Rule {
			return []chaos.Rule{{Name: scanRule, Target: target, Fault: fault.Delay(time.Duration(d))}}
		},
		Format: func(d float64) string { return time.Duration(d).Round(time.Millisecond).String() },
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

// check returns all that is wrong with the axis.
func (a *Axis) check() error {
	p := fields.List()
	p.Add(a.err)
	for _, end := range []struct {
		field string
		value float64
	}{{"Axis.From", a.From}, {"Axis.To", a.To}} {
		if !isNumber(end.value) {
			p.Wrong(end.field, fmt.Sprint(end.value), "a finite number")
		}
	}
	if a.From >= a.To {
		p.Wrong("Axis.From", a.From, fmt.Sprintf("a value below To, which is %v", a.To))
	}
	p.Demand(!a.Whole || a.From == math.Round(a.From), "Axis.From", a.From, "a whole number, since Whole is set")
	p.Demand(!a.Whole || a.To == math.Round(a.To), "Axis.To", a.To, "a whole number, since Whole is set")
	p.Demand(p.Count() > 0 || a.Doubling && a.From <= 0 || isNumber(a.valueAt(.5)), "Axis.To", a.To,
		"nearer to From: the middle must be a finite number")
	p.Demand(!a.Doubling || a.From > 0, "Axis.From", a.From, "more than 0, since Doubling is set")
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
	case a.Doubling:
		value = a.From * math.Pow(a.To/a.From, share)
	default:
		value = a.From + share*(a.To-a.From)
	}
	if a.Whole {
		value = math.Round(value)
	}
	return value
}

// share is where on the axis a value is, from 0 to 1.
func (a *Axis) share(value float64) float64 {
	if a.Doubling {
		return math.Log(value/a.From) / math.Log(a.To/a.From)
	}
	return (value - a.From) / (a.To - a.From)
}

// format writes a value: as a number where there is no Format, or it panics.
func (a *Axis) format(value float64) (s string) {
	if a.Format == nil {
		return plain(value)
	}
	var err error
	defer func() {
		if err != nil {
			s = plain(value)
		}
	}()
	defer usercode.Recover(&err, "search: Axis.Format")
	return a.Format(value)
}
