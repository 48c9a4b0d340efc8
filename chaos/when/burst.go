package when

import (
	"fmt"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
)

// Burst matches n consecutive calls of a lane to a target, beginning with the
// call number from, counted from 1. Both are at least 1. In a rule with a
// [chaos.Rule.Group] the calls to all its targets count as one sequence, so one
// burst affects whichever of them are called.
func Burst(from, n int) chaos.When { return burst{from, n} }

type burst struct{ from, n int }

func (w burst) Match(c chaos.Call) bool { return w.MatchOrdinal(c.Ordinal) }

func (w burst) MatchOrdinal(ordinal uint64) bool {
	return w.from >= 1 && w.n >= 1 && ordinal+1 >= uint64(w.from) && ordinal+1-uint64(w.from) < uint64(w.n)
}

func (w burst) Check() error {
	c := param.Check{Kind: "burst"}
	c.That(w.from >= 1, "from", w.from, "a call number: 1 is the first call")
	c.That(w.n >= 1, "n", w.n, "a number of calls, at least 1")
	return c.Err()
}

func (w burst) Describe() chaos.Description {
	return describe("burst", struct {
		From int `json:"from"`
		N    int `json:"n"`
	}{w.from, w.n})
}

// BurstWithin matches n consecutive calls somewhere among the first calls calls
// of a lane to a target. Where they begin is drawn once for each lane and
// target; each of the calls-n+1 places is equally likely. 1 ≤ n ≤ calls.
func BurstWithin(n, calls int) chaos.When { return burstWithin{n, calls} }

type burstWithin struct{ n, calls int }

// drawBurst is the salt of the beginning: ASCII for "burst".
const drawBurst = 0x6275727374

func (w burstWithin) Match(c chaos.Call) bool {
	if w.n < 1 || w.calls < w.n || c.Ordinal >= uint64(w.calls) {
		return false
	}
	begin := uint64(drawAt(c, 0, drawBurst) * float64(w.calls-w.n+1))
	return c.Ordinal >= begin && c.Ordinal-begin < uint64(w.n)
}

func (w burstWithin) Check() error {
	c := param.Check{Kind: "burst_within"}
	c.That(w.n >= 1, "n", w.n, "a number of calls, at least 1")
	c.That(w.calls >= w.n, "calls", w.calls, fmt.Sprintf("a number of calls, at least n, which is %d", w.n))
	return c.Err()
}

func (w burstWithin) Describe() chaos.Description {
	return describe("burst_within", struct {
		N     int `json:"n"`
		Calls int `json:"calls"`
	}{w.n, w.calls})
}

// Intermittent matches on calls of a lane to a target, then does not match off
// calls, and so on in turn. Both are at least 1.
func Intermittent(on, off int) chaos.When { return intermittent{on, off} }

type intermittent struct{ on, off int }

func (w intermittent) Match(c chaos.Call) bool { return w.MatchOrdinal(c.Ordinal) }

func (w intermittent) MatchOrdinal(ordinal uint64) bool {
	return w.on >= 1 && w.off >= 1 && ordinal%(uint64(w.on)+uint64(w.off)) < uint64(w.on)
}

func (w intermittent) Check() error {
	c := param.Check{Kind: "intermittent"}
	c.That(w.on >= 1, "on", w.on, "a number of calls, at least 1")
	c.That(w.off >= 1, "off", w.off, "a number of calls, at least 1")
	return c.Err()
}

func (w intermittent) Describe() chaos.Description {
	return describe("intermittent", struct {
		On  int `json:"on"`
		Off int `json:"off"`
	}{w.on, w.off})
}

// Flapping is [Intermittent] by the clock: from when the injector was armed, it
// matches calls for the time on, does not match for the time off, and so on in
// turn. Both are more than 0, and their sum is at most the longest Duration.
func Flapping(on, off time.Duration) chaos.When { return flapping{on, off} }

type flapping struct{ on, off time.Duration }

func (w flapping) Match(c chaos.Call) bool {
	return w.valid() && c.Elapsed()%(w.on+w.off) < w.on
}

func (w flapping) valid() bool { return w.on > 0 && w.off > 0 && w.on+w.off > 0 }

func (w flapping) Check() error {
	c := param.Check{Kind: "flapping"}
	c.That(w.on > 0, "on", w.on, "a duration of more than 0")
	c.That(w.off > 0, "off", w.off, "a duration of more than 0")
	c.That(w.on <= 0 || w.off <= 0 || w.valid(), "off", w.off, "a duration that with on, which is "+w.on.String()+", is no longer than 292 years")
	return c.Err()
}

func (w flapping) Describe() chaos.Description {
	return describe("flapping", struct {
		On  string `json:"on"`
		Off string `json:"off"`
	}{w.on.String(), w.off.String()})
}

// drawAt is the draw of the n-th call of the lane to the target, from 0,
// whatever its arguments. All calls share these draws, so each can compute the
// outcome of those before it without any memory.
func drawAt(c chaos.Call, n, salt uint64) float64 {
	c.Key = 0
	return c.At(n, n).Draw(salt)
}
