package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
)

type chance float64

func (p chance) Match(c chaos.Call) bool { return c.Draw(0) < float64(p) }
func (p chance) Probability() float64    { return float64(p) }

type misconfigured struct{ chaos.When }

var errMisconfigured = errors.New("misconfigured")

func (misconfigured) Match(chaos.Call) bool { return false }
func (misconfigured) Check() error          { return errMisconfigured }

func TestNewPlanRefuses(t *testing.T) {
	ok := func(change func(*chaos.Rule)) chaos.Rule {
		r := chaos.Rule{Name: "r", Target: "work", Fault: down()}
		change(&r)
		return r
	}
	for _, tt := range []struct {
		name, field, want string
		rule              chaos.Rule
	}{
		{"no target", "Target", "glob", ok(func(r *chaos.Rule) { r.Target = "" })},
		{"malformed glob", "Target", "a{b", ok(func(r *chaos.Rule) { r.Target = "a{b" })},
		{"no fault", "Fault", "missing", ok(func(r *chaos.Rule) { r.Fault = nil })},
		{"negative limit", "Limit", "-1", ok(func(r *chaos.Rule) { r.Limit = -1 })},
		{"negative cool-down", "CoolDown", "is -1s; allowed: a duration of 0 or more", ok(func(r *chaos.Rule) { r.CoolDown = -time.Second })},
		{"unknown layer", "Layer", "tool, llm", ok(func(r *chaos.Rule) { r.Layer = "tolo" })},
		{"misconfigured trigger", "When", "misconfigured", ok(func(r *chaos.Rule) { r.When = misconfigured{} })},
		{"NaN probability", "When", "0 to 1", ok(func(r *chaos.Rule) { r.When = chance(math.NaN()) })},
		{"probability above 1", "When", "1.5", ok(func(r *chaos.Rule) { r.When = chance(1.5) })},
		{"negative probability", "When", "-0.5", ok(func(r *chaos.Rule) { r.When = chance(-0.5) })},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := chaos.NewPlan(1, tt.rule)
			var problem *chaos.RuleError
			require.ErrorAs(t, err, &problem)
			assert.Equal(t, "r", problem.Rule)
			assert.Equal(t, tt.field, problem.Field)
			assert.ErrorContains(t, err, tt.want)
			assert.ErrorContains(t, err, "chaos: ")
		})
	}
}

func TestNewPlanReportsEveryProblemAtOnce(t *testing.T) {
	_, err := chaos.NewPlan(1,
		chaos.Rule{Target: "", Fault: nil, Limit: -1},
		chaos.Rule{Name: "same", Target: "a", Fault: down()},
		chaos.Rule{Name: "same", Target: "b", Fault: down()},
		chaos.Rule{Name: "odd", Target: "c", Fault: down(), When: misconfigured{}})
	require.Error(t, err)
	for _, want := range []string{`"#0": Target`, `"#0": Fault`, `"#0": Limit`, `"same": Name`, "#1 and #2 share", `"odd": When`} {
		assert.ErrorContains(t, err, want)
	}
	assert.ErrorIs(t, err, errMisconfigured)
}

// The rules of a group share one limit and one cool-down, so they must state the same.
func TestNewPlanRefusesAGroupThatContradictsItself(t *testing.T) {
	a := chaos.Rule{Name: "a", Target: "a", Group: "g", Limit: 1, Fault: down()}
	for _, tt := range []struct {
		field string
		b     chaos.Rule
	}{
		{"Limit", chaos.Rule{Name: "b", Target: "b", Group: "g", Limit: 2, Fault: down()}},
		{"CoolDown", chaos.Rule{Name: "b", Target: "b", Group: "g", Limit: 1, CoolDown: time.Second, Fault: down()}},
	} {
		_, err := chaos.NewPlan(1, a, tt.b)
		var problem *chaos.RuleError
		require.ErrorAs(t, err, &problem)
		assert.Equal(t, tt.field, problem.Field)
		in := chaos.NewInjector(1, nil)
		require.NoError(t, in.Register(a))
		assert.ErrorAs(t, in.Register(tt.b), &problem)
		in.Remove("a")
		assert.NoError(t, in.Register(tt.b), "nothing to contradict")
	}
}

func TestRulesAreNamedFromTargetAndFault(t *testing.T) {
	p := plan(t, chaos.Rule{Target: "orders.*", Fault: down()}, chaos.Rule{Target: "mail", Fault: counter{}})
	assert.Equal(t, []string{"orders.*:error", "mail:chaos_test.counter"}, names(p.Rules()))
	_, err := chaos.NewPlan(1, chaos.Rule{Target: "a", Fault: down()}, chaos.Rule{Target: "a", Fault: down()})
	assert.ErrorContains(t, err, "a name of its own", "two unnamed rules that would share a name")
	same := chaos.Rule{Target: "a", Fault: down()}
	_, err = chaos.NewPlan(1, same, same, same)
	assert.ErrorContains(t, err, "rules #0 and #1 share this one")
	assert.ErrorContains(t, err, "rules #0 and #2 share this one", "each is told of the first")
}

func TestCheckTargets(t *testing.T) {
	p := plan(t, chaos.Rule{Target: "orders.*", Fault: down()}, chaos.Rule{Target: "mial", Fault: down()})
	assert.NoError(t, p.CheckTargets("orders.find", "mial"))
	err := p.CheckTargets("orders.find", "mail")
	var problem *chaos.RuleError
	require.ErrorAs(t, err, &problem)
	assert.Equal(t, "mial:error", problem.Rule)
	assert.ErrorContains(t, err, "orders.find, mail")
	assert.ErrorContains(t, p.CheckTargets(), "none")
}

func TestAPlanIsImmutable(t *testing.T) {
	rules := []chaos.Rule{{Name: "a", Target: "work", Fault: down()}}
	p := plan(t, rules...)
	rules[0].Target = "elsewhere"
	p.Rules()[0].Target = "elsewhere"
	assert.Equal(t, "work", p.Rules()[0].Target)
	assert.EqualValues(t, 1, p.Seed())
}

// Probability 0 never matches, 1 always, and one between matches that often, whatever
// rules stand before it.
func TestProbabilitiesOfSeveralRulesAreIndependent(t *testing.T) {
	const n = 20_000
	in := plan(t,
		chaos.Rule{Name: "never", Target: "work", When: chance(0), Fault: delay(time.Hour)},
		chaos.Rule{Name: "a", Target: "work", When: chance(0.5), Fault: down()},
		chaos.Rule{Name: "b", Target: "work", When: chance(0.5), Fault: down()},
		chaos.Rule{Name: "always", Target: "work", When: chance(1), Fault: down()}).
		Injector("cell", &chaos.InjectorOptions{MaxLog: n})
	hits(t, chaos.NewContext(context.Background(), in), n, chaos.Wrap("work", double))
	matched := map[string]int{}
	decided := map[string]int{}
	for _, e := range in.Events() {
		decided[e.Rule]++
		matched[e.Rule]++
		for _, masked := range e.Masked {
			matched[masked]++
		}
	}
	assert.Zero(t, matched["never"])
	assert.Equal(t, n, matched["always"])
	assert.InDelta(t, n/2, matched["a"], 4*math.Sqrt(n)/2, "four standard deviations")
	assert.InDelta(t, n/2, matched["b"], 4*math.Sqrt(n)/2)
	assert.InDelta(t, n/4, decided["b"], 4*math.Sqrt(n*3)/4, "it decides where a did not match")
}

type checking struct{ err error }

func (checking) Match(chaos.Call) bool { return false }
func (w checking) Check() error        { return w.err }

// Every problem is a separate RuleError, and an error with several causes and a text
// of its own stays whole.
func TestProblemsComeApartWhereTheyWereJoined(t *testing.T) {
	problems := func(rules ...chaos.Rule) []error {
		_, err := chaos.NewPlan(1, rules...)
		require.Error(t, err)
		all := err.(interface{ Unwrap() []error }).Unwrap()
		for _, one := range all {
			assert.IsType(t, &chaos.RuleError{}, one)
		}
		return all
	}
	assert.Len(t, problems(chaos.Rule{Limit: -1}, chaos.Rule{Target: "a", CoolDown: -1}), 5)
	whole := fmt.Errorf("the level: %w, or else %w", errDown, errMisconfigured)
	joined := errors.Join(errDown, errMisconfigured)
	assert.ErrorContains(t, problems(chaos.Rule{Target: "a", Fault: down(), When: checking{whole}})[0], "the level: ")
	assert.Len(t, problems(chaos.Rule{Target: "a", Fault: down(), When: checking{joined}}), 2)
}

// oddFault has methods whose results are invalid.
type oddFault struct {
	phase chaos.Phase
	fresh func() chaos.Fault
}

func (oddFault) Inject(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
	return next(ctx, args)
}
func (f oddFault) Phase() chaos.Phase { return f.phase }
func (f oddFault) Fresh() chaos.Fault { return f.fresh() }

// Invalid results of a user's fault are found when the plan is made: Plan.Injector and
// a call could not report them.
func TestAFaultThatCouldOnlyFailLaterIsRefused(t *testing.T) {
	for want, f := range map[string]oddFault{
		"Phase is 4; allowed: PhaseInstead, PhaseBefore, PhaseChange or PhaseAfter": {chaos.PhaseAfter + 1, down},
		"Fresh is missing; allowed: a method that returns a fault":                  {0, func() chaos.Fault { return nil }},
		"its Fresh method panicked: empty":                                          {0, func() chaos.Fault { panic("empty") }},
	} {
		r := chaos.Rule{Name: "odd", Target: "work", Fault: f}
		_, err := chaos.NewPlan(1, r)
		var problem *chaos.RuleError
		require.ErrorAs(t, err, &problem, want)
		assert.Equal(t, "Fault", problem.Field)
		assert.ErrorContains(t, err, want)
		assert.ErrorContains(t, chaos.NewInjector(1, nil).Register(r), want)
	}
}
