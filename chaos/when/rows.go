package when

import "github.com/shakedown-go/shakedown/chaos/catalog"

// Rows returns the rows of this package's triggers, in the order of the
// documentation. The caller may keep and change the list and the rows: they are
// copies.
func Rows() []*catalog.Row {
	return catalog.List(always, probable, nth, first, after, every, between, since, exactly, lane, turn, turnBetween,
		all, anyOf, not, burst, burstWithin, intermittent, flapping, markov, gilbertElliott, early, mid, late,
		stages, args)
}
