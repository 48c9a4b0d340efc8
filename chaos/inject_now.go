package chaos

import (
	"context"
	"fmt"
	"maps"
)

// InjectNow asks the trigger of the named rule once. The requests for a rule are
// counted apart from the calls. If the trigger matches, the fault is injected at once,
// without a callee: a latency is waited out, an error is returned. injected reports
// whether it was.
//
// The rule's limit and cool-down apply, and so do the [Safeguards]. The error is the
// injected one, or matches [ErrUnknownRule] or [ErrCellEnded]. Its event has the
// rule's name as target. Nothing is injected while the injector is disarmed.
func (in *Injector) InjectNow(ctx context.Context, name string) (injected bool, err error) {
	if in.state.Load()&stateClosed != 0 {
		in.late.Add(1)
		return false, ErrCellEnded
	}
	in.mu.Lock()
	in.dropExpired()
	i := in.place(name)
	if i < 0 {
		defer in.mu.Unlock()
		return false, fmt.Errorf("%w %q; registered: %s", ErrUnknownRule, name, listOr(in.ruleNames(), "none"))
	}
	s := in.requestSiteOf(name)
	s.bind(in.rules[i : i+1])
	in.mu.Unlock()
	return s.injectNow(ctx)
}

// injectNow asks the trigger of the one rule of a request site. If it matches, it
// runs the fault, without a callee.
func (s *site) injectNow(ctx context.Context) (injected bool, err error) {
	if s.in.state.Load()&stateDisarmed != 0 {
		return false, nil
	}
	d := decision{set: s.set.Load(), frame: frameOf(ctx)}
	if d.set.eligible != nil {
		d.set.eligible.Add(1)
	}
	d.ordinal = s.calls.Add(1) - 1
	d.occurrence = d.ordinal
	m := d.match(nil)
	if m.first == nil {
		return false, nil
	}
	x := newInjection(ctx, &d, m, EffectNone)
	if len(x.rules) == 0 {
		return false, nil
	}
	x.callee = noCallee{}
	returned := false
	s.in.open.add(&x.link, x)
	defer func() { x.settle(err, !returned) }()
	_, err = x.run(0, &x.frame, nil)
	returned = true
	return true, err
}

// noCallee is the callee of InjectNow, which has no call whose types a value must fit.
type noCallee struct{}

func (noCallee) fitArgs(v any) (any, error)                          { return v, nil }
func (noCallee) fitResult(v any) (any, error)                        { return v, nil }
func (noCallee) reach(context.Context, *injection, any) (any, error) { return nil, nil }
func (noCallee) late(context.Context, *injection, any) (any, error)  { return nil, nil }

// maxRequested is how many names [Injector.InjectNow] counts before it drops those
// that have no rule any more.
const maxRequested = 1 << 10

// requestSiteOf returns the site that counts the InjectNow requests for a name;
// in.mu is held. It is not among the sites of calls, and gets its rule when it is
// used. The count of a removed name is kept for a while. Otherwise a rule registered
// anew for every request would get the same draw each time.
func (in *Injector) requestSiteOf(name string) *site {
	if s := in.requested[name]; s != nil {
		return s
	}
	if len(in.requested) >= maxRequested {
		left := make(map[string]bool, len(in.rules))
		for _, a := range in.rules {
			left[a.Name] = true
		}
		maps.DeleteFunc(in.requested, func(name string, _ *site) bool { return !left[name] })
	}
	if in.requested == nil {
		in.requested = make(map[string]*site)
	}
	s := &site{in: in, target: name, scope: name, kind: requestSite}
	s.empty = siteRules{site: s, simple: true}
	in.requested[name] = s
	return s
}
