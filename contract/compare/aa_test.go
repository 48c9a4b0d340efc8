package compare_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/compare"
)

// A source says where chance comes from: calls return a number from 0 to 1.
type source func(context.Context) float64

// unseeded draws from one stream, in the order of the runs: no two runs repeat each other.
func unseeded(seed uint64) source {
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(seed, 1))
	return func(context.Context) float64 {
		mu.Lock()
		defer mu.Unlock()
		return rng.Float64()
	}
}

// seeded draws by the seed, the scenario and the trial: equal cells repeat each other.
func seeded(uint64) source {
	return func(ctx context.Context) float64 {
		c, _ := contract.CellOf(ctx)
		name := uint64(len(c.Scenario))<<8 + uint64(c.Scenario[0])
		return rand.New(rand.NewPCG(c.Seed<<16+name, uint64(c.Trial))).Float64()
	}
}

// An aaAgent books at a desk and reports whether it did. It errs never, in any run, or only
// where a call failed, with a chance of .05, .3 or .5 by the pair. Its words are the same in all runs that end alike, so that
// runs look like copies as often as they can.
type aaAgent struct {
	name            string
	always, failing bool
	source          func(uint64) source
	otherSeed       bool // the second report has another one
}

func aaAgents() []aaAgent {
	return []aaAgent{
		{name: "deterministic", source: unseeded},
		{name: "random always, unseeded", always: true, source: unseeded},
		{name: "random after a failure, unseeded", failing: true, source: unseeded},
		{name: "random always, seeded", always: true, source: seeded, otherSeed: true},
		{name: "random after a failure, seeded", failing: true, source: seeded, otherSeed: true},
	}
}

// report is what one build of an agent gives.
func (a aaAgent) report(t *testing.T, trials int, seed, stream uint64) *contract.Report {
	t.Helper()
	draw, chance := a.source(stream), []float64{.05, .3, .5}[stream/2%3]
	agent := func(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
		failed := 0
		for range 2 {
			if chaos.Point(ctx, "desk") != nil {
				failed++
			}
		}
		if (a.always || a.failing && failed > 0) && draw(ctx) < chance {
			return "lost", nil
		}
		return "booked", nil
	}
	booked := contract.Invariant{Name: "booked", Severity: contract.Low, Check: func(_ context.Context, o *contract.Observation) error {
		if strings.Contains(o.Response, "lost") {
			return errors.New("it was lost")
		}
		return nil
	}}
	polite := contract.Invariant{Name: "polite", Severity: contract.Low, Check: func(context.Context, *contract.Observation) error { return nil }}
	down := fault.Fail(fault.ErrUnavailable)
	m := &contract.Matrix{Prompts: []string{"book"}, Seed: seed, Trials: trials, Points: []string{"desk"},
		Invariants: []contract.Invariant{booked, polite},
		Scenarios: []contract.Scenario{contract.Calm(),
			contract.Under("down", chaos.Rule{Target: "desk", Fault: down}),
			contract.Under("once", chaos.Rule{Target: "desk", When: when.Nth(1), Fault: down}),
			contract.Under("flaky", chaos.Rule{Target: "desk", When: when.Prob(.5), Fault: down}),
		},
		NewWorld: func(context.Context) (*contract.World, error) { return &contract.World{Agent: agent}, nil }}
	r, err := m.Run(t.Context(), &contract.RunOptions{Workers: 1, Keep: contract.KeepNone})
	require.NoError(t, err)
	r.Repeatable = "yes" // as two calm runs of all but two of the agents say
	return r
}

// TestNoFalseAlarmOfAgents: of two reports of one agent at most one of twenty is called worse,
// whatever decides what the agent does, and however few trials there are. SIMULATE=1000 makes so
// many pairs of reports; the table of docs/statistics.md has these figures.
func TestNoFalseAlarmOfAgents(t *testing.T) {
	pairs, most := uint64(30), 5 // where 5 % are alarms, 30 pairs have more than 5 once in 300 times
	if n, err := strconv.ParseUint(os.Getenv("SIMULATE"), 10, 32); err == nil {
		pairs, most = n, int(n/20)
	}
	for _, a := range aaAgents() {
		line := a.name
		for _, trials := range []int{1, 2, 3, 5} {
			alarms := 0
			for pair := range pairs {
				before := a.report(t, trials, pair, 2*pair)
				seed := pair
				if a.otherSeed {
					seed += 1 << 32
				}
				c, err := compare.Reports(before, a.report(t, trials, seed, 2*pair+1), nil)
				require.NoError(t, err)
				if c.Regressed() {
					alarms++
				}
			}
			assert.LessOrEqual(t, alarms, most, "%s, %d trials", a.name, trials)
			line += fmt.Sprintf(" | %d", alarms)
		}
		t.Logf("of %d pairs: %s", pairs, line)
	}
}
