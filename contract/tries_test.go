package contract_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
)

// asksAtOnce is an agent that makes rounds of equal calls at the same time, and waits
// between rounds.
func asksAtOnce(rounds, calls int, pause time.Duration) contract.Agent {
	return func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
		for range rounds {
			var all sync.WaitGroup
			for range calls {
				all.Go(func() {
					for range rand.N(4) { // another order each time
						runtime.Gosched()
					}
					_, _ = tools.CallTool(ctx, "clock", json.RawMessage(`{}`))
				})
			}
			all.Wait()
			time.Sleep(pause)
		}
		return "it is noon", nil
	}
}

// under is a matrix of one scenario, with that agent and these rules on its clock.
func under(t testing.TB, agent contract.Agent, trials int, rules ...chaos.Rule) *contract.Matrix {
	return matrix(t, agent, func(m *contract.Matrix) {
		m.Trials, m.Scenarios = trials, []contract.Scenario{contract.Under("storm", rules...)}
	})
}

// TestTriesOfCallsAtOnce says which try a call is that others equal to it surround.
func TestTriesOfCallsAtOnce(t *testing.T) {
	const pause = time.Second
	fail := fault.Fail(fault.ErrUnavailable)
	second := func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
		for range 3 {
			_, _ = tools.CallTool(chaos.WithAttempt(ctx, 2), "clock", json.RawMessage(`{}`))
		}
		return "it is noon", nil
	}
	for _, tc := range []struct {
		why   string
		agent contract.Agent
		rules []chaos.Rule
		want  [3]int // calls on a first, a second, a later try
	}{
		{"one after the other", asksAtOnce(4, 1, 0), []chaos.Rule{{Target: "clock", Fault: fail}}, [3]int{1, 1, 2}},
		{"three that overlap are one try", asksAtOnce(1, 3, 0), []chaos.Rule{{Target: "clock", Fault: fault.Timeout(pause)}},
			[3]int{3, 0, 0}},
		{"and three that follow are the next", asksAtOnce(2, 3, 0), []chaos.Rule{{Target: "clock", Fault: fault.Timeout(pause)}},
			[3]int{3, 3, 0}},
		{"a try of which one call succeeds is over", asksAtOnce(2, 3, 0),
			[]chaos.Rule{{Target: "clock", When: when.Nth(1, 2, 4, 5), Fault: fault.Timeout(pause)},
				{Name: "slow", Target: "clock", When: when.Nth(3, 6), Fault: fault.Delay(pause / 2)}}, [3]int{6, 0, 0}},
		{"calls that end as they begin cannot overlap", asksAtOnce(1, 4, pause), []chaos.Rule{{Target: "clock", Fault: fail}},
			[3]int{1, 1, 2}},
		{"the agent says which try it is", second, []chaos.Rule{{Target: "clock", Fault: fail}}, [3]int{0, 3, 0}},
	} {
		r := run(t, under(t, tc.agent, 1, tc.rules...), virtual(t))
		var got [3]int
		for _, c := range r.Coverage {
			got[c.Try-1] += c.Delivered
		}
		assert.Equal(t, tc.want, got, tc.why)
	}
}

// TestTriesOfCallsAtOnceRepeat: the coverage of an agent whose equal calls run at once is
// the same in every run, at any number of workers.
func TestTriesOfCallsAtOnceRepeat(t *testing.T) {
	m := under(t, asksAtOnce(3, 4, time.Millisecond), 8,
		chaos.Rule{Name: "down", Target: "clock", When: when.Prob(.4), Fault: fault.Fail(fault.ErrUnavailable)},
		chaos.Rule{Name: "late", Target: "clock", When: when.Prob(.4), Fault: fault.Timeout(time.Millisecond)})
	seen := map[string]int{}
	for _, workers := range []int{1, 2, 8, 64, 1, 2, 8, 64} {
		o := virtual(t)
		o.Workers = workers
		seen[fmt.Sprint(run(t, m, o).Coverage)]++
	}
	assert.Len(t, seen, 1)
}
