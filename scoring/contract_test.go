package scoring

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/internal/dist"
)

// calm returns a cell of a scenario without rules, faulty one of a scenario with rules.
func calm(sev Severity, state CellState) Cell {
	return Cell{Scenario: "calm", Invariant: "inv", Severity: sev, State: state}
}

func faulty(sev Severity, state CellState, delivered int) Cell {
	return Cell{Scenario: "faulty", Invariant: "inv", Severity: sev, State: state, Delivered: delivered, HasRules: true}
}

func repeat(n int, c Cell) []Cell { return slices.Repeat([]Cell{c}, n) }

func TestContractValue(t *testing.T) {
	for _, tc := range []struct {
		reason string
		cells  []Cell
		want   float64
	}{
		{"everything held", repeat(3, calm(High, CellHeld)), 100},
		{"everything broke", repeat(3, calm(High, CellBroken)), 0},
		{"critical weighs 3, low 1", []Cell{calm(Critical, CellHeld), calm(Low, CellBroken)}, 75},
		{"high weighs 2, medium 1", []Cell{calm(High, CellHeld), calm(Medium, CellBroken)}, 66.67},
		{"low weighs as much as medium", []Cell{calm(Low, CellHeld), calm(Medium, CellBroken)}, 50},
		{"a critical failure does not change the number", []Cell{calm(Critical, CellBroken), calm(Critical, CellHeld)}, 50},
		{"inconclusive and not run cells are in neither count",
			[]Cell{calm(Low, CellHeld), calm(Critical, CellInconclusive), calm(Critical, CellNotRun)}, 100},
		{"undelivered cells are in neither count, broken or not", []Cell{
			calm(Low, CellHeld), faulty(Critical, CellUndelivered, 0),
			{Scenario: "faulty", Invariant: "inv", Severity: Low, State: CellUndelivered, Violated: true, HasRules: true},
		}, 100},
		{"1/800 is exactly 0.125 %: half to even is down",
			append(repeat(799, calm(Low, CellBroken)), calm(Low, CellHeld)), 0.12},
		{"3/800 is exactly 0.375 %: half to even is up",
			append(repeat(797, calm(Low, CellBroken)), repeat(3, calm(Low, CellHeld))...), 0.38},
		{"107/4000 is 2.675 %, in binary a shade less: down",
			append(repeat(3893, calm(Low, CellBroken)), repeat(107, calm(Low, CellHeld))...), 2.67},
	} {
		score, err := Contract(tc.cells, nil)
		require.NoError(t, err, tc.reason)
		assert.Equal(t, tc.want, score.Value, tc.reason)
	}
}

func TestContractVerdict(t *testing.T) {
	undeliveredBroken := faulty(Critical, CellUndelivered, 0)
	undeliveredBroken.Violated = true
	allowed := faulty(High, CellUndelivered, 0)
	allowed.AllowUndelivered = true
	allowedUndecided := faulty(High, CellInconclusive, 0)
	allowedUndecided.AllowUndelivered = true
	for _, tc := range []struct {
		reason  string
		cells   []Cell
		options ContractOptions
		want    Verdict
		why     string
	}{
		{"all held", repeat(2, calm(Critical, CellHeld)), ContractOptions{}, Pass,
			`no critical invariant broke; 2 of 2 decided cells held`},
		{"a broken high does not fail", []Cell{calm(High, CellBroken), calm(Critical, CellHeld)}, ContractOptions{}, Pass,
			`no critical invariant broke; 1 of 2 decided cells held`},
		{"a broken critical fails", []Cell{calm(Critical, CellBroken)}, ContractOptions{}, Fail,
			`critical invariant "inv" broke in scenario "calm"`},
		{"the first by name is named, the others counted",
			[]Cell{faulty(Critical, CellBroken, 1), calm(Critical, CellBroken), faulty(Critical, CellBroken, 1)}, ContractOptions{}, Fail,
			`critical invariant "inv" broke in scenario "calm", and 2 more critical cells`},
		{"an undelivered critical that broke fails", []Cell{calm(Low, CellHeld), undeliveredBroken}, ContractOptions{}, Fail,
			`critical invariant "inv" broke in scenario "faulty"`},
		{"fail goes over inconclusive", []Cell{calm(Critical, CellBroken), calm(Low, CellInconclusive)}, ContractOptions{}, Fail,
			`critical invariant "inv" broke in scenario "calm"`},
		{"one inconclusive, none allowed", []Cell{calm(Low, CellHeld), calm(Low, CellInconclusive)}, ContractOptions{}, Inconclusive,
			`1 cell inconclusive, allowed 0`},
		{"one inconclusive, one allowed", []Cell{calm(Low, CellHeld), calm(Low, CellInconclusive)}, ContractOptions{AllowInconclusive: 1}, Pass,
			`no critical invariant broke; 1 of 1 decided cell held`},
		{"no fault delivered in a scenario with rules", []Cell{calm(Low, CellHeld), faulty(Low, CellUndelivered, 0)}, ContractOptions{}, Inconclusive,
			`no fault was delivered in scenario "faulty"`},
		{"one delivery counts for its whole scenario", []Cell{faulty(Low, CellHeld, 1), faulty(Low, CellUndelivered, 0)}, ContractOptions{}, Pass,
			`no critical invariant broke; 1 of 1 decided cell held`},
		{"what is allowed does not stand for a whole scenario with rules",
			[]Cell{calm(Low, CellHeld), faulty(Low, CellInconclusive, 2)}, ContractOptions{AllowInconclusive: 1}, Inconclusive,
			`no cell was decided in scenario "faulty"`},
		{"nor where the other cells of it saw no fault",
			[]Cell{calm(Low, CellHeld), faulty(Low, CellInconclusive, 2), faulty(Low, CellUndelivered, 0)},
			ContractOptions{AllowInconclusive: 1}, Inconclusive, `no cell was decided in scenario "faulty"`},
		{"one decided cell stands for its scenario",
			[]Cell{faulty(Low, CellHeld, 1), faulty(Low, CellInconclusive, 2)}, ContractOptions{AllowInconclusive: 1}, Pass,
			`no critical invariant broke; 1 of 1 decided cell held`},
		{"a calm scenario has no rules to test",
			[]Cell{faulty(Low, CellHeld, 1), calm(Low, CellInconclusive)}, ContractOptions{AllowInconclusive: 1}, Pass,
			`no critical invariant broke; 1 of 1 decided cell held`},
		{"undelivered by leave beside an inconclusive cell",
			[]Cell{calm(Low, CellHeld), allowed, allowedUndecided}, ContractOptions{AllowInconclusive: 1}, Pass,
			`no critical invariant broke; 1 of 1 decided cell held`},
		{"leave to be undelivered is none to be undecided",
			[]Cell{calm(Low, CellHeld), allowedUndecided}, ContractOptions{AllowInconclusive: 1}, Inconclusive,
			`no cell was decided in scenario "faulty"`},
		{"undelivered by leave", []Cell{calm(Low, CellHeld), allowed}, ContractOptions{}, Pass,
			`no critical invariant broke; 1 of 1 decided cell held`},
		{"a scenario that was not run may break", []Cell{calm(Low, CellHeld), faulty(Critical, CellNotRun, 0)}, ContractOptions{}, Inconclusive,
			`nothing broke in 1 of 2 cells`},
		{"what broke is not hidden", []Cell{calm(Low, CellBroken), faulty(Critical, CellNotRun, 0)}, ContractOptions{}, Inconclusive,
			`no critical invariant broke in 1 of 2 cells`},
		{"a part of a large matrix says of what it is the verdict", []Cell{counted(calm(Low, CellHeld), 2500), counted(calm(High, CellNotRun), 17500)},
			ContractOptions{}, Inconclusive, `nothing broke in 2,500 of 20,000 cells`},
		{"all reasons are given", []Cell{faulty(Low, CellUndelivered, 0), calm(Low, CellInconclusive)}, ContractOptions{}, Inconclusive,
			`no cell was decided; no fault was delivered in scenario "faulty"; 1 cell inconclusive, allowed 0`},
	} {
		score, err := Contract(tc.cells, &tc.options)
		if score.Decided > 0 {
			require.NoError(t, err, tc.reason)
		}
		assert.Equal(t, tc.want, score.Verdict, tc.reason)
		assert.Equal(t, tc.why, score.Why, tc.reason)
	}
}

func TestContractLongListsOfScenariosAreCut(t *testing.T) {
	cells := []Cell{calm(Low, CellHeld)}
	for _, name := range []string{"e", "d", "c", "b", "a"} {
		c := faulty(Low, CellUndelivered, 0)
		c.Scenario = name
		cells = append(cells, c)
	}
	score, err := Contract(cells, nil)
	require.NoError(t, err)
	assert.Equal(t, `no fault was delivered in scenarios "a", "b", "c" and 2 more`, score.Why)
}

func TestContractCounts(t *testing.T) {
	score, err := Contract([]Cell{
		calm(Critical, CellHeld), calm(Critical, CellHeld), calm(Low, CellBroken), calm(Low, CellInconclusive),
		faulty(Medium, CellUndelivered, 0), faulty(Medium, CellNotRun, 0), faulty(Critical, CellHeld, 3),
	}, nil)
	require.NoError(t, err)
	// All of two scenarios held: two draws, so 0.025 is the square of the lower end. Of all, 2 of 3
	// and 1 of 1 held: no more unlike than chance, d = 1, and Σn/m = 2, f = 1, so 4 ÷ 1.5 cells.
	critical := Interval{Low: math.Sqrt(.025), High: 1, Level: Level95, Clusters: 2}
	low := Interval{High: .975, Level: Level95}
	all := Interval{Level: Level95, Clusters: 2}
	all.Low, all.High = dist.ClopperPearson(2, 2.0/3, Level95)
	near := func(in *Interval, want Interval) {
		assert.InDeltaSlice(t, []float64{want.Low, want.High}, []float64{in.Low, in.High}, 1e-12)
		*in = want
	}
	near(&score.Interval, all)
	near(&score.Severities[0].Interval, critical)
	near(&score.Severities[2].Interval, low)
	assert.Equal(t, ContractScore{
		Value: 90, Verdict: Inconclusive, Why: "no critical invariant broke in 6 of 7 cells; 1 cell inconclusive, allowed 0",
		Passed: 3, Decided: 4, Total: 7, Inconclusive: 1, Undelivered: 1, NotRun: 1,
		Interval: all,
		Severities: []SeverityScore{
			{Severity: Critical, Passed: 3, Decided: 3, Total: 3, Interval: critical},
			{Severity: Medium, Total: 2},
			{Severity: Low, Passed: 0, Decided: 1, Total: 2, Interval: low},
		},
	}, score)
}

func TestContractoutScore(t *testing.T) {
	broken := faulty(Critical, CellUndelivered, 0)
	broken.Violated = true
	for _, tc := range []struct {
		reason  string
		cells   []Cell
		err     error
		verdict Verdict
	}{
		{"no cells", nil, ErrNoCells, Inconclusive},
		{"none ran", repeat(2, calm(Low, CellNotRun)), ErrNoneRan, Inconclusive},
		{"none decided", repeat(2, calm(Low, CellInconclusive)), ErrNoDecidedCell, Inconclusive},
		{"none decided, but a critical invariant broke in an undelivered cell", []Cell{broken}, ErrNoDecidedCell, Fail},
	} {
		score, err := Contract(tc.cells, nil)
		assert.ErrorIs(t, err, tc.err, tc.reason)
		assert.Equal(t, tc.verdict, score.Verdict, tc.reason)
		assert.Equal(t, len(tc.cells), score.Total, tc.reason)
		assert.Zero(t, score.Interval, tc.reason)
		text, err := json.Marshal(score)
		require.NoError(t, err, tc.reason)
		assert.NotContains(t, string(text), `"value"`, tc.reason)
		assert.NotContains(t, string(text), `"interval"`, tc.reason)
	}
}

func TestContractRefusesContradictions(t *testing.T) {
	with := func(change func(*Cell)) Cell {
		c := calm(Low, CellHeld)
		change(&c)
		return c
	}
	for _, tc := range []struct {
		cell Cell
		want string
	}{
		{with(func(c *Cell) { c.Scenario = "" }), `cells[1].scenario is empty; allowed: a name`},
		{with(func(c *Cell) { c.Invariant = "" }), `cells[1].invariant is empty; allowed: a name`},
		{with(func(c *Cell) { c.Severity = 0 }), `cells[1].severity is Severity(0); allowed: low, medium, high, critical`},
		{with(func(c *Cell) { c.Severity = 9 }), `cells[1].severity is Severity(9); allowed: low, medium, high, critical`},
		{with(func(c *Cell) { c.State = 5 }), `cells[1].state is CellState(5); allowed: not run, held, broken, inconclusive, undelivered`},
		{with(func(c *Cell) { c.Violated = true }), `cells[1].broken is true with state held; allowed: true with state broken or undelivered`},
		{with(func(c *Cell) { c.Delivered = -1 }), `cells[1].delivered is -1; allowed: 0 or more`},
		{with(func(c *Cell) { c.Count = -1 }), `cells[1].count is -1; allowed: 1 to 1000000000, or 0 for 1`},
		{with(func(c *Cell) { c.Count = 1e9 + 1 }), `cells[1].count is 1000000001; allowed: 1 to 1000000000, or 0 for 1`},
		{faulty(Low, CellHeld, 0), `cells[1].state is held with rules and none delivered; allowed: undelivered, or delivered of 1 or more`},
		{faulty(Low, CellBroken, 0), `cells[1].state is broken with rules and none delivered; allowed: undelivered, or delivered of 1 or more`},
		{faulty(Low, CellUndelivered, 2), `cells[1].state is undelivered with 2 delivered; allowed: undelivered with delivered of 0`},
		{with(func(c *Cell) { c.State = CellUndelivered }), `cells[1].state is undelivered without rules; allowed: undelivered where the scenario has rules`},
		{with(func(c *Cell) { c.HasRules, c.Delivered = true, 1 }), `cells[1].hasRules is true; allowed: the same as in cells[0], which is of scenario "calm" too`},
		{with(func(c *Cell) { c.AllowUndelivered = true }), `cells[1].allowUndelivered is true; allowed: the same as in cells[0], which is of scenario "calm" too`},
	} {
		score, err := Contract([]Cell{calm(Low, CellHeld), tc.cell}, nil)
		assert.EqualError(t, err, "scoring: "+tc.want)
		var field *FieldError
		assert.ErrorAs(t, err, &field)
		assert.Zero(t, score)
	}
}

func TestContractJoinsAllProblems(t *testing.T) {
	_, err := Contract([]Cell{{}, calm(0, CellHeld)}, &ContractOptions{AllowInconclusive: -1})
	assert.EqualError(t, err, `scoring: allowInconclusive is -1; allowed: 0 or more
scoring: cells[0].scenario is empty; allowed: a name
scoring: cells[0].invariant is empty; allowed: a name
scoring: cells[0].severity is Severity(0); allowed: low, medium, high, critical
scoring: cells[1].severity is Severity(0); allowed: low, medium, high, critical`)
}

func TestContractScoreSurvivesJSON(t *testing.T) {
	for _, cells := range [][]Cell{
		{calm(Critical, CellBroken)}, // a measured 0 is written, not left out
		{calm(Critical, CellHeld), faulty(Low, CellBroken, 1)},
		{calm(Critical, CellInconclusive)},
	} {
		score, err := Contract(cells, nil)
		if !errors.Is(err, ErrNoDecidedCell) {
			require.NoError(t, err)
		}
		text, err := json.Marshal(score)
		require.NoError(t, err)
		assert.Equal(t, score.Decided > 0, json.Valid(text) && containsValue(t, text))
		var back ContractScore
		require.NoError(t, json.Unmarshal(text, &back))
		assert.Equal(t, score, back)
	}
}

func containsValue(t *testing.T, text []byte) bool {
	var members map[string]any
	require.NoError(t, json.Unmarshal(text, &members))
	_, ok := members["value"]
	return ok
}

// validCell draws a cell without contradictions. The properties of a scenario depend on
// its name, so that its cells agree.
func validCell() *rapid.Generator[Cell] {
	return rapid.Custom(func(t *rapid.T) Cell {
		c := Cell{
			Scenario:  rapid.SampledFrom([]string{"calm", "storm", "leave"}).Draw(t, "scenario"),
			Invariant: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "invariant"),
			Severity:  Severity(rapid.IntRange(int(Low), int(Critical)).Draw(t, "severity")),
			State:     rapid.SampledFrom([]CellState{CellNotRun, CellHeld, CellBroken, CellInconclusive}).Draw(t, "state"),
		}
		c.HasRules, c.AllowUndelivered = c.Scenario != "calm", c.Scenario == "leave"
		if c.HasRules {
			c.Delivered = rapid.IntRange(0, 3).Draw(t, "delivered")
		}
		if c.HasRules && c.Delivered == 0 && c.decided() {
			c.State, c.Violated = CellUndelivered, c.State == CellBroken
		}
		return c
	})
}

// merge gives equal cells as one.
func merge(cells []Cell) []Cell {
	counts := map[Cell]int{}
	for _, c := range cells {
		counts[c]++
	}
	var merged []Cell
	for c, n := range counts {
		if c.Count = n; n == 1 {
			c.Count = 0
		}
		merged = append(merged, c)
	}
	return merged
}

func TestContractLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cells := rapid.SliceOfN(validCell(), 1, 30).Draw(t, "cells")
		score, err := Contract(cells, nil)
		if !errors.Is(err, ErrNoneRan) && !errors.Is(err, ErrNoDecidedCell) {
			require.NoError(t, err)
		}
		assert.True(t, score.Value >= 0 && score.Value <= 100, "value in range")
		assert.Equal(t, len(cells), score.Decided+score.Inconclusive+score.Undelivered+score.NotRun)
		assert.NotEmpty(t, score.Why)

		shuffled, _ := Contract(rapid.Permutation(cells).Draw(t, "shuffled"), nil)
		assert.Equal(t, score, shuffled, "the order of cells does not matter")

		merged, _ := Contract(merge(cells), nil)
		assert.Equal(t, score, merged, "equal cells may be given as one with a count")

		more, err := Contract(append(slices.Clone(cells), calm(Critical, CellHeld)), nil)
		require.NoError(t, err)
		assert.GreaterOrEqual(t, more.Value, score.Value, "a held cell never lowers the value")

		less, err := Contract(append(slices.Clone(cells), calm(Critical, CellBroken)), nil)
		require.NoError(t, err)
		assert.Equal(t, Fail, less.Verdict, "a broken critical fails in any company")
		if score.Decided > 0 {
			assert.LessOrEqual(t, less.Value, score.Value, "a broken cell never raises the value")
		}
	})
}

// TestContractOfBillionsOfCells has more cells, and a larger sum of weights, than fit
// into an int of 32 bits.
func TestContractOfBillionsOfCells(t *testing.T) {
	held, broke := calm(Critical, CellHeld), calm(Low, CellBroken)
	held.Count, broke.Count = 1e9, 1e9
	score, err := Contract([]Cell{held, broke}, nil)
	require.NoError(t, err)
	assert.Equal(t, 75.0, score.Value)
	assert.Equal(t, 2_000_000_000, score.Total)

	_, err = Contract([]Cell{held, broke, held}, nil)
	if math.MaxInt > math.MaxInt32 {
		require.NoError(t, err)
		return
	}
	var refused *FieldError
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, "cells[2].count", refused.Field)
}

func counted(c Cell, n int) Cell {
	c.Count = n
	return c
}

// TestIntervalsByScenario: one kind for every share of cells, so equal cells have one interval,
// and as many cells of fewer scenarios say less.
func TestIntervalsByScenario(t *testing.T) {
	cells := func(scenarios int) (all []Cell) {
		for i := range 30 {
			c := faulty(High, CellHeld, 1)
			c.Scenario, c.Invariant = string(rune('a'+i%scenarios)), string(rune('A'+i%15))
			all = append(all, c)
		}
		return all
	}
	for _, row := range []struct {
		why       string
		scenarios int
		shared    bool
		draws     float64
		clusters  int
	}{
		{"cells of a scenario may be copies", 10, false, 10, 10},
		{"fewer scenarios say less", 3, false, 3, 3},
		{"one scenario: each cell is a draw of its own", 1, false, 30, 0},
		{"fifteen invariants judged the same two answers", 1, true, 2, 0},
		{"answers of a scenario may be copies too", 3, true, 3, 3},
	} {
		own := cells(row.scenarios)
		o := &ContractOptions{SharedObservations: row.shared}
		s, err := Contract(own, o)
		require.NoError(t, err)
		// All of n draws hold with a chance of 0.025 at the lower end.
		want := Interval{Low: math.Pow(.025, 1/row.draws), High: 1, Level: Level95, Clusters: row.clusters}
		assert.InDelta(t, want.Low, s.Interval.Low, 1e-12, row.why)
		want.Low = s.Interval.Low
		for _, in := range []Interval{s.Interval, s.Severities[0].Interval, must(Chaos(own, 0, 0, o)).Interval,
			must(Replay(own, o)).Interval} {
			assert.Equal(t, want, in, row.why)
		}
	}
}
