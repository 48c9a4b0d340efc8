package mcpadapter

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract/experiment/gameday"
	"github.com/shakedown-go/shakedown/internal/glob"
)

// The types of faults that clients may register.
const (
	typeLatency   = "latency"
	typeError     = "error"
	typeTimeout   = "timeout"
	typeExhausted = "resource_exhaustion"
	typePartition = "network_partition"
)

func faultTypes() []string {
	return []string{typeLatency, typeError, typeTimeout, typeExhausted, typePartition}
}

const (
	defaultProbability = 0.1
	defaultDuration    = time.Second
	defaultMessage     = "Injected fault"
)

// rule converts the arguments of register. A latency of 0, which clients may
// ask for, becomes the shortest one: the library refuses a delay of 0.
func (in injectInput) rule() (r chaos.Rule, note string, err error) {
	p := defaultProbability
	if in.Probability != nil {
		p = *in.Probability
	}
	d := defaultDuration
	if in.DurationSeconds != nil {
		d = time.Duration(*in.DurationSeconds * float64(time.Second))
	}
	if in.DurationSeconds != nil && in.FaultType == typeLatency && d == 0 {
		d, note = time.Nanosecond, "A latency of 0 s delays a call by next to nothing."
	}
	r = chaos.Rule{Name: in.FaultName, Target: cmp.Or(in.Target, in.FaultName), When: when.Prob(p), Limit: in.Limit}
	if in.Seed != "" {
		seed, err := seedOf("seed", in.Seed)
		if err != nil {
			return r, "", err
		}
		r.When = seeded{p, seed}
	}
	failure := errors.New(cmp.Or(in.ErrorMessage, defaultMessage))
	switch in.FaultType {
	case typeLatency:
		r.Fault = fault.Delay(d)
	case typeTimeout:
		r.Fault = fault.TimeoutWith(d, failure)
	case typeError:
		r.Fault = fault.Fail(failure)
	case typeExhausted:
		r.Fault = fault.ResourceExhausted()
	case typePartition:
		r.Fault, r.Group = fault.Partition(), in.FaultName // all its targets are cut off at the same moment
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

// kindOf is the type under which a fault is shown: the client's, or the
// library's for a fault registered from code.
func kindOf(f chaos.Fault) string {
	if d, ok := f.(chaos.Described); ok {
		return d.Describe().Kind
	}
	return fmt.Sprintf("%T", f)
}

func probabilityOf(w chaos.When) float64 {
	switch w := w.(type) {
	case seeded:
		return w.p
	case chaos.Probabilistic:
		return w.Probability()
	}
	return 1
}

// matching returns the names that a glob matches; none if it is no glob.
func matching(pattern string, names []string) []string {
	found := []string{}
	g, err := glob.Compile(pattern)
	if err != nil {
		return found
	}
	for _, name := range names {
		if g.Match(name) {
			found = append(found, name)
		}
	}
	return found
}

// activeFault is a rule as clients see it.
func activeFault(r chaos.RuleState) gameday.ActiveFault {
	f := gameday.NewActiveFault(r)
	f.Probability = probabilityOf(r.When)
	return f
}

// armed keeps the rules whose fault is injected into the next matching call.
// They are removed once their fault was delivered.
type armed struct {
	mu    sync.Mutex
	rules map[string]armedRule // by the fault
}

// armedRule is a rule for the next matching call.
type armedRule struct {
	name   string
	remove func() bool // removes this very rule, not a later one of the same name
}

// arm adds the rule that injects a fault into the next matching call, and
// returns its name, which no other rule has.
func (a *armed) arm(in *chaos.Injector, r chaos.Rule, put func(chaos.Rule) (remove func() bool, err error)) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	name := a.rules[r.Name].name
	if name == "" {
		name = unused(r.Name+" (next call)", in.Rules())
	}
	remove, err := put(chaos.Rule{Name: name, Target: r.Target, Fault: r.Fault, Layer: r.Layer, Limit: 1})
	if err != nil {
		return "", err
	}
	if a.rules == nil {
		a.rules = make(map[string]armedRule)
	}
	a.rules[r.Name] = armedRule{name, remove}
	return name, nil
}

// unused returns a name that no rule has.
func unused(name string, rules []chaos.Rule) string {
	free := name
	for n := 2; slices.ContainsFunc(rules, func(r chaos.Rule) bool { return r.Name == free }); n++ {
		free = fmt.Sprintf("%s #%d", name, n)
	}
	return free
}

// holder returns the fault for whose next call a rule of this name is armed.
func (a *armed) holder(name string) (fault string, taken bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for fault, rule := range a.rules {
		if rule.name == name {
			return fault, true
		}
	}
	return "", false
}

func (a *armed) disarm(fault string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if rule, ok := a.rules[fault]; ok {
		rule.remove()
		delete(a.rules, fault)
	}
}

// sweep removes the rules whose fault was delivered, and forgets those that
// are gone.
func (a *armed) sweep(in *chaos.Injector) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.rules) == 0 {
		return
	}
	waiting := in.Undelivered()
	maps.DeleteFunc(a.rules, func(_ string, rule armedRule) bool {
		if slices.Contains(waiting, rule.name) {
			return false
		}
		rule.remove()
		return true
	})
}
