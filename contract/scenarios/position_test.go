package scenarios_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/scenarios"
)

// errands is a run of eight calls to three targets, in fixed order.
func errands(in *chaos.Injector) (pattern string) {
	ctx := chaos.NewContext(context.Background(), in)
	for _, target := range []string{"orders", "stock", "orders", "mail", "stock", "orders", "orders", "stock"} {
		if chaos.Point(ctx, target) != nil {
			pattern += "x"
		} else {
			pattern += "."
		}
	}
	return pattern
}

func calmEvents(t *testing.T) []chaos.Event {
	calm, err := chaos.NewPlan(1)
	require.NoError(t, err)
	in := calm.Injector("calm/0", &chaos.InjectorOptions{RecordAll: true})
	require.Equal(t, "........", errands(in))
	return in.Events()
}

// The thirds are those of the calls that the calm run made to the target.
func TestByPosition(t *testing.T) {
	down := fault.Fail(fault.ErrUnavailable)
	for _, c := range []struct {
		why  string
		rule chaos.Rule
		want [3]string
	}{
		{"one target, four calls: 1, 1 and 2", chaos.Rule{Target: "orders"}, [3]string{"x.......", "..x.....", ".....xx."}},
		{"two targets count as one sequence of seven", chaos.Rule{Target: "{orders,stock}"}, [3]string{"xx......", "..x.x...", ".....xxx"}},
		{"a trigger within the third", chaos.Rule{Target: "{orders,stock}", When: when.Every(3)}, [3]string{"........", "..x.....", "......x."}},
		{"a group of its own", chaos.Rule{Target: "{orders,stock}", Group: "shop"}, [3]string{"xx......", "..x.x...", ".....xxx"}},
	} {
		t.Run(c.why, func(t *testing.T) {
			c.rule.Name, c.rule.Fault = "down", down
			scenarios, err := scenarios.ByPosition(calmEvents(t), c.rule)
			require.NoError(t, err)
			require.Len(t, scenarios, 3)
			for i, name := range []string{"down-early", "down-mid", "down-late"} {
				assert.Equal(t, name, scenarios[i].Name)
				plan, err := chaos.NewPlan(1, scenarios[i].Rules...)
				require.NoError(t, err)
				assert.Equal(t, c.want[i], errands(plan.Injector(name+"/0", nil)), name)
			}
		})
	}
}

func TestByPositionOfTooLittle(t *testing.T) {
	events := calmEvents(t)
	_, err := scenarios.ByPosition(events, chaos.Rule{Target: "mail"})
	assert.EqualError(t, err, `scenarios: ByPosition: Rule.Name is missing; allowed: a name, which becomes part of the scenarios' names
scenarios: ByPosition: calm is 1 call to "mail"; allowed: at least 3: fewer have no three thirds`)
	_, err = scenarios.ByPosition(events, chaos.Rule{Name: "r", Target: "["})
	var field *contract.FieldError
	require.ErrorAs(t, err, &field)
	assert.Equal(t, "ByPosition: Rule.Target", field.Field)
	events[0].Lane = "worker-1"
	_, err = scenarios.ByPosition(events, chaos.Rule{Name: "r", Target: "orders"})
	assert.ErrorContains(t, err, "in 2 lanes")
}
