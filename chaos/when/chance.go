package when

import (
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
)

// Always matches every call. A rule without a trigger does the same.
func Always() chaos.When { return always.Of(catalog.None{}) }

var always = &catalog.Own[catalog.None, chaos.When]{
	Row:  catalog.Row{Kind: "always", Doc: "Every call.", Go: "when.Always()"},
	Make: func(m catalog.Made[catalog.None]) chaos.When { return everyCall{m} },
}

// everyCall is a type of its own, since Not, All and Any ask their parts on each call.
type everyCall struct{ catalog.Made[catalog.None] }

func (everyCall) Match(chaos.Call) bool { return true }

// Prob matches each call with probability p, from 0 (never) to 1 (always),
// independently of other calls. The draw depends only on the seed and the
// coordinates of the call, see [chaos.Call.Draw]. A retry with the same
// arguments is another occurrence and so another draw.
func Prob(p float64) chaos.When { return probable.Of(probability{p}) }

var probable = &catalog.Own[probability, chaos.When]{
	Row:  catalog.Row{Kind: "prob", Doc: "Each call with a probability.", Go: "when.Prob(p)", Example: `{"p":0.3}`},
	Make: func(m catalog.Made[probability]) chaos.When { return prob{m} },
}

type probability struct {
	P float64 `json:"p" bounds:"min=0,max=1" allowed:"a probability from 0 to 1" doc:"probability of each call on its own"`
}

type prob struct{ catalog.Made[probability] }

// drawProb is the salt of the draw, the one that chaos.Probabilistic specifies.
// Faults use other salts, so that what a fault does is independent of the draw
// by which the call was matched.
const drawProb = 0

// Match handles 0 and 1 apart, so that "never" and "always" do not depend on
// how a draw compares with a limit.
func (w prob) Match(c chaos.Call) bool {
	switch {
	case w.Params.P >= 1:
		return true
	case w.Params.P <= 0:
		return false
	}
	return c.Draw(drawProb) < w.Params.P
}

// Probability makes this a [chaos.Probabilistic] trigger, the cheapest kind. A
// p that Check refuses is never used.
func (w prob) Probability() float64 { return w.Params.P }

// Between matches the calls that begin at least from and less than to after the
// injector was armed. 0 ≤ from < to. For no end use [Since]. With a
// [chaos.Rule.Group] it is an outage that several targets share.
func Between(from, to time.Duration) chaos.When { return between.Of(window{beginning{from}, to}) }

var between = &catalog.Match[window]{
	Row: catalog.Row{Kind: "between", Doc: "Calls that begin within a time window.", Go: "when.Between(from, to)",
		Example: `{"from":"1m0s","to":"2m0s"}`, Order: catalog.Timed},
	Match: func(p window, c chaos.Call) bool {
		t := c.Elapsed()
		return p.From <= t && t < p.To
	},
}

type beginning struct {
	From time.Duration `json:"from" bounds:"min=0" allowed:"a time since the injector was armed, 0 or more" doc:"time since the injector was armed"`
}

type window struct {
	beginning
	To time.Duration `json:"to" doc:"the end, itself excluded"`
}

func (p window) Check(c *catalog.Check) {
	c.That(p.To > p.From, "to", p.To, "a time later than from, which is "+p.From.String()+"; Since has no end")
}

// Since matches the calls that begin at least from after the injector was
// armed, without end; from is 0 or more.
func Since(from time.Duration) chaos.When { return since.Of(beginning{from}) }

var since = &catalog.Match[beginning]{
	Row: catalog.Row{Kind: "since", Doc: "Calls that begin after a time.", Go: "when.Since(from)",
		Example: `{"from":"30s"}`, Order: catalog.Timed},
	Match: func(p beginning, c chaos.Call) bool { return c.Elapsed() >= p.From },
}

// Rows returns the rows of this package's triggers, in the order of the
// documentation. The caller may keep and change the list and the rows: they are
// copies.
func Rows() []*catalog.Row {
	return catalog.List(always, probable, nth, first, after, every, between, since, exactly, lane, turn, turnBetween,
		all, anyOf, not, burst, intermittent, flapping, markov, gilbertElliott, early, mid, late,
		stages, args)
}
