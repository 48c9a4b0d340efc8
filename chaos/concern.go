package chaos

import "github.com/shakedown-go/shakedown/internal/hash"

// Concerns reports whether anything can happen to a call of a target: a rule
// in force matches it, calls are recorded, or the injector is closed. With
// longer it asks about every target that begins so and goes on without a
// space. An injection point that
// has to work for the rest of its name, or for its arguments, asks this first
// and spares the work where the answer is no. It allocates nothing but on the
// first question about a name.
func (in *Injector) Concerns(target string, longer bool) bool {
	if in.opts.RecordAll || in.state.Load()&stateClosed != 0 {
		return true
	}
	h, kind := hash.String(target), wholeSlot
	if longer {
		h, kind = ^h, prefixSlot
	}
	s := in.asked.find(h, target)
	if s == nil {
		s = in.addAsked(h, kind, target)
	}
	return len(s.set.Load().rules) > 0
}

// addAsked keeps which rules a name concerns, apart from the slots of calls:
// paths of requests may be many, and nothing is counted here.
func (in *Injector) addAsked(h uint64, kind slotKind, target string) *slot {
	in.mu.Lock()
	defer in.mu.Unlock()
	if s := in.asked.find(h, target); s != nil {
		return s
	}
	s := &slot{in: in, hash: h, target: target, kind: kind}
	s.bind(in.rules)
	in.asked.add(s)
	return s
}
