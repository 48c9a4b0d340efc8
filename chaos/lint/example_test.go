package lint_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/lint"
	"github.com/shakedown-go/shakedown/chaos/when"
)

func ExamplePlan() {
	plan, err := chaos.NewPlan(1,
		chaos.Rule{Name: "outage", Target: "orders.*", When: when.All(when.First(5), when.After(10)), Fault: fault.Partition()},
		chaos.Rule{Name: "busy", Target: "order.*", Fault: fault.Fail(errors.New("Injected fault"))},
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range lint.Plan(plan, &lint.Options{Targets: []string{"orders.get", "stock.get"}}) {
		fmt.Println(f)
	}
	// Output:
	// error: rule "outage": never: the trigger matches no call
	// error: rule "busy": unknown-target: the target "order.*" matches no known injection point
	// warning: rule "busy": telltale-text: the text "Injected fault" contains "Injected", by which a model may know that this is a test
}

// Whatever a description says, reading it ends well.
func FuzzDescription(f *testing.F) {
	for _, w := range []chaos.When{when.All(when.Prob(0), when.Nth(1, 2)), when.Between(1, 2), when.Exactly(when.Coord{Target: "t", Key: 1}),
		when.Stages(when.Stage{Calls: 2, When: when.First(1)}), when.Intermittent(math.MaxInt, math.MaxInt), when.Late(math.MaxInt), when.Every(math.MaxInt)} {
		d := w.(chaos.Described).Describe()
		f.Add(d.Kind, []byte(d.Params))
	}
	f.Fuzz(func(t *testing.T, kind string, params []byte) {
		d := chaos.Description{Kind: kind, Params: params, Class: chaos.ClassTiming}
		rules := []chaos.Rule{{Name: "r", Target: "{t,u}", Group: "g", When: told{d: d}, Fault: told{d: d}}}
		for _, found := range lint.Rules(rules, &lint.Options{Targets: known}) {
			assert.Equal(t, "r", found.Rule)
		}
	})
}

// BenchmarkPlan shows the cost of a plan of a hundred rules.
func BenchmarkPlan(b *testing.B) {
	var rules []chaos.Rule
	for i := range 100 {
		rules = append(rules, chaos.Rule{Name: fmt.Sprint(i), Target: fmt.Sprintf("tool%d.{get,list*}", i),
			When: when.All(when.After(i), when.Any(when.Every(7), when.Nth(i+1))), Fault: fault.Partition()})
	}
	p, err := chaos.NewPlan(1, rules...)
	require.NoError(b, err)
	for b.Loop() {
		lint.Plan(p, nil)
	}
}
