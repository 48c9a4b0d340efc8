package chaos

import "github.com/shakedown-go/shakedown/internal/hash"

// Concerns reports whether anything can happen to a call of a target that
// begins with prefix: a rule in force could match such a name, calls are
// recorded, or the injector is closed. An injection point that has to work for
// the rest of its name, or for the arguments, asks this first and spares the
// work where the answer is no. It allocates nothing but on the first question
// about a prefix.
func (in *Injector) Concerns(prefix string) bool {
	if in.opts.Record || in.state.Load()&stateClosed != 0 {
		return true
	}
	h := slotHash(prefixSlot, hash.String(prefix), 0)
	s := in.points.find(h, prefix)
	if s == nil {
		in.mu.Lock()
		s = in.findOrAdd(prefixSlot, prefix, "", "")
		in.mu.Unlock()
	}
	return len(s.set.Load().rules) > 0
}
