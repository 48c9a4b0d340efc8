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
		{"calls count from 1", when.Nth(0), []string{"n[0]"}},
		{"each of them", when.Nth(1, 0, -3), []string{"n[1]", "n[2]"}},
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
		{"a burst of nothing before the first call", when.Burst(0, 0), []string{"from", "n"}},
		{"a burst that does not fit", when.BurstWithin(3, 2), []string{"calls"}},
		{"a burst of nothing somewhere", when.BurstWithin(0, 2), []string{"n"}},
		{"never on and never off", when.Intermittent(0, 0), []string{"on", "off"}},
		{"flapping without time", when.Flapping(0, -1), []string{"on", "off"}},
		{"flapping for longer than a Duration", when.Flapping(math.MaxInt64, 1), []string{"off"}},
		{"a chain that never goes down", when.Markov(0, 0.5), []string{"enter"}},
		{"a chain that never recovers", when.Markov(0.5, 0), []string{"leave"}},
		{"a chain that only turns", when.Markov(1, 1), []string{"leave"}},
		{"a chain of no numbers", when.GilbertElliott(math.NaN(), math.NaN(), math.NaN(), 2), []string{"enter", "leave", "good", "bad"}},
		{"two calls have no thirds", when.Late(2), []string{"calls"}},
		{"no stage", when.Stages(), []string{"stages"}},
		{"a stage without a trigger", when.Stages(when.Stage{Calls: 1}), []string{"stages[0].when"}},
		{"a stage in the middle that lasts for good", when.Stages(when.Stage{When: when.Always()}, when.Stage{When: when.Always()}), []string{"stages[0].calls"}},
		{"stages by the clock and by calls", when.Stages(when.Stage{For: 1, When: when.Always()}, when.Stage{Calls: 1, When: when.Always()}), []string{"stages[1].calls"}},
		{"a timed stage for good in the middle", when.Stages(when.Stage{When: when.Always()}, when.Stage{For: 1, When: when.Always()}), []string{"stages[0].for"}},
		{"stages that last less than nothing", when.Stages(when.Stage{For: -1, Calls: -1, When: when.Prob(2)}), []string{"stages[0].for", "stages[0].calls", "p"}},
		{"parts with problems of their own", when.Any(when.Prob(2), when.All(when.Nth(0), nil)), []string{"p", "n[0]", "parts[1]"}},
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
		when.Burst(0, -1), when.Burst(-1, 5), when.BurstWithin(0, 0), when.BurstWithin(3, 2), when.Intermittent(-1, 1),
		when.Flapping(math.MaxInt64, math.MaxInt64), when.Flapping(0, 0), when.Markov(math.NaN(), math.NaN()), when.Markov(0, 0),
		when.Early(0), when.Late(-3), when.Stages(), when.Stages(when.Stage{Calls: -1, For: -1}), when.Stages(when.Stage{}),
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
