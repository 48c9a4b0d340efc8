package lint_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/lint"
	"github.com/shakedown-go/shakedown/chaos/when"
)

func ExamplePlan() {
	plan, err := chaos.NewPlan(1,
		chaos.Rule{Name: "outage", Target: "orders.*", Fault: fault.Partition()},
		chaos.Rule{Name: "busy", Target: "orders.*", Fault: fault.Fail(errors.New("Injected fault"))},
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range lint.Plan(plan) {
		fmt.Println(f)
	}
	// Output:
	// rule "busy": the text "Injected fault" contains "Injected", by which a model may know that this is a test
}

// Whatever a description says, reading it ends well.
func FuzzDescription(f *testing.F) {
	for _, w := range []chaos.When{when.All(when.Prob(0), when.Nth(1, 2)), when.Between(1, 2), when.Exactly(when.Coord{Target: "t", Key: 1}),
		when.Stages(when.Stage{Calls: 2, When: when.First(1)}), when.Late(math.MaxInt)} {
		d := w.(chaos.Described).Describe()
		f.Add(d.Kind, []byte(d.Params))
	}
	f.Fuzz(func(t *testing.T, kind string, params []byte) {
		d := chaos.Description{Kind: kind, Params: params, Class: chaos.ClassTiming}
		lint.Counts(told{d: d})
		p, err := chaos.NewPlan(1, chaos.Rule{Name: "r", Target: "t", Fault: told{d: d}})
		if err != nil {
			return
		}
		for _, found := range lint.Plan(p) {
			assert.Equal(t, "r", found.Rule)
		}
	})
}
