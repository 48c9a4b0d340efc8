package compare_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/compare"
	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/scoring"
)

// claimed is a matrix of two scenarios and two invariants. The check decides, so a program that lies is
// the same matrix with another check.
func claimed(trials int, check func(contract.Cell) error) *contract.Matrix {
	m := &contract.Matrix{
		NewWorld: func(context.Context) (*contract.World, error) {
			return &contract.World{Agent: func(context.Context, string, chaos.ToolRegistry) (string, error) { return "done", nil }}, nil
		},
		Prompts: []string{"go"}, Scenarios: []contract.Scenario{contract.Calm(), {Name: "quiet"}}, Trials: trials,
	}
	for _, name := range []string{"first", "second"} {
		m.Invariants = append(m.Invariants, contract.Invariant{Name: name, Severity: contract.High,
			Check: func(_ context.Context, o *contract.Observation) error {
				c := o.Cell
				c.Invariant = name
				return check(c)
			}})
	}
	return m
}

// broken is the truth of most tests: a third of the trials break, in the first invariant alone.
func broken(c contract.Cell) error {
	if c.Invariant == "first" && c.Trial%3 == 0 {
		return fmt.Errorf("trial %d breaks, on port %d", c.Trial, rand.IntN(60_000))
	}
	return nil
}

// run runs a matrix, with a file that was written and read again.
func run(t testing.TB, m *contract.Matrix, repeatable string) *contract.Report {
	t.Helper()
	r, err := m.Run(t.Context(), nil)
	require.NoError(t, err)
	r.Repeatable = repeatable
	var file strings.Builder
	require.NoError(t, report.Write(&file, r, nil))
	read, err := report.Read(strings.NewReader(file.String()), nil)
	require.NoError(t, err)
	return read
}

func verified(t testing.TB, m *contract.Matrix, file *contract.Report, units int, seed uint64) *compare.Verification {
	t.Helper()
	again, err := m.RunAgain(t.Context(), file, units, seed, nil)
	require.NoError(t, err)
	v, err := compare.Verify(file, again)
	require.NoError(t, err)
	return v
}

// missed is the chance that none of k forged units is among n that are drawn of all.
func missed(all, k, n int) float64 {
	chance := 1.0
	for i := range n {
		chance *= float64(all-k-i) / float64(all-i)
	}
	return max(0, chance)
}

func TestForgedUnitsAreFoundAsOftenAsTheyAreDrawn(t *testing.T) {
	const trials, all, seeds = 30, 60, 100
	truth := claimed(trials, broken)
	for _, tc := range []struct{ forged, units int }{{3, 20}, {6, 10}, {20, 2}, {1, 40}} {
		forged := map[[2]any]bool{}
		for i := range tc.forged { // units that break hold in the forged file
			forged[[2]any{[]string{"calm", "quiet"}[i%2], 3 * (1 + i/2)}] = true
		}
		file := run(t, claimed(trials, func(c contract.Cell) error {
			if forged[[2]any{c.Scenario, c.Trial}] {
				return nil
			}
			return broken(c)
		}), "yes")
		caught := 0
		for seed := range uint64(seeds) {
			v := verified(t, truth, file, tc.units, seed)
			assert.True(t, v.Repeatable)
			assert.Equal(t, all, v.Units)
			assert.Equal(t, tc.units, v.Compared)
			assert.Equal(t, 2*tc.units, v.Cells)
			if v.Verdict == scoring.Fail {
				caught++
				assert.NotEmpty(t, v.Differ)
			} else {
				assert.Equal(t, scoring.Pass, v.Verdict, "%v", v)
				assert.Empty(t, v.Differ)
			}
			assert.InDelta(t, 1-math.Pow(0.05, 1/float64(tc.units)), v.Caught, 1e-9)
		}
		expected := 1 - missed(all, tc.forged, tc.units)
		deviation := math.Sqrt(expected * (1 - expected) / seeds)
		assert.InDelta(t, expected, float64(caught)/seeds, 4*deviation, "%+v", tc)
		assert.GreaterOrEqual(t, expected, 1-math.Pow(1-float64(tc.forged)/all, float64(tc.units)),
			"drawing without putting back finds no fewer than the formula says")
		whole := verified(t, truth, file, all, 1)
		assert.Len(t, whole.Differ, tc.forged, "all units were run")
		assert.Zero(t, whole.Caught)
		assert.Equal(t, all, verified(t, truth, file, 10*all, 2).Drawn, "fewer units than asked for: all are run")
	}
}

func TestHonestReportsOfARepeatableAgentAreTrue(t *testing.T) {
	m := claimed(6, broken)
	file := run(t, m, "yes")
	for seed := range uint64(1000) {
		v := verified(t, m, file, 4, seed)
		require.Equal(t, scoring.Pass, v.Verdict, "%v", v)
	}
}

// rolled is a file and what ran again, of units whose truth is a chance.
func rolled(draw *rand.Rand, fields, trials, units int, claims, chance func(field, trial int) float64) (file, again *contract.Report) {
	file, again = &contract.Report{Trials: trials}, &contract.Report{Trials: trials}
	asked := map[int]bool{}
	for _, trial := range draw.Perm(trials)[:units] {
		asked[trial] = true
	}
	for trial := range trials {
		for field := range fields {
			cell := contract.Cell{Scenario: "calm", Invariant: fmt.Sprint("i", field), Trial: trial + 1}
			roll := func(p float64) contract.CellReport {
				if draw.Float64() < p {
					return contract.CellReport{Cell: cell, State: contract.Broken, Violated: true, Why: "it broke"}
				}
				return contract.CellReport{Cell: cell, State: contract.Held}
			}
			file.Cells = append(file.Cells, roll(claims(field, trial)))
			now := contract.CellReport{Cell: cell}
			if asked[trial] {
				now = roll(chance(field, trial))
			}
			again.Cells = append(again.Cells, now)
		}
	}
	return file, again
}

func TestNoRandomAgentOfAThousandIsAccused(t *testing.T) {
	for name, tc := range map[string]struct {
		fields, trials, units int
		chance                func(field, trial int) float64
	}{
		"one rate":                  {1, 100, 40, func(int, int) float64 { return 0.3 }},
		"rare":                      {4, 80, 30, func(int, int) float64 { return 0.02 }},
		"each field has its own":    {8, 30, 10, func(field, _ int) float64 { return float64(field) / 8 }},
		"each trial has its own":    {3, 50, 20, func(_, trial int) float64 { return float64(trial) / 50 }},
		"some always break":         {2, 50, 25, func(_, trial int) float64 { return float64(trial % 2) }},
		"all units run again":       {2, 60, 60, func(int, int) float64 { return 0.5 }},
		"units fewer than anything": {2, 30, 1, func(int, int) float64 { return 0.5 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			draw, accused := rand.New(rand.NewPCG(5, 6)), 0
			for range 1000 {
				v, err := compare.Verify(rolled(draw, tc.fields, tc.trials, tc.units, tc.chance, tc.chance))
				require.NoError(t, err)
				require.False(t, v.Repeatable)
				if v.Verdict == scoring.Fail {
					accused++
				}
			}
			assert.Zero(t, accused)
		})
	}
}

func TestRatesThatAreNotPossible(t *testing.T) {
	never, often := func(int, int) float64 { return 0 }, func(int, int) float64 { return 0.1 }
	draw := rand.New(rand.NewPCG(3, 4))
	found, caught := 0, 0.0
	for range 50 {
		v, err := compare.Verify(rolled(draw, 2, 400, 60, never, often))
		require.NoError(t, err)
		if v.Verdict == scoring.Fail {
			found++
		}
		caught = v.Caught
	}
	assert.Greater(t, found, 47, "of a claim that nothing breaks, where each fifth unit does")
	// What is said to be found with 95 % is found with 95 %.
	exactly := func(int, int) float64 { return 1 - math.Sqrt(1-caught) } // two cells a unit
	found = 0
	for range 500 {
		v, err := compare.Verify(rolled(draw, 2, 400, 60, never, exactly))
		require.NoError(t, err)
		assert.InDelta(t, caught, v.Caught, 1e-9)
		if v.Verdict == scoring.Fail {
			found++
		}
	}
	assert.GreaterOrEqual(t, found, 460)
	assert.Less(t, caught, 0.2)
}

func TestVerifications(t *testing.T) {
	cell := func(trial int, state contract.CellState, why string) contract.CellReport {
		return contract.CellReport{Cell: contract.Cell{Scenario: "calm", Invariant: "i", Trial: trial}, State: state,
			Violated: state == contract.Broken, Why: why}
	}
	undecided := cell(1, contract.Inconclusive, "the judge could not tell")
	undecided.Undecided = true
	unprovoked := cell(1, contract.Undelivered, "no fault")
	unprovoked.Violated = true
	absent := cell(1, contract.NotRun, "it does not apply")
	absent.DoesNotApply = true
	const pass, fail, open = scoring.Pass, scoring.Fail, scoring.Inconclusive
	for name, tc := range map[string]struct {
		file, again contract.CellReport
		want        scoring.Verdict
		says        string
	}{
		"equal":                                {cell(1, contract.Held, ""), cell(1, contract.Held, ""), pass, "1 cell of them compared: 0 not as in the file"},
		"another state":                        {cell(1, contract.Held, ""), cell(1, contract.Broken, "paid twice"), fail, `held in the file, broken ("paid twice") now`},
		"another reason":                       {cell(1, contract.Broken, "not paid"), cell(1, contract.Broken, "paid twice"), fail, `broken ("not paid") in the file`},
		"another port":                         {cell(1, contract.Broken, "no answer from :4711"), cell(1, contract.Broken, "no answer from :80"), pass, "Every unit"},
		"no reason in a file without evidence": {cell(1, contract.Broken, ""), cell(1, contract.Broken, "paid twice"), pass, "Every unit"},
		"broke all the same":                   {cell(1, contract.Undelivered, "no fault"), unprovoked, fail, "undelivered"},
		"an undecided check":                   {cell(1, contract.Held, ""), undecided, fail, "the judge could not tell"},
		"the clock here":                       {cell(1, contract.Held, ""), cell(1, contract.Inconclusive, "the watchdog gave up"), open, "1 cell undecided"},
		"the clock there":                      {cell(1, contract.Inconclusive, "the watchdog gave up"), cell(1, contract.Broken, "paid twice"), open, "1 cell undecided"},
		"the clock both times":                 {cell(1, contract.Inconclusive, "after 5 s"), cell(1, contract.Inconclusive, "after 6 s"), pass, "Every unit"},
		"not applied":                          {absent, absent, pass, "Every unit"},
		"applied after all":                    {absent, cell(1, contract.Broken, "paid twice"), fail, "not run"},
		"not drawn":                            {cell(1, contract.Held, ""), cell(1, contract.NotRun, ""), open, "So few runs"},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := compare.Verify(&contract.Report{Trials: 1, Repeatable: "yes", Cells: []contract.CellReport{tc.file}},
				&contract.Report{Trials: 1, Cells: []contract.CellReport{tc.again}})
			require.NoError(t, err)
			assert.Equal(t, tc.want, v.Verdict, "%v", v)
			assert.Contains(t, v.String(), tc.says)
			assert.Contains(t, v.String(), tc.want.String())
		})
	}
}

func TestCellsThatAReportLacks(t *testing.T) {
	m := claimed(10, broken)
	for name, change := range map[string]func(*contract.Report){
		"a killed run":     func(r *contract.Report) { r.Cancelled = true },
		"a filter":         func(r *contract.Report) { r.Filtered = true },
		"a sequential run": func(r *contract.Report) { r.Sequential = true },
		"silence":          func(*contract.Report) {},
	} {
		file := run(t, m, "yes")
		file.Cells = file.Cells[:len(file.Cells)-3]
		change(file)
		v := verified(t, m, file, 60, 1)
		assert.Equal(t, 3, v.Lacks, name)
		want := scoring.Pass
		if name == "silence" {
			want = scoring.Fail
		}
		assert.Equal(t, want, v.Verdict, "%s: %v", name, v)
		assert.Contains(t, v.String(), "lacks 3 cells")
	}
}

// A report that says repeatable of an agent that is not is no proof against who wrote it, if the
// runs here show it too.
func TestTwoRunsOfATrialThatDiffer(t *testing.T) {
	n := 0
	m := claimed(5, broken)
	m.NewWorld = func(context.Context) (*contract.World, error) {
		return &contract.World{Agent: func(context.Context, string, chaos.ToolRegistry) (string, error) {
			n++
			return fmt.Sprint("answer ", n), nil
		}}, nil
	}
	again, err := m.RunAgain(t.Context(), run(t, claimed(5, broken), "yes"), 5, 1, &contract.RunOptions{Workers: 1})
	require.NoError(t, err)
	file := run(t, claimed(5, func(contract.Cell) error { return errors.New("never") }), "yes")
	v, err := compare.Verify(file, again)
	require.NoError(t, err)
	assert.False(t, v.Repeatable)
	assert.NotEmpty(t, v.Differ)
	assert.NotEqual(t, scoring.Fail, v.Verdict)
	assert.Contains(t, v.String(), "proves nothing")
}

func TestVerifyRefuses(t *testing.T) {
	r := &contract.Report{Trials: 1, Cells: []contract.CellReport{{Cell: contract.Cell{Scenario: "s", Invariant: "i", Trial: 1}}}}
	for _, tc := range []struct{ file, again *contract.Report }{{nil, r}, {r, nil}, {r, &contract.Report{Counts: []scoring.Cell{{}}}}} {
		_, err := compare.Verify(tc.file, tc.again)
		var field *compare.FieldError
		assert.ErrorAs(t, err, &field)
	}
	v, err := compare.Verify(&contract.Report{}, &contract.Report{})
	require.NoError(t, err)
	assert.Equal(t, scoring.Inconclusive, v.Verdict)
}
