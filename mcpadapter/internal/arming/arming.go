// Package arming registers rules in a live injector for clients of a server: in the
// environments that the host named, for a limited time, and no longer than the
// client's session.
package arming

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/remote"
	"github.com/shakedown-go/shakedown/mcpadapter/internal/failure"
	"github.com/shakedown-go/shakedown/mcpadapter/internal/session"
	"github.com/shakedown-go/shakedown/mcpadapter/internal/toolschema"
)

// Rules registers rules. The fields before the blank line are set before its first
// use. Its methods are safe for concurrent use.
type Rules struct {
	Injector     *chaos.Injector // nil: nothing is registered, and only Guard is called
	Environments []string        // where rules may be registered; empty: everywhere
	Getenv       func(string) string
	FaultTime    time.Duration // how long a rule lasts if the client does not say
	AllowEndless bool          // a client may ask for rules that never expire

	Next   remote.NextCalls
	Leases session.Leases
}

// Environment is the variable that names where the program runs.
const Environment = "SHAKEDOWN_ENVIRONMENT"

// Guard refuses what in an environment that the host did not name.
func (r *Rules) Guard(what string) error {
	now := r.Getenv(Environment)
	if len(r.Environments) == 0 || slices.Contains(r.Environments, now) {
		return nil
	}
	return failure.New(http.StatusForbidden, failure.CodeForbidden,
		fmt.Sprintf("%s is refused: %s is %q; allowed: %s", what, Environment, now, toolschema.OrNone(r.Environments)),
		"Faults may not be armed in this environment. remove, chaos_disarm and chaos_status still work.")
}

// maxLife is the longest time, in seconds, that a client may ask for.
const maxLife = 86400

// Lifetime returns how long a rule lasts that a client registers for so many seconds;
// 0: for good.
func (r *Rules) Lifetime(seconds *float64) (time.Duration, error) {
	switch {
	case seconds == nil:
		return r.FaultTime, nil
	case *seconds > 0:
		return max(time.Duration(*seconds*float64(time.Second)), 1), nil
	case r.AllowEndless:
		return 0, nil
	}
	return 0, failure.BadArguments(
		fmt.Sprintf("expires_seconds is 0; allowed: above 0 up to %d: the host does not allow faults that never expire",
			maxLife),
		"Leave expires_seconds out for "+r.FaultTime.String()+", or register the fault again before it expires.")
}

// Free returns a problem if a rule for the next call has taken the name.
func (r *Rules) Free(name string) error {
	of, taken := r.Next.Holder(name)
	if !taken {
		return nil
	}
	return failure.New(http.StatusConflict, failure.CodeConflict,
		fmt.Sprintf("fault_name is %q; allowed: another name: arm_next of %q has taken this one", name, of),
		"It is free again when that fault was injected or removed.")
}

// Put registers a rule for a while, and for the session of the call unless it is to
// be kept.
func (r *Rules) Put(req *mcp.CallToolRequest, keep bool, rule chaos.Rule,
	life time.Duration) (remove func() bool, err error) {
	remove, err = r.Injector.RegisterFor(rule, life)
	if err != nil {
		return nil, err
	}
	r.Lease(req, keep, map[string]func() bool{rule.Name: remove})
	return remove, nil
}

// Lease makes rules end with the session of a call, unless they are to be kept or
// there is no session.
func (r *Rules) Lease(req *mcp.CallToolRequest, keep bool, rules map[string]func() bool) {
	if !keep && req != nil && req.Session != nil && req.ProtocolVersion() < session.Sessionless {
		r.Leases.Hold(r.Injector, req.Session, rules)
	}
}

// ArmNext registers a rule for the next call that a registered one matches, and
// returns its name and the state of the registered one.
func (r *Rules) ArmNext(req *mcp.CallToolRequest, keep bool, fault string,
	seconds *float64) (name string, of chaos.RuleState, err error) {
	of, known := r.State(fault)
	if !known {
		var names []string
		for _, rule := range r.Injector.Rules() {
			names = append(names, rule.Name)
		}
		return "", of,
			failure.NotFound(fmt.Sprintf("unknown fault %q; registered: %s", fault, toolschema.OrNone(names)),
				"Register it first.")
	}
	life, err := r.Lifetime(seconds)
	if err != nil {
		return "", of, err
	}
	name, err = r.Next.Arm(r.Injector, of.Rule, func(rule chaos.Rule) (func() bool, error) {
		return r.Put(req, keep, rule, remote.Until(life, of.Expires))
	})
	return name, of, err
}

// State returns the injector's state of a rule.
func (r *Rules) State(name string) (chaos.RuleState, bool) {
	states := r.Injector.States()
	if i := slices.IndexFunc(states, func(s chaos.RuleState) bool { return s.Name == name }); i >= 0 {
		return states[i], true
	}
	return chaos.RuleState{}, false
}

// Remove removes a rule and what was armed for its next call, and returns the kind of
// its fault; "": there was none.
func (r *Rules) Remove(name string) (kind string) {
	if rule, ok := r.State(name); ok {
		kind = remote.KindOf(rule.Fault)
	}
	r.Next.Disarm(name)
	r.Injector.Remove(name)
	return kind
}
