package report_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/internal/golden"
	"github.com/shakedown-go/shakedown/scoring"
)

const (
	secretPrompt = "PROMPT-7391 refund order 1042"
	secretAnswer = "ANSWER-5520"
)

// drawn is a report of the engine: a promised rate, a goal whose function fails, and cells
// in several states.
func drawn(t testing.TB, o *contract.RunOptions) *contract.Report {
	t.Helper()
	r, err := drawing().Run(context.Background(), o)
	require.NoError(t, err)
	return r
}

func drawing() *contract.Matrix {
	agent := func(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
		err := chaos.Point(ctx, "desk")
		c, _ := contract.CellOf(ctx) // other words in each trial: they are no copies
		return fmt.Sprint(secretAnswer, c.Trial, err != nil), nil
	}
	return &contract.Matrix{
		Name: "drawn", Seed: 7, Trials: 12, Prompts: []string{secretPrompt}, Points: []string{"desk"},
		NewWorld: func(context.Context) (*contract.World, error) { return &contract.World{Agent: agent}, nil },
		Scenarios: []contract.Scenario{contract.Calm(),
			contract.Under("flaky", chaos.Rule{Target: "desk", When: when.Prob(0.5), Fault: fault.Fail(errors.New("PARAM-1177"))})},
		Invariants: []contract.Invariant{
			{Name: "told", Severity: contract.Critical, AtLeast: 0.9, Check: never},
			{Name: "calm", Severity: contract.Low, Check: notUnderFaults},
			{Name: "asked", Severity: contract.High, Applies: contract.NoFault, Check: undecided},
		},
		Goals: []contract.Goal{{Name: "lost", Reached: func(*contract.Observation) bool { panic(secretAnswer) }}},
	}
}

func never(context.Context, *contract.Observation) error { return nil }

func notUnderFaults(_ context.Context, o *contract.Observation) error {
	if strings.HasSuffix(o.Response, "true") {
		return errors.New("it said " + o.Response)
	}
	return nil
}

func undecided(context.Context, *contract.Observation) error { return contract.ErrUndecided }

// compactBytes is a compact report with fixed versions.
func compactBytes(t testing.TB, r *contract.Report) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, report.CompactAs(&b, r, "v1.2.3", "go1.26"))
	return b.Bytes()
}

func TestCompactGolden(t *testing.T) {
	golden.Equal(t, "desk.baseline.json", compactBytes(t, desk(t)))
}

// TestVerifyGivesBackTheReport: the score, the fields and the state of every cell are
// those of the report that was written.
func TestVerifyGivesBackTheReport(t *testing.T) {
	for name, r := range map[string]*contract.Report{
		"desk": desk(t), "passed": passed(t), "wide": wide(t), "engine": drawn(t, nil),
		"sequential": drawn(t, &contract.RunOptions{Sequential: true}),
		"counts":     drawn(t, &contract.RunOptions{Keep: contract.KeepCounts}),
		"both":       drawn(t, &contract.RunOptions{Keep: contract.KeepCounts, Sequential: true}),
		"cancelled":  cancelled(t),
		"from JSON":  throughJSON(t, drawn(t, nil)),
		"copies":     copied(t),
	} {
		t.Run(name, func(t *testing.T) {
			text := compactBytes(t, r)
			got, err := report.Verify(bytes.NewReader(text))
			require.NoError(t, err)
			want := *r
			want.Score.Why, got.Score.Why = "", "" // how a function of a goal failed is left out
			assert.Equal(t, want.Score, got.Score)
			if len(r.Fields) > 0 { // those made by hand have none
				assert.Equal(t, r.ByScenario, got.ByScenario)
				assert.Equal(t, r.Fields, got.Fields)
			}
			assert.Equal(t, r.Repeats, got.Repeats)
			states := map[contract.Cell]contract.CellState{}
			for _, c := range r.Cells {
				states[c.Cell] = c.State
			}
			assert.Len(t, got.Cells, len(r.Cells))
			for _, c := range got.Cells {
				assert.Equal(t, states[c.Cell], c.State, "%v", c.Cell)
			}
			assert.Equal(t, string(text), string(compactBytes(t, got)), "written again, it is the same file")
		})
	}
}

// TestVerifyKnowsDeliveriesOfInconclusiveCells: faults that reached inconclusive cells were
// delivered, and the verdict follows from that.
func TestVerifyKnowsDeliveriesOfInconclusiveCells(t *testing.T) {
	m := drawing()
	m.Goals, m.Invariants = nil, []contract.Invariant{{Name: "told", Severity: contract.Critical,
		Check: func(_ context.Context, o *contract.Observation) error {
			if o.Cell.Scenario != "calm" {
				return contract.ErrUndecided
			}
			return nil
		}}}
	rewritten := contract.Scenario{Name: "flaky", Rewrite: strings.ToUpper}
	unreached := contract.Under("flaky", chaos.Rule{Target: "desk", When: when.Nth(9), Fault: fault.Fail(errors.New("x"))})
	for name, is := range map[string]struct {
		flaky   contract.Scenario
		allowed int
		verdict scoring.Verdict
		why     string
	}{
		"allowed":       {m.Scenarios[1], 12, scoring.Inconclusive, `no cell was decided in scenario "flaky"`},
		"not allowed":   {m.Scenarios[1], 0, scoring.Inconclusive, `no cell was decided in scenario "flaky"; 12 cells inconclusive, allowed 0`},
		"rewritten":     {rewritten, 12, scoring.Inconclusive, `no cell was decided in scenario "flaky"`},
		"not delivered": {unreached, 12, scoring.Inconclusive, `no cell was decided in scenario "flaky"`},
	} {
		m.Scenarios[1] = is.flaky
		r, err := m.Run(t.Context(), &contract.RunOptions{AllowInconclusive: is.allowed})
		require.NoError(t, err)
		require.Equal(t, is.verdict, r.Score.Verdict, name)
		require.Equal(t, is.why, r.Score.Why, name)
		got, err := report.Verify(bytes.NewReader(compactBytes(t, r)))
		if assert.NoError(t, err, name) {
			assert.Equal(t, r.Score, got.Score, name)
		}
	}
}

// cancelled is a report of a run that ended after some cells.
func cancelled(t *testing.T) *contract.Report {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	n := 0
	r, err := drawing().Run(ctx, &contract.RunOptions{Workers: 1, OnCell: func(*contract.CellReport) {
		if n++; n == 20 {
			cancel()
		}
	}})
	require.ErrorIs(t, err, context.Canceled)
	require.True(t, r.Cancelled)
	return r
}

// copied is a report of an agent that does the same in each trial: a promised rate of copies.
func copied(t *testing.T) *contract.Report {
	m := drawing()
	m.NewWorld = func(context.Context) (*contract.World, error) {
		return &contract.World{Agent: func(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
			return fmt.Sprint(secretAnswer, chaos.Point(ctx, "desk") != nil), nil
		}}, nil
	}
	r, err := m.Run(t.Context(), nil)
	require.NoError(t, err)
	require.True(t, r.Fields[0].Copies)
	return r
}

func throughJSON(t *testing.T, r *contract.Report) *contract.Report {
	var b bytes.Buffer
	require.NoError(t, report.JSON(&b, r, nil))
	r, err := report.FromJSON(&b)
	require.NoError(t, err)
	return r
}

// TestCompactHoldsNoWords: no prompt, no answer, no argument and no text of a panic.
func TestCompactHoldsNoWords(t *testing.T) {
	r := drawn(t, &contract.RunOptions{Keep: contract.KeepAll})
	var whole bytes.Buffer
	require.NoError(t, report.JSON(&whole, r, nil))
	text := string(compactBytes(t, r))
	for _, secret := range []string{"7391", "5520"} {
		assert.Contains(t, whole.String(), secret, "the report has it, so the test can fail")
		assert.NotContains(t, text, secret)
	}
	assert.NotContains(t, text, "1177", "a parameter of a fault")
}

func TestCompactMatchesTheSchema(t *testing.T) {
	own := jsonschema.Schema{Ref: "#/$defs/compactReport", Defs: schema(t).Defs}
	valid, err := own.Resolve(nil)
	require.NoError(t, err)
	for name, r := range map[string]*contract.Report{"desk": desk(t), "engine": drawn(t, nil),
		"counts": drawn(t, &contract.RunOptions{Keep: contract.KeepCounts, Sequential: true})} {
		var v map[string]any
		require.NoError(t, json.Unmarshal(compactBytes(t, r), &v))
		require.NoError(t, valid.Validate(v), name)
		delete(v, "sha256")
		assert.Error(t, valid.Validate(v), "the schema notices what is missing")
	}
}

// TestVerifyFindsEachChangedByte: each byte of a small file is changed in several ways.
func TestVerifyFindsEachChangedByte(t *testing.T) {
	text := compactBytes(t, drawn(t, nil))
	for at := range text {
		for _, to := range []byte{text[at] ^ 1, text[at] ^ 0x20, '0', 'h', ' ', '"', 0xff} {
			if to == text[at] {
				continue
			}
			own := bytes.Clone(text)
			own[at] = to
			if _, err := report.Verify(bytes.NewReader(own)); err == nil {
				t.Fatalf("byte %d: %q instead of %q was not found", at, to, text[at])
			}
		}
		_, err := report.Verify(bytes.NewReader(text[:at]))
		require.Error(t, err, "cut after %d bytes", at)
	}
}

// TestVerifyNamesEachMember changes each derived member and computes the SHA-256 anew, as
// an edit by a program would: what follows from something else is found all the same.
func TestVerifyNamesEachMember(t *testing.T) {
	text := compactBytes(t, drawn(t, nil))
	type object = map[string]any
	scenario := func(f object, i int) object { return f["scenarios"].([]any)[i].(object) }
	for _, row := range []struct {
		field  string
		change func(f object)
	}{
		{"format", func(f object) { f["format"] = "shakedown-compact-2" }},
		{"fingerprint.name", func(f object) { f["name"] = "other" }},
		{"fingerprint.seed", func(f object) { f["seed"] = "8" }},
		{"fingerprint.trials", func(f object) { f["trials"] = 13 }},
		{"fingerprint.shared", func(f object) { f["shared"] = true }},
		{"fingerprint.sum", func(f object) { f["fingerprint"].(object)["prompts"] = "0123456789abcdef" }},
		{"fingerprint.scenarios", func(f object) { scenario(f, 0)["name"] = "still" }},
		{"fingerprint.invariants", func(f object) { f["invariants"].([]any)[1].(object)["name"] = "still" }},
		{"score.severities[2]", func(f object) { f["invariants"].([]any)[1].(object)["severity"] = "medium" }},
		{"rates[0]", func(f object) { f["rates"] = f["rates"].([]any)[1:] }},
		{"rates[0]", func(f object) { f["rates"].([]any)[0].(object)["decision"] = "rejected" }},
		{"rates[0]", func(f object) { f["invariants"].([]any)[0].(object)["poor"] = 0.8 }},
		{`invariants["told"].poor`, func(f object) { delete(f["invariants"].([]any)[0].(object), "poor") }},
		{`invariants["calm"].atLeast`, func(f object) {
			f["invariants"].([]any)[1].(object)["atLeast"] = 1
			rate := func(scenario string) object {
				return object{"scenario": scenario, "invariant": "calm", "decision": "open"}
			}
			told := f["rates"].([]any)
			f["rates"] = []any{told[0], rate("calm"), told[1], rate("flaky")}
		}},
		{"scenarios[0].counts[0]", func(f object) { scenario(f, 0)["counts"].([]any)[0] = []int{11} }},
		{"scenarios[0].counts[0]", func(f object) { scenario(f, 0)["states"].([]any)[0] = "hhhhhhhhhhhb" }},
		{"scenarios[0].states[0]", func(f object) { scenario(f, 0)["states"].([]any)[0] = "hhhhhhhhhhhx" }},
		{"scenarios[0].states[0]", func(f object) { scenario(f, 0)["states"].([]any)[0] = "hhhhhhhhhhh-" }},
		{"scenarios[0].counts[0]", func(f object) { scenario(f, 0)["states"].([]any)[0] = "hhhhhhhhhhhhh" }},
		{"scenarios", func(f object) { scenario(f, 1)["rules"] = false }},
		{"scenarios", func(f object) { scenario(f, 0)["states"].([]any)[0] = "?" }},
		{"scenarios[1]", func(f object) { scenario(f, 1)["counts"] = []any{} }},
		{"score.total", func(f object) {
			scenario(f, 0)["states"].([]any)[1], scenario(f, 0)["counts"].([]any)[1] = "hhhhhhhhhhh", []int{11}
		}},
		{"score.verdict", func(f object) { f["score"].(object)["verdict"] = "pass" }},
		{"score.value", func(f object) { f["score"].(object)["value"] = 99.5 }},
		{"score.passed", func(f object) { f["score"].(object)["passed"] = 1 }},
		{"score.interval", func(f object) { f["score"].(object)["interval"].(object)["low"] = 0.5 }},
		{"byScenario", func(f object) { delete(f, "byScenario") }},
		{"byScenario", func(f object) { f["byScenario"].(object)["effective"] = 3.5 }},
		{"saved", func(f object) { f["saved"] = 3 }},
		{"repeatable", func(f object) { f["repeatable"] = "perhaps" }},
		{"faults[0].delivered", func(f object) { f["faults"].([]any)[0].(object)["delivered"] = 0 }},
		{"goals[0].cells", func(f object) { f["goals"].([]any)[0].(object)["cells"] = 1000 }},
		{"unknown", func(f object) { f["unknown"] = 1 }},
		{"score", func(f object) { delete(f, "score") }},
	} {
		t.Run(row.field, func(t *testing.T) {
			var f object
			d := json.NewDecoder(bytes.NewReader(text))
			d.UseNumber()
			require.NoError(t, d.Decode(&f))
			row.change(f)
			changed, err := json.Marshal(f)
			require.NoError(t, err)
			_, err = report.Verify(bytes.NewReader(report.Rehashed(changed)))
			require.Error(t, err)
			assert.Contains(t, fieldsOf(err), row.field)
		})
	}
}

// TestVerifyKnowsCopies: which trials are copies is stated, and must agree with the counts.
func TestVerifyKnowsCopies(t *testing.T) {
	text := compactBytes(t, copied(t))
	type object = map[string]any
	for _, row := range []struct {
		why    string
		copies []int
		rate   string
		fine   bool
	}{
		{"as it was", []int{1, 1, 1}, "open", true},
		{"more held than all trials", []int{13, 13, 1}, "open", false},
		{"more held than counted", []int{2, 1, 1}, "open", false},
		{"none is a copy, and 12 held: open, where 8 accept", nil, "open", false},
		{"none is a copy, and the decision is not said after how many trials", nil, "accepted", false},
		{"not judged and accepted", []int{1, 1, 1}, "accepted", false},
	} {
		var f object
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		require.NoError(t, d.Decode(&f))
		copies := f["scenarios"].([]any)[0].(object)["copies"].([]any)
		require.Equal(t, "[1 1 1]", fmt.Sprint(copies[0]), "held, of, not judged")
		copies[0] = row.copies
		if row.copies == nil {
			copies[0] = []int{}
		}
		f["rates"].([]any)[0].(object)["decision"] = row.rate
		changed, err := json.Marshal(f)
		require.NoError(t, err)
		_, err = report.Verify(bytes.NewReader(report.Rehashed(changed)))
		assert.Equal(t, row.fine, err == nil, "%s: %v", row.why, err)
	}
}

func TestCompactRefuses(t *testing.T) {
	for _, row := range []struct {
		why, field string
		change     func(r *contract.Report) *contract.Report
	}{
		{"no report", "report", func(*contract.Report) *contract.Report { return nil }},
		{"a score that is not that of the cells", "score.passed", func(r *contract.Report) *contract.Report {
			r.Score.Passed++
			return r
		}},
		{"a cell twice, as Judge says", "report", func(r *contract.Report) *contract.Report {
			r.Cells[1] = r.Cells[0]
			return r
		}},
		{"no trials", "trials", func(r *contract.Report) *contract.Report {
			r.Trials, r.Cells, r.Counts = 0, nil, []scoring.Cell{{Scenario: r.Scenarios[0], Invariant: r.Invariants[0],
				Severity: contract.Low, State: contract.Held}}
			return r
		}},
		{"an answer that is none", "repeatable", func(r *contract.Report) *contract.Report {
			r.Repeatable = "perhaps"
			return r
		}},
		{"a cell of no scenario", "cells", func(r *contract.Report) *contract.Report {
			r.Cells[0].Cell.Scenario = "stormy"
			return r
		}},
		{"a scenario twice", "scenarios[1]", func(r *contract.Report) *contract.Report {
			r.Scenarios[1] = r.Scenarios[0]
			return r
		}},
	} {
		t.Run(row.why, func(t *testing.T) {
			var b bytes.Buffer
			err := report.Compact(&b, row.change(desk(t)))
			require.Error(t, err)
			assert.Contains(t, fieldsOf(err), row.field)
			assert.Zero(t, b.Len(), "nothing is written")
		})
	}
}

// FuzzVerify: Verify never panics, and what it accepts is written again byte for byte.
func FuzzVerify(f *testing.F) {
	f.Add(compactBytes(f, drawn(f, nil)))
	f.Add(compactBytes(f, drawn(f, &contract.RunOptions{Keep: contract.KeepCounts})))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		text = report.Rehashed(text)
		r, err := report.Verify(bytes.NewReader(text))
		if err != nil {
			return
		}
		var own struct{ Library, Go string }
		require.NoError(t, json.Unmarshal(text, &own))
		var again bytes.Buffer
		require.NoError(t, report.CompactAs(&again, r, own.Library, own.Go))
		_, err = report.Verify(&again)
		require.NoError(t, err)
	})
}

// BenchmarkCompact writes and verifies 10⁵ cells, of 20 trials a field.
func BenchmarkCompact(b *testing.B) {
	var scenarios []madeScenario
	for i := range 100 {
		scenarios = append(scenarios, madeScenario{fmt.Sprintf("scenario-%d", i), i == 0})
	}
	var invariants []madeInvariant
	for i := range 50 {
		invariants = append(invariants, madeInvariant{fmt.Sprintf("invariant-%d", i), contract.High, false})
	}
	r := build(b, "large", 20, scenarios, invariants, nil)
	text := compactBytes(b, r)
	b.Run("write", func(b *testing.B) {
		for b.Loop() {
			require.NoError(b, report.Compact(io.Discard, r))
		}
		b.ReportMetric(float64(len(text))/1024, "KiB")
	})
	b.Run("verify", func(b *testing.B) {
		for b.Loop() {
			_, err := report.Verify(bytes.NewReader(text))
			require.NoError(b, err)
		}
	})
}
