package mcpadapter

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/remote"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/mcpadapter/internal/toolschema"
)

// clientRules registers rules in a live injector for clients: in the environments that
// the host named, for a limited time, and no longer than the client's session. Its
// methods are safe for concurrent use.
type clientRules struct {
	injector     *chaos.Injector // nil: nothing is registered, and only guard is called
	environments []string        // where rules may be registered; empty: everywhere
	getenv       func(string) string
	limits       Limits
	arming       sync.Mutex // held from a look at the rules for a next call to their change

	mu     sync.Mutex
	held   map[*mcp.ServerSession]map[string]func() bool // what removes the rules of a session, by name
	closed bool
	ended  sync.WaitGroup // of those that wait for a session's end
}

// envEnvironment is the variable that names where the program runs.
const envEnvironment = "SHAKEDOWN_ENVIRONMENT"

// guard refuses what in an environment that the host did not name.
func (r *clientRules) guard(what string) error {
	now := r.getenv(envEnvironment)
	if len(r.environments) == 0 || slices.Contains(r.environments, now) {
		return nil
	}
	return problem(http.StatusForbidden, codeForbidden, fmt.Sprintf("%s is refused: %s is %q; allowed: %s", what,
		envEnvironment, now, toolschema.OrNone(r.environments)),
		"Faults may not be armed in this environment. remove, chaos_disarm and chaos_status still work.")
}

// lifetime returns how long a rule lasts that a client registers for so many seconds;
// 0: for good.
func (r *clientRules) lifetime(seconds *float64) (time.Duration, error) {
	switch {
	case seconds == nil:
		return r.limits.FaultTime, nil
	case *seconds > 0:
		return max(time.Duration(*seconds*float64(time.Second)), 1), nil
	case r.limits.AllowEndless:
		return 0, nil
	}
	return 0, badArguments(
		"expires_seconds is 0; allowed: above 0 up to 86400: the host does not allow faults that never expire",
		"Leave expires_seconds out for "+r.limits.FaultTime.String()+", or register the fault again before it expires.")
}

// free returns a problem if a rule for the next call has taken the name.
func (r *clientRules) free(name string) error {
	rules := r.injector.Rules()
	i := slices.IndexFunc(rules, func(rule chaos.Rule) bool { return rule.Name == name })
	if i < 0 {
		return nil
	}
	of, armed := remote.ArmedFor(rules[i])
	if !armed {
		return nil
	}
	return problem(http.StatusConflict, codeConflict,
		fmt.Sprintf("fault_name is %q; allowed: another name: arm_next of %q has taken this one", name, of),
		"It is free again when that fault was injected or removed.")
}

// maxRules is how many rules the injector may have for a client to add another: each
// call of the program asks those of its target.
const maxRules = 500

// room refuses rules that are too many, besides those that they replace.
func (r *clientRules) room(more int, replaced func(name string) bool) error {
	held := 0
	for _, rule := range r.injector.Rules() {
		if !replaced(rule.Name) {
			held++
		}
	}
	if held+more <= maxRules {
		return nil
	}
	return problem(http.StatusConflict, codeConflict,
		fmt.Sprintf("%d rules are in force, and this would add %d; allowed: %d in all", held, more, maxRules),
		"Remove some, or end them all with chaos_disarm.")
}

// put registers a rule for a while, and for the session of the call unless it is to
// be kept.
func (r *clientRules) put(req *mcp.CallToolRequest, keep bool, rule chaos.Rule, life time.Duration) error {
	if err := r.room(1, func(name string) bool { return name == rule.Name }); err != nil {
		return err
	}
	remove, err := r.injector.RegisterFor(rule, life)
	if err != nil {
		return err
	}
	r.lease(req, keep, map[string]func() bool{rule.Name: remove})
	return nil
}

// lease makes rules end with the session of a call, for whatever reason it ends, unless
// they are to be kept or there is no session. rules are what removes each, by its name.
// One that has since been replaced is left alone: its function knows its own.
func (r *clientRules) lease(req *mcp.CallToolRequest, keep bool, rules map[string]func() bool) {
	if keep || req == nil || req.Session == nil || req.ProtocolVersion() >= sessionless {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed { // all sessions are being closed
		removeAll(rules)
		return
	}
	held := r.held[req.Session]
	if held == nil {
		held = make(map[string]func() bool)
		r.held[req.Session] = held
		r.ended.Go(func() {
			_ = req.Session.Wait() // however it ended
			r.mu.Lock()
			defer r.mu.Unlock()
			removeAll(held)
			delete(r.held, req.Session)
		})
	}
	left := make(map[string]bool)
	for _, rule := range r.injector.Rules() {
		left[rule.Name] = true
	}
	// A long session does not gather names.
	maps.DeleteFunc(held, func(name string, _ func() bool) bool { return !left[name] })
	maps.Copy(held, rules)
}

func removeAll(rules map[string]func() bool) {
	for _, remove := range rules {
		remove()
	}
}

// close accepts no more rules of sessions. Those that are held end with their sessions.
func (r *clientRules) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
}

func (r *clientRules) names() string {
	var names []string
	for _, rule := range r.injector.Rules() {
		names = append(names, rule.Name)
	}
	return text.Some(names, 20)
}

func (r *clientRules) state(name string) (chaos.RuleState, bool) {
	states := r.injector.States()
	if i := slices.IndexFunc(states, func(s chaos.RuleState) bool { return s.Name == name }); i >= 0 {
		return states[i], true
	}
	return chaos.RuleState{}, false
}

// remove removes a rule and what was armed for its next call, and returns the kind of
// its fault; "": there was none.
func (r *clientRules) remove(name string) (kind string) {
	if rule, ok := r.state(name); ok {
		kind = remote.KindOf(rule.Fault)
	}
	r.disarm(func(_, of string) bool { return of == name })
	r.injector.Remove(name)
	return kind
}

// disarm removes the rules for a next call that a function names, with the rule that each was made of.
func (r *clientRules) disarm(over func(name, of string) bool) {
	r.arming.Lock()
	defer r.arming.Unlock()
	for _, rule := range r.injector.Rules() {
		if of, armed := remote.ArmedFor(rule); armed && over(rule.Name, of) {
			r.injector.Remove(rule.Name)
		}
	}
}

// sweep removes the rules for a next call whose fault was delivered.
func (r *clientRules) sweep() {
	r.disarm(func(name, _ string) bool { return !slices.Contains(r.injector.Undelivered(), name) })
}

// sessionless is the first revision of the protocol without sessions. Dates compare
// as texts.
const sessionless = "2026-07-28"
