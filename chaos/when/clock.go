package when

import (
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
)

// Between matches the calls that begin at least from and less than to after the
// injector was armed. 0 ≤ from < to. For no end use [Since]. With a
// [chaos.Rule.Group] it is an outage that several targets share.
func Between(from, to time.Duration) chaos.When { return between{from, to} }

type between struct{ from, to time.Duration }

func (w between) Match(c chaos.Call) bool {
	t := c.Elapsed()
	return w.from <= t && t < w.to
}

func (w between) Check() error {
	c := param.Check{Kind: "between"}
	c.That(w.from >= 0, "from", w.from, "a time since the injector was armed, 0 or more")
	c.That(w.to > w.from, "to", w.to, "a time later than from, which is "+w.from.String()+"; Since has no end")
	return c.Err()
}

func (w between) Describe() chaos.Description {
	return describe("between", struct {
		From string `json:"from"`
		To   string `json:"to"`
	}{w.from.String(), w.to.String()})
}

// Since matches the calls that begin at least from after the injector was
// armed, without end; from is 0 or more.
func Since(from time.Duration) chaos.When { return since{from} }

type since struct{ from time.Duration }

func (w since) Match(c chaos.Call) bool { return c.Elapsed() >= w.from }

func (w since) Check() error {
	c := param.Check{Kind: "since"}
	c.That(w.from >= 0, "from", w.from, "a time since the injector was armed, 0 or more")
	return c.Err()
}

func (w since) Describe() chaos.Description {
	return describe("since", struct {
		From string `json:"from"`
	}{w.from.String()})
}
