package chaos

import "github.com/shakedown-go/shakedown/internal/hash"

// Concerns reports whether anything can happen to a call of a target that
// begins with prefix: a rule in force could match such a name, calls are
// recorded, or the injector is closed. An injection point that has to work for
// the rest of its name, or for its arguments, asks this first and spares the
// work where the answer is no. It allocates nothing but on the first question
// about a prefix.
func (in *Injector) Concerns(prefix string) bool {
	if in.opts.Record || in.state.Load()&stateClosed != 0 {
		return true
	}
	h := hash.String(prefix)
	s := in.prefixes.find(h, prefix)
	if s == nil {
		s = in.addPrefix(h, prefix)
	}
	return len(s.set.Load().rules) > 0
}

// addPrefix keeps which rules a prefix concerns, apart from the slots of
// calls: paths of requests may be many, and nothing is counted here.
func (in *Injector) addPrefix(h uint64, prefix string) *slot {
	in.mu.Lock()
	defer in.mu.Unlock()
	if s := in.prefixes.find(h, prefix); s != nil {
		return s
	}
	s := &slot{in: in, hash: h, target: prefix, kind: prefixSlot}
	s.bind(in.rules)
	in.prefixes.add(s)
	return s
}
