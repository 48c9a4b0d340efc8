package fault_test

import (
	"errors"
	"testing"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/stretchr/testify/assert"
)

// Parameters that make no sense are refused before any call, each by name.
func TestBadParameters(t *testing.T) {
	for _, c := range []struct {
		why    string
		fault  chaos.Fault
		fields []string
	}{
		{"a delay of nothing is no fault", fault.Delay(0), []string{"duration"}},
		{"time does not run backwards", fault.Delay(-time.Second), []string{"duration"}},
		{"an empty range", fault.Uniform(time.Second, time.Second), []string{"hi"}},
		{"a range the wrong way round", fault.Uniform(time.Second, 0), []string{"hi"}},
		{"a range from before now", fault.Uniform(-1, 1), []string{"lo"}},
		{"both ends wrong", fault.Uniform(-1, -2), []string{"lo", "hi"}},
		{"no spread: that is Delay", fault.Normal(time.Second, 0), []string{"stddev"}},
		{"a negative mean and deviation", fault.Normal(-1, -1), []string{"mean", "stddev"}},
		{"a mean of nothing", fault.Exponential(0), []string{"mean"}},
		{"a failure without an error", fault.Fail(nil), []string{"err"}},
		{"a negative time-out", fault.Timeout(-1), []string{"duration"}},
		{"a time-out without an error", fault.TimeoutWith(-1, nil), []string{"duration", "err"}},
		{"a negative wait for a lost reply", fault.LoseReplyAfter(-1), []string{"duration"}},
		{"a lost reply without an error", fault.LoseReplyWith(nil), []string{"err"}},
		{"both", fault.LoseReplyAfterWith(-1, nil), []string{"duration", "err"}},
		{"once is not again", fault.Repeat(1), []string{"times"}},
		{"a mutation without a name and a function", fault.Mutate[int]("", nil), []string{"name", "fn"}},
	} {
		t.Run(c.why, func(t *testing.T) {
			_, err := chaos.NewPlan(1, chaos.Rule{Name: "r", Target: target, Fault: c.fault})
			assert.Equal(t, c.fields, fields(err))
			var rule *chaos.RuleError
			assert.ErrorAs(t, err, &rule)
			assert.Equal(t, "Fault", rule.Field)
			assert.ErrorContains(t, err, `chaos: rule "r": Fault: `)
			assert.ErrorContains(t, err, "; allowed: ")
		})
	}
}

// fields are the parameters that an error complains of, in order.
func fields(err error) (names []string) {
	if p, ok := err.(*chaos.ParamError); ok {
		return []string{p.Param}
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range joined.Unwrap() {
			names = append(names, fields(err)...)
		}
		return names
	}
	if inner := errors.Unwrap(err); inner != nil {
		return fields(inner)
	}
	return nil
}
