package remote

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// The types of faults.
const (
	Latency            = "latency"             // the call takes longer
	Error              = "error"               // it fails, the callee is not reached
	Timeout            = "timeout"             // it times out, the callee is not reached
	ResourceExhaustion = "resource_exhaustion" // it fails with fault.ErrResourceExhausted
	NetworkPartition   = "network_partition"   // a set of targets fails with fault.ErrNetworkPartition at once
)

// Types lists the types of faults.
func Types() []string {
	return []string{Latency, Error, Timeout, ResourceExhaustion, NetworkPartition}
}

// What a [Spec] takes for what is left out.
const (
	DefaultProbability = 0.1
	DefaultDuration    = time.Second
	DefaultMessage     = "service unavailable"
)

// A Spec describes a fault of one of the [Types].
type Spec struct {
	_           struct{}
	Name        string         // of the rule; required
	Type        string         // required
	Probability *float64       // 0 to 1; nil: [DefaultProbability]
	Duration    *time.Duration // of a latency or timeout; nil: [DefaultDuration]
	Message     string         // of an error or timeout; empty: [DefaultMessage]
	Target      string         // glob of injection points; empty: Name
	Seed        *uint64        // moves the draws; nil: those of the injector
	Limit       int            // deliveries; 0: no limit
}

// Rule makes the rule. note says where it is not what was asked for: a latency of 0,
// which callers may ask for, becomes the shortest one, since a delay of 0 is refused.
// The targets of a partition are cut off at the same moment. An unknown type is a
// [*chaos.ParamError]; the injector checks the rest.
func (s Spec) Rule() (r chaos.Rule, note string, err error) {
	p, d := DefaultProbability, DefaultDuration
	if s.Probability != nil {
		p = *s.Probability
	}
	if s.Duration != nil {
		if d = *s.Duration; d == 0 && s.Type == Latency {
			d, note = time.Nanosecond, "A latency of 0 s delays a call by next to nothing."
		}
	}
	r = chaos.Rule{Name: s.Name, Target: cmp.Or(s.Target, s.Name), When: when.Prob(p), Limit: s.Limit}
	if s.Seed != nil {
		r.When = seeded{p, *s.Seed}
	}
	failure := errors.New(cmp.Or(s.Message, DefaultMessage))
	switch s.Type {
	case Latency:
		r.Fault = fault.Delay(d)
	case Timeout:
		r.Fault = fault.TimeoutWith(d, failure)
	case Error:
		r.Fault = fault.Fail(failure)
	case ResourceExhaustion:
		r.Fault = fault.ResourceExhausted()
	case NetworkPartition:
		r.Fault, r.Group = fault.Partition(), s.Name
	default:
		return r, "", &chaos.ParamError{Kind: "remote", Param: "Type", Value: s.Type,
			Allowed: strings.Join(Types(), ", ")}
	}
	return r, note, nil
}

// seeded is when.Prob with a seed of its own. It is not a
// [chaos.Probabilistic], which has to use the draws of when.Prob.
type seeded struct {
	p    float64
	seed uint64
}

// Match has branches of its own for 0 and 1, as when.Prob has.
func (w seeded) Match(c chaos.Call) bool {
	switch {
	case w.p >= 1:
		return true
	case w.p <= 0:
		return false
	}
	return c.Draw(w.seed) < w.p
}

// Check refuses a probability that is none.
func (w seeded) Check() error {
	if w.p >= 0 && w.p <= 1 {
		return nil
	}
	return &chaos.ParamError{Kind: "prob", Param: "p", Value: w.p, Allowed: "a number from 0 to 1"}
}

// KindOf is the kind under which a fault is shown: a type of this package or that of
// its description, or else its Go type.
func KindOf(f chaos.Fault) string {
	if d, ok := f.(chaos.Described); ok {
		return d.Describe().Kind
	}
	return fmt.Sprintf("%T", f)
}

// ProbabilityOf is the probability of a trigger; 1 for one without chance.
func ProbabilityOf(w chaos.When) float64 {
	switch w := w.(type) {
	case seeded:
		return w.p
	case chaos.Probabilistic:
		return w.Probability()
	}
	return 1
}
