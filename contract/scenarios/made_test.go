package scenarios_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/contracttest"
	"github.com/shakedown-go/shakedown/contract/scenarios"
)

// The four paths of a target, as an agent that calls twice with a second of patience
// sees them.
func TestFourPaths(t *testing.T) {
	got := map[string]string{}
	m := &contract.Matrix{
		NewWorld: func(context.Context) (*contract.World, error) {
			tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "orders.get"}, func(context.Context, struct{}) (string, error) { return "ok", nil }))
			return &contract.World{Tools: tools, Agent: func(ctx context.Context, _ string, tools chaos.ToolRegistry) (answer string, _ error) {
				for range 2 {
					ctx, cancel := context.WithTimeout(ctx, time.Minute)
					began := time.Now()
					_, err := tools.CallTool(ctx, "orders.get", json.RawMessage(`{}`))
					cancel()
					switch {
					case errors.Is(err, fault.ErrUnavailable):
						answer += "down"
					case err != nil:
						answer += "late"
					default:
						answer += "ok"
					}
					answer += fmt.Sprint(" after ", time.Since(began), " ")
				}
				return answer, nil
			}}, err
		},
		Prompts:   []string{"go"},
		Scenarios: scenarios.FourPaths("orders.*", 5*time.Second),
		Invariants: []contract.Invariant{{Name: "seen", Severity: contract.High, Check: func(_ context.Context, o *contract.Observation) error {
			got[o.Cell.Scenario] = o.Response
			return nil
		}}},
	}
	r := contracttest.Run(t, m, &contracttest.Options{Workers: 1})
	assert.Subset(t, got, map[string]string{ // besides, two calm runs find out whether the agent is repeatable
		"orders._-timeout": "late after 5s ok after 0s ", "orders._-hang": "late after 1m0s late after 1m0s ",
		"orders._-fails-once": "down after 0s ok after 0s ", "orders._-fails": "down after 0s down after 0s ",
	})
	assert.Equal(t, 4, r.Score.Passed)
	m.Scenarios = scenarios.FourPaths("orders.[", -1)
	assert.Error(t, m.Validate(), "the rules say what is wrong with them")
}

// rule is a rule of a name of its own.
func rule(choice, i int) chaos.Rule {
	return chaos.Rule{Name: fmt.Sprintf("%d.%d", choice, i), Target: "x", Fault: fault.Fail(fault.ErrUnavailable)}
}

// Whatever the choices, each two rules of different choices meet, and a scenario has at
// most one rule of a choice.
func TestCombine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(1, 4), 1, 6).Draw(t, "sizes")
		strength := rapid.IntRange(1, 2).Draw(t, "strength")
		choices, product := make([][]chaos.Rule, len(sizes)), 1
		for i, n := range sizes {
			for k := range n {
				choices[i] = append(choices[i], rule(i, k))
			}
			product *= n + 1
		}
		made, err := scenarios.Combine(strength, choices...)
		require.NoError(t, err)
		assert.Less(t, len(made), product, "the calm scenario is left out")
		names, met := map[string]bool{}, map[[2]string]bool{}
		for _, s := range made {
			names[s.Name] = true
			require.NotEmpty(t, s.Rules)
			of := map[byte]bool{}
			for _, a := range s.Rules {
				require.False(t, of[a.Name[0]], "one of a choice")
				of[a.Name[0]] = true
				for _, b := range s.Rules {
					met[[2]string{a.Name, b.Name}] = true
				}
			}
			for i := range sizes { // with none of choice i
				if !of[byte('0'+i)] {
					for _, a := range s.Rules {
						met[[2]string{a.Name, fmt.Sprintf("%d.none", i)}] = true
					}
				}
			}
		}
		require.Len(t, names, len(made))
		for i, first := range choices {
			for _, a := range first {
				require.True(t, met[[2]string{a.Name, a.Name}], "%s is in one", a.Name)
				for k, second := range choices {
					if i == k || strength == 1 {
						continue
					}
					require.True(t, met[[2]string{a.Name, fmt.Sprintf("%d.none", k)}], "%s without choice %d", a.Name, k)
					for _, b := range second {
						require.True(t, met[[2]string{a.Name, b.Name}], "%s with %s", a.Name, b.Name)
					}
				}
			}
		}
	})
}

func TestCombineRefuses(t *testing.T) {
	many := make([]chaos.Rule, 201)
	for i := range many {
		many[i] = rule(0, i)
	}
	for want, err := range map[string]error{
		"strength is 3; allowed: 1 or 2":                  second(scenarios.Combine(3, []chaos.Rule{rule(0, 0)})),
		"choices is empty; allowed: at least one":         second(scenarios.Combine(2)),
		"choices[1] is empty; allowed: at least one rule": second(scenarios.Combine(2, []chaos.Rule{rule(0, 0)}, nil)),
		"choices[0][0]": second(scenarios.Combine(1, []chaos.Rule{{Target: "x"}})),
		"choices is with 201 rules; allowed: at most 200": second(scenarios.Combine(2, many)),
	} {
		var field *contract.FieldError
		require.ErrorAs(t, err, &field)
		assert.ErrorContains(t, err, want)
	}
}

func second[T any](_ T, err error) error { return err }

func ExampleCombine() {
	down := func(target string) chaos.Rule {
		return chaos.Rule{Target: target, Fault: fault.Fail(fault.ErrUnavailable)}
	}
	slow := func(target string) chaos.Rule {
		return chaos.Rule{Target: target, Fault: fault.Delay(time.Minute)}
	}
	var choices [][]chaos.Rule
	for _, target := range []string{"orders", "stock", "mail", "payments", "shipping", "customers"} {
		choices = append(choices, []chaos.Rule{down(target), slow(target)})
	}
	made, err := scenarios.Combine(2, choices...)
	fmt.Println(len(made), "scenarios of 729 combinations", err)
	// Output: 15 scenarios of 729 combinations <nil>
}

// The calls of a calm run take twice as long, each by the mean of its target.
func TestStretch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		walk := func(in *chaos.Injector) time.Duration {
			ctx, began := chaos.NewContext(context.Background(), in), time.Now()
			sleep := func(target string, d time.Duration) {
				call := chaos.Wrap(target, func(context.Context, int) (int, error) {
					time.Sleep(d)
					return 0, nil
				})
				_, err := call(ctx, 0)
				require.NoError(t, err)
			}
			sleep("orders{1}", time.Second)
			sleep("orders{1}", 3*time.Second)
			sleep("mail", time.Minute)
			sleep("memory", 0)
			return time.Since(began)
		}
		injector := func(rules ...chaos.Rule) *chaos.Injector {
			p, err := chaos.NewPlan(1, rules...)
			require.NoError(t, err)
			return p.Injector("c", &chaos.InjectorOptions{RecordAll: true})
		}
		calm := injector()
		took := walk(calm)
		for factor, name := range map[float64]string{2: "stretched-2", 1.5: "stretched-1.5", 1000: "stretched-1000"} {
			s, err := scenarios.Stretch(calm.Events(), factor)
			require.NoError(t, err)
			assert.Equal(t, name, s.Name)
			assert.Len(t, s.Rules, 2, "what took no time is let be")
			assert.Equal(t, time.Duration(factor*float64(took)), walk(injector(s.Rules...)))
		}
		for _, factor := range []float64{1, 0, -1, 1001, math.NaN(), math.Inf(1)} {
			_, err := scenarios.Stretch(calm.Events(), factor)
			assert.ErrorContains(t, err, "factor")
			assert.NotContains(t, err.Error(), "calm", "one problem is one error")
		}
		_, err := scenarios.Stretch([]chaos.Event{{Target: "memory"}, {Target: "nested", Caller: "memory", End: time.Hour}}, 2)
		assert.ErrorContains(t, err, "calm is without calls that took time")
	})
}
