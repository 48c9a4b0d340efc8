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
	const none = "warning: rule \"x\": unmatched: can never match: "
	for _, c := range []struct {
		why   string
		rules []chaos.Rule
		want  string
	}{
		{"the second of two calls", []chaos.Rule{rule("x", "payments.refund", when.Nth(2))}, ""},
		{"the third of two calls", []chaos.Rule{rule("x", "payments.refund", when.Nth(3))}, none + "the agent calls payments.refund twice at most"},
		{"a lane counts for itself", []chaos.Rule{rule("x", "orders.get", when.Nth(2))}, none + "the agent calls orders.get once at most"},
		{"a group counts all its targets", []chaos.Rule{grouped("x", "payments.refund", when.Nth(3)), grouped("y", "orders.get", when.Nth(2))}, ""},
		{"a group has no more calls in a lane than its targets together", []chaos.Rule{grouped("x", "{payments.refund,orders.get}", when.Nth(4))}, none + "the agent calls {payments.refund,orders.get} 3 times at most"},
		{"no trigger", []chaos.Rule{rule("x", "orders.get", nil)}, ""},
		{"no call, and no trigger", []chaos.Rule{rule("x", "stock.get", nil)}, none + "the agent makes no call to stock.get"},
		{"a turn that has a call", []chaos.Rule{rule("x", "orders.*", when.Turn(3))}, ""},
		{"a turn without", []chaos.Rule{rule("x", "orders.*", when.Turn(4))}, none + "the agent calls orders.* once at most"},
		{"a lane that has a call", []chaos.Rule{rule("x", "orders.*", when.Lane("b*"))}, ""},
		{"a lane without", []chaos.Rule{rule("x", "payments.*", when.Lane("b*"))}, none + "the agent calls payments.* twice at most"},
		{"chance may", []chaos.Rule{rule("x", "orders.get", when.Prob(0.01))}, ""},
		{"the clock may", []chaos.Rule{rule("x", "orders.get", when.Since(time.Hour))}, ""},
		{"a trigger of the user's own may", []chaos.Rule{rule("x", "orders.get", own{})}, ""},
		{"arguments may", []chaos.Rule{rule("x", "orders.get", when.Args("any", func(any) bool { return true }))}, ""},
		{"unless there is no call", []chaos.Rule{rule("x", "stock.get", when.Prob(0.01))}, none + "the agent makes no call to stock.get"},
		{"another rule may lead to retries", []chaos.Rule{rule("x", "payments.refund", when.Nth(3)), rule("y", "orders.get", nil)},
			`warning: rule "x": unmatched: can match only if the faults of other rules lead to more calls: without them the agent calls payments.refund twice at most`},
		{"one that never matches at all is reported as that", []chaos.Rule{rule("x", "payments.refund", when.Prob(0))}, `error: rule "x": never: the trigger matches no call`},
	} {
		t.Run(c.why, func(t *testing.T) {
			var found []string
			for _, f := range lint.Rules(c.rules, &lint.Options{Calm: events(t, visits)}) {
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
		for _, f := range lint.Plan(p, &lint.Options{Calm: events(t, visits)}) {
			if (f.Code == lint.Unmatched || f.Code == lint.Never) && matched {
				t.Fatalf("%s: %v, and it matches", describe(w), f)
			}
		}
	})
}
