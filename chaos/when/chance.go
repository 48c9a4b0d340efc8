package when

import (
	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
)

var chanceRows = []*catalog.Row{alwaysRow, probRow}

// Always matches every call. A rule without a trigger does the same.
func Always() chaos.When { return always{} }

var alwaysRow = catalog.Trigger(catalog.Row{Kind: "always", Doc: "Every call.", Go: "when.Always()"},
	func(catalog.None) chaos.When { return Always() })

type always struct{}

func (always) Match(chaos.Call) bool       { return true }
func (always) Describe() chaos.Description { return alwaysRow.Describe(catalog.None{}) }

// Prob matches each call with probability p, from 0 (never) to 1 (always),
// independently of other calls. The draw depends only on the seed and the
// coordinates of the call, see [chaos.Call.Draw]. A retry with the same
// arguments is another occurrence and so another draw.
func Prob(p float64) chaos.When { return prob{probability{p}} }

var probRow = catalog.Trigger(catalog.Row{
	Kind: "prob", Doc: "Each call with a probability.", Go: "when.Prob(p)", Example: `{"p":0.3}`,
}, func(p probability) chaos.When { return prob{p} })

type probability struct {
	P float64 `json:"p" bounds:"min=0,max=1" allowed:"a probability from 0 to 1" doc:"probability of each call on its own"`
}

type prob struct{ probability }

// drawProb is the salt of the draw, the one that chaos.Probabilistic specifies.
// Faults use other salts, so that what a fault does is independent of the draw
// by which the call was matched.
const drawProb = 0

// Match handles 0 and 1 apart, so that "never" and "always" do not depend on
// how a draw compares with a limit.
func (w prob) Match(c chaos.Call) bool {
	switch {
	case w.P >= 1:
		return true
	case w.P <= 0:
		return false
	}
	return c.Draw(drawProb) < w.P
}

// Probability makes this a [chaos.Probabilistic] trigger, the cheapest kind. A
// p that Check refuses is never used.
func (w prob) Probability() float64 { return w.P }

func (w prob) Check() error                { return probRow.Check(w.probability).Err() }
func (w prob) Describe() chaos.Description { return probRow.Describe(w.probability) }
