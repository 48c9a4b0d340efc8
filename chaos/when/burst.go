package when

import (
	"fmt"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
)

var burstRows = []*catalog.Row{burstRow, burstWithinRow, intermittentRow, flappingRow}

// Burst matches n consecutive calls of a lane to a target, beginning with the
// call number from, counted from 1. Both are at least 1. In a rule with a
// [chaos.Rule.Group] the calls to all its targets count as one sequence, so one
// burst affects whichever of them are called.
func Burst(from, n int) chaos.When { return burst{span{from, n}} }

var burstRow = catalog.Trigger(catalog.Row{
	Kind: "burst", Doc: "A run of consecutive calls.", Go: "when.Burst(from, n)", Example: `{"from":4,"n":3}`,
	Order: catalog.Sequential,
}, func(p span) chaos.When { return burst{p} })

type span struct {
	From int `json:"from" bounds:"min=1" allowed:"a call number: 1 is the first call" doc:"the first call matched, counted from 1"`
	N    int `json:"n" bounds:"min=1" allowed:"a number of calls, at least 1" doc:"number of calls"`
}

type burst struct{ span }

func (w burst) Match(c chaos.Call) bool { return w.MatchOrdinal(c.Ordinal) }

func (w burst) MatchOrdinal(ordinal uint64) bool {
	return w.From >= 1 && w.N >= 1 && ordinal+1 >= uint64(w.From) && ordinal+1-uint64(w.From) < uint64(w.N)
}

func (w burst) Check() error                { return burstRow.Check(w.span).Err() }
func (w burst) Describe() chaos.Description { return burstRow.Describe(w.span) }

// BurstWithin matches n consecutive calls somewhere among the first calls calls
// of a lane to a target. Where they begin is drawn once for each lane and
// target; each of the calls-n+1 places is equally likely. 1 ≤ n ≤ calls.
func BurstWithin(n, calls int) chaos.When { return burstWithin{someOf{n, calls}} }

var burstWithinRow = catalog.Trigger(catalog.Row{
	Kind: "burst_within", Doc: "A run of consecutive calls somewhere among the first ones.",
	Order: catalog.Sequential,
	Go:    "when.BurstWithin(n, calls)", Example: `{"n":3,"calls":12}`,
}, func(p someOf) chaos.When { return burstWithin{p} })

type someOf struct {
	N     int `json:"n" bounds:"min=1" allowed:"a number of calls, at least 1" doc:"number of calls matched"`
	Calls int `json:"calls" bounds:"min=1" allowed:"a number of calls, at least n" doc:"number of calls among which they are, at least n"`
}

type burstWithin struct{ someOf }

// drawBurst is the salt of the beginning: ASCII for "burst".
const drawBurst = 0x6275727374

func (w burstWithin) Match(c chaos.Call) bool {
	if w.N < 1 || w.Calls < w.N || c.Ordinal >= uint64(w.Calls) {
		return false
	}
	begin := uint64(drawAt(c, 0, drawBurst) * float64(w.Calls-w.N+1))
	return c.Ordinal >= begin && c.Ordinal-begin < uint64(w.N)
}

func (w burstWithin) Check() error {
	c := burstWithinRow.Check(w.someOf)
	c.That(w.Calls >= w.N || w.Calls < 1, "calls", w.Calls,
		fmt.Sprintf("a number of calls, at least n, which is %d", w.N))
	return c.Err()
}

func (w burstWithin) Describe() chaos.Description { return burstWithinRow.Describe(w.someOf) }

// Intermittent matches on calls of a lane to a target, then does not match off
// calls, and so on in turn. Both are at least 1.
func Intermittent(on, off int) chaos.When { return intermittent{turns{on, off}} }

var intermittentRow = catalog.Trigger(catalog.Row{
	Kind: "intermittent", Doc: "Some calls in a row, then some not, in turn.",
	Order: catalog.Sequential,
	Go:    "when.Intermittent(on, off)", Example: `{"on":2,"off":3}`,
}, func(p turns) chaos.When { return intermittent{p} })

type turns struct {
	On  int `json:"on" bounds:"min=1" allowed:"a number of calls, at least 1" doc:"number of calls matched"`
	Off int `json:"off" bounds:"min=1" allowed:"a number of calls, at least 1" doc:"number of calls not matched"`
}

type intermittent struct{ turns }

func (w intermittent) Match(c chaos.Call) bool { return w.MatchOrdinal(c.Ordinal) }

func (w intermittent) MatchOrdinal(ordinal uint64) bool {
	return w.On >= 1 && w.Off >= 1 && ordinal%(uint64(w.On)+uint64(w.Off)) < uint64(w.On)
}

func (w intermittent) Check() error                { return intermittentRow.Check(w.turns).Err() }
func (w intermittent) Describe() chaos.Description { return intermittentRow.Describe(w.turns) }

// Flapping is [Intermittent] by the clock: from when the injector was armed, it
// matches calls for the time on, does not match for the time off, and so on in
// turn. Both are more than 0, and their sum is at most the longest Duration.
func Flapping(on, off time.Duration) chaos.When { return flapping{phases{on, off}} }

var flappingRow = catalog.Trigger(catalog.Row{
	Kind: "flapping", Doc: "Down for a time, up for a time, in turn.",
	Order: catalog.Timed,
	Go:    "when.Flapping(on, off)", Example: `{"on":"10s","off":"30s"}`,
}, func(p phases) chaos.When { return flapping{p} })

type phases struct {
	On  time.Duration `json:"on" bounds:"over=0" doc:"time down"`
	Off time.Duration `json:"off" bounds:"over=0" doc:"time up"`
}

type flapping struct{ phases }

func (w flapping) Match(c chaos.Call) bool {
	return w.valid() && c.Elapsed()%(w.On+w.Off) < w.On
}

func (w flapping) valid() bool { return w.On > 0 && w.Off > 0 && w.On+w.Off > 0 }

func (w flapping) Check() error {
	c := flappingRow.Check(w.phases)
	c.That(w.On <= 0 || w.Off <= 0 || w.valid(), "off", w.Off,
		"a duration that with on, which is "+w.On.String()+", is no longer than 292 years")
	return c.Err()
}

func (w flapping) Describe() chaos.Description { return flappingRow.Describe(w.phases) }

// drawAt is the draw of the n-th call of the lane to the target, from 0,
// whatever its arguments. All calls share these draws, so each can compute the
// outcome of those before it without any memory.
func drawAt(c chaos.Call, n, salt uint64) float64 {
	c.Key = 0
	return c.At(n, n).Draw(salt)
}
