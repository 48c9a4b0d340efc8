package mcpadapter

import (
	"cmp"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/shakedown-go/shakedown/chaos"
)

// leases remove the rules of a session when it ends, for whatever reason.
type leases struct {
	mu     sync.Mutex
	held   map[*mcp.ServerSession]map[string]func() bool // what removes a rule, by its name
	closed bool
	ended  sync.WaitGroup // of those that wait for a session's end
}

// hold makes a rule end with a session. A rule that has since been replaced is
// left alone: remove knows its own.
func (l *leases) hold(in *chaos.Injector, session *mcp.ServerSession, name string, remove func() bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed { // all sessions are being closed
		remove()
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
	rules[name] = remove
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

// put registers a rule for a client: for the time that it asked for, and for
// its session unless the rule is to be kept.
func (s *Server) put(c *call, in injectInput, r chaos.Rule, life time.Duration) (remove func() bool, err error) {
	remove, err = s.host.Injector.RegisterFor(r, life)
	if err != nil {
		return nil, err
	}
	s.leaseTo(c, in.Keep, r.Name, remove)
	return remove, nil
}

// leaseTo makes a rule end with the session of a call, unless it is to be kept or
// there is no session.
func (s *Server) leaseTo(c *call, keep bool, name string, remove func() bool) {
	if !keep && c != nil && c.req.Session != nil && c.req.ProtocolVersion() < sessionless {
		s.leases.hold(s.host.Injector, c.req.Session, name, remove)
	}
}

// lifetime returns how long a fault lasts that a client registers; 0: for good.
func (s *Server) lifetime(seconds *float64) (time.Duration, error) {
	switch {
	case seconds == nil:
		return s.limits.FaultTime, nil
	case *seconds > 0:
		return max(time.Duration(*seconds*float64(time.Second)), 1), nil
	case s.limits.AllowEndless:
		return 0, nil
	}
	return 0, badArguments(fmt.Sprintf("expires_seconds is 0; allowed: above 0 up to %d: the host does not allow faults that never expire", maxLife),
		"Leave expires_seconds out for "+s.limits.FaultTime.String()+", or register the fault again before it expires.")
}

// maxLife is the longest time, in seconds, that a client may ask for.
const maxLife = 86400

// state returns the injector's state of a rule.
func (s *Server) state(name string) (chaos.RuleState, bool) {
	for _, r := range s.host.Injector.States() {
		if r.Name == name {
			return r, true
		}
	}
	return chaos.RuleState{}, false
}

// reportState fills in the state of a rule that was just registered. The rule may
// be gone: its time was short, or another caller has removed it.
func (s *Server) reportState(out *injectOutput, name string) {
	if r, ok := s.state(name); ok {
		out.setState(r)
		return
	}
	out.InForce, out.Reason = new(false), goneAlready
}

// goneAlready is why a rule that was registered a moment ago is not there.
const goneAlready = "it has expired or was removed already"

// setState fills in the state of a rule.
func (out *injectOutput) setState(r chaos.RuleState) {
	f := activeFault(r)
	out.FaultType, out.Probability, out.InForce, out.Reason, out.ExpiresAt = f.FaultType, &f.Probability, &f.InForce, f.Reason, f.ExpiresAt
}

// until returns the shorter of two times, where 0 is endless.
func until(life time.Duration, expires time.Time) time.Duration {
	if expires.IsZero() {
		return life
	}
	left := max(time.Until(expires), 1)
	return min(cmp.Or(life, left), left)
}
