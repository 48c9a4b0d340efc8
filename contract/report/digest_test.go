package report_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/scoring"
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
