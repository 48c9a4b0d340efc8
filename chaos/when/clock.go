package when

import (
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
)

// Between matches the calls that begin at least from and less than to after the
// injector was armed. 0 ≤ from < to. For no end use [Since]. With a
// [chaos.Rule.Group] it is an outage that several targets share.
func Between(from, to time.Duration) chaos.When { return between.Of(window{beginning{from}, to}) }

var between = &catalog.Match[window]{
	Row: catalog.Row{Kind: "between", Doc: "Calls that begin within a time window.",
		Go: "when.Between(from, to)", Example: `{"from":"1m0s","to":"2m0s"}`, Order: catalog.Timed},
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
