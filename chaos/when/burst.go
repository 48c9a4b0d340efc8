package when

import (
	"fmt"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
)

// Burst matches n consecutive calls of a lane to a target, beginning with the
// call number from, counted from 1. Both are at least 1. In a rule with a
// [chaos.Rule.Group] the calls to all its targets count as one sequence, so one
// burst affects whichever of them are called.
func Burst(from, n int) chaos.When { return burst.Of(span{from, n}) }

var burst = &catalog.Ordinal[span]{
	Row: catalog.Row{Kind: "burst", Doc: "A run of consecutive calls.", Go: "when.Burst(from, n)",
		Example: `{"from":4,"n":3}`, Order: catalog.Sequential},
	Match: func(p span, ordinal uint64) bool {
		return p.From >= 1 && p.N >= 1 && ordinal+1 >= uint64(p.From) && ordinal+1-uint64(p.From) < uint64(p.N)
	},
}

type span struct {
	From int `json:"from" bounds:"min=1" allowed:"a call number: 1 is the first call" doc:"the first call matched, counted from 1"`
	N    int `json:"n" bounds:"min=1" allowed:"a number of calls, at least 1" doc:"number of calls"`
}

// BurstWithin matches n consecutive calls somewhere among the first calls calls
// of a lane to a target. Where they begin is drawn once for each lane and
// target; each of the calls-n+1 places is equally likely. 1 ≤ n ≤ calls.
func BurstWithin(n, calls int) chaos.When { return burstWithin.Of(someOf{n, calls}) }

var burstWithin = &catalog.Match[someOf]{
	Row: catalog.Row{Kind: "burst_within", Doc: "A run of consecutive calls somewhere among the first ones.",
		Go: "when.BurstWithin(n, calls)", Example: `{"n":3,"calls":12}`, Order: catalog.Sequential},
	Match: func(p someOf, c chaos.Call) bool {
		if p.N < 1 || p.Calls < p.N || c.Ordinal >= uint64(p.Calls) {
			return false
		}
		begin := uint64(drawAt(c, 0, drawBurst) * float64(p.Calls-p.N+1))
		return c.Ordinal >= begin && c.Ordinal-begin < uint64(p.N)
	},
}

type someOf struct {
	N     int `json:"n" bounds:"min=1" allowed:"a number of calls, at least 1" doc:"number of calls matched"`
	Calls int `json:"calls" bounds:"min=1" allowed:"a number of calls, at least n" doc:"number of calls among which they are, at least n"`
}

func (p someOf) Check(c *catalog.Check) {
	c.That(p.Calls >= p.N || p.Calls < 1, "calls", p.Calls,
		fmt.Sprintf("a number of calls, at least n, which is %d", p.N))
}

// drawBurst is the salt of the beginning: ASCII for "burst".
const drawBurst = 0x6275727374

// Intermittent matches on calls of a lane to a target, then does not match off
// calls, and so on in turn. Both are at least 1.
func Intermittent(on, off int) chaos.When { return intermittent.Of(turns{on, off}) }

var intermittent = &catalog.Ordinal[turns]{
	Row: catalog.Row{Kind: "intermittent", Doc: "Some calls in a row, then some not, in turn.",
		Go: "when.Intermittent(on, off)", Example: `{"on":2,"off":3}`, Order: catalog.Sequential},
	Match: func(p turns, ordinal uint64) bool {
		return p.On >= 1 && p.Off >= 1 && ordinal%(uint64(p.On)+uint64(p.Off)) < uint64(p.On)
	},
}

type turns struct {
	On  int `json:"on" bounds:"min=1" allowed:"a number of calls, at least 1" doc:"number of calls matched"`
	Off int `json:"off" bounds:"min=1" allowed:"a number of calls, at least 1" doc:"number of calls not matched"`
}

// Flapping is [Intermittent] by the clock: from when the injector was armed, it
// matches calls for the time on, does not match for the time off, and so on in
// turn. Both are more than 0, and their sum is at most the longest Duration.
func Flapping(on, off time.Duration) chaos.When { return flapping.Of(phases{on, off}) }

var flapping = &catalog.Match[phases]{
	Row: catalog.Row{Kind: "flapping", Doc: "Down for a time, up for a time, in turn.",
		Go: "when.Flapping(on, off)", Example: `{"on":"10s","off":"30s"}`, Order: catalog.Timed},
	Match: func(p phases, c chaos.Call) bool { return p.valid() && c.Elapsed()%(p.On+p.Off) < p.On },
}

type phases struct {
	On  time.Duration `json:"on" bounds:"over=0" doc:"time down"`
	Off time.Duration `json:"off" bounds:"over=0" doc:"time up"`
}

func (p phases) valid() bool { return p.On > 0 && p.Off > 0 && p.On+p.Off > 0 }

func (p phases) Check(c *catalog.Check) {
	c.That(p.On <= 0 || p.Off <= 0 || p.valid(), "off", p.Off,
		"a duration that with on, which is "+p.On.String()+", is no longer than 292 years")
}

// drawAt is the draw of the n-th call of the lane to the target, from 0,
// whatever its arguments. All calls share these draws, so each can compute the
// outcome of those before it without any memory.
func drawAt(c chaos.Call, n, salt uint64) float64 {
	c.Key, c.Occurrence, c.Ordinal = 0, n, n
	return c.Draw(salt)
}
