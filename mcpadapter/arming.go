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
	next         remote.NextCalls
	leases       leases
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
	of, taken := r.next.Holder(name)
	if !taken {
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
func (r *clientRules) put(req *mcp.CallToolRequest, keep bool, rule chaos.Rule,
	life time.Duration) (remove func() bool, err error) {
	if err := r.room(1, func(name string) bool { return name == rule.Name }); err != nil {
		return nil, err
	}
	remove, err = r.injector.RegisterFor(rule, life)
	if err != nil {
		return nil, err
	}
	r.lease(req, keep, map[string]func() bool{rule.Name: remove})
	return remove, nil
}

// lease makes rules end with the session of a call, unless they are to be kept or
// there is no session.
func (r *clientRules) lease(req *mcp.CallToolRequest, keep bool, rules map[string]func() bool) {
	if !keep && req != nil && req.Session != nil && req.ProtocolVersion() < sessionless {
		r.leases.hold(r.injector, req.Session, rules)
	}
}

// armNext registers a rule for the next call that a registered one matches, and
// returns its name and the state of the registered one.
func (r *clientRules) armNext(req *mcp.CallToolRequest, keep bool, fault string,
	seconds *float64) (name string, of chaos.RuleState, err error) {
	of, known := r.state(fault)
	if !known {
		var names []string
		for _, rule := range r.injector.Rules() {
			names = append(names, rule.Name)
		}
		return "", of,
			notFound(fmt.Sprintf("unknown fault %q; registered: %s", fault, toolschema.OrNone(names)),
				"Register it first.")
	}
	life, err := r.lifetime(seconds)
	if err != nil {
		return "", of, err
	}
	name, err = r.next.Arm(r.injector, of.Rule, func(rule chaos.Rule) (func() bool, error) {
		return r.put(req, keep, rule, remote.Until(life, of.Expires))
	})
	return name, of, err
}

// state returns the injector's state of a rule.
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
	r.next.Disarm(name)
	r.injector.Remove(name)
	return kind
}

// sessionless is the first revision of the protocol without sessions. Dates compare
// as texts.
const sessionless = "2026-07-28"

// pushable refuses clients of a revision without sessions: nothing can be pushed to
// them.
func pushable(revision string) error {
	if revision < sessionless {
		return nil
	}
	return problem(http.StatusConflict, codeStateless,
		fmt.Sprintf("protocol revision %s has no sessions to send messages to", revision),
		"Subscribe to the resource "+uriFaults+
			", or read it from time to time; or connect with revision 2025-11-25.")
}

// leases remove the rules of a session when it ends, for whatever reason.
type leases struct {
	mu     sync.Mutex
	held   map[*mcp.ServerSession]map[string]func() bool // what removes a rule, by its name
	closed bool
	ended  sync.WaitGroup // of those that wait for a session's end
}

// hold makes rules end with a session: what removes each, by its name. A rule that
// has since been replaced is left alone: its function knows its own.
func (l *leases) hold(in *chaos.Injector, session *mcp.ServerSession, added map[string]func() bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed { // all sessions are being closed
		for _, remove := range added {
			remove()
		}
		return
	}
	rules := l.held[session]
	if rules == nil {
		if l.held == nil {
			l.held = make(map[*mcp.ServerSession]map[string]func() bool)
		}
		rules = make(map[string]func() bool)
		l.held[session] = rules
		l.ended.Go(func() {
			_ = session.Wait() // however it ended
			l.leave(session)
		})
	}
	l.forgetGone(in, rules)
	maps.Copy(rules, added)
}

// forgetGone drops the rules that have expired or were removed, so that a long
// session does not accumulate names.
func (l *leases) forgetGone(in *chaos.Injector, rules map[string]func() bool) {
	left := make(map[string]bool)
	for _, r := range in.Rules() {
		left[r.Name] = true
	}
	maps.DeleteFunc(rules, func(name string, _ func() bool) bool { return !left[name] })
}

func (l *leases) leave(session *mcp.ServerSession) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, remove := range l.held[session] {
		remove()
	}
	delete(l.held, session)
}

// close accepts no more rules. Those that are held end with their sessions.
func (l *leases) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
}

// wait waits until all sessions that hold rules have ended.
func (l *leases) wait() { l.ended.Wait() }

// count counts the rules that end with some session.
func (l *leases) count() (rules int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, held := range l.held {
		rules += len(held)
	}
	return rules
}
