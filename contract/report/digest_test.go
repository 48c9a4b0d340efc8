package report_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/scoring"
	"github.com/shakedown-go/shakedown/scoring/stats"
)

func TestDigest(t *testing.T) {
	r := &contract.Report{Name: "desk", Seed: 1 << 63, Score: scoring.ContractScore{Verdict: scoring.Fail, Why: "it broke", Passed: 1, Decided: 13, Total: 14, Value: 7.5}}
	for trial := range 12 {
		severity := contract.Low
		if trial == 11 {
			severity = contract.Critical
		}
		r.Cells = append(r.Cells, contract.CellReport{Cell: contract.Cell{Scenario: "down", Invariant: "i", Trial: trial + 1}, Severity: severity,
			State: contract.Broken, Violated: true, Why: strings.Repeat("x", 600)})
	}
	r.Cells = append(r.Cells, contract.CellReport{Cell: contract.Cell{Scenario: "filtered", Invariant: "i", Trial: 1}, State: contract.NotRun})
	r.Faults = []contract.FaultCount{{Scenario: "down", Rule: "fired", Delivered: 1}, {Scenario: "down", Rule: "idle"}, {Scenario: "filtered", Rule: "idle"}}

	d := report.DigestOf(r, 1500*time.Millisecond)
	assert.Equal(t, "FAIL: it broke. 1 of 13 decided cells held; 2 more broken cells are not shown.", d.Summary)
	assert.Equal(t, "9223372036854775808", d.Seed)
	assert.Equal(t, 1.5, d.ElapsedSec)
	assert.Len(t, d.Broken, 10)
	assert.Equal(t, 2, d.Omitted)
	assert.Equal(t, "down/i/12", d.Broken[0].Cell, "the most severe first")
	assert.Less(t, len(d.Broken[0].Why), 510)
	assert.Equal(t, []string{"down: idle"}, d.Undelivered, "a scenario that did not run is not missed")
	assert.Equal(t, 7.5, *d.Score.Value)
	assert.Nil(t, report.ScoreDigestOf(scoring.ContractScore{}).Value, "nothing was decided")
}

// Page by page, a filter shows each cell that it chooses once and in order.
func TestPagesShowEachCellOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := &contract.Report{}
		state := rapid.SampledFrom([]contract.CellState{contract.Held, contract.Broken, contract.Undelivered})
		var want []string
		filter := report.CellFilter{States: rapid.SampledFrom([][]string{nil, {"held"}, {"held", "broken"}}).Draw(t, "states"),
			Scenario: rapid.SampledFrom([]string{"", "a"}).Draw(t, "scenario")}
		for i := range rapid.IntRange(0, 30).Draw(t, "cells") {
			c := contract.CellReport{Cell: contract.Cell{Scenario: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "of"), Invariant: "i", Trial: i}, State: state.Draw(t, "state")}
			r.Cells = append(r.Cells, c)
			inState := filter.States == nil || strings.Contains(strings.Join(filter.States, " "), c.State.String())
			if inState && (filter.Scenario == "" || c.Cell.Scenario == filter.Scenario) {
				want = append(want, c.Cell.String())
			}
		}
		var got []string
		for limit := rapid.IntRange(1, 7).Draw(t, "limit"); ; {
			cells, matching := filter.Page(r, len(got), limit)
			assert.Equal(t, len(want), matching)
			for _, c := range cells {
				got = append(got, c.Cell.String())
			}
			if len(cells) == 0 {
				break
			}
		}
		assert.Equal(t, want, got)
	})
}

func TestEvidenceOfACell(t *testing.T) {
	o := &contract.Observation{Prompt: "p", Response: strings.Repeat("é", 2000), Err: errors.New("down"), Dropped: 3}
	for i := range 30 {
		o.Events = append(o.Events, chaos.Event{Target: "a", Ordinal: uint64(i), Delivered: i%5 != 0, Err: "e"})
	}
	c := contract.CellReport{Cell: contract.Cell{Scenario: "s", Invariant: "i", Trial: 1}, State: contract.Held, Evidence: o}
	assert.Nil(t, report.CellDigestOf(c, false).Evidence)
	e := report.CellDigestOf(c, true).Evidence
	assert.Equal(t, 33, e.Calls)
	assert.Len(t, e.Faults, 20)
	assert.Equal(t, 4, e.FaultsOmitted)
	assert.Equal(t, "1", e.Faults[0].Ordinal, "only what was delivered")
	assert.LessOrEqual(t, len(e.Response), 2000+len("…"))
	assert.Equal(t, "down", fmt.Sprint(e.Error))
}

// The summary is where a client reads the verdict, so what the verdict must not be read without is
// named there.
func TestTheSummaryNamesWhatTheVerdictLeavesOut(t *testing.T) {
	d := report.DigestOf(rated(t), 0)
	for _, sentence := range []string{
		"FAIL: critical refund-reply-lost / one-refund: rejected: 1 of 4 held: 80 % and not 95 %. 2 of 4 decided fields held.",
		" Fields that are not accepted: refund-reply-lost / one-refund (critical): rejected: 1 of 4 held: 80 % and not 95 %; " +
			"refund-reply-lost / asks-first (high): open: 17 of 18 held; 9 more passes in a row would accept, about 17 trials at this rate; " +
			"calm / at-most-12-calls (low): open: 12 of 12 held; it lacks 188 trials.",
	} {
		assert.Contains(t, d.Summary, sentence)
	}
	assert.NotContains(t, d.Summary, "Goals", "there are none")

	goals := []contract.GoalCount{{Goal: "retried", Cells: 3, Of: 4}, {Goal: "asked-back", Of: 4}, {Goal: "refunded", Cells: 1, Of: 4, Failed: "panic: nil map"}}
	for _, row := range []struct {
		why    string
		change func(r *contract.Report)
		want   string
	}{
		{"the reason of a fail names no goals", func(r *contract.Report) { r.Score.Verdict = scoring.Fail }, "Goals: 1 of 3 goals reached; not: asked-back (in none of 4 runs), refunded (it failed: panic: nil map)."},
		{"a filter left out cells", func(r *contract.Report) { r.Filtered = true }, "Goals: not judged, because not all cells ran."},
		{"the run was cancelled", func(r *contract.Report) { r.Cancelled = true }, "Goals: not judged, because not all cells ran."},
		{"all were reached", func(r *contract.Report) { r.Goals = r.Goals[:1] }, ""},
	} {
		r := passed(t)
		r.Goals = goals
		row.change(r)
		verdict := r.Score.Verdict.String() + ": no critical invariant broke; 9 of 9 decided cells held. 9 of 9 decided cells held."
		assert.Equal(t, strings.TrimSpace(verdict+" "+row.want), report.DigestOf(r, 0).Summary, row.why)
	}
	r := withDefect(t)
	r.SearchStopped = "100 runs were made"
	assert.Contains(t, report.DigestOf(r, 0).Summary,
		" held. 1 broken cell, 1 of them critical, is 1 defect (12 further runs). The search is not complete: 100 runs were made.")
}

// A broken trial of an accepted rate is no breach: it is listed last, with the decision.
func TestBrokenTrialsOfRatesHaveTheDecision(t *testing.T) {
	var got []string
	for _, b := range report.DigestOf(rated(t), 0).Broken {
		decision := "every trial"
		if b.Decision != nil {
			decision = b.Decision.String()
		}
		got = append(got, b.Cell+" "+decision)
	}
	assert.Equal(t, []string{"refund-reply-lost/one-refund/1 rejected", "refund-reply-lost/one-refund/3 rejected",
		"refund-reply-lost/one-refund/4 rejected", "refund-reply-lost/asks-first/2 open",
		"refund-reply-lost/at-most-12-calls/3 every trial", "calm/no-internals/70 accepted"}, got)
}

// everything is a report that has a value for each member of a digest.
func everything(t *testing.T) *contract.Report {
	r := rated(t)
	of := scored(t)
	r.Chaos, r.Mutation, r.Replay, r.Overall = of.Chaos, of.Mutation, of.Replay, of.Overall
	r.Judges = withJudge(t, func(s *scoring.JudgeScore) { s.Invariant = "no-internals" }).Judges
	r.Defects = withDefect(t).Defects
	r.Defects[0].Rate, r.Defects[0].Broke, r.Defects[0].Runs = &scoring.Interval{Low: .2, High: .9, Level: .95}, 3, 5
	r.Defects[0].Deliveries[0].Key, r.Defects[0].Deliveries[0].Occurrence = 1<<63, 2
	r.SearchRuns, r.SearchStopped = 12, "the budget ended"
	r.Goals = []contract.GoalCount{{Goal: "retried", Cells: 3, Of: 4, Scenarios: []string{"calm"}}, {Goal: "asked-back", Of: 4}}
	r.Coverage = []contract.CoverCount{{Target: "orders.get", Fault: "error", Try: 2, Delivered: 7}, {Target: "notify", Uncalled: true}}
	r.Filtered = true
	return r
}

// Members that the report has too are written as the report writes them: the oracle is package json.
func TestADigestIsWrittenAsTheReport(t *testing.T) {
	r := everything(t)
	var whole bytes.Buffer
	require.NoError(t, json.NewEncoder(&whole).Encode(r))
	want, got := map[string]any{}, map[string]any{}
	require.NoError(t, json.Unmarshal(whole.Bytes(), &want))
	text, err := json.Marshal(report.DigestOf(r, 0))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &got))
	for _, name := range []string{"chaos", "mutation", "replay", "overall", "judges", "defects", "byScenario", "sequential", "saved", "filtered", "searchStopped"} {
		require.NotNil(t, want[name], name)
		assert.Equal(t, want[name], got[name], name)
	}
	for _, list := range []string{"goals", "coverage", "fields"} {
		assert.ElementsMatch(t, want[list], got[list], list)
	}
	assert.Equal(t, "asked-back", got["goals"].([]any)[0].(map[string]any)["goal"], "unreached ones first")
	assert.Equal(t, "notify", got["coverage"].([]any)[0].(map[string]any)["target"], "what no fault reached is first")
	assert.Equal(t, "rejected", got["fields"].([]any)[0].(map[string]any)["standing"].(map[string]any)["decision"])
}

// However much a report has, its digest is at most 320 KiB, counts what it leaves out, and does not
// change the report.
func TestADigestIsBounded(t *testing.T) {
	const many, rates = 40, 3000
	long := strings.Repeat("long ", 500)
	r := everything(t)
	defect, judge, goal := r.Defects[0], r.Judges[0], r.Goals[1]
	defect.Sentence, defect.Facts, defect.Difference = long, slices.Repeat([]string{long}, many), long
	defect.Deliveries = slices.Repeat(defect.Deliveries, many)
	defect.Breaks = slices.Repeat([]contract.Break{{Invariant: "one-refund", Severity: contract.Critical, Why: long,
		Cells: slices.Repeat(defect.Breaks[0].Cells, many), At: slices.Repeat([]string{long}, many)}}, many)
	judge.Decide = long
	judge.Calibration.Warnings = slices.Repeat([]string{long}, many)
	goal.Failed, goal.Scenarios = long, slices.Repeat([]string{"calm"}, many)
	r.Defects, r.Judges, r.Goals = slices.Repeat([]contract.Defect{defect}, 7), slices.Repeat([]scoring.JudgeScore{judge}, many), slices.Repeat([]contract.GoalCount{goal}, many)
	r.Coverage, r.Mutation.Kinds = slices.Repeat(r.Coverage, many), slices.Repeat(r.Mutation.Kinds, many)
	r.Warnings, r.SearchStopped, r.Score.Why, r.Overall.Why, r.Mutation.Formula = slices.Repeat([]string{long}, many), long, long, long, long
	for i := range rates {
		r.Fields = append(r.Fields, contract.Field{Scenario: fmt.Sprint("s", i), Invariant: "i", Severity: contract.Low, AtLeast: .9, Poor: .6, Decided: 2, Held: 1,
			Standing: stats.Standing{Decision: stats.Rejected}})
	}
	before := marshalled(t, r)
	d := report.DigestOf(r, 0)
	text, err := json.Marshal(d)
	require.NoError(t, err)
	assert.Less(t, len(text), 320<<10)
	assert.Less(t, len(d.Summary), 8<<10)
	assert.Equal(t, before, marshalled(t, r), "the report is as it was")
	assert.Equal(t, []int{rates + 6 - 20, many - 20, 2, 2*many - 20, many - 10},
		[]int{d.FieldsOmitted, d.GoalsOmitted, d.DefectsOmitted, d.CoverageOmitted, d.JudgesOmitted})
	// deliveries, facts and breaks, and of each of 10 breaks the cells and the names of targets
	assert.Equal(t, 5*(3*(many-10)+10*2*(many-10)), d.PartsOmitted)
	assert.Contains(t, d.Summary, "; and 2,997 more.")
}

func marshalled(t *testing.T, r *contract.Report) string {
	text, err := json.Marshal(r)
	require.NoError(t, err)
	return string(text)
}
