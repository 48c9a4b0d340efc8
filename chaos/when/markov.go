package when

import (
	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
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
// The first call finds the chain in its long-run state, and so does each call whose
// number from 0 is a multiple of 4,096, which bounds the cost.
//
// The model is that of Gilbert, "Capacity of a Burst-Noise Channel", Bell
// System Technical Journal 39 (1960), without errors in the good state and with
// only errors in the bad one; [GilbertElliott] has errors in both.
//
// Nothing is remembered. The state at a call is found by walking back over the
// draws of the calls before, to the last one that leads to the same state
// whatever the state before. That is coupling from the past: Propp and Wilson,
// "Exact Sampling with Coupled Markov Chains" (1996). The walk takes
// 1/(1-|1-enter-leave|) steps of some nanoseconds on average.
func Markov(enter, leave float64) chaos.When { return markov.Of(chain{enter, leave}) }

var markov = &catalog.Match[chain]{
	Row: catalog.Row{Kind: "markov", Doc: "Bursts from a chain of two states.", Go: "when.Markov(enter, leave)",
		Example: `{"enter":0.2,"leave":0.4}`, Order: catalog.Sequential},
	Match: chain.down,
}

type chain struct {
	Enter float64 `json:"enter" bounds:"over=0,max=1" allowed:"a probability of more than 0, up to 1" doc:"probability to go down, before each call"`
	Leave float64 `json:"leave" bounds:"over=0,max=1" allowed:"a probability of more than 0, up to 1" doc:"probability to come back, before each call"`
}

func (p chain) Check(c *catalog.Check) {
	c.That(p.Enter != 1 || p.Leave != 1, "leave", p.Leave,
		"less than 1 where enter is 1: the states would take turns, as with Intermittent(1, 1)")
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
	return gilbertElliott.Of(errorChain{chain{enter, leave}, good, bad})
}

var gilbertElliott = &catalog.Match[errorChain]{
	Row: catalog.Row{Kind: "gilbert_elliott", Doc: "Bursts with errors in both states.",
		Go: "when.GilbertElliott(enter, leave, good, bad)", Example: `{"enter":0.2,"leave":0.4,"good":0.05,"bad":0.8}`,
		Order: catalog.Sequential},
	Match: func(p errorChain, c chaos.Call) bool {
		share := p.Good
		if p.down(c) {
			share = p.Bad
		}
		switch {
		case share >= 1:
			return true
		case share > 0:
			return c.Draw(drawError) < share
		}
		return false
	},
}

type errorChain struct {
	chain
	Good float64 `json:"good" bounds:"min=0,max=1" allowed:"a probability from 0 to 1" doc:"probability of a call while up"`
	Bad  float64 `json:"bad" bounds:"min=0,max=1" allowed:"a probability from 0 to 1" doc:"probability of a call while down"`
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

// down reports whether the dependency is down at a call.
//
// One uniform draw u makes each step, from either state: to down if u < enter
// from the good state, and if u < 1-leave from the bad one. If the two agree,
// the step forces a state. Otherwise it keeps the state, or inverts it if enter
// is more than 1-leave.
func (p chain) down(c chaos.Call) bool {
	stay := 1 - p.Leave
	low, high := min(p.Enter, stay), max(p.Enter, stay)
	turned := false
	first := c.Ordinal &^ (block - 1)
	for n := c.Ordinal; n > first; n-- {
		switch u := drawAt(c, n, drawStep); {
		case u < low:
			return !turned
		case u >= high:
			return turned
		case p.Enter > stay:
			turned = !turned
		}
	}
	return (drawAt(c, first, drawStep) < p.Enter/(p.Enter+p.Leave)) != turned
}
