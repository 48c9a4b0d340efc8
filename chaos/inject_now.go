package chaos

import "context"

// injectNow asks the one rule of a request site, and runs its fault if it matches,
// with no callee behind it.
func (s *site) injectNow(ctx context.Context) (fired bool, err error) {
	if s.in.state.Load()&stateDisarmed != 0 {
		return false, nil
	}
	d := decision{set: s.set.Load(), frame: frameOf(ctx)}
	if g := s.in.safeguards; g != nil {
		g.countCall()
	}
	d.ordinal = s.calls.Add(1) - 1
	d.occurrence = d.ordinal
	m := d.match(nil)
	if m.first == nil {
		return false, nil
	}
	x := &injection{decision: d, effect: EffectNone}
	d.open(&x.rec)
	x.rec.begun = s.in.begun.Add(2)
	if x.begin(ctx, m); len(x.rules) == 0 {
		return false, nil
	}
	x.callee = func(context.Context, any) (any, error) { return nil, nil }
	x.shape = shapeless{}
	returned := false
	defer func() { x.finish(err, !returned) }()
	_, err = x.run(0, &x.frame, nil)
	returned = true
	return true, err
}

// shapeless is the shape of InjectNow: there is no call to fit.
type shapeless struct{}

func (shapeless) fitArgs(v any) (any, error)   { return v, nil }
func (shapeless) fitResult(v any) (any, error) { return v, nil }
