package scenarios

import (
	"math"
	"strconv"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/glob"
)

// Stretch makes a scenario in which calls take factor times as long as in a calm run, on
// average by target: a call waits (factor-1) times the mean of the calm calls to its
// target, and then goes through. If the agent makes the calls of the calm run, they
// take factor times as long in all. What the agent says must not depend on that. calm
// has the events of the run: [contract.Observation.Events] of a cell of
// [contract.Calm]. Calls that other calls made are left out, because the time of those
// around them includes theirs.
//
// The scenario's name is "stretched-" and the factor, and each rule's "stretched-" and
// the target. The error joins every problem, each a [*contract.FieldError]: a factor
// that is not above 1 and at most 1,000, and calls that took no time, as those of tools
// in memory do in virtual time.
func Stretch(calm []chaos.Event, factor float64) (contract.Scenario, error) {
	p := fields.List()
	if !(factor > 1 && factor <= 1000) {
		p.Wrong("Stretch: factor", factor, "above 1, at most 1000")
	}
	var targets []string
	type spent struct {
		calls int
		time  time.Duration
	}
	by := map[string]*spent{}
	for i := range calm {
		e := &calm[i]
		if e.Caller != "" {
			continue
		}
		s := by[e.Target]
		if s == nil {
			s = new(spent)
			by[e.Target] = s
			targets = append(targets, e.Target)
		}
		s.calls, s.time = s.calls+1, s.time+e.End-e.Start
	}
	made := contract.Scenario{Name: "stretched-" + strconv.FormatFloat(factor, 'f', -1, 64)}
	for _, target := range targets {
		s := by[target]
		if s.time <= 0 {
			continue
		}
		// Rounded up, because a delay of nothing would not be delivered.
		wait := math.Ceil(float64(s.time) / float64(s.calls) * (factor - 1))
		made.Rules = append(made.Rules, chaos.Rule{Name: "stretched-" + target, Target: glob.Literal(target),
			Fault: fault.Delay(time.Duration(min(wait, math.MaxInt64/2)))})
	}
	if len(made.Rules) == 0 {
		p.Wrong("Stretch: calm", fielderror.Found("without calls that took time"),
			"at least one call that took time, which a longer one can be compared with")
	}
	if err := p.Err(); err != nil {
		return contract.Scenario{}, err
	}
	return made, nil
}
