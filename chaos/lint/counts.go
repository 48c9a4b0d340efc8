package lint

import "github.com/shakedown-go/shakedown/chaos"

// Counts reports whether a trigger counts calls, or is combined of one that does: then
// it matters in which order the calls of a lane come. It reads the trigger's
// description; one without that counts if it is a [chaos.OrdinalWhen].
func Counts(w chaos.When) bool {
	d, ok := w.(chaos.Described)
	if !ok {
		_, ok = w.(chaos.OrdinalWhen)
		return ok
	}
	for _, t := range readTrigger(d.Describe()).all() {
		switch t.kind {
		case "nth", "first", "after", "every", "burst", "burst_within", "intermittent", "markov", "gilbert_elliott",
			"early", "mid", "late":
			return true
		case "stages":
			for _, n := range t.numbers {
				if n > 0 { // calls that a stage lasts
					return true
				}
			}
		}
	}
	return false
}
