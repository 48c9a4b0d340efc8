package report_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/scoring"
	"github.com/shakedown-go/shakedown/scoring/stats"
)

// rated is a sequential run of promised rates: accepted, rejected and open ones, and a field that
// lacks trials.
func rated(t require.TestingT) *contract.Report {
	r := &contract.Report{Name: "rates", Trials: 200, Sequential: true, Scenarios: []string{"calm", "refund-reply-lost"},
		Invariants: []string{"one-refund", "no-internals", "asks-first", "at-most-12-calls"}}
	place := func(scenario, invariant string, severity contract.Severity, atLeast, poor float64, trials int, broken ...int) {
		r.Fields = append(r.Fields, contract.Field{Scenario: scenario, Invariant: invariant, Severity: severity, AtLeast: atLeast, Poor: poor})
		for trial := 1; trial <= trials; trial++ {
			c := held(madeScenario{name: scenario, calm: scenario == "calm"}, madeInvariant{id: invariant, severity: severity}, trial)
			for _, b := range broken {
				if b == trial {
					broken := brokenOnce()
					broken(&c)
				}
			}
			r.Cells = append(r.Cells, c)
		}
	}
	place("calm", "one-refund", contract.Critical, .95, .8, 18)
	place("calm", "no-internals", contract.High, .99, .96, 142, 70)
	place("calm", "at-most-12-calls", contract.Low, 0, 0, 12)
	place("refund-reply-lost", "one-refund", contract.Critical, .95, .8, 4, 1, 3, 4)
	place("refund-reply-lost", "asks-first", contract.High, .95, .8, 18, 2)
	place("refund-reply-lost", "at-most-12-calls", contract.Low, 0, 0, 3, 3)
	score(t, r, map[string]bool{"refund-reply-lost": true})
	return r
}

func brokenOnce() outcome { return broken("2 refunds for order 1042, want 1", "Done.") }

func TestRatesInText(t *testing.T) {
	r := rated(t)
	require.Equal(t, stats.Accepted, r.Fields[1].Standing.Decision, "%v", r.Fields[1])
	out := text(t, r, &report.TextOptions{Width: 200})
	for _, line := range []string{
		"FAIL critical refund-reply-lost / one-refund: rejected: 1 of 4 held: 80 % and not 95 %",
		"held      2 of 4 decided fields, 50.0 % (95 % interval 0.0 % to 100.0 %, by scenario)",
		"cells     197: 197 decided",
		"✗ refund-reply-lost / one-refund (critical): rejected: ",
		"? refund-reply-lost / asks-first (high): open: 17 of 18 held; 9 more passes in a row would accept, about 17 trials at this rate (95 % interval ",
		"? calm / at-most-12-calls (low): open: 12 of 12 held; it lacks 188 trials (95 % interval ",
		"✗ refund-reply-lost / at-most-12-calls (low): 2 of 3 held (95 % interval ",
		"✓ calm / no-internals (high): accepted: 141 of 142 held: 99 % and not 96 % (95 % interval ",
		"any-time)",
		"* Fields took trials until they were decided: 633 cells were not needed and not run. The score counts fields.",
	} {
		assert.Contains(t, out, line)
	}
	assert.NotContains(t, out, "pass^", "stopping biases it")
	assert.NotContains(t, out, "WITHOUT FAULTS", "a trial of an accepted rate is no reason to mend anything first")
	order := []string{"rejected: ", "open: 17 of 18", "it lacks 188", "2 of 3 held", "accepted: 18 of 18", "accepted: 141"}
	last := strings.Index(out, "RATES")
	for _, text := range order {
		at := strings.Index(out[last:], text)
		assert.Positive(t, at, text)
		last += max(at, 0)
	}
}

// TestSharedObservationsOfOneScenario: five answers that four invariants judged are five
// observations, also where there is no interval by scenario.
func TestSharedObservationsOfOneScenario(t *testing.T) {
	var invariants []madeInvariant
	outcomes := map[string]outcome{}
	for i, severity := range []contract.Severity{contract.High, contract.High, contract.High, contract.Low} {
		name := fmt.Sprint("i", i)
		invariants = append(invariants, madeInvariant{name, severity, false})
		outcomes["calm/"+name+"/2"] = brokenOnce()
	}
	r := build(t, "shared", 5, []madeScenario{{"calm", true}}, invariants, outcomes)
	exact := func(passed, n int) string {
		in, err := stats.ClopperPearson(passed, n, scoring.Level95)
		require.NoError(t, err)
		return fmt.Sprintf("95 %% interval %.1f %% to %.1f %%, exact", 100*in.Low, 100*in.High)
	}
	for _, row := range []struct {
		reason             string
		shared, sequential bool
		all, high, low     string
	}{
		{"runs of their own", false, false, exact(16, 20), exact(12, 15), exact(4, 5)},
		{"shared", true, false, exact(4, 5) + ", by observation", exact(4, 5) + ", by observation", exact(4, 5) + ", by observation"},
		{"fields of one scenario", true, true, exact(0, 1) + ", by observation", exact(0, 1) + ", by observation", exact(0, 1) + ", by observation"},
	} {
		r.SharedObservations, r.Sequential = row.shared, row.sequential
		score(t, r, nil)
		out := markdown(t, r)
		for line, want := range map[string]string{"held": row.all, "high": row.high, "low": row.low} {
			_, rest, _ := strings.Cut(out, "- **"+line+"** ")
			rest, _, _ = strings.Cut(rest, "\n")
			assert.Contains(t, rest, "("+want+")", "%s, %s", row.reason, line)
		}
	}
}

// TestTrialsInARow: pass^k for 1, 2, 5 and all trials, as far as each field has so many. Of two
// fields, one of which held throughout, the interval reaches 12.7 times the half of what the
// other lost to either side: that is the quantile of Student's t for one degree of freedom.
func TestTrialsInARow(t *testing.T) {
	for _, row := range []struct {
		reason string
		trials int
		state  map[string]outcome
		want   string
	}{
		{"half of the fields held in all trials", 20, map[string]outcome{"calm/one/7": brokenOnce()},
			"pass^1 97.5 % (65.7 % to 100.0 %), pass^2 95.0 % (31.5 % to 100.0 %), pass^5 87.5 % (0.0 % to 100.0 %), " +
				"pass^20 50.0 % (0.0 % to 100.0 %); the mean over 2 fields of 20 decided trials each, 95 % intervals by field"},
		{"one trial was not decided", 20, map[string]outcome{"calm/one/7": inconclusive("reset failed")},
			"pass^1 100.0 %, pass^2 100.0 %, pass^5 100.0 %, pass^20 not known, with fewer decided trials in 1 field; " +
				"the mean over 2 fields of 19 to 20 decided trials each"},
		{"few trials", 3, map[string]outcome{"calm/one/3": brokenOnce()},
			"pass^1 83.3 % (0.0 % to 100.0 %), pass^2 66.7 % (0.0 % to 100.0 %), pass^3 50.0 % (0.0 % to 100.0 %); " +
				"the mean over 2 fields of 3 decided trials each, 95 % intervals by field"},
		{"as many as one of the others", 5, nil,
			"pass^1 100.0 %, pass^2 100.0 %, pass^5 100.0 %; the mean over 2 fields of 5 decided trials each"},
		{"one trial has no row", 1, nil, ""},
	} {
		r := build(t, "row", row.trials, []madeScenario{{"calm", true}},
			[]madeInvariant{{"one", contract.High, false}, {"two", contract.High, false}}, row.state)
		out := markdown(t, r)
		if row.want == "" {
			assert.NotContains(t, out, "in a row", row.reason)
		} else {
			assert.Contains(t, out, "- **in a row** "+row.want+"\n", row.reason)
		}
	}
}

// drawing is a matrix with a promised rate, whose faults are drawn.
func drawing() *contract.Matrix {
	agent := func(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
		return fmt.Sprint(chaos.Point(ctx, "desk") != nil), nil
	}
	holds := func(context.Context, *contract.Observation) error { return nil }
	return &contract.Matrix{
		Name: "drawn", Seed: 7, Trials: 12, Prompts: []string{"Refund it."}, Points: []string{"desk"},
		NewWorld: func(context.Context) (*contract.World, error) { return &contract.World{Agent: agent}, nil },
		Scenarios: []contract.Scenario{contract.Calm(),
			contract.Under("flaky", chaos.Rule{Target: "desk", When: when.Prob(0.5), Fault: fault.Fail(errors.New("down"))})},
		Invariants: []contract.Invariant{{Name: "told", Severity: contract.Critical, AtLeast: 0.9, Check: holds}},
	}
}

// A rate that the budget never reached is open: it is named wherever the others are.
func TestARateThatABudgetNeverReached(t *testing.T) {
	m := drawing()
	m.Scenarios = append(m.Scenarios, contract.Scenario{Name: "later"}, contract.Scenario{Name: "last"})
	r, err := m.Run(t.Context(), &contract.RunOptions{Sequential: true, Budget: contract.Budget{Trials: 12}})
	require.NoError(t, err)
	require.Equal(t, scoring.Inconclusive, r.Score.Verdict)
	require.Zero(t, r.Fields[3].Decided)
	const want = "last / told (critical): open: 0 of 0 held; 8 more passes in a row would accept, about 14 trials at the promised rate"
	var text, junit bytes.Buffer
	require.NoError(t, report.Text(&text, r, &report.TextOptions{Width: 200}))
	assert.Contains(t, text.String(), "? "+want+"\n")
	require.NoError(t, report.JUnit(&junit, r, nil))
	assert.Contains(t, junit.String(), `<testcase name="last/told" classname="drawn.rates"`)
	d := report.DigestOf(r, 0)
	assert.Contains(t, d.Summary, want)
	require.Len(t, d.Fields, 4)

	left, err := m.Run(t.Context(), &contract.RunOptions{Sequential: true, Harness: contract.Harness{
		Around: func(c contract.Cell, run func(contract.Bubble) *contract.CellReport) {
			if c.Scenario != "last" {
				run(nil)
			}
		}}})
	require.NoError(t, err)
	text.Reset()
	require.NoError(t, report.Text(&text, left, nil))
	assert.NotContains(t, text.String(), "last / told", "a filter left it out")
}

// A rate that the verdict does not wait for, since no fault of its scenario has to be delivered,
// is not named as open beside a Pass.
func TestARateThatAPassDoesNotWaitFor(t *testing.T) {
	m := drawing()
	m.Scenarios[1] = contract.Under("flaky",
		chaos.Rule{Target: "desk", When: when.Nth(9), Fault: fault.Fail(errors.New("x"))})
	m.Scenarios[1].AllowUndelivered = true
	r, err := m.Run(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, scoring.Pass, r.Score.Verdict)
	require.Equal(t, stats.Open, r.Fields[1].Standing.Decision)
	assert.NotContains(t, report.DigestOf(r, 0).Summary, "flaky / told")
	assert.Len(t, report.DigestOf(r, 0).Fields, 1)
	var text, junit bytes.Buffer
	require.NoError(t, report.Text(&text, r, nil))
	assert.NotContains(t, text.String(), "? ")
	require.NoError(t, report.JUnit(&junit, r, nil))
	assert.NotContains(t, junit.String(), "<error")
}

// A broken trial of a rate is skipped, and the rate has a case of its own.
func TestRatesInJUnit(t *testing.T) {
	got := map[string]string{}
	for _, s := range parse(t, rated(t), nil).Suites {
		for _, c := range s.Cases {
			got[s.Name+": "+c.Name] = c.outcome()
		}
	}
	for name, want := range map[string]string{
		"rates: calm/one-refund": "passed", "rates: calm/no-internals": "passed", "rates: refund-reply-lost/one-refund": "failure",
		"rates: refund-reply-lost/asks-first": "error", "calm: no-internals/70": "skipped", "refund-reply-lost: one-refund/1": "skipped",
		"refund-reply-lost: at-most-12-calls/3": "failure", "verdict: verdict": "failure",
	} {
		assert.Equal(t, want, got[name], name)
	}
	assert.NotContains(t, got, "rates: calm/at-most-12-calls")
}

// countsOnly is the report without its cells.
func countsOnly(t require.TestingT, r *contract.Report) *contract.Report {
	own := *r
	own.Cells = []contract.CellReport{}
	own.Fields = append([]contract.Field(nil), r.Fields...)
	return &own
}

// TestAContradictionInFieldsIsRefused changes one thing in a consistent report, with its
// cells and with its counts alone: each change is found, and named.
func TestAContradictionInFieldsIsRefused(t *testing.T) {
	for _, row := range []struct {
		why    string
		change func(r *contract.Report)
	}{
		{"a rejected rate called accepted", func(r *contract.Report) { r.Fields[3].Standing.Decision = stats.Accepted }},
		{"a rejected rate called open", func(r *contract.Report) { r.Fields[3].Standing.Decision = stats.Open }},
		{"an open rate called accepted", func(r *contract.Report) { r.Fields[4].Standing = stats.Standing{Decision: stats.Accepted} }},
		{"an accepted rate called open", func(r *contract.Report) {
			f := &r.Fields[0]
			f.Standing, f.DecidedAfter, f.HeldThen, f.Saved = stats.Standing{Passes: 1, Trials: 1}, 0, 0, 0
		}},
		{"an accepted rate rejected by no trial", func(r *contract.Report) {
			f := &r.Fields[0]
			f.Standing.Decision, f.DecidedAfter, f.HeldThen = stats.Rejected, 0, 0
		}},
		{"a lower promise", func(r *contract.Report) { r.Fields[3].AtLeast, r.Fields[3].Poor = .5, .25 }},
		{"no promise", func(r *contract.Report) { r.Fields[3].AtLeast, r.Fields[3].Poor = 0, 0 }},
		{"every trial written as a rate", func(r *contract.Report) { r.Fields[2].AtLeast = 1 }},
		{"a promise that is none", func(r *contract.Report) { r.Fields[3].AtLeast = 1.5 }},
		{"a poorer rate", func(r *contract.Report) { r.Fields[3].Poor = .1 }},
		{"trials that held", func(r *contract.Report) { r.Fields[1].Held++ }},
		{"trials that were decided", func(r *contract.Report) { r.Fields[1].Decided++ }},
		{"a decision after other trials", func(r *contract.Report) { r.Fields[3].DecidedAfter++ }},
		{"trials that were inconclusive", func(r *contract.Report) { r.Fields[1].Inconclusive++ }},
		{"a narrower interval", func(r *contract.Report) { r.Fields[2].Interval.Low += .01 }},
		{"less to do", func(r *contract.Report) { r.Fields[4].Standing.Passes = 1 }},
		{"fewer further trials", func(r *contract.Report) { r.Fields[4].Standing.Trials = 1 }},
		{"a critical field called low", func(r *contract.Report) { r.Fields[3].Severity = contract.Low }},
		{"a field that is gone", func(r *contract.Report) { r.Fields = r.Fields[:5] }},
		{"a field twice", func(r *contract.Report) { r.Fields[1] = r.Fields[0] }},
		{"trials saved", func(r *contract.Report) { r.Saved++ }},
		{"trials of a field saved", func(r *contract.Report) { r.Fields[0].Saved++ }},
		{"a run of all trials", func(r *contract.Report) { r.Sequential = false }},
		{"a narrower interval of all", func(r *contract.Report) { r.ByScenario.Interval.High -= .01 }},
		{"another design effect", func(r *contract.Report) { r.ByScenario.DesignEffect++ }},
		{"no interval by scenario", func(r *contract.Report) { r.ByScenario = nil }},
		{"a rejected rate that passes", func(r *contract.Report) { r.Score.Verdict = scoring.Pass }},
	} {
		r := rated(t)
		require.NoError(t, report.Write(io.Discard, r, nil))
		row.change(r)
		err := report.Write(io.Discard, r, nil)
		assert.ErrorAs(t, err, new(*report.FieldError), "%s: %v", row.why, err)
	}
}

// repeated is a report of an agent that answers by the faults it met, and in so many trials of calm by
// itself: with none the trials of its promised rate are copies.
func repeated(t testing.TB, byItself int, o *contract.RunOptions) *contract.Report {
	t.Helper()
	agent := func(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
		failed := chaos.Point(ctx, "desk") != nil
		if c, _ := contract.CellOf(ctx); c.Scenario == "calm" && c.Trial <= byItself {
			return fmt.Sprint("by itself in trial ", c.Trial), nil
		}
		return fmt.Sprint("failed: ", failed), nil
	}
	m := &contract.Matrix{Name: "repeated", Seed: 7, Trials: 12, Prompts: []string{"Refund order 1042."},
		Points:   []string{"desk"},
		NewWorld: func(context.Context) (*contract.World, error) { return &contract.World{Agent: agent}, nil },
		Scenarios: []contract.Scenario{contract.Calm(),
			contract.Under("flaky", chaos.Rule{Target: "desk", When: when.Prob(.5), Fault: fault.Fail(fault.ErrUnavailable)})},
		Invariants: []contract.Invariant{
			{Name: "told", Severity: contract.Critical, AtLeast: .9, Poor: .5, Check: func(context.Context, *contract.Observation) error { return nil }},
			{Name: "calm", Severity: contract.Low, Check: func(_ context.Context, o *contract.Observation) error {
				if strings.HasSuffix(o.Response, "true") {
					return errors.New("it failed")
				}
				return nil
			}}}}
	r, err := m.Run(t.Context(), o)
	require.NoError(t, err)
	return r
}

// Which trials are copies comes back: where the runs are in the file by folding them, and of a baseline
// and of counts as the end says it. So do the intervals, rates and verdicts that depend on it.
func TestCopiesComeBack(t *testing.T) {
	baseline := &report.WriteOptions{Stable: true, WithoutEvidence: true}
	for _, row := range []struct {
		why      string
		byItself int
		o        contract.RunOptions
		copies   bool
		distinct int // of the calm trials of the rate
		alike    bool
	}{
		{"each calm trial is the same", 0, contract.RunOptions{}, true, 1, true},
		{"and only counts are kept", 0, contract.RunOptions{Keep: contract.KeepCounts}, true, 1, true},
		{"and trials stop themselves", 0, contract.RunOptions{Sequential: true}, true, 1, true},
		{"the agent was seen to differ", 1, contract.RunOptions{}, false, 0, false},
		{"and trials stop themselves then", 1, contract.RunOptions{Sequential: true}, false, 0, false},
	} {
		r := repeated(t, row.byItself, &row.o)
		f := r.Fields[0]
		require.Equal(t, []any{row.copies, row.distinct}, []any{f.Copies, f.Distinct}, row.why)
		require.Equal(t, row.alike, r.Repeats[0].Alike > 0, row.why)
		for _, o := range []*report.WriteOptions{nil, baseline} {
			back := throughFile(t, r, o)
			assert.Equal(t, r.Fields, back.Fields, row.why)
			assert.Equal(t, r.Repeats, back.Repeats, row.why)
			assert.Equal(t, r.Score, back.Score, row.why)
			assert.Equal(t, r.Chaos, back.Chaos, row.why)
			for i := range back.Cells {
				assert.Equal(t, o == nil, back.Cells[i].Copy == r.Cells[i].Copy, "%s: a baseline has no hashes", row.why)
			}
			require.NoError(t, back.Judge(), "and it can be judged again")
			assert.Equal(t, r.Fields, back.Fields, row.why)
		}
	}
}

// A run that was killed leaves what says which trials are copies.
func TestCopiesOfAKilledRun(t *testing.T) {
	for byItself, distinct := range []int{1, 0} {
		r := repeated(t, byItself, nil)
		text := fileOf(t, r, nil)
		cut := strings.LastIndex(strings.TrimSuffix(text, "\n"), "\n") + 1
		back, err := report.Read(strings.NewReader(text[:cut]), nil)
		require.NoError(t, err)
		assert.Equal(t, r.Repeats, back.Repeats)
		assert.Equal(t, distinct, back.Fields[0].Distinct)
		assert.Equal(t, r.Fields, back.Fields)
	}
}

// What further runs showed is in the end alone, and the fields follow it.
func TestRunsThatAreNoCells(t *testing.T) {
	r := repeated(t, 0, nil)
	n := &r.Repeats[0]
	n.Runs, n.Alike, n.Differ = n.Runs+3, 0, "calm/told/1 came out otherwise"
	require.NoError(t, r.Judge())
	require.False(t, r.Fields[0].Copies, "each trial counts then")
	for _, o := range []*report.WriteOptions{nil, {Stable: true, WithoutEvidence: true}} {
		back := throughFile(t, r, o)
		assert.Equal(t, r.Repeats, back.Repeats)
		assert.Equal(t, r.Fields, back.Fields)
	}
}

// Which trials of a baseline are copies is stated, and must agree with its cells.
func TestABaselineThatContradictsItsCopies(t *testing.T) {
	r := repeated(t, 0, nil)
	text := fileOf(t, r, &report.WriteOptions{Stable: true, WithoutEvidence: true})
	const was = `"distinct":1,"distinctHeld":1,"copies":true`
	require.Contains(t, text, was)
	for _, row := range []struct {
		why, old, is, says string
	}{
		{"one counts, and 12 are judged", was, `"distinct":1,"distinctHeld":1`, "end.score.verdict"},
		{"none is a copy: 12 held, where fewer accept", was + `,`, ``, "end.fields[0]"},
		{"another group", `"groups":1`, `"groups":2`, ""},
	} {
		require.Contains(t, text, row.old, row.why)
		_, err := report.Read(strings.NewReader(resummed(strings.Replace(text, row.old, row.is, 1))), nil)
		if row.says == "" {
			assert.NoError(t, err, "%s: a baseline has no runs to count", row.why)
			continue
		}
		assert.ErrorContains(t, err, row.says, row.why)
	}
	whole := fileOf(t, r, nil)
	for _, row := range []struct{ why, old, is, says string }{
		{"other fields", was, `"distinct":2,"distinctHeld":2,"copies":true`, "end.fields[0].distinct is 2; allowed: 1"},
		{"another group", `"groups":1`, `"groups":2`, "end.repeats[0].groups is 2; allowed: 1"},
		{"one run is another", fmt.Sprintf(`"copy":"%d"`, r.Cells[0].Copy), `"copy":"1"`, "end."},
		{"calls that are none", `"calls":"`, `"calls":"!`, "calls"},
	} {
		require.Contains(t, whole, row.old, row.why)
		_, err := report.Read(strings.NewReader(resummed(strings.Replace(whole, row.old, row.is, 1))), nil)
		assert.ErrorContains(t, err, row.says, row.why)
	}
}
