package when

import (
	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
)

// Markov matches calls in bursts, by a chain of two states. Before each call a
// dependency that works goes down with probability enter, and one that is down
// recovers with probability leave. The calls made while it is down are matched.
// Both are more than 0 and at most 1, and not both 1; for that use
// [Intermittent].
//
//	share of the calls that are matched   enter / (enter + leave)
//	mean length of a burst, in calls      1 / leave
//	mean length of a pause, in calls      1 / enter
//
// So Markov(0.05, 0.45) matches a tenth of the calls, in bursts of 2.2 on
// average. Prob(0.1) matches as many, in bursts of 1.1.
//
// The chain runs over the calls of one lane to one target, or, in a rule with a
// [chaos.Rule.Group], to all targets of the group: they share a dependency that
// goes down and comes back.
//
// The first call finds the chain in its long-run state: it is down with the
// probability of the share above. So does each call whose number from 0 is a
// multiple of 4,096, which bounds the cost. A burst continues past such a call
// only by chance.
//
// The model is that of Gilbert, "Capacity of a Burst-Noise Channel", Bell
// System Technical Journal 39 (1960), without errors in the good state and with
// only errors in the bad one; [GilbertElliott] has errors in both.
//
// Nothing is remembered. The state at a call is found by walking back over the
// draws of the calls before, to the last one that leads to the same state
// whatever the state before. That is coupling from the past: Propp and Wilson,
// "Exact Sampling with Coupled Markov Chains" (1996). The walk takes
// 1/(1-|1-enter-leave|) steps of some nanoseconds on average, which is
// 1/(enter+leave) while that sum is at most 1. It never takes more than 4,096.
func Markov(enter, leave float64) chaos.When {
	return markov{kind: "markov", enter: enter, leave: leave, bad: 1}
}

// GilbertElliott is [Markov] with errors in both states. A call is matched with
// probability good while the dependency works, and with probability bad while
// it is down, independently of other calls. Both are from 0 to 1. The share of
// the calls that are matched is
//
//	(leave·good + enter·bad) / (enter + leave)
//
// The second error rate is that of Elliott, "Estimates of Error Rates for Codes
// on Burst-Noise Channels", Bell System Technical Journal 42 (1963).
func GilbertElliott(enter, leave, good, bad float64) chaos.When {
	return markov{kind: "gilbert_elliott", enter: enter, leave: leave, good: good, bad: bad}
}

type markov struct {
	kind         string
	enter, leave float64
	good, bad    float64
}

// The salts of the chain's steps and of the errors within a state: ASCII for
// "markov" and "error".
const (
	drawStep  = 0x6d61726b6f76
	drawError = 0x6572726f72
)

// block is the number of calls after which the chain starts again: a power of
// 2.
const block = 1 << 12

func (w markov) Match(c chaos.Call) bool {
	p := w.good
	if w.down(c) {
		p = w.bad
	}
	switch {
	case p >= 1:
		return true
	case p > 0:
		return c.Draw(drawError) < p
	}
	return false
}

// down reports whether the dependency is down at a call.
//
// One uniform draw u makes each step, from either state: to down if u < enter
// from the good state, and if u < 1-leave from the bad one. If the two agree,
// the step forces a state. Otherwise it keeps the state, or inverts it if enter
// is more than 1-leave.
func (w markov) down(c chaos.Call) bool {
	stay := 1 - w.leave
	low, high := min(w.enter, stay), max(w.enter, stay)
	turned := false
	first := c.Ordinal &^ (block - 1)
	for n := c.Ordinal; n > first; n-- {
		switch u := drawAt(c, n, drawStep); {
		case u < low:
			return !turned
		case u >= high:
			return turned
		case w.enter > stay:
			turned = !turned
		}
	}
	return (drawAt(c, first, drawStep) < w.enter/(w.enter+w.leave)) != turned
}

func (w markov) Check() error {
	c := param.Check{Kind: w.kind}
	c.That(w.enter > 0 && w.enter <= 1, "enter", w.enter, "a probability of more than 0, up to 1")
	c.That(w.leave > 0 && w.leave <= 1, "leave", w.leave, "a probability of more than 0, up to 1")
	c.That(w.enter != 1 || w.leave != 1, "leave", w.leave, "less than 1 where enter is 1: the states would take turns, as with Intermittent(1, 1)")
	c.That(w.good >= 0 && w.good <= 1, "good", w.good, "a probability from 0 to 1")
	c.That(w.bad >= 0 && w.bad <= 1, "bad", w.bad, "a probability from 0 to 1")
	return c.Err()
}

func (w markov) Describe() chaos.Description {
	type chain struct {
		Enter float64 `json:"enter"`
		Leave float64 `json:"leave"`
	}
	if w.kind == "markov" {
		return describe(w.kind, chain{w.enter, w.leave})
	}
	return describe(w.kind, struct {
		chain
		Good float64 `json:"good"`
		Bad  float64 `json:"bad"`
	}{chain{w.enter, w.leave}, w.good, w.bad})
}
