package remote

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/shakedown-go/shakedown/chaos"
)

// NextCalls keeps the rules whose fault is injected into the next matching call
// alone, of one injector. The zero value is ready to use. It is safe for
// concurrent use.
type NextCalls struct {
	mu    sync.Mutex
	rules map[string]nextRule // by the fault
}

// nextRule is a rule for the next matching call.
type nextRule struct {
	name   string
	remove func() bool // removes this very rule, not a later one of the same name
}

// Arm adds the rule that injects the fault of r into the next matching call,
// whatever the trigger of r, and returns its name, which no other rule of in has.
// register registers it and returns what removes it. Arming the same rule again
// replaces the one that waits.
func (a *NextCalls) Arm(in *chaos.Injector, r chaos.Rule,
	register func(chaos.Rule) (remove func() bool, err error)) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	name := a.rules[r.Name].name
	if name == "" {
		name = unused(r.Name+" (next call)", in.Rules())
	}
	remove, err := register(chaos.Rule{Name: name, Target: r.Target, Fault: r.Fault, Layer: r.Layer, Limit: 1})
	if err != nil {
		return "", err
	}
	if a.rules == nil {
		a.rules = make(map[string]nextRule)
	}
	a.rules[r.Name] = nextRule{name, remove}
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

// Holder returns the fault for whose next call a rule of this name is armed.
func (a *NextCalls) Holder(name string) (fault string, taken bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for fault, rule := range a.rules {
		if rule.name == name {
			return fault, true
		}
	}
	return "", false
}

// Disarm removes the rule that waits for the next call of a fault, if there is one.
func (a *NextCalls) Disarm(fault string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if rule, ok := a.rules[fault]; ok {
		rule.remove()
		delete(a.rules, fault)
	}
}

// Sweep removes the rules whose fault was delivered, and forgets those that are
// gone.
func (a *NextCalls) Sweep(in *chaos.Injector) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.rules) == 0 {
		return
	}
	waiting := in.Undelivered()
	maps.DeleteFunc(a.rules, func(_ string, rule nextRule) bool {
		if slices.Contains(waiting, rule.name) {
			return false
		}
		rule.remove()
		return true
	})
}
