package chaos

import (
	"context"
	"fmt"

	"github.com/shakedown-go/shakedown/internal/hash"
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
	// The count of a removed name is kept: a rule registered anew for every request would
	// else get the same draw each time.
	h := hash.String(name)
	s := in.requested.find(h, name)
	if s == nil {
		s = &site{in: in, hash: h, target: name, scope: name, kind: requestSite}
		in.requested.add(s)
	}
	s.bind(in.rules[i : i+1])
	in.mu.Unlock()
	return s.injectNow(ctx)
}

func (s *site) injectNow(ctx context.Context) (injected bool, err error) {
	if s.in.state.Load()&stateDisarmed != 0 {
		return false, nil
	}
	d := decision{set: s.set.Load(), frame: frameOf(ctx)}
	d.ordinal = s.calls.Add(1) - 1
	d.occurrence = d.ordinal
	m := d.match(nil)
	if m.first == nil {
		return false, nil
	}
	x := &injection{callee: noCallee{}}
	x.begin(ctx, &d, m, EffectNone)
	if len(x.rules) == 0 {
		return false, nil
	}
	s.in.open.add(&x.link, x)
	returned := false
	defer func() { x.settle(err, !returned) }()
	_, err = x.run(0, &x.inner, nil)
	returned = true
	return true, err
}

// noCallee is the callee of InjectNow, which has no call whose types a value must fit.
type noCallee struct{}

func (noCallee) fitArgs(v any) (any, error)                          { return v, nil }
func (noCallee) fitResult(v any) (any, error)                        { return v, nil }
func (noCallee) reach(context.Context, *injection, any) (any, error) { return nil, nil }
func (noCallee) late(context.Context, *injection, any) (any, error)  { return nil, nil }
