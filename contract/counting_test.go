package contract_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
)

// TestWarningsAboutOverlappingCalls: a trigger that counts matches one of several calls
// that are under way at the same time, and in the next run perhaps another.
func TestWarningsAboutOverlappingCalls(t *testing.T) {
	tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "clock"}, func(ctx context.Context, _ int) (string, error) {
		time.Sleep(time.Second)
		return "noon", nil
	}))
	require.NoError(t, err)
	agent := func(each func(ctx context.Context, i int, call func(context.Context))) contract.Agent {
		return func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
			for i := range 3 {
				each(ctx, i, func(ctx context.Context) { _, _ = tools.CallTool(ctx, "clock", json.RawMessage(fmt.Sprint(i))) })
			}
			return "done", nil
		}
	}
	var workers sync.WaitGroup // of one cell at a time
	parallel := func(ctx context.Context, i int, call func(context.Context)) {
		workers.Go(func() { call(ctx) })
		if i == 2 {
			workers.Wait()
		}
	}
	inLanes := func(ctx context.Context, i int, call func(context.Context)) {
		parallel(chaos.WithLane(ctx, fmt.Sprint(i)), i, call)
	}
	oneByOne := func(ctx context.Context, _ int, call func(context.Context)) { call(ctx) }
	down := fault.Fail(fault.ErrUnavailable)
	for _, tc := range []struct {
		why   string
		each  func(ctx context.Context, i int, call func(context.Context))
		rule  chaos.Rule
		warns bool
	}{
		{"the second of three at once", parallel, chaos.Rule{When: when.Nth(2), Fault: down}, true},
		{"the first two, after the work was done", parallel, chaos.Rule{When: when.First(2), Fault: fault.LoseReply()}, true},
		{"a part of a trigger counts", parallel, chaos.Rule{When: when.Not(when.Nth(2)), Fault: down}, true},
		{"all of them, in whatever order", parallel, chaos.Rule{When: when.First(3), Fault: fault.LoseReply()}, false},
		{"none of them", parallel, chaos.Rule{When: when.Nth(9), Fault: down}, false},
		{"one after the other", oneByOne, chaos.Rule{When: when.Nth(2), Fault: fault.LoseReply()}, false},
		{"a lane each", inLanes, chaos.Rule{When: when.Nth(1), Fault: fault.LoseReply()}, false},
		{"chance does not count", parallel, chaos.Rule{When: when.Prob(0.5), Fault: down}, false},
		{"a group counts", parallel, chaos.Rule{When: when.Nth(2), Fault: down, Group: "g"}, true},
	} {
		tc.rule.Name, tc.rule.Target = "r", "cl*"
		o := virtual(t)
		o.Workers = 1
		m := matrix(t, nil, func(m *contract.Matrix) {
			m.Trials = 2
			m.NewWorld = func(context.Context) (*contract.World, error) {
				return &contract.World{Agent: agent(tc.each), Tools: tools}, nil
			}
			m.Scenarios = []contract.Scenario{{Name: "s", Rules: []chaos.Rule{tc.rule}, AllowUndelivered: true}}
		})
		warnings := run(t, m, o).Warnings
		if !tc.warns {
			assert.Empty(t, warnings, tc.why)
			continue
		}
		require.Len(t, warnings, 1, tc.why)
		assert.True(t, strings.HasPrefix(warnings[0], "Rule r of scenario s may act on other calls in the next run: it counts calls, and in 2 runs some overlapped. "+
			"In s/held/1 it matched call "), "%s: %s", tc.why, warnings[0])
		assert.Contains(t, warnings[0], " of clock, which overlapped with call ", tc.why)
	}
}
