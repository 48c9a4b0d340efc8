package fault

import (
	"math"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
)

// RampUp is [Delay] by a time that grows with every call of a lane to the
// target: step for the first call, twice step for the second, and so on up to
// most. step is more than 0, most at least step.
func RampUp(step, most time.Duration) chaos.Fault { return latency{of: stepwise{step, most}} }

// RampUpWith is [RampUp] by the clock: the delay grows evenly from 0, when the
// injector is armed, to most after the time over, and then stays there. Both
// are more than 0.
func RampUpWith(most, over time.Duration) chaos.Fault { return latency{of: gradual{most, over}} }

// growing is a delay that follows from the call, without a draw.
type growing interface {
	at(c chaos.Call) time.Duration
}

type stepwise struct{ step, most time.Duration }

func (s stepwise) at(c chaos.Call) time.Duration {
	if n := float64(c.Ordinal) + 1; float64(s.step)*n < float64(s.most) {
		return time.Duration(n) * s.step
	}
	return s.most
}

func (s stepwise) quantile(float64) time.Duration { return s.most }

func (s stepwise) params() any {
	return latencyParams{Distribution: "degrading", Step: s.step.String(), Most: s.most.String()}
}

func (s stepwise) check(c *param.Check) {
	c.That(s.step > 0, "step", s.step, "a duration of more than 0")
	c.That(s.most >= s.step, "most", s.most, "a duration of at least step, which is "+s.step.String())
}

type gradual struct{ most, over time.Duration }

func (g gradual) at(c chaos.Call) time.Duration {
	share := math.Min(1, math.Max(0, float64(c.Elapsed())/float64(g.over)))
	return span(float64(g.most) * share)
}

func (g gradual) quantile(float64) time.Duration { return g.most }

func (g gradual) params() any {
	return latencyParams{Distribution: "degrading_over", Most: g.most.String(), Over: g.over.String()}
}

func (g gradual) check(c *param.Check) {
	c.That(g.most > 0, "most", g.most, "a duration of more than 0")
	c.That(g.over > 0, "over", g.over, "a duration of more than 0")
}
