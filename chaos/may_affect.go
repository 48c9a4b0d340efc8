package chaos

import "github.com/shakedown-go/shakedown/internal/hash"

// MayAffect reports whether anything can happen to a call of target: a rule in
// force matches it, calls are recorded, or the injector is closed. An injection
// point that has to work for its name or its arguments asks this first, and
// skips that work if the answer is false. Only the first question about a name
// allocates. It is safe for concurrent use.
func (in *Injector) MayAffect(target string) bool {
	return in.mayAffect(hash.String(target), exactSite, target)
}

// MayAffectPrefix is [Injector.MayAffect] for all targets that start with prefix
// and have no space in what follows it.
func (in *Injector) MayAffectPrefix(prefix string) bool {
	return in.mayAffect(^hash.String(prefix), prefixSite, prefix)
}

func (in *Injector) mayAffect(h uint64, kind siteKind, name string) bool {
	if in.opts.RecordAll || in.state.Load()&stateClosed != 0 {
		return true
	}
	s := in.asked.find(h, name)
	if s == nil {
		s = in.addAsked(h, kind, name)
	}
	return len(s.set.Load().rules) > 0
}

// addAsked keeps which rules match a name, apart from the sites of calls: there
// may be many paths of requests, and nothing is counted here.
func (in *Injector) addAsked(h uint64, kind siteKind, target string) *site {
	in.mu.Lock()
	defer in.mu.Unlock()
	if s := in.asked.find(h, target); s != nil {
		return s
	}
	s := &site{in: in, hash: h, target: target, kind: kind}
	s.bind(in.rules)
	in.asked.add(s)
	return s
}
