package when

import (
	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
)

// Always matches every call. A rule without a trigger does the same.
func Always() chaos.When { return always{} }

type always struct{}

func (always) Match(chaos.Call) bool       { return true }
func (always) Describe() chaos.Description { return describe("always", nil) }

// Prob matches each call with probability p, from 0 (never) to 1 (always),
// independently of other calls. The draw depends only on the seed and the
// coordinates of the call, see [chaos.Call.Draw]. A retry with the same
// arguments is another occurrence and so another draw.
func Prob(p float64) chaos.When { return prob{p} }

type prob struct{ p float64 }

// drawProb is the salt of the draw, the one that chaos.Probabilistic specifies.
// Faults use other salts, so that what a fault does is independent of the draw
// by which the call was matched.
const drawProb = 0

// Match handles 0 and 1 apart, so that "never" and "always" do not depend on
// how a draw compares with a limit.
func (w prob) Match(c chaos.Call) bool {
	switch {
	case w.p >= 1:
		return true
	case w.p <= 0:
		return false
	}
	return c.Draw(drawProb) < w.p
}

// Probability makes this a [chaos.Probabilistic] trigger, the cheapest kind. A
// p that Check refuses is never used.
func (w prob) Probability() float64 { return w.p }

func (w prob) Check() error {
	c := param.Check{Kind: "prob"}
	c.That(w.p >= 0 && w.p <= 1, "p", w.p, "a probability from 0 to 1")
	return c.Err()
}

func (w prob) Describe() chaos.Description {
	return describe("prob", struct {
		P float64 `json:"p"`
	}{w.p})
}
