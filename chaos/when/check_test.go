package when_test

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/stretchr/testify/assert"
)

// Parameters that make no sense are refused before any call, each by name.
func TestBadParameters(t *testing.T) {
	for _, c := range []struct {
		why    string
		when   chaos.When
		fields []string
	}{
		{"below never", when.Prob(-0.1), []string{"p"}},
		{"above always", when.Prob(1.1), []string{"p"}},
		{"not a number", when.Prob(math.NaN()), []string{"p"}},
		{"infinitely often", when.Prob(math.Inf(1)), []string{"p"}},
		{"no call", when.Nth(), []string{"n"}},
		{"calls count from 1", when.Nth(0), []string{"n"}},
		{"each of them", when.Nth(1, 0, -3), []string{"n", "n"}},
		{"the first none", when.First(0), []string{"n"}},
		{"after less than none", when.After(-1), []string{"n"}},
		{"every none", when.Every(0), []string{"n"}},
		{"before the start", when.Between(-1, time.Second), []string{"from"}},
		{"an empty window", when.Between(time.Second, time.Second), []string{"to"}},
		{"over before it begins", when.Between(time.Second, 0), []string{"to"}},
		{"since before the start", when.Since(-1), []string{"from"}},
		{"a list of no calls", when.Exactly(), []string{"calls"}},
		{"a call without a target", when.Exactly(when.Coord{Target: "a"}, when.Coord{}), []string{"calls[1].target"}},
		{"no lane", when.Lane(), []string{"lanes"}},
		{"a malformed glob", when.Lane("main", "worker-["), []string{"lanes"}},
		{"no turn", when.Turn(), []string{"n"}},
		{"turns the wrong way round", when.TurnBetween(3, 2), []string{"last"}},
		{"no predicate and no name", when.Args[int]("", nil), []string{"name", "pred"}},
		{"all of nothing", when.All(), []string{"parts"}},
		{"any of nothing", when.Any(), []string{"parts"}},
		{"a nil part", when.All(when.Always(), nil), []string{"parts[1]"}},
		{"not nil", when.Not(nil), []string{"parts[0]"}},
		{"parts with problems of their own", when.Any(when.Prob(2), when.All(when.Nth(0), nil)), []string{"p", "n", "parts[1]"}},
	} {
		t.Run(c.why, func(t *testing.T) {
			_, err := chaos.NewPlan(1, chaos.Rule{Name: "r", Target: "t", When: c.when, Fault: fault.Fail(fault.ErrInternal)})
			assert.Equal(t, c.fields, fields(err))
			var rule *chaos.RuleError
			assert.ErrorAs(t, err, &rule)
			assert.Equal(t, "When", rule.Field)
			assert.ErrorContains(t, err, `chaos: rule "r": When: `)
			assert.ErrorContains(t, err, "; allowed: ")
		})
	}
}

// The problem of a part says where the part is.
func TestPositionOfAPart(t *testing.T) {
	err := when.Any(when.Always(), when.All(when.First(1), when.Prob(2))).(chaos.Checked).Check()
	assert.EqualError(t, err, "chaos: any: parts[1]: all: parts[1]: prob: p is 2; allowed: a probability from 0 to 1")
}

// What is refused by a plan does no harm where nobody asked a plan.
func TestBadTriggersDoNotPanic(t *testing.T) {
	for _, w := range []chaos.When{
		when.Prob(math.NaN()), when.Nth(0, -1), when.First(-1), when.After(-1), when.Every(0), when.Exactly(),
		when.Lane("["), when.All(), when.Any(nil), when.All(nil),
	} {
		for i := range uint64(4) {
			assert.False(t, w.Match(chaos.Call{Ordinal: i}), "%T", w)
		}
	}
	assert.False(t, when.Args[int]("", nil).(chaos.ArgsWhen).MatchArgs(chaos.Call{}, 1))
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

// picky is a trigger whose problem has two causes and a text of its own.
type picky struct{}

func (picky) Match(chaos.Call) bool { return false }
func (picky) Check() error {
	return fmt.Errorf("the level: %w, or else %w", fault.ErrInternal, fault.ErrRateLimited)
}

// A part's problem that was not joined of others keeps its text.
func TestAPartsOwnTextIsKept(t *testing.T) {
	_, err := chaos.NewPlan(1, chaos.Rule{Target: "t", When: when.All(when.Always(), picky{}), Fault: fault.Partition()})
	assert.ErrorContains(t, err, "all: parts[1]: the level: internal server error, or else too many requests")
	assert.ErrorIs(t, err, fault.ErrRateLimited)
}
