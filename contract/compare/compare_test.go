package compare_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/compare"
	"github.com/shakedown-go/shakedown/scoring"
	"github.com/shakedown-go/shakedown/scoring/stats"
)

// made is a report of fields by their states: "scenario/invariant" and a letter a trial, h, b,
// i, u, U or n; '-' is a trial that it does not have.
func made(states ...string) *contract.Report {
	r := &contract.Report{Name: "desk", Seed: 1, Trials: 1}
	scenarios, invariants := map[string]bool{}, map[string]bool{}
	for i := 0; i < len(states); i += 2 {
		scenario, invariant, _ := strings.Cut(states[i], "/")
		if !scenarios[scenario] {
			scenarios[scenario], r.Scenarios = true, append(r.Scenarios, scenario)
		}
		if !invariants[invariant] {
			invariants[invariant], r.Invariants = true, append(r.Invariants, invariant)
		}
		r.Trials = max(r.Trials, len(states[i+1]))
		for trial, letter := range []byte(states[i+1]) {
			state := contract.Undelivered
			if at := strings.IndexByte("nhbiu", letter); at >= 0 {
				state = contract.CellState(at)
			} else if letter == '-' {
				continue
			}
			r.Cells = append(r.Cells, contract.CellReport{Severity: contract.High, State: state,
				Violated: letter == 'b' || letter == 'U',
				Cell:     contract.Cell{Scenario: scenario, Invariant: invariant, Trial: trial + 1}})
		}
	}
	return r
}

// countsOnly is the report as KeepCounts leaves it.
func countsOnly(r *contract.Report) *contract.Report {
	for _, c := range r.Cells {
		cell := scoring.Cell{Scenario: c.Cell.Scenario, Invariant: c.Cell.Invariant, Severity: c.Severity, State: c.State,
			Violated: c.Violated}
		at := slices.IndexFunc(r.Counts, func(have scoring.Cell) bool { have.Count = 0; return have == cell })
		if at < 0 {
			at, r.Counts = len(r.Counts), append(r.Counts, cell)
		}
		r.Counts[at].Count++
	}
	r.Cells = nil
	return r
}

func reports(t testing.TB, before, after *contract.Report) *compare.Comparison {
	t.Helper()
	c, err := compare.Reports(before, after, nil)
	require.NoError(t, err)
	return c
}

func repeated(s string, n int) string { return strings.Repeat(s, n) }

// TestPairedByTrial: equal trials are partners, whatever the order of the cells; the p value
// is that of a fair coin.
func TestPairedByTrial(t *testing.T) {
	before := made("s/i", repeated("h", 20), "s/j", repeated("h", 20))
	after := made("s/j", repeated("h", 20), "s/i", repeated("b", 12)+repeated("h", 8))
	c := reports(t, before, after)
	require.Len(t, c.Fields, 2)
	f := c.Fields[1]
	assert.Equal(t, "i", f.Invariant)
	assert.Equal(t, &stats.Pairs{Both: 8, Worse: 12}, f.Pairs)
	assert.InDelta(t, 1.0/4096, f.P.Worse, 1e-12, "twelve of twelve heads")
	assert.InDelta(t, 2.0/4096, f.Adjusted, 1e-12, "of two fields")
	assert.InDelta(t, -0.6, f.Difference.Value, 1e-12)
	assert.True(t, f.Regression)
	assert.False(t, c.Fields[0].Regression)
	assert.True(t, c.Regressed())
	back := reports(t, after, before)
	assert.False(t, back.Regressed(), "an improvement is no regression")
}

// TestWhatIsNotPaired: with another seed counts are compared, and the reason is said.
func TestWhatIsNotPaired(t *testing.T) {
	other := made("s/i", repeated("h", 13)+repeated("b", 7))
	other.Seed = 2
	c := reports(t, made("s/i", repeated("h", 19)+"b"), other)
	assert.Contains(t, c.Unpaired, "the seeds differ")
	f := c.Fields[0]
	assert.Equal(t, "Fisher", f.Test)
	assert.Nil(t, f.Pairs)
	assert.InDelta(t, 0.0436, f.P.TwoSided, 5e-5, "19 and 13 of 20, as R's fisher.test has it")
	assert.Contains(t, c.String(), c.Unpaired)
}

// TestNeitherBetterNorWorse: what was not decided on one side is named, and no regression.
func TestNeitherBetterNorWorse(t *testing.T) {
	held := repeated("h", 20)
	for _, row := range []struct{ before, after, unclear string }{
		{held, repeated("u", 20), "undelivered now"},
		{held, repeated("i", 20), "inconclusive now"},
		{held, repeated("n", 20), "not run now"},
		{held, "uuuuuuuuuuiiiiiiiiii", "undelivered and inconclusive now"},
		{repeated("u", 20), repeated("b", 20), "undelivered before"},
		{repeated("u", 20), repeated("i", 20), "undelivered before, inconclusive now"},
		{held, repeated("U", 20), "undelivered, and broken all the same in 20 of 20 trials, now"},
		{"hhhhhiiiii", "iiiiibbbbb", "no trial was decided on both sides"},
	} {
		c := reports(t, made("s/i", row.before), made("s/i", row.after))
		assert.Equal(t, row.unclear, c.Fields[0].Unclear)
		assert.False(t, c.Regressed(), row.unclear)
		assert.Zero(t, c.Tested, row.unclear)
		assert.Contains(t, c.String(), row.unclear)
	}
	c := reports(t, made("s/i", held), made("s/i", repeated("i", 8)+repeated("b", 12)))
	assert.Equal(t, &stats.Pairs{Worse: 12}, c.Fields[0].Pairs, "trials without a decision have no partner")
	assert.True(t, c.Regressed())
}

// alike notes in reports that so many runs of scenario s met the same and were alike.
func alike(runs int, reports ...*contract.Report) {
	for _, r := range reports {
		r.Repeats = []contract.RepeatCount{{Scenario: "s", Groups: 1, Alike: runs}}
	}
}

// TestRepeats: where runs that met the same were alike, one more broken trial is a regression if
// chance does not explain so many alike runs on each side, and another one in place of one that
// broke before is none. Statistics are never left out: one field of another scenario has its own.
func TestRepeats(t *testing.T) {
	before := made("s/new", "hhhhh", "s/old", "hhhhb", "s/mended", "bbbbb", "s/gone", "uuuuu", "t/i", "hhhhh")
	after := made("s/new", "hhhhb", "s/old", "hhhbb", "s/mended", "hhhhh", "s/gone", "bbbbb", "t/i", "hhhhb")
	assert.False(t, reports(t, before, after).Regressed(), "of random agents one trial is bad luck")
	alike(8, before, after)
	c := reports(t, before, after)
	require.NotNil(t, c.Overall)
	var worse, tests []string
	for _, f := range c.Fields {
		tests = append(tests, f.Test)
		if f.Regression {
			worse = append(worse, f.Invariant)
		}
	}
	assert.Equal(t, []string{"new", "old"}, worse)
	assert.Equal(t, []string{"repeats", "repeats", "repeats", "", "McNemar"}, tests)
	assert.InEpsilon(t, 1./12870, c.Fields[0].P.Worse, 1e-12, "1 in the 12,870 ways to draw 8 of 16")
	assert.Equal(t, 1., c.Fields[2].P.Worse, "it is better")
	assert.InEpsilon(t, 4./12870, c.Fields[0].Adjusted, 1e-12, "four fields are tested")
	assert.Contains(t, c.String(), "s / new: 5 of 5 before, 4 of 5 now, 1 worse, 0 better (8 runs that met the same were alike "+
		"before and 8 now, p below .0001 one-sided, Holm over 4 fields .0003): worse\n")
	for _, row := range []struct {
		why           string
		before, after contract.RepeatCount
		p             float64 // 0: the trials are tested
	}{
		{"3 runs each may be chance", contract.RepeatCount{Groups: 1, Alike: 3}, contract.RepeatCount{Groups: 1, Alike: 3}, 1. / 20},
		{"4 runs each are not", contract.RepeatCount{Groups: 1, Alike: 4}, contract.RepeatCount{Groups: 1, Alike: 4}, 1. / 70},
		{"one before and many now", contract.RepeatCount{Groups: 1, Alike: 1}, contract.RepeatCount{Groups: 1, Alike: 39}, 1. / 40},
		{"five patterns of faults are five chances", contract.RepeatCount{Groups: 5, Alike: 4}, contract.RepeatCount{Groups: 3, Alike: 4}, 5. / 70},
		{"two runs differed before", contract.RepeatCount{Groups: 1}, contract.RepeatCount{Groups: 1, Alike: 8}, 0},
		{"two runs differ now", contract.RepeatCount{Groups: 1, Alike: 8}, contract.RepeatCount{Groups: 1}, 0},
	} {
		b, a := made("s/i", "hhhhh"), made("s/i", "hhhhb")
		row.before.Scenario, row.after.Scenario = "s", "s"
		b.Repeats, a.Repeats = []contract.RepeatCount{row.before}, []contract.RepeatCount{row.after}
		f := reports(t, b, a).Fields[0]
		if row.p == 0 {
			assert.Equal(t, "McNemar", f.Test, row.why)
			assert.False(t, f.Regression, row.why)
			continue
		}
		assert.InEpsilon(t, row.p, f.P.Worse, 1e-12, row.why)
		assert.Equal(t, row.p <= .03, f.Regression, row.why)
	}
}

// TestMovesOfRepeats: in which fields trials moved for the worse although no two runs that met the
// same differed.
func TestMovesOfRepeats(t *testing.T) {
	for _, row := range []struct {
		why, before, after string
		worse              bool
	}{
		{"a trial that was not made before", "hhhh", "hhhhb", false},
		{"a trial that was not run before", "hhhhn", "hhhhb", false},
		{"a trial that nobody could judge before", "hhhhi", "hhhhb", false},
		{"a trial whose fault was not delivered before", "hhhhu", "hhhhb", true},
		{"a trial that held before", "hhhhh", "hbhh", true},
		{"more trials than before", "hhhhb", "bbbbb", true},
		{"another trial than before, and as many", "hhhhb", "bhhhh", false},
		{"a trial that broke before without a fault", "hhhhU", "hhhhb", false},
		{"a trial that breaks without a fault now", "hhhhh", "hhhhU", true},
		{"a trial that broke with a fault before", "hhhhb", "hhhhU", false},
		{"one for another, without faults", "hhhuU", "hhhUu", false},
		{"each trial breaks without a fault now", "hhhhh", "UUUUU", true},
		{"the same, and no fault was delivered before", "uuuuu", "UUUUU", true},
		{"each trial broke without a fault before too", "UUUUU", "UUUUU", false},
		{"nobody could judge before, and each breaks without a fault now", "iiiii", "UUUUU", false},
	} {
		b, a := made("s/i", row.before), made("s/i", row.after)
		alike(8, b, a)
		c := reports(t, b, a)
		assert.Equal(t, row.worse, c.Regressed(), row.why)
		assert.Equal(t, row.worse, strings.Contains(c.String(), ": worse\n"), "%s: %v", row.why, c)
		a.Seed = 2
		assert.Nil(t, reports(t, b, a).Fields[0].Repeats, "other draws, so other faults")
	}
}

// TestOtherMatrices: what differs is named, what is in common is compared, and a field that
// asks something else is not.
func TestOtherMatrices(t *testing.T) {
	base := func() *contract.Report {
		r := made("calm/i", "hhhh", "calm/probed", "hhhh", "flaky/i", "hhhh", "flaky/probed", "hhhh")
		type hashes = map[string]string
		r.Fingerprint = &contract.Fingerprint{Prompts: "p", Scenarios: hashes{"calm": "c", "flaky": "f"},
			ScenarioPrompts: hashes{}, Invariants: hashes{"i": "i", "probed": "x"}, Probes: hashes{"probed": "own"}}
		r.Tools = hashes{"refund": "r"}
		r.Judges = []scoring.JudgeScore{{Invariant: "i", Judge: "script", Version: "1", Decide: "It is kind.", Held: 2}}
		return r
	}
	for _, row := range []struct {
		why     string
		change  func(r *contract.Report)
		says    string
		changed []string
	}{
		{"nothing", func(*contract.Report) {}, "", nil},
		{"name", func(r *contract.Report) { r.Name = "shop" }, `the name is "desk" before and "shop" now`, nil},
		{"seed", func(r *contract.Report) { r.Seed = 9 }, "the seed is 1 before and 9 now", nil},
		{"trials", func(r *contract.Report) { r.Trials = 8 }, "each field has 4 trials before and 8 now; the first 4 of them are compared", nil},
		{"sharing", func(r *contract.Report) { r.SharedObservations = true },
			"only the report now shares observations", nil},
		{"prompts", func(r *contract.Report) { r.Fingerprint.Prompts = "q" }, "the prompts of the matrix differ",
			[]string{"calm/i", "flaky/i"}},
		{"rules", func(r *contract.Report) { r.Fingerprint.Scenarios["flaky"] = "g" },
			"scenario flaky differs in its rules",
			[]string{"flaky/i", "flaky/probed"}},
		{"prompts of a scenario", func(r *contract.Report) { r.Fingerprint.ScenarioPrompts["flaky"] = "q" },
			"scenario flaky differs in its prompts", []string{"flaky/i"}},
		{"probes", func(r *contract.Report) { r.Fingerprint.Probes["probed"] = "q" },
			"invariant probed differs in its prompts",
			[]string{"calm/probed", "flaky/probed"}},
		{"severity", func(r *contract.Report) { r.Fingerprint.Invariants["i"] = "j" },
			"invariant i differs in its severity, rate or scope", nil},
		{"no fingerprint", func(r *contract.Report) { r.Fingerprint = nil },
			"whether prompts and rules are equal is not known: a report has no fingerprint", nil},
		{"schema", func(r *contract.Report) { r.Tools["refund"] = "s" }, "tool refund differs in its input schema or what it declares", nil},
		{"ended", func(r *contract.Report) { r.Cancelled = true }, "the report now is of a run that was ended: what it lacks may be worse", nil},
		{"part", func(r *contract.Report) { r.Shard = contract.Shard{Index: 1, Count: 2} }, "the report now is a part: 0 of its 0 cells ran", nil},
		{"tool", func(r *contract.Report) { r.Tools = nil }, "tool refund is only before", nil},
		{"version of a judge", func(r *contract.Report) { r.Judges[0].Version = "2" },
			`invariant i was judged by script version 1 asked "It is kind." before and by script version 2 asked "It is kind." now`, nil},
		{"a judge without name and version", func(r *contract.Report) { r.Judges[0].Judge, r.Judges[0].Version = "", "" },
			`invariant i was judged by script version 1 asked "It is kind." before and by a judge without a name asked "It is kind." now`, nil},
		{"one judge more", func(r *contract.Report) {
			r.Judges = append(r.Judges, scoring.JudgeScore{Invariant: "i", Judge: "other", Version: "1", Decide: "Kind?", Broken: 1})
		}, `invariant i was judged by script version 1 asked "It is kind." before and by other version 1 asked "Kind?", script version 1 asked "It is kind." now`, nil},
		{"sentence", func(r *contract.Report) { r.Judges[0].Decide = "It is polite." },
			`invariant i was judged by script version 1 asked "It is kind." before and by script version 1 asked "It is polite." now`, nil},
		{"a judge that was not needed", func(r *contract.Report) { r.Judges = nil }, "", nil},
		{"a judge that failed", func(r *contract.Report) { r.Judges[0].Held, r.Judges[0].Version = 0, "2" }, "", nil},
	} {
		t.Run(row.why, func(t *testing.T) {
			after := base()
			row.change(after)
			c := reports(t, base(), after)
			assert.Equal(t, row.changed, c.Changed)
			assert.Len(t, c.Fields, 4-len(row.changed))
			if row.says == "" {
				assert.Empty(t, c.Matrices)
			} else {
				assert.Equal(t, []string{row.says}, c.Matrices)
				assert.Contains(t, c.String(), "matrix: "+row.says)
			}
		})
	}
	c := reports(t, made("s/i", "h", "s/gone", "h"), made("s/i", "h", "new/i", "h"))
	assert.Equal(t, []string{"s/gone"}, c.OnlyBefore)
	assert.Equal(t, []string{"new/i"}, c.OnlyAfter)
	assert.Len(t, c.Fields, 1)
}

// TestStoppedEarly: shares of trials that stopped themselves are biased, and not compared.
func TestStoppedEarly(t *testing.T) {
	before, after := made("s/i", repeated("h", 20)), made("s/i", repeated("b", 20))
	after.Sequential = true
	c := reports(t, before, after)
	assert.Contains(t, c.Fields[0].Unclear, "stopped early")
	assert.False(t, c.Regressed())
}

func TestRefusals(t *testing.T) {
	twice := made("s/i", "hh")
	twice.Cells[1].Cell.Trial = 1
	late := made("s/i", "hh")
	late.Trials = 1
	level := func(x float64) *compare.Options { return &compare.Options{Level: x} }
	ok := made("calm/i", "h", "s/i", "h")
	between := func(b, a *contract.Report, o *compare.Options) error {
		_, err := compare.Reports(b, a, o)
		return err
	}
	for _, row := range []struct {
		err  error
		says string
	}{
		{between(nil, nil, nil), "compare: before is nil"},
		{between(nil, nil, nil), "compare: after is nil"},
		{between(twice, ok, nil), "compare: before.Cells[1].Cell"},
		{between(ok, late, nil), `compare: after.Cells[1].Cell is "s/i/2"; allowed: each cell once, with a trial from 1 to the 1 of Trials`},
		{between(countsOnly(made("s/i", "h")), ok, nil), "compare: before is without its cells"},
		{between(ok, ok, level(0.6)), "compare: Options.Level is 0.6; allowed: above 0 to 0.5, or 0 for 0.05"},
	} {
		require.Error(t, row.err, row.says)
		assert.ErrorContains(t, row.err, row.says)
	}
}

// TestNoFalseAlarm: of 200 pairs of reports of one agent at most 10 differ, at a level of 0.05,
// whatever the numbers.
func TestNoFalseAlarm(t *testing.T) {
	for _, row := range []struct {
		why                           string
		scenarios, invariants, trials int
		rate, alike                   float64
		paired                        bool
		sometimes                     int // the report after has so many trials fewer
	}{
		{"one field of many trials", 1, 1, 100, 0.8, 0, true, 0},
		{"one field, not paired", 1, 1, 60, 0.8, 0, false, 0},
		{"few fields", 3, 2, 20, 0.9, 0, true, 0},
		{"many scenarios", 20, 1, 10, 0.7, 0.4, true, 0},
		{"many fields", 6, 8, 12, 0.9, 0.2, true, 0},
		{"fewer trials now", 8, 2, 20, 0.8, 0.2, false, 13},
		{"one trial", 6, 8, 1, 0.9, 0.2, true, 0},
	} {
		t.Run(row.why, func(t *testing.T) {
			t.Parallel()
			const runs = 200 // docs/reports.md has those of 1,000
			alarms := 0
			for seed := range uint64(runs) {
				// Two builds of one agent share the rates of the scenarios, and not their draws.
				before, after := pair(seed, row.scenarios, row.invariants, row.trials, row.trials-row.sometimes, row.rate,
					row.rate, row.alike)
				if !row.paired {
					after.Seed = 2
				}
				if reports(t, before, after).Regressed() {
					alarms++
				}
			}
			t.Logf("%d of %d", alarms, runs)
			assert.LessOrEqual(t, alarms, runs*5/100)
		})
	}
}

// pair is two reports of agents with one rate each, whose scenarios are as hard for both.
func pair(seed uint64, scenarios, invariants, before, after int, from, to,
	alike float64) (*contract.Report, *contract.Report) {
	rng := rand.New(rand.NewPCG(seed, 1))
	var one, two []string
	for s := range scenarios {
		shift := alike * (rng.Float64() - 0.5)
		for i := range invariants {
			name := fmt.Sprintf("s%d/i%d", s, i)
			one = append(one, name, draws(rng, before, from+shift))
			two = append(two, name, draws(rng, after, to+shift))
		}
	}
	return made(one...), made(two...)
}

func draws(rng *rand.Rand, n int, rate float64) string {
	states := make([]byte, n)
	for k := range states {
		if states[k] = 'b'; rng.Float64() < rate {
			states[k] = 'h'
		}
	}
	return string(states)
}

// TestBroadDrop: a drop that no field shows is seen over the scenarios.
func TestBroadDrop(t *testing.T) {
	before, after := pair(3, 20, 1, 10, 10, 0.9, 0.65, 0)
	c := reports(t, before, after)
	require.NotNil(t, c.Overall)
	for _, f := range c.Fields {
		assert.False(t, f.Regression)
	}
	assert.True(t, c.Overall.These.Regression && c.Overall.Such.Regression, "%v", c)
	assert.Less(t, c.Overall.Difference.High, 0.0)
}

// judged fills in the score of a report that was made by hand.
func judged(r *contract.Report) *contract.Report {
	own := *countsOnly(new(*r))
	own.Cells = r.Cells
	if err := own.Judge(); err != nil {
		panic(err)
	}
	return &own
}

// BenchmarkReports compares two reports of 10⁵ cells, of 20 trials a field.
func BenchmarkReports(b *testing.B) {
	before, after := pair(1, 100, 50, 20, 20, 0.95, 0.95, 0)
	for b.Loop() {
		if _, err := compare.Reports(before, after, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func TestStanding(t *testing.T) {
	for _, row := range []struct {
		why  string
		f    compare.Field
		want string
	}{
		{"all held on both sides", compare.Field{Before: compare.Counts{Held: 5, Decided: 5}, After: compare.Counts{Held: 5, Decided: 5}}, ""},
		{"one of ten broke", compare.Field{Before: compare.Counts{Held: 5, Decided: 5}, After: compare.Counts{Held: 9, Decided: 10}}, compare.NewlyBroken},
		{"none breaks any more", compare.Field{Before: compare.Counts{Held: 4, Decided: 5}, After: compare.Counts{Held: 5, Decided: 5}}, compare.Mended},
		{"some broke on both", compare.Field{Before: compare.Counts{Held: 4, Decided: 5}, After: compare.Counts{Held: 1, Decided: 5}}, compare.StillBroken},
		{"a trial that the earlier report did not make says nothing", compare.Field{Pairs: &stats.Pairs{Both: 5},
			Before: compare.Counts{Held: 5, Decided: 5}, After: compare.Counts{Held: 9, Decided: 10}}, ""},
		{"it breaks without a fault now", compare.Field{Repeats: &compare.Repeats{}, Pairs: &stats.Pairs{Both: 1},
			Before: compare.Counts{Held: 5, Decided: 5}, After: compare.Counts{Held: 1, Decided: 1, Undelivered: 4, Unprovoked: 4}}, compare.NewlyBroken},
		{"what cannot be compared", compare.Field{Unclear: "undelivered now", Before: compare.Counts{Held: 4, Decided: 5}}, ""},
	} {
		assert.Equal(t, row.want, row.f.Standing(), row.why)
	}
}
