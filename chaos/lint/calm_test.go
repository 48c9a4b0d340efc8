package lint_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/lint"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// A visit is one call of an agent.
type visit struct {
	lane, target string
	turn         int
}

// events makes the calls with the rules, and returns what is recorded of each.
func events(t require.TestingT, visits []visit, rules ...chaos.Rule) []chaos.Event {
	p, err := chaos.NewPlan(1, rules...)
	require.NoError(t, err)
	in := p.Injector("", &chaos.InjectorOptions{RecordAll: true})
	for _, v := range visits {
		ctx := chaos.NewContext(context.Background(), in)
		_ = chaos.Point(chaos.WithTurn(chaos.WithLane(ctx, v.lane), v.turn), v.target)
	}
	return in.Events()
}

// calm is one run of the calls.
func calm(t require.TestingT, visits []visit) *lint.CalmRuns {
	c := &lint.CalmRuns{}
	c.Add(events(t, visits))
	return c
}

func TestRulesAgainstACalmRun(t *testing.T) {
	refund := visit{target: "payments.refund"}
	visits := []visit{refund, {target: "orders.get"}, refund, {lane: "b", target: "orders.get", turn: 3}}
	rule := func(name, target string, w chaos.When) chaos.Rule {
		return chaos.Rule{Name: name, Target: target, When: w, Fault: down}
	}
	grouped := func(name, target string, w chaos.When) chaos.Rule {
		r := rule(name, target, w)
		r.Group = "g"
		return r
	}
	const none = "warning: rule \"x\": unmatched: can never match: in 1 calm run the agent "
	for _, c := range []struct {
		why   string
		rules []chaos.Rule
		want  string
	}{
		{"the second of two calls", []chaos.Rule{rule("x", "payments.refund", when.Nth(2))}, ""},
		{"the third of two calls", []chaos.Rule{rule("x", "payments.refund", when.Nth(3))}, none + "called payments.refund twice at most"},
		{"a lane counts for itself", []chaos.Rule{rule("x", "orders.get", when.Nth(2))}, none + "called orders.get once at most in one lane"},
		{"a group counts all its targets", []chaos.Rule{grouped("x", "payments.refund", when.Nth(3)), grouped("y", "orders.get", when.Nth(2))}, ""},
		{"a group has no more calls in a lane than its targets together", []chaos.Rule{grouped("x", "{payments.refund,orders.get}", when.Nth(4))}, none + "called the targets of group g 3 times at most in one lane"},
		{"all but the first of two equal calls", []chaos.Rule{rule("x", "payments.refund", when.Not(when.Exactly(when.Coord{Target: "payments.refund"})))}, ""},
		{"no trigger", []chaos.Rule{rule("x", "orders.get", nil)}, ""},
		{"no call, and no trigger", []chaos.Rule{rule("x", "stock.get", nil)}, none + "did not call stock.get"},
		{"a turn that has a call", []chaos.Rule{rule("x", "orders.*", when.Turn(3))}, ""},
		{"a turn without", []chaos.Rule{rule("x", "orders.*", when.Turn(4))}, none + "called any one target of orders.* once at most in one lane"},
		{"a lane that has a call", []chaos.Rule{rule("x", "orders.*", when.Lane("b*"))}, ""},
		{"a lane without", []chaos.Rule{rule("x", "payments.*", when.Lane("b*"))}, none + "called any one target of payments.* twice at most"},
		{"chance may", []chaos.Rule{rule("x", "orders.get", when.Prob(0.01))}, ""},
		{"the clock may", []chaos.Rule{rule("x", "orders.get", when.Since(time.Hour))}, ""},
		{"a trigger of the user's own may", []chaos.Rule{rule("x", "orders.get", own{})}, ""},
		{"arguments may", []chaos.Rule{rule("x", "orders.get", when.Args("any", func(any) bool { return true }))}, ""},
		{"unless there is no call", []chaos.Rule{rule("x", "stock.get", when.Prob(0.01))}, none + "did not call stock.get"},
		{"another rule may lead to retries", []chaos.Rule{rule("x", "payments.refund", when.Nth(3)), rule("y", "orders.get", nil)},
			`warning: rule "x": unmatched: can match only if the faults of other rules lead to more calls: in 1 calm run the agent called payments.refund twice at most`},
		{"one that never matches at all is reported as that", []chaos.Rule{rule("x", "payments.refund", when.Prob(0))}, `error: rule "x": never: the trigger matches no call`},
	} {
		t.Run(c.why, func(t *testing.T) {
			var found []string
			for _, f := range lint.Rules(c.rules, &lint.Options{Calm: calm(t, visits)}) {
				if f.Code == lint.Unmatched || f.Code == lint.Never {
					found = append(found, f.String())
				}
			}
			assert.Equal(t, c.want, strings.Join(found, "; "))
		})
	}
}

// The injector is the oracle: the same calls, made with the rule, show whether it
// matches one.
func TestVerdictOnCalmRunsIsTrue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := anything().Draw(t, "trigger")
		var visits []visit
		for range rapid.IntRange(1, 8).Draw(t, "calls") {
			visits = append(visits, visit{rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "lane"), rapid.SampledFrom([]string{"t", "u"}).Draw(t, "target"), rapid.IntRange(0, 5).Draw(t, "turn")})
		}
		rule := chaos.Rule{Name: "r", Target: rapid.SampledFrom([]string{"t", "{t,u}"}).Draw(t, "of"), When: w, Fault: down, Group: rapid.SampledFrom([]string{"", "g"}).Draw(t, "group")}
		p, err := chaos.NewPlan(1, rule)
		if err != nil {
			t.Skip("a trigger that no plan takes")
		}
		matched := false
		for _, e := range events(t, visits, p.Rules()...) {
			matched = matched || e.Rule != ""
		}
		for _, f := range lint.Plan(p, &lint.Options{Calm: calm(t, visits)}) {
			if (f.Code == lint.Unmatched || f.Code == lint.Never) && matched {
				t.Fatalf("%s: %v, and it matches", describe(w), f)
			}
		}
	})
}

// TestRunsAreNotAdded: a trigger counts the calls of one run.
func TestRunsAreNotAdded(t *testing.T) {
	refund := visit{target: "payments.refund"}
	one, two := calm(t, []visit{refund}), calm(t, []visit{refund, refund})
	sum := &lint.CalmRuns{}
	for _, c := range []*lint.CalmRuns{one, two, one, {}} {
		sum.Join(c)
	}
	rules := []chaos.Rule{{Name: "x", Target: "payments.refund", When: when.Nth(3), Fault: down}, {Name: "y", Target: "payments.refund", When: when.Nth(2), Fault: down}}
	assert.Equal(t, []string{"in 3 calm runs the agent called payments.refund twice at most", ""}, sum.Idle(rules))
	assert.Equal(t, []string{"in 1 calm run the agent called payments.refund once at most", "in 1 calm run the agent called payments.refund once at most"},
		one.Idle(rules), "a record does not change with one that it was joined to")
	assert.Equal(t, []string{"", ""}, (&lint.CalmRuns{}).Idle(rules), "without a run nothing is known")
	none := &lint.CalmRuns{}
	none.Add(nil)
	assert.Equal(t, "in 1 calm run the agent did not call payments.refund", none.Idle(rules)[0])
}

// TestAnAliasHidesWhatIsCalled: no event shows the other name of a point.
func TestAnAliasHidesWhatIsCalled(t *testing.T) {
	rules := []chaos.Rule{{Name: "x", Target: "api", Fault: down}, {Name: "y", Target: "refund", Fault: down}}
	c := calm(t, []visit{{target: "api#small"}})
	const none = "in 1 calm run the agent did not call "
	assert.Equal(t, []string{none + "api", none + "refund"}, c.Idle(rules), "no point has an alias")
	c.Aliases = true
	assert.Equal(t, []string{"", ""}, c.Idle(rules), "any of the names may be an alias")
	c.Tools = []string{"refund"}
	assert.Equal(t, []string{"", none + "refund"}, c.Idle(rules), "no alias is the name of a tool")
}

// TestManyTurnsAreNotKept, and then a trigger of turns may match.
func TestManyTurnsAreNotKept(t *testing.T) {
	for _, tc := range []struct {
		turns int
		known bool
	}{{1, true}, {64, true}, {65, false}, {300, false}} {
		var visits []visit
		for turn := range tc.turns {
			visits = append(visits, visit{target: "t", turn: turn})
		}
		idle := calm(t, visits).Idle([]chaos.Rule{{Name: "x", Target: "t", When: when.Turn(1000), Fault: down}})
		assert.Equal(t, tc.known, idle[0] != "", tc.turns)
	}
}
