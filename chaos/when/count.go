package when

import (
	"slices"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
)

// Nth matches the n-th call of a lane to a target, counted from 1. With several
// numbers it matches each of those calls. Each is at least 1, and there is at
// least one.
func Nth(n ...int) chaos.When { return nth.Of(callNumbers{slices.Clone(n)}) }

var nth = &catalog.Ordinal[callNumbers]{
	Row: catalog.Row{Kind: "nth", Doc: "The calls of these numbers.", Go: "when.Nth(n...)", Example: `{"n":[4]}`,
		Order: catalog.Sequential},
	Match: func(p callNumbers, ordinal uint64) bool {
		for _, n := range p.N {
			if ordinal+1 == uint64(n) {
				return true
			}
		}
		return false
	},
}

type callNumbers struct {
	N []int `json:"n" bounds:"min=1,over=0" allowed:"call numbers, at least one: 1 is the first call" doc:"numbers of calls, counted from 1"`
}

type callCount struct {
	N int `json:"n" bounds:"min=1" allowed:"a number of calls, at least 1" doc:"number of calls"`
}

// First matches the first n calls of a lane to a target; n is at least 1.
func First(n int) chaos.When { return first.Of(callCount{n}) }

var first = &catalog.Ordinal[callCount]{
	Row: catalog.Row{Kind: "first", Doc: "The first n calls.", Go: "when.First(n)", Example: `{"n":3}`,
		Order: catalog.Sequential},
	Match: func(p callCount, ordinal uint64) bool { return p.N >= 1 && ordinal < uint64(p.N) },
}

// After matches all calls of a lane to a target except the first n; n is at
// least 0. With fault.ResourceExhausted it is a quota.
func After(n int) chaos.When { return after.Of(quota{n}) }

var after = &catalog.Ordinal[quota]{
	Row: catalog.Row{Kind: "after", Doc: "All calls except the first n.", Go: "when.After(n)", Example: `{"n":10}`,
		Order: catalog.Sequential},
	Match: func(p quota, ordinal uint64) bool { return p.N >= 0 && ordinal >= uint64(p.N) },
}

type quota struct {
	N int `json:"n" bounds:"min=0" allowed:"a number of calls, 0 or more" doc:"number of calls that are not matched"`
}

// Every matches the n-th call of a lane to a target, the 2n-th, the 3n-th and
// so on; n is at least 1.
func Every(n int) chaos.When { return every.Of(callCount{n}) }

var every = &catalog.Ordinal[callCount]{
	Row: catalog.Row{Kind: "every", Doc: "The n-th call, the 2n-th, and so on.", Go: "when.Every(n)",
		Example: `{"n":5}`, Order: catalog.Sequential},
	Match: func(p callCount, ordinal uint64) bool { return p.N >= 1 && (ordinal+1)%uint64(p.N) == 0 },
}

type expected struct {
	Calls int `json:"calls" bounds:"min=3" allowed:"a number of calls, at least 3: fewer have no three thirds" doc:"calls of a lane to the target that a run without faults makes"`
}

// Early matches the first third of the calls of a lane to a target. calls is
// the expected number, at least 3: that of the same run without faults.
//
// Of calls numbered from 0, the thirds begin at 0, calls/3 and 2·calls/3,
// rounded down, so none is empty. In a rule with a [chaos.Rule.Group] the calls
// to all its targets count as one sequence.
func Early(calls int) chaos.When { return early.Of(expected{calls}) }

var early = &catalog.Ordinal[expected]{
	Row: catalog.Row{Kind: "early", Doc: "The first third of the calls that are expected.", Go: "when.Early(calls)",
		Example: `{"calls":9}`, Order: catalog.Sequential},
	Match: func(p expected, ordinal uint64) bool { return p.Calls >= 3 && ordinal < p.begin(1) },
}

// Mid matches the second third of the calls; see [Early].
func Mid(calls int) chaos.When { return mid.Of(expected{calls}) }

var mid = &catalog.Ordinal[expected]{
	Row: catalog.Row{Kind: "mid", Doc: "The second third.", Go: "when.Mid(calls)", Example: `{"calls":9}`,
		Order: catalog.Sequential},
	Match: func(p expected, ordinal uint64) bool {
		return p.Calls >= 3 && ordinal >= p.begin(1) && ordinal < p.begin(2)
	},
}

// Late matches the last third of the calls, and all calls after it: a run with
// retries makes more calls than one without faults. See [Early].
func Late(calls int) chaos.When { return late.Of(expected{calls}) }

var late = &catalog.Ordinal[expected]{
	Row: catalog.Row{Kind: "late", Doc: "The last third and all calls after it.", Go: "when.Late(calls)",
		Example: `{"calls":9}`, Order: catalog.Sequential},
	Match: func(p expected, ordinal uint64) bool { return p.Calls >= 3 && ordinal >= p.begin(2) },
}

// begin is the first call of a third, computed without overflow.
func (p expected) begin(third uint64) uint64 {
	n := uint64(p.Calls)
	return n/3*third + n%3*third/3
}

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
	Row: catalog.Row{Kind: "flapping", Doc: "Down for a time, up for a time, in turn.", Go: "when.Flapping(on, off)",
		Example: `{"on":"10s","off":"30s"}`, Order: catalog.Timed},
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
