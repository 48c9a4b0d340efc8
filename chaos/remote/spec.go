// Package remote has the faults that a caller from outside may register in a live
// program by name: five types with plain parameters, and a fault for the next call
// alone. Package mcpadapter serves it as chaos_inject_fault.
//
//	rule, note, err := remote.Spec{Name: "slow", Type: remote.Latency, Target: "orders.*"}.Rule()
//
// Whoever needs more sends a plan: see package chaos/planjson.
//
// Stability: may change.
package remote

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/internal/glob"
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
func Types() []string { return []string{Latency, Error, Timeout, ResourceExhaustion, NetworkPartition} }

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

// Match needs no branches for 0 and 1: a draw is at least 0, and below 1.
func (w seeded) Match(c chaos.Call) bool { return c.Draw(w.seed) < w.p }

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

// maxTargets bounds the injection points that one answer names.
const maxTargets = 100

// Reach returns which of the known injection points a target matches, and what to
// mind about it. It names 100 points at most.
func Reach(target string, known []string) (matched []string, note string) {
	g, err := glob.Compile(target)
	matched = slices.DeleteFunc(append([]string{}, known...),
		func(name string) bool { return err != nil || !g.Match(name) })
	switch n := len(matched); {
	case n > maxTargets:
		return matched[:maxTargets], fmt.Sprintf("It matches %d injection points; the first %d are named.", n,
			maxTargets)
	case n == 0 && len(known) == 0:
		note = "No injection point is known yet: none was declared and none was called. The fault is injected once one that matches is called."
	case n == 0:
		shown := known[:min(len(known), 20)]
		note = fmt.Sprintf("%q matches none of the %d known injection points, so it is injected nowhere now. Known: %s.",
			target, len(known), strings.Join(shown, ", "))
	}
	return matched, note
}

// Until returns how long a rule may last: for life, and not beyond a moment. A life of 0 is
// endless, and so is the zero moment.
func Until(life time.Duration, expires time.Time) time.Duration {
	if expires.IsZero() {
		return life
	}
	left := max(time.Until(expires), 1)
	return min(cmp.Or(life, left), left)
}

// A nextCall triggers on each call. It marks a rule that injects the fault of another one into the next
// matching call alone.
type nextCall struct{ of string }

// Match is true: the limit of the rule ends it.
func (nextCall) Match(chaos.Call) bool { return true }

// ArmedFor returns the name of the rule whose fault r injects into the next call, if r is made by [NextCall].
func ArmedFor(r chaos.Rule) (name string, armed bool) {
	next, armed := r.When.(nextCall)
	return next.of, armed
}

// NextCall makes a rule that injects the fault of r into the next matching call alone, whatever the trigger
// of r. rules are those of the injector. If one of them waits for the next call of r, the new one has its
// name, and replaces it when it is registered; else it has a name that none of them has.
func NextCall(r chaos.Rule, rules []chaos.Rule) chaos.Rule {
	next := chaos.Rule{Name: r.Name + " (next call)", Target: r.Target, When: nextCall{r.Name}, Fault: r.Fault, Layer: r.Layer,
		Limit: 1}
	waits := func(other chaos.Rule) bool { return other.When == next.When }
	if i := slices.IndexFunc(rules, waits); i >= 0 {
		next.Name = rules[i].Name
		return next
	}
	taken := func(other chaos.Rule) bool { return other.Name == next.Name }
	for n := 2; slices.ContainsFunc(rules, taken); n++ {
		next.Name = fmt.Sprintf("%s (next call) #%d", r.Name, n)
	}
	return next
}
