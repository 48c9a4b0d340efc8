package contract_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/scoring"
	"github.com/shakedown-go/shakedown/scoring/stats"
)

// sequential are options of a sequential run.
func sequential(workers int) *contract.RunOptions {
	return &contract.RunOptions{Sequential: true, Workers: workers, Keep: contract.KeepAll}
}

// drawn breaks an invariant with a chance, by seed, scenario and trial.
func drawn(id string, severity contract.Severity, atLeast float64, rates map[string]float64) contract.Invariant {
	inv := asRate(holds(id, severity), atLeast)
	inv.Check = func(ctx context.Context, o *contract.Observation) error {
		c, _ := contract.CellOf(ctx)
		name := uint64(0)
		for _, b := range []byte(o.Cell.Scenario + id) {
			name = name*31 + uint64(b)
		}
		if rand.New(rand.NewPCG(c.Seed^name, uint64(o.Cell.Trial))).Float64() >= rates[o.Cell.Scenario] {
			return errors.New("drawn")
		}
		return nil
	}
	return inv
}

// someRates is a matrix of rates and of promises for every trial.
func someRates(t testing.TB) *contract.Matrix {
	rates := map[string]float64{"a": 1, "b": .9, "c": .5}
	return matrix(t, answersNoon, func(m *contract.Matrix) {
		m.Trials, m.Seed, m.Scenarios = 60, 3, calmly("a", "b", "c")
		m.Invariants = []contract.Invariant{drawn("rate", contract.High, .95, rates), drawn("every", contract.Low, 0, rates),
			drawn("loose", contract.Medium, .7, rates)}
	})
}

// A field stops at its decision, and its cells are those that a run of all trials begins with.
func TestSequentialRunsWhatIsNeeded(t *testing.T) {
	m := someRates(t)
	whole := run(t, m, &contract.RunOptions{Keep: contract.KeepAll})
	r := run(t, m, sequential(4))
	all := map[contract.Cell]contract.CellState{}
	for _, c := range whole.Cells {
		all[c.Cell] = c.State
	}
	tried := map[[2]string]int{}
	for _, c := range r.Cells {
		at := [2]string{c.Cell.Scenario, c.Cell.Invariant}
		tried[at]++
		assert.Equal(t, tried[at], c.Cell.Trial, "the trials of a field are the first ones, in order")
		assert.Equal(t, all[c.Cell], c.State)
	}
	saved := 0
	for i, f := range r.Fields {
		w := whole.Fields[i]
		assert.Equal(t, w.Standing.Decision, f.Standing.Decision, "%v", f)
		switch {
		case f.AtLeast != 0 && f.Standing.Decision != stats.Open:
			assert.Equal(t, w.DecidedAfter, f.Decided, "%v", f)
		case f.AtLeast == 0 && f.Standing.Decision == stats.Rejected:
			assert.Equal(t, f.Held+1, f.Decided, "it ends with the first break")
		default:
			assert.Equal(t, 60, f.Decided, "%v", f)
		}
		want, err := stats.AnyTime(f.Held, f.Decided, .95)
		require.NoError(t, err)
		assert.Equal(t, want, f.Interval)
		assert.Equal(t, 60-f.Decided, f.Saved)
		saved += f.Saved
	}
	assert.Equal(t, saved, r.Saved)
	assert.Equal(t, 9*60, len(r.Cells)+r.Saved)
	assert.Equal(t, 9, r.Score.Total, "the score counts fields")
	assert.Zero(t, r.Score.NotRun)
	judgedAgain(t, r)
	one, err := m.RunCell(t.Context(), r.Cells[7].Cell, nil)
	require.NoError(t, err)
	assert.Equal(t, r.Cells[7].State, one.State)
	assert.Equal(t, r.Cells[7].Evidence.Response, one.Evidence.Response)
}

// The bytes of a report depend on the workers neither with nor without a budget, nor do the
// cells that OnCell gets, nor their order.
func TestSequentialIsTheSameWithAnyWorkers(t *testing.T) {
	for _, share := range []bool{false, true} {
		for _, budget := range []contract.Budget{{}, {Trials: 50}, {Cost: 30.5, CostOf: func(r *contract.CellReport) float64 { return float64(r.Cell.Trial%3) / 2 }}} {
			m := someRates(t)
			m.ShareObservations = share
			var first string
			var order []contract.Cell
			for _, workers := range []int{1, 2, 7, 64} {
				o := sequential(workers)
				o.Budget = budget
				var got []contract.Cell
				o.OnCell = func(r *contract.CellReport) { got = append(got, r.Cell) }
				r := run(t, m, o)
				for i := range r.Cells {
					r.Cells[i].Elapsed, r.Cells[i].Evidence.Elapsed = 0, 0
					for _, o := range r.Cells[i].Calm {
						o.Elapsed = 0
					}
				}
				if first == "" {
					first, order = jsonOf(t, r), got
					judgedAgain(t, r)
				}
				require.Equal(t, first, jsonOf(t, r), "share %v, %d workers", share, workers)
				require.Equal(t, order, got)
			}
		}
	}
}

// A budget is spent on the fields with the greatest weight ÷ expected trials, in rounds of 16.
func TestBudgetGoesToWhatItDecides(t *testing.T) {
	m := matrix(t, answersNoon, func(m *contract.Matrix) {
		m.Trials, m.Scenarios = 100, calmly("s")
		m.Invariants = []contract.Invariant{asRate(holds("low", contract.Low), .95), asRate(holds("critical", contract.Critical), .95),
			asRate(holds("high", contract.High), .95)}
	})
	o := sequential(3)
	o.Budget.Trials = 40
	r := run(t, m, o)
	assert.Equal(t, []int{4, 18, 18}, []int{r.Fields[0].Decided, r.Fields[1].Decided, r.Fields[2].Decided}, "18 passes accept")
	assert.Equal(t, scoring.Inconclusive, r.Score.Verdict)
	assert.Equal(t, "s / low: open: 4 of 4 held; 14 more passes in a row would accept, about 14 trials at this rate", r.Score.Why)
	assert.Equal(t, []string{"the budget of 40 trials is spent"}, r.Warnings)
	assert.Equal(t, 164, r.Saved, "what the open field lacks was not saved")
	judgedAgain(t, r)

	m.Scenarios = calmly("s", "t")
	m.Invariants = []contract.Invariant{asRate(holds("p", contract.Low), .95)}
	o.Budget.Trials = 18
	r = run(t, m, o)
	assert.Equal(t, []int{18, 0}, []int{r.Fields[0].Decided, r.Fields[1].Decided})
	assert.Equal(t, scoring.Inconclusive, r.Score.Verdict, "a rate that was never tried is not kept")
	assert.Equal(t, "t / p: open: 0 of 0 held; 18 more passes in a row would accept, about 32 trials at the promised rate", r.Score.Why)
	assert.Equal(t, 1, r.Score.NotRun)
	judgedAgain(t, r)

	m.Invariants, m.Scenarios = []contract.Invariant{holds("every", contract.Low)}, calmly("s")
	o.Budget.Trials = 5
	r = run(t, m, o)
	assert.Equal(t, "s / every: open: 5 of 5 held; it lacks 95 trials", r.Score.Why)
	assert.Equal(t, 0, r.Saved)
	judgedAgain(t, r)
}

// A budget of cost ends after the round that reached it, and one of time too.
func TestBudgetsOfCostAndTime(t *testing.T) {
	slow := func(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
		return "noon", chaos.Sleep(ctx, time.Minute)
	}
	m := matrix(t, slow, func(m *contract.Matrix) {
		m.Trials, m.Invariants = 1000, []contract.Invariant{asRate(holds("p", contract.Low), .99)}
		m.Scenarios = calmly("a", "b", "c", "d", "e", "f", "g", "h")
	})
	synctest.Test(t, func(t *testing.T) {
		o := sequential(16)
		o.Budget.Time = 150 * time.Second // a round takes a minute
		r := run(t, m, o)
		assert.Len(t, r.Cells, 48, "three rounds of 16")
		assert.Equal(t, []string{"the budget of 2m30s is spent"}, r.Warnings)
		o.Budget = contract.Budget{Cost: 3, CostOf: func(*contract.CellReport) float64 { return .1 }}
		r = run(t, m, o)
		assert.GreaterOrEqual(t, len(r.Cells), 30)
		assert.Less(t, len(r.Cells), 30+16, "at most a round more")
	})
}

// A cost that is not known ends the run as a limit does.
func TestBudgetWhoseCostFails(t *testing.T) {
	for _, row := range []struct {
		why    string
		costOf func(*contract.CellReport) float64
		want   string
	}{
		{"it panics", func(*contract.CellReport) float64 { panic("no price") }, "panic: no price"},
		{"it ends its goroutine", func(*contract.CellReport) float64 { t.SkipNow(); return 0 }, "it ended its goroutine"},
		{"it is negative", func(*contract.CellReport) float64 { return -1 }, "it returned -1"},
		{"it is no number", func(*contract.CellReport) float64 { return math.NaN() }, "it returned NaN"},
		{"it is endless", func(*contract.CellReport) float64 { return math.Inf(1) }, "it returned +Inf"},
	} {
		m := someRates(t)
		o := sequential(2)
		o.Budget = contract.Budget{Cost: 1e9, CostOf: row.costOf}
		r := run(t, m, o)
		assert.Len(t, r.Cells, 16, row.why)
		require.Len(t, r.Warnings, 1, row.why)
		assert.Contains(t, r.Warnings[0], row.want)
		assert.Contains(t, r.Warnings[0], "Budget.CostOf failed on")
		assert.NotEqual(t, scoring.Pass, r.Score.Verdict)
	}
}

// A run that several invariants judge costs once.
func TestCostOfSharedRuns(t *testing.T) {
	var runs, costs atomic.Int32
	agent := func(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
		runs.Add(1)
		return "noon", nil
	}
	m := matrix(t, agent, func(m *contract.Matrix) {
		m.Trials, m.ShareObservations = 5, true
		m.Invariants = []contract.Invariant{holds("a", contract.Low), holds("b", contract.Low), holds("probed", contract.Low)}
		m.Invariants[2].Probes = []string{"probe"}
	})
	o := sequential(2)
	o.Budget = contract.Budget{Cost: 1e9, CostOf: func(*contract.CellReport) float64 { costs.Add(1); return 1 }}
	r := run(t, m, o)
	assert.Equal(t, scoring.Pass, r.Score.Verdict)
	assert.EqualValues(t, 10, costs.Load())
	assert.EqualValues(t, 10, runs.Load())
}

func TestSequentialKeepCounts(t *testing.T) {
	m := someRates(t)
	full := run(t, m, sequential(3))
	o := sequential(3)
	o.Keep = contract.KeepCounts
	r := run(t, m, o)
	assert.Empty(t, r.Cells)
	assert.Equal(t, full.Fields, r.Fields)
	assert.Equal(t, full.Score, r.Score)
	judgedAgain(t, r)
}

// Inconclusive trials that the verdict accepts leave the field to the others, as they leave the
// score of cells.
func TestSequentialWithInconclusiveTrials(t *testing.T) {
	unsure := brokenIf("unsure", contract.Critical, contract.ErrUndecided, func(o *contract.Observation) bool { return o.Cell.Trial == 2 })
	m := matrix(t, answersNoon, func(m *contract.Matrix) { m.Trials, m.Invariants = 5, []contract.Invariant{unsure} })
	r := run(t, m, sequential(2))
	assert.Equal(t, scoring.Inconclusive, r.Score.Verdict)
	assert.Equal(t, stats.Open, r.Fields[0].Standing.Decision, "it did not hold in every trial")
	m.AllowInconclusive = 1
	r = run(t, m, sequential(2))
	assert.Equal(t, scoring.Pass, r.Score.Verdict)
	assert.Equal(t, "no critical invariant broke; 1 of 1 decided field held", r.Score.Why)
	assert.Equal(t, 100.0, r.Score.Value)
	judgedAgain(t, r)
}

// A cancelled run ends, at whatever trial, and its verdict is not Pass.
func TestSequentialCancelled(t *testing.T) {
	for _, workers := range []int{1, 8} {
		for _, shared := range []bool{false, true} {
			for _, after := range []int32{1, 3, 40} {
				ctx, cancel := context.WithCancel(t.Context())
				var n atomic.Int32
				m := someRates(t)
				agent := func(context.Context, string, chaos.ToolRegistry) (string, error) {
					if n.Add(1) == after {
						cancel()
					}
					return "noon", nil
				}
				m.NewWorld = fresh(t, agent)
				if shared {
					m.NewWorld, m.World, m.SkipStateProbe = nil, &contract.World{Agent: agent}, true
				}
				r, err := m.Run(ctx, sequential(workers))
				require.ErrorIs(t, err, context.Canceled)
				assert.True(t, r.Cancelled)
				assert.Equal(t, scoring.Inconclusive, r.Score.Verdict)
				cancel()
			}
		}
	}
}

// Cells of the shared world run one at a time, also beside others.
func TestSequentialInASharedWorld(t *testing.T) {
	var mu sync.Mutex
	m := someRates(t)
	m.NewWorld, m.World, m.SkipStateProbe = nil, &contract.World{Agent: func(ctx context.Context, p string, tools chaos.ToolRegistry) (string, error) {
		if !mu.TryLock() {
			return "", errors.New("two at once")
		}
		defer mu.Unlock()
		return answersNoon(ctx, p, tools)
	}}, true
	m.Scenarios[1].NewWorld = fresh(t, answersNoon)
	want := run(t, someRates(t), sequential(1))
	got := run(t, m, sequential(8))
	assert.Equal(t, want.Fields, got.Fields)
}

// Whatever the matrix, a sequential run decides as one of all trials does, and says what follows
// from its cells.
func TestSequentialDecidesAsAll(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := matrix(t, answersNoon)
		m.Trials = rapid.IntRange(1, 40).Draw(rt, "trials")
		m.Seed = rapid.Uint64().Draw(rt, "seed")
		m.ShareObservations = rapid.Bool().Draw(rt, "share")
		m.Scenarios = calmly([]string{"a", "b", "c"}[:rapid.IntRange(1, 3).Draw(rt, "scenarios")]...)
		m.Invariants = nil
		for i := range rapid.IntRange(1, 3).Draw(rt, "invariants") {
			rate := rapid.SampledFrom([]float64{1, .97, .9, .6}).Draw(rt, "rate")
			m.Invariants = append(m.Invariants, drawn(strings.Repeat("i", i+1), contract.Critical,
				rapid.SampledFrom([]float64{0, .8, .95}).Draw(rt, "atLeast"), map[string]float64{"a": rate, "b": rate, "c": 1}))
		}
		whole, err := m.Run(t.Context(), nil)
		require.NoError(rt, err)
		r, err := m.Run(t.Context(), sequential(rapid.IntRange(1, 9).Draw(rt, "workers")))
		require.NoError(rt, err)
		assert.Equal(rt, whole.Score.Verdict, r.Score.Verdict)
		for i, f := range r.Fields {
			assert.Equal(rt, whole.Fields[i].Standing, f.Standing)
		}
		own := *r
		require.NoError(rt, own.Judge())
		assert.Equal(rt, r, &own)
		assert.True(rt, slices.IsSortedFunc(r.Cells, func(a, b contract.CellReport) int {
			if a.Cell.Scenario != b.Cell.Scenario {
				return strings.Compare(a.Cell.Scenario, b.Cell.Scenario)
			}
			return a.Cell.Trial - b.Cell.Trial
		}))
	})
}
