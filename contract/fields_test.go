package contract_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/scoring"
	"github.com/shakedown-go/shakedown/scoring/stats"
)

// breaksIn is an invariant that breaks in the trials that are listed, by scenario.
func breaksIn(id string, severity contract.Severity, broken map[string][]int) contract.Invariant {
	return brokenIf(id, severity, errors.New("it breaks in this trial"),
		func(o *contract.Observation) bool { return slices.Contains(broken[o.Cell.Scenario], o.Cell.Trial) })
}

// asRate makes an invariant a rate.
func asRate(inv contract.Invariant, atLeast float64) contract.Invariant {
	inv.AtLeast = atLeast
	return inv
}

// answersNoon answers without any call, in other words in each trial: its trials are no copies.
func answersNoon(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
	c, _ := contract.CellOf(ctx)
	return fmt.Sprintf("noon, %d", c.Trial), nil
}

// calmly are scenarios without faults.
func calmly(names ...string) (all []contract.Scenario) {
	for _, name := range names {
		all = append(all, contract.Scenario{Name: name})
	}
	return all
}

func upTo(n int) (all []int) {
	for i := range n {
		all = append(all, i+1)
	}
	return all
}

// TestVerdictsOfRates are verdicts of the matrix of an invariant with 40 trials. The test of 95 %
// against 80 % accepts 18 passes in a row and rejects 3 failures in a row.
func TestVerdictsOfRates(t *testing.T) {
	for _, row := range []struct {
		reason   string
		severity contract.Severity
		trials   int
		broken   []int
		verdict  scoring.Verdict
		why      string
	}{
		{"one broken trial of many fails nothing", contract.Critical, 60, []int{7}, scoring.Pass,
			"no critical invariant failed; 59 of 60 decided cells held, 1 of 1 promised rate accepted"},
		{"a critical one that was rejected fails", contract.Critical, 40, []int{1, 2, 3}, scoring.Fail,
			"critical s / p: rejected: 0 of the first 3 held: 80 % and not 95 %; 37 of 40 held in all"},
		{"the first decision stands, whatever comes after", contract.Critical, 40, []int{20, 21, 22, 23, 24, 25}, scoring.Pass,
			"no critical invariant failed; 34 of 40 decided cells held, 1 of 1 promised rate accepted"},
		{"one that is less severe costs score alone", contract.High, 40, upTo(40), scoring.Pass,
			"no critical invariant failed; 0 of 40 decided cells held, 0 of 1 promised rate accepted"},
		{"too few trials decide nothing", contract.Critical, 18, []int{1}, scoring.Inconclusive,
			"s / p: open: 17 of 18 held; 9 more passes in a row would accept, about 17 trials at this rate"},
		{"an open one is inconclusive also if it is not critical", contract.Low, 1, nil, scoring.Inconclusive,
			"s / p: open: 1 of 1 held; 17 more passes in a row would accept, about 17 trials at this rate"},
	} {
		m := matrix(t, answersNoon, func(m *contract.Matrix) {
			m.Trials, m.Scenarios = row.trials, calmly("s")
			m.Invariants = []contract.Invariant{asRate(breaksIn("p", row.severity, map[string][]int{"s": row.broken}), .95)}
		})
		m.AllowInconclusive = 3
		r := run(t, m, nil)
		assert.Equal(t, row.verdict, r.Score.Verdict, row.reason)
		assert.Equal(t, row.why, r.Score.Why, row.reason)
		assert.Len(t, r.Cells, row.trials, row.reason)
		judgedAgain(t, r)
	}
}

// judgedAgain checks that a report says what follows from its cells, and from its counts.
func judgedAgain(t *testing.T, r *contract.Report) {
	t.Helper()
	own := *r
	require.NoError(t, own.Judge())
	assert.Equal(t, r, &own)
	own.Cells = nil
	require.NoError(t, own.Judge())
	own.Cells = r.Cells
	assert.Equal(t, r, &own, "from the counts")
}

// TestJudgeFollowsTheTrials: the cells of a report that was joined from parts may have any order,
// and each trial is there once.
func TestJudgeFollowsTheTrials(t *testing.T) {
	m := matrix(t, answersNoon, func(m *contract.Matrix) {
		m.Trials, m.Scenarios = 40, calmly("s", "t")
		m.Invariants = []contract.Invariant{
			asRate(breaksIn("p", contract.Critical, map[string][]int{"s": {21, 22, 23}, "t": {40}}), .95),
			breaksIn("q", contract.Low, map[string][]int{"t": {7}})}
	})
	r := run(t, m, nil)
	require.Equal(t, scoring.Pass, r.Score.Verdict, "20 held before three broke")
	parts := *r
	parts.Cells = slices.Concat(r.Cells[40:], r.Cells[:40])
	require.NoError(t, parts.Judge())
	assert.Equal(t, r.Fields, parts.Fields, "and not rejected by the three that come first here")
	assert.Equal(t, r.Score, parts.Score)
	rng := rand.New(rand.NewPCG(1, 1))
	rng.Shuffle(len(parts.Cells), func(i, j int) { parts.Cells[i], parts.Cells[j] = parts.Cells[j], parts.Cells[i] })
	require.NoError(t, parts.Judge())
	assert.Equal(t, r.Fields, parts.Fields)
	for _, row := range []struct {
		to   contract.Cell
		says string
	}{
		{contract.Cell{Scenario: "s", Invariant: "p", Trial: 41}, `contract: report.cells[3].cell is "s/p/41"; allowed: a cell of the matrix`},
		{contract.Cell{Scenario: "s", Invariant: "p"}, `contract: report.cells[3].cell is "s/p/0"; allowed: a cell of the matrix`},
		{r.Cells[70].Cell, `contract: report.cells[70].cell is "` + r.Cells[70].Cell.String() + `"; allowed: each cell once`},
	} {
		own := *r
		own.Cells = slices.Clone(r.Cells)
		own.Cells[3].Cell = row.to
		assert.EqualError(t, own.Judge(), row.says)
	}
}

func TestEveryTrialIsTheDefault(t *testing.T) {
	for _, atLeast := range []float64{0, 1} {
		m := matrix(t, answersNoon, func(m *contract.Matrix) {
			m.Trials, m.Scenarios = 60, calmly("s")
			m.Invariants = []contract.Invariant{asRate(breaksIn("p", contract.Critical, map[string][]int{"s": {7}}), atLeast)}
		})
		assert.False(t, m.Invariants[0].IsRate())
		r := run(t, m, nil)
		assert.Equal(t, scoring.Fail, r.Score.Verdict)
		assert.Equal(t, `critical invariant "p" broke in scenario "s"`, r.Score.Why)
		assert.Equal(t, stats.Rejected, r.Fields[0].Standing.Decision)
		assert.Zero(t, r.Fields[0].AtLeast)
		judgedAgain(t, r)
	}
}

// Trials without a delivered fault do not help to accept a rate, and may reject it.
func TestRatesAndUndeliveredTrials(t *testing.T) {
	for _, row := range []struct {
		reason  string
		broken  []int
		verdict scoring.Verdict
		field   contract.Field
	}{
		{"none broke: nothing is known of the rate, and the scenario allows that", nil, scoring.Pass, contract.Field{Undelivered: 40}},
		{"one broke: 39 of 40 would be accepted", []int{2}, scoring.Pass, contract.Field{Undelivered: 40, Unprovoked: 1}},
		{"three of them broke, here and there: that is open", []int{2, 20, 39}, scoring.Inconclusive, contract.Field{Undelivered: 40, Unprovoked: 3}},
		{"all broke without any fault", upTo(40), scoring.Fail,
			contract.Field{Undelivered: 40, Unprovoked: 40, Standing: stats.Standing{Decision: stats.Rejected}}},
	} {
		m := matrix(t, answersNoon, func(m *contract.Matrix) {
			s := stormy()
			s.AllowUndelivered = true
			m.Trials, m.Scenarios = 40, append(calmly("s"), s)
			m.Invariants = []contract.Invariant{asRate(breaksIn("p", contract.Critical, map[string][]int{"stormy": row.broken}), .95)}
		})
		r := run(t, m, nil)
		assert.Equal(t, row.verdict, r.Score.Verdict, "%s: %s", row.reason, r.Score.Why)
		got := r.Fields[1]
		row.field.Scenario, row.field.Invariant, row.field.Severity = "stormy", "p", contract.Critical
		row.field.AtLeast, row.field.Poor = .95, got.Poor
		if row.field.Standing.Decision == stats.Open {
			row.field.Standing = got.Standing
			assert.Equal(t, stats.Open, got.Standing.Decision, row.reason)
		}
		assert.Equal(t, row.field, got, row.reason)
		judgedAgain(t, r)
	}
}

// The default of Poor, and every problem of a rate.
func TestRatesAreChecked(t *testing.T) {
	for _, row := range []struct{ atLeast, poor, want float64 }{
		{.95, 0, .8}, {.99, 0, .96}, {.5, 0, .25}, {.8, 0, .4}, {.95, .9, .9},
	} {
		inv := asRate(holds("p", contract.Low), row.atLeast)
		inv.Poor = row.poor
		assert.True(t, inv.IsRate())
		r := run(t, matrix(t, answersNoon, func(m *contract.Matrix) { m.Invariants = []contract.Invariant{inv} }), nil)
		assert.InDelta(t, row.want, r.Fields[0].Poor, 1e-12)
	}
	nan := float64(0)
	nan /= nan
	for _, row := range []struct {
		atLeast, poor float64
		field         string
	}{
		{-.1, 0, "AtLeast"}, {1.1, 0, "AtLeast"}, {nan, 0, "AtLeast"}, {1e-6, 0, "AtLeast"}, {1 - 1e-6, 0, "AtLeast"},
		{0, .5, "Poor"}, {1, .5, "Poor"}, {.9, .9, "Poor"}, {.9, .95, "Poor"}, {.9, -1, "Poor"}, {.9, nan, "Poor"}, {.9, .899999, "Poor"},
	} {
		inv := asRate(holds("p", contract.Low), row.atLeast)
		inv.Poor = row.poor
		err := matrix(t, answersNoon, func(m *contract.Matrix) { m.Invariants = []contract.Invariant{inv} }).Validate()
		var field *contract.FieldError
		require.ErrorAs(t, err, &field, "%v %v", row.atLeast, row.poor)
		assert.Equal(t, "Invariants[0]."+row.field, field.Field)
	}
	for _, row := range []struct {
		o     contract.RunOptions
		field string
	}{
		{contract.RunOptions{Budget: contract.Budget{Trials: 1}}, "RunOptions.Budget"},
		{contract.RunOptions{Sequential: true, Budget: contract.Budget{Trials: -1}}, "RunOptions.Budget.Trials"},
		{contract.RunOptions{Sequential: true, Budget: contract.Budget{Time: -1}}, "RunOptions.Budget.Time"},
		{contract.RunOptions{Sequential: true, Budget: contract.Budget{Cost: -1, CostOf: free}}, "RunOptions.Budget.Cost"},
		{contract.RunOptions{Sequential: true, Budget: contract.Budget{Cost: nan, CostOf: free}}, "RunOptions.Budget.Cost"},
		{contract.RunOptions{Sequential: true, Budget: contract.Budget{Cost: 1}}, "RunOptions.Budget.CostOf"},
		{contract.RunOptions{Sequential: true, Budget: contract.Budget{CostOf: free}}, "RunOptions.Budget.CostOf"},
	} {
		_, err := matrix(t, answersNoon).Run(t.Context(), &row.o)
		var field *contract.FieldError
		require.ErrorAs(t, err, &field, row.field)
		assert.Equal(t, row.field, field.Field)
	}
}

func free(*contract.CellReport) float64 { return 0 }

// With ShareObservations, ten answers that eight invariants judge are ten observations: the
// interval is never narrower than that of ten trials.
func TestSharedObservationsAreOne(t *testing.T) {
	m := matrix(t, answersNoon, func(m *contract.Matrix) {
		m.Trials, m.Scenarios, m.Invariants = 5, calmly("a", "b", "c", "d", "e", "f", "g", "h", "i", "j"), nil
		for i := range 8 {
			broken := map[string][]int{} // one trial in five, of every invariant in every scenario
			for k, s := range m.Scenarios {
				broken[s.Name] = []int{1 + k%5}
			}
			m.Invariants = append(m.Invariants, breaksIn(fmt.Sprint("i", i), contract.Low, broken))
		}
	})
	apart := run(t, m, nil).ByScenario
	assert.InDelta(t, 400*101/140.0, apart.Effective, 1e-9, "no scenario differs from another")
	m.ShareObservations = true
	r := run(t, m, nil)
	assert.Equal(t, 50.0, r.ByScenario.Effective)
	assert.Equal(t, 8.0, r.ByScenario.DesignEffect)
	assert.Less(t, r.ByScenario.Interval.Low, apart.Interval.Low)
	assert.Equal(t, 400, r.Score.Decided)
	want, err := stats.ClopperPearson(40, 50, .95)
	require.NoError(t, err)
	in := r.Score.Interval
	assert.InDeltaSlice(t, []float64{want.Low, want.High}, []float64{in.Low, in.High}, 1e-12)
	assert.Equal(t, in, r.ByScenario.Interval, "one interval for the same cells")
	assert.Equal(t, in, r.Score.Severities[0].Interval)
	judgedAgain(t, r)
}

// draws answers wrongly with a chance, by seed and trial, and in other words in each trial.
func draws(rate float64) contract.Agent {
	return func(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
		c, _ := contract.CellOf(ctx)
		if rand.New(rand.NewPCG(c.Seed, uint64(c.Trial))).Float64() < rate {
			return fmt.Sprintf("noon, %d", c.Trial), nil
		}
		return "midnight", nil
	}
}

// TestPlantedRates tries agents of known rates over many seeds. The bounds are those of the exact
// law of the test, cut at 200 trials.
func TestPlantedRates(t *testing.T) {
	test := stats.SPRT{P0: .8, P1: .95, Alpha: .05, Beta: .05, Max: 200}
	const seeds = 1000
	for _, rate := range []float64{.99, .95, .80} {
		law, err := test.Law(rate)
		require.NoError(t, err)
		var got [3]int
		trials := 0
		m := matrix(t, draws(rate), func(m *contract.Matrix) {
			m.Trials = 200
			m.Invariants = []contract.Invariant{asRate(contains("p", contract.Critical, "noon"), .95)}
		})
		for seed := range uint64(seeds) {
			m.Seed = seed
			r := run(t, m, &contract.RunOptions{Sequential: true, Keep: contract.KeepCounts, Workers: 1})
			got[r.Fields[0].Standing.Decision]++
			trials += r.Fields[0].Decided
			assert.Equal(t, 200, r.Fields[0].Decided+r.Saved)
		}
		// Four standard deviations of a share of a thousand are at most 6.4 points.
		assert.InDelta(t, law.Accept, float64(got[stats.Accepted])/seeds, .064, "rate %v", rate)
		assert.InDelta(t, law.Reject, float64(got[stats.Rejected])/seeds, .064, "rate %v", rate)
		assert.InEpsilon(t, law.Trials, float64(trials)/seeds, .15, "rate %v", rate)
		t.Logf("rate %v: accepted %d, rejected %d, open %d of %d; %.1f trials on average, %.1f by the law", rate,
			got[stats.Accepted], got[stats.Rejected], got[stats.Open], seeds, float64(trials)/seeds, law.Trials)
	}
}

// jsonOf is a report as bytes.
func jsonOf(t *testing.T, r *contract.Report) string {
	t.Helper()
	raw, err := json.Marshal(r)
	require.NoError(t, err)
	return strings.ReplaceAll(string(raw), "},{", "},\n{")
}

// A field of which cells were left out was not tried in every trial, so it is not accepted.
func TestFieldsOfAFilteredRun(t *testing.T) {
	m := matrix(t, answersNoon, func(m *contract.Matrix) { m.Trials, m.Scenarios = 3, calmly("s") })
	for _, sequential := range []bool{false, true} {
		r := run(t, m, &contract.RunOptions{Sequential: sequential, Harness: contract.Harness{
			Around: func(c contract.Cell, run func(contract.Bubble) *contract.CellReport) {
				if c.Trial == 2 {
					run(nil)
				}
			},
		}})
		assert.Equal(t, stats.Open, r.Fields[0].Standing.Decision)
		assert.Equal(t, 2, r.Fields[0].NotRun)
		assert.True(t, r.Partial(), r.Score.Why)
		judgedAgain(t, r)
	}
}
