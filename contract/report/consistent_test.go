package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/scoring"
)

// TestFromJSONRefusesAContradiction changes one thing in a consistent report: each
// change is found, and named.
func TestFromJSONRefusesAContradiction(t *testing.T) {
	for _, row := range []struct {
		why    string
		change func(r *contract.Report)
		field  string
	}{
		{"a verdict that the cells do not give", func(r *contract.Report) { r.Score.Verdict = scoring.Pass }, "score.verdict"},
		{"a value that they do not give", func(r *contract.Report) { r.Score.Value = 99.99 }, "score.value"},
		{"a count that they do not give", func(r *contract.Report) { r.Score.Passed++ }, "score.passed"},
		{"cells that the score does not count", func(r *contract.Report) { r.Score.NotRun = 0 }, "score.notRun"},
		{"a narrower interval", func(r *contract.Report) { r.Score.Interval.Low += 0.01 }, "score.interval"},
		{"the counts of a severity", func(r *contract.Report) { r.Score.Severities[0].Passed-- }, "score.severities[0]"},
		{"a severity that is not among the cells", func(r *contract.Report) { r.Score.Severities = r.Score.Severities[1:] }, "score.severities"},
		{"a broken cell called held", func(r *contract.Report) {
			c := brokenCell(r)
			c.State, c.Violated = contract.Held, false
		}, "score.passed"},
		{"a critical cell called low", func(r *contract.Report) { brokenCell(r).Severity = contract.Low }, "score.severities[0]"},
		{"a held cell that broke", func(r *contract.Report) { r.Cells[0].Violated = true }, "cells[0].broke"},
		{"a broken cell that did not break", func(r *contract.Report) { brokenCell(r).Violated = false }, "cells[30].broke"},
		{"a cell twice", func(r *contract.Report) { r.Cells[1] = r.Cells[0] }, "cells[1].cell"},
		{"a cell of a scenario that is not listed", func(r *contract.Report) { r.Cells[0].Cell.Scenario = "stormy" }, "cells[0].cell.scenario"},
		{"a cell of an invariant that is not listed", func(r *contract.Report) { r.Cells[0].Cell.Invariant = "new" }, "cells[0].cell.invariant"},
		{"a trial beyond the last", func(r *contract.Report) { r.Cells[0].Cell.Trial = 6 }, "cells[0].cell.trial"},
		{"a cell that is gone", func(r *contract.Report) { r.Cells = r.Cells[1:] }, "score.total"},
		{"agents left behind that no cell knows", func(r *contract.Report) { r.Abandoned = 7 }, "abandoned"},
		{"undecided checks that no cell knows", func(r *contract.Report) { r.Undecided = 7 }, "undecided"},
		{"cells that a fault did not reach, in a count alone", func(r *contract.Report) { r.Absorbed = 7 }, "absorbed"},
		{"counts of other cells", func(r *contract.Report) {
			r.Counts = []scoring.Cell{{Scenario: "calm", Invariant: "one-refund", Severity: contract.Critical, State: contract.Held, Count: 155}}
		}, "counts[0].count"},
		{"more inconclusive cells allowed than the verdict knows", func(r *contract.Report) {
			r.Score.Verdict, r.AllowInconclusive = scoring.Inconclusive, 100
		}, "score.verdict"},
		{"trials that no cell has", func(r *contract.Report) { r.Trials++ }, "trials"},
		{"an answer that took less than no time", func(r *contract.Report) { r.Cells[0].Elapsed = -1 }, "cells[0].elapsedNs, delivered, undelivered and lateCalls"},
		{"less than no calls after the end", func(r *contract.Report) { r.Cells[0].LateCalls = -1 }, "cells[0].elapsedNs, delivered, undelivered and lateCalls"},
		{"less than no calm runs", func(r *contract.Report) { r.CalmRuns = -1 }, "calmRuns"},
		{"faults of a scenario that is not listed", func(r *contract.Report) { r.Faults[0].Scenario = "stormy" }, "faults[0].scenario"},
		{"a rule twice", func(r *contract.Report) { r.Faults = append(r.Faults, r.Faults[0]) }, fmt.Sprintf("faults[%d].rule", len(desk(t).Faults))},
		{"a fault in less than no runs", func(r *contract.Report) { r.Faults[0].Cells = -1 }, "faults[0].cells and undelivered"},
		{"a fault in more runs than calls", func(r *contract.Report) { r.Faults[0].Cells = r.Faults[0].Delivered + 1 }, "faults[0].delivered"},
		{"calls that no run had", func(r *contract.Report) { r.Faults[0].Cells, r.Faults[0].Delivered = 0, 1 }, "faults[0].delivered"},
		{"a failed run called cancelled", func(r *contract.Report) { r.Score.Verdict, r.Cancelled = scoring.Inconclusive, true }, "score.verdict"},
	} {
		r := desk(t)
		row.change(r)
		_, err := report.FromJSON(bytes.NewReader(render(t, jsonFormat, r)))
		assert.Contains(t, fieldsOf(err), row.field, row.why)
	}
}

// A run of some trials leaves others out, but not so many that a short report takes all
// memory where it is compared.
func TestFromJSONBoundsTrialsThatAreLeftOut(t *testing.T) {
	for _, row := range []struct {
		why        string
		trial, two int
		want       string
	}{
		{"one trial of many", 1_000_000, 1_000_000, ""},
		{"a trial that takes 1 GB", 1_000_000_000, 1, "report: cells is 1e+09 trials that are left out before others; allowed: at most 10000000"},
		{"two that take it together", 9_000_000, 9_000_000, "report: cells is 1.8e+07 trials"},
		{"more than an int", math.MaxInt, math.MaxInt, "report: cells is "},
	} {
		r := build(t, "far", 1, []madeScenario{{"calm", true}},
			[]madeInvariant{{"one", contract.High, false}, {"two", contract.High, false}}, nil)
		r.Trials, r.Filtered = max(row.trial, row.two), true
		r.Cells[0].Cell.Trial, r.Cells[1].Cell.Trial = row.trial, row.two
		score(t, r, nil)
		var b bytes.Buffer
		require.NoError(t, report.JSON(&b, r, nil), row.why)
		_, err := report.FromJSON(&b)
		if row.want == "" {
			require.NoError(t, err, row.why)
			continue
		}
		var field *report.FieldError
		require.ErrorAs(t, err, &field, row.why)
		assert.ErrorContains(t, err, row.want, row.why)
	}
}

// TestFromJSONRefusesAContradictionOfTheSearch does so with goals, coverage and defects.
func TestFromJSONRefusesAContradictionOfTheSearch(t *testing.T) {
	for _, row := range []struct {
		why    string
		change func(r *contract.Report)
		field  string
	}{
		{"a goal of a scenario that is not listed", func(r *contract.Report) { r.Goals[1].Scenarios[0] = "stormy" }, "goals[1].scenarios[0]"},
		{"a goal twice", func(r *contract.Report) { r.Goals[1].Goal = r.Goals[0].Goal }, "goals[1].goal"},
		{"a goal reached more often than asked", func(r *contract.Report) { r.Goals[0].Cells = 151 }, "goals[0].cells"},
		{"coverage twice", func(r *contract.Report) { r.Coverage[2] = r.Coverage[1] }, "coverage[2].target"},
		{"a fault on no call", func(r *contract.Report) { r.Coverage[1].Delivered = 0 }, "coverage[1].delivered"},
		{"calls without a fault", func(r *contract.Report) { r.Coverage[0].Delivered = 1 }, "coverage[0].delivered"},
		{"a try that there is not", func(r *contract.Report) { r.Coverage[1].Try = 4 }, "coverage[1].try"},
		{"a fault without a try", func(r *contract.Report) { r.Coverage[1].Try = 0 }, "coverage[1].try"},
		{"a fault on a tool that was not called", func(r *contract.Report) { r.Coverage[1].Uncalled = true }, "coverage[1].uncalled"},
		{"less than no runs", func(r *contract.Report) { r.SearchRuns = -1 }, "searchRuns and searchElapsedNs"},
		{"neither yes nor no", func(r *contract.Report) { r.Repeatable = "perhaps" }, "repeatable"},
		{"more broken runs than runs", func(r *contract.Report) { r.Defects[1].Broke = 25 }, "defects[1].broke"},
		{"a call before its first try", func(r *contract.Report) { r.Defects[0].Deliveries[0].Attempt = 0 }, "defects[0].deliveries[0].attempt"},
		{"an invariant that is not listed", func(r *contract.Report) { r.Defects[1].Breaks[0].Invariant = "new" }, "defects[1].breaks[0].invariant"},
		{"no name of a file", func(r *contract.Report) { r.Defects[0].Breaks[0].ID = "../../../etc" }, "defects[0].breaks[0].id"},
		{"a cell that held", func(r *contract.Report) { r.Defects[0].Breaks[0].Cells[0].Scenario = "calm" }, "defects[0].breaks[0].cells[0]"},
		{"a cell of another invariant", func(r *contract.Report) { r.Defects[0].Breaks[0].Cells[1].Invariant = "no-false-claim" }, "defects[0].breaks[0].cells[1]"},
	} {
		r := explained(t)
		row.change(r)
		_, err := report.FromJSON(bytes.NewReader(render(t, jsonFormat, r)))
		assert.Equal(t, []string{row.field}, fieldsOf(err), row.why)
	}
	r := passed(t)
	r.Goals = []contract.GoalCount{{Goal: "missed", Of: 9}}
	_, err := report.FromJSON(bytes.NewReader(render(t, jsonFormat, r)))
	assert.Equal(t, []string{"score.verdict"}, fieldsOf(err), "a missed goal is no pass")
	r.Filtered = true
	_, err = report.FromJSON(bytes.NewReader(render(t, jsonFormat, r)))
	assert.NoError(t, err, "a part is not judged by it")
	r.Filtered, r.Score.Verdict = false, scoring.Inconclusive
	_, err = report.FromJSON(bytes.NewReader(render(t, jsonFormat, r)))
	assert.NoError(t, err)
}

// brokenCell is the first broken cell, a critical one.
func brokenCell(r *contract.Report) *contract.CellReport {
	for i := range r.Cells {
		if r.Cells[i].State == contract.Broken {
			return &r.Cells[i]
		}
	}
	return nil
}

func TestFromJSONTakesWhatTheCountsSay(t *testing.T) {
	r := desk(t)
	for _, c := range r.Cells {
		r.Counts = append(r.Counts, scoring.Cell{
			Scenario: c.Cell.Scenario, Invariant: c.Cell.Invariant, Severity: c.Severity, State: c.State, Violated: c.Violated,
			Delivered: c.Delivered, HasRules: c.Cell.Scenario != "calm",
		})
	}
	read := func() error {
		_, err := report.FromJSON(bytes.NewReader(render(t, jsonFormat, r)))
		return err
	}
	require.NoError(t, read(), "counts may be of single cells")
	r.Cells, r.Abandoned = nil, 1
	require.NoError(t, read(), "and stand without their cells")
	r.Counts[0].State = contract.Broken
	assert.Contains(t, fieldsOf(read()), "score.passed")
	r.Counts[0].HasRules = true
	assert.Equal(t, []string{"counts"}, fieldsOf(read()), "what cannot be scored is refused")
}

func TestFromJSONTakesNoVerdictFromNoCells(t *testing.T) {
	r := &contract.Report{Score: scoring.ContractScore{Verdict: scoring.Pass}}
	_, err := report.FromJSON(bytes.NewReader(render(t, jsonFormat, r)))
	assert.Equal(t, []string{"score.verdict"}, fieldsOf(err), "an empty matrix is no pass")
}

// TestFromJSONFindsEachChangeOfAState is a law: if any cell gets another state, the
// report contradicts itself.
func TestFromJSONFindsEachChangeOfAState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := desk(t)
		c := &r.Cells[rapid.IntRange(0, len(r.Cells)-1).Draw(t, "cell")]
		was := c.State
		c.State = rapid.SampledFrom([]contract.CellState{contract.NotRun, contract.Held, contract.Broken, contract.Inconclusive, contract.Undelivered}).
			Filter(func(s contract.CellState) bool { return s != was }).Draw(t, "state")
		c.Violated = c.State == contract.Broken
		_, err := report.FromJSON(bytes.NewReader(render(t, jsonFormat, r)))
		require.Error(t, err)
	})
}

// A witness is a state that knows how much of the report was written when it
// was asked for its JSON.
type witness struct {
	out  *counter
	seen []int
}

func (w *witness) MarshalJSON() ([]byte, error) {
	w.seen = append(w.seen, w.out.n)
	return []byte(`"` + strings.Repeat("x", 10_000) + `"`), nil
}

type counter struct{ n int }

func (c *counter) Write(p []byte) (int, error) { c.n += len(p); return len(p), nil }

func TestJSONHoldsOneCellAtATime(t *testing.T) {
	out := &counter{}
	w := &witness{out: out}
	r := many(t, 10)
	for i := range r.Cells {
		r.Cells[i].Evidence = &contract.Observation{Before: w}
	}
	require.NoError(t, report.JSON(out, r, nil))
	require.Len(t, w.seen, len(r.Cells))
	for i, written := range w.seen {
		assert.GreaterOrEqual(t, written, (i-1)*10_000, "all but the cell before has left")
	}
}

// TestJSONIsStable is a law: a report that was read is written as it was.
func TestJSONIsStable(t *testing.T) {
	type structured struct {
		Z, A int
		M    map[string]any
	}
	text := rapid.OneOf(rapid.SampledFrom(nasty), rapid.SampledFrom([]string{"\ufffd", `\ufffd`, "\\\xff", `\\\`, "\xff\ufffd"}), rapid.String())
	rapid.Check(t, func(t *rapid.T) {
		r := infested(t, func(label string) string { return text.Draw(t, label) })
		r.Cells[0].Evidence.Before = structured{1, 2, map[string]any{"\xff": json.Number("1e400"), "b": []byte("x")}}
		for _, o := range []*report.JSONOptions{nil, {Compact: true}} {
			var first, second bytes.Buffer
			require.NoError(t, report.JSON(&first, r, o))
			back, err := report.FromJSON(bytes.NewReader(first.Bytes()))
			require.NoError(t, err)
			require.NoError(t, report.JSON(&second, back, o))
			require.Equal(t, first.String(), second.String())
		}
	})
}

func TestJSONReturnsTheErrorOfTheWriter(t *testing.T) {
	r := many(t, 10)
	var whole bytes.Buffer
	require.NoError(t, report.JSON(&whole, r, nil))
	for _, n := range []int{0, 1, 5_000, whole.Len() - 1} {
		err := report.JSON(&short{n}, r, nil)
		assert.ErrorIs(t, err, io.ErrShortWrite, fmt.Sprint(n))
	}
}

// A short writer takes n bytes.
type short struct{ n int }

func (s *short) Write(p []byte) (int, error) {
	if len(p) > s.n {
		return 0, io.ErrShortWrite
	}
	s.n -= len(p)
	return len(p), nil
}
