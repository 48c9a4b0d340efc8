package when

import (
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
)

var clockRows = []*catalog.Row{betweenRow, sinceRow}

// Between matches the calls that begin at least from and less than to after the
// injector was armed. 0 ≤ from < to. For no end use [Since]. With a
// [chaos.Rule.Group] it is an outage that several targets share.
func Between(from, to time.Duration) chaos.When { return between{window{beginning{from}, to}} }

var betweenRow = catalog.Trigger(catalog.Row{
	Kind: "between", Doc: "Calls that begin within a time window.",
	Order: catalog.Timed,
	Go:    "when.Between(from, to)", Example: `{"from":"1m0s","to":"2m0s"}`,
}, func(p window) chaos.When { return between{p} })

type beginning struct {
	From time.Duration `json:"from" bounds:"min=0" allowed:"a time since the injector was armed, 0 or more" doc:"time since the injector was armed"`
}

type window struct {
	beginning
	To time.Duration `json:"to" doc:"the end, itself excluded"`
}

type between struct{ window }

func (w between) Match(c chaos.Call) bool {
	t := c.Elapsed()
	return w.From <= t && t < w.To
}

func (w between) Check() error {
	c := betweenRow.Check(w.window)
	c.That(w.To > w.From, "to", w.To, "a time later than from, which is "+w.From.String()+"; Since has no end")
	return c.Err()
}

func (w between) Describe() chaos.Description { return betweenRow.Describe(w.window) }

// Since matches the calls that begin at least from after the injector was
// armed, without end; from is 0 or more.
func Since(from time.Duration) chaos.When { return since{beginning{from}} }

var sinceRow = catalog.Trigger(catalog.Row{
	Kind: "since", Doc: "Calls that begin after a time.", Go: "when.Since(from)", Example: `{"from":"30s"}`,
	Order: catalog.Timed,
}, func(p beginning) chaos.When { return since{p} })

type since struct{ beginning }

func (w since) Match(c chaos.Call) bool     { return c.Elapsed() >= w.From }
func (w since) Check() error                { return sinceRow.Check(w.beginning).Err() }
func (w since) Describe() chaos.Description { return sinceRow.Describe(w.beginning) }
