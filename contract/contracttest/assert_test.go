package contracttest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/contracttest"
	"github.com/shakedown-go/shakedown/scoring"
)

// fakeT records what an assertion does to its test.
type fakeT struct {
	testing.TB
	failed, stopped bool
	text, logged    string
}

func (f *fakeT) Helper()      {}
func (f *fakeT) Name() string { return "fake" }
func (f *fakeT) Errorf(format string, args ...any) {
	f.failed = true
	f.text += fmt.Sprintf(format, args...)
}
func (f *fakeT) FailNow() { f.stopped = true }

func TestAssertions(t *testing.T) {
	report := func(verdict scoring.Verdict, value float64, cells ...contract.CellReport) *contract.Report {
		r := &contract.Report{Cells: cells, Invariants: []string{"i", "never-decided"}}
		r.Score = scoring.ContractScore{Verdict: verdict, Why: "because", Value: value}
		for _, c := range cells {
			count := scoring.Cell{Scenario: c.Cell.Scenario, Invariant: c.Cell.Invariant, Severity: contract.High, State: c.State, Violated: c.Violated, Count: 1}
			r.Counts = append(r.Counts, count)
			if c.State == contract.Held || c.State == contract.Broken {
				r.Score.Decided++
			}
		}
		return r
	}
	cell := func(state contract.CellState, broke bool) contract.CellReport {
		return contract.CellReport{Cell: contract.Cell{Scenario: "s", Invariant: "i", Trial: 1}, State: state, Violated: broke, Why: "two refunds"}
	}
	held, broken := cell(contract.Held, false), cell(contract.Broken, true)
	countsOnly := report(scoring.Pass, 50, broken)
	countsOnly.Cells = nil
	for _, tc := range []struct {
		reason string
		assert func(testing.TB, *contract.Report, ...any) bool
		report *contract.Report
		want   string // "": it holds
	}{
		{"pass", contracttest.AssertPassed, report(scoring.Pass, 100, held), ""},
		{"fail", contracttest.AssertPassed, report(scoring.Fail, 0, broken), "the verdict is FAIL: because"},
		{"inconclusive is no pass", contracttest.AssertPassed, report(scoring.Inconclusive, 0), "the verdict is INCONCLUSIVE: because"},
		{"no report", contracttest.AssertPassed, nil, "there is no report"},
		{"held", heldBy("i"), report(scoring.Pass, 100, held), ""},
		{"broken once is broken", heldBy("i"), report(scoring.Pass, 50, held, broken), "s/i/1 broke: two refunds"},
		{"broken although undelivered", heldBy("i"), report(scoring.Pass, 50, held, cell(contract.Undelivered, true)), "s/i/1 broke"},
		{"broken, and only counted", heldBy("i"), countsOnly, `invariant "i" broke in scenario "s"`},
		{"never decided is not held", heldBy("never-decided"), report(scoring.Pass, 100, held), `invariant "never-decided" was decided in no cell`},
		{"inconclusive is not held", heldBy("i"), report(scoring.Pass, 100, cell(contract.Inconclusive, false)), `was decided in no cell`},
		{"a misspelt name", heldBy("j"), report(scoring.Pass, 100, held), `the matrix has no invariant "j"; it has ["i" "never-decided"]`},
		{"no report, nothing held", heldBy("i"), nil, "there is no report"},
		{"score reached", atLeast(50), report(scoring.Fail, 50, held, broken), ""},
		{"score missed", atLeast(50.01), report(scoring.Pass, 50, held, broken), "the contract score is 50.00, less than 50.01 (because)"},
		{"no score is less than none", atLeast(0), report(scoring.Inconclusive, 0), "there is no score: no cell was decided"},
		{"no report, no score", atLeast(0), nil, "there is no report"},
	} {
		f := &fakeT{}
		assert.Equal(t, tc.want == "", tc.assert(f, tc.report, "order %d", 7), tc.reason)
		assert.Equal(t, tc.want != "", f.failed, tc.reason)
		assert.False(t, f.stopped, "%s: an assertion goes on", tc.reason)
		assert.Contains(t, f.text, tc.want, tc.reason)
		if tc.want != "" {
			assert.Contains(t, f.text, "order 7", tc.reason)
		}
	}
}

func heldBy(invariant string) func(testing.TB, *contract.Report, ...any) bool {
	return func(t testing.TB, r *contract.Report, args ...any) bool {
		return contracttest.AssertHeld(t, r, invariant, args...)
	}
}

func atLeast(score float64) func(testing.TB, *contract.Report, ...any) bool {
	return func(t testing.TB, r *contract.Report, args ...any) bool {
		return contracttest.AssertScoreAtLeast(t, r, score, args...)
	}
}

// build is the report of a build whose agent is wrong in the first trials, of a matrix with these changes.
func build(t *testing.T, wrong, trials int, changes ...func(*contract.Matrix)) *contract.Report {
	t.Helper()
	agent := func(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
		if c, _ := contract.CellOf(ctx); c.Trial > 0 && c.Trial <= wrong {
			return "wrong", nil
		}
		return "right", nil
	}
	m := &contract.Matrix{Name: "build", Trials: trials, Prompts: []string{"hello"},
		NewWorld:  func(context.Context) (*contract.World, error) { return &contract.World{Agent: agent}, nil },
		Scenarios: []contract.Scenario{contract.Calm()},
		Invariants: []contract.Invariant{{Name: "right", Severity: contract.High,
			Check: func(_ context.Context, o *contract.Observation) error {
				if o.Response != "right" {
					return errors.New("it is not")
				}
				return nil
			}}}}
	for _, change := range changes {
		change(m)
	}
	r, err := m.Run(context.Background(), nil)
	require.NoError(t, err)
	return r
}

func (f *fakeT) Logf(format string, args ...any) { f.logged += fmt.Sprintf(format, args...) + "\n" }

func TestAssertNoRegression(t *testing.T) {
	file := filepath.Join(t.TempDir(), "testdata", "main.json")
	assertion := func(r *contract.Report) *fakeT {
		var f fakeT
		assert.Equal(t, contracttest.AssertNoRegression(&f, r, file), !f.failed)
		return &f
	}
	missing := assertion(build(t, 0, 20))
	assert.True(t, missing.failed)
	assert.Contains(t, missing.text, "run the test once with SHAKEDOWN_UPDATE=1")
	assert.NoFileExists(t, file)

	t.Setenv("SHAKEDOWN_UPDATE", "1")
	partial := build(t, 0, 20)
	partial.Filtered = true
	assert.True(t, assertion(partial).failed, "a partial run is no baseline")
	assert.NoFileExists(t, file)
	assert.False(t, assertion(build(t, 0, 20)).failed)
	require.FileExists(t, file)
	t.Setenv("SHAKEDOWN_UPDATE", "true")
	assert.Contains(t, assertion(build(t, 0, 20)).text, `SHAKEDOWN_UPDATE is "true"; allowed: 1`)
	t.Setenv("SHAKEDOWN_UPDATE", "0")

	same := assertion(build(t, 1, 20))
	assert.False(t, same.failed, "one trial of twenty may be bad luck: %s", same.text)
	assert.Contains(t, same.logged, "calm / right: 20 of 20 in main.json, 19 of 20 now, 1 worse, 0 better")
	assert.Contains(t, same.logged, "so many trials may well not have seen a drop of one field from 95 % to above 5")

	worse := assertion(build(t, 12, 20))
	assert.True(t, worse.failed)
	assert.Contains(t, worse.text, "calm / right: 20 of 20 in main.json, 8 of 20 now, 12 worse, 0 better")

	alike := []contract.RepeatCount{{Scenario: "calm", Groups: 1, Alike: 8}}
	repeatable := build(t, 0, 20)
	repeatable.Repeats = alike
	t.Setenv("SHAKEDOWN_UPDATE", "1")
	assert.False(t, assertion(repeatable).failed)
	t.Setenv("SHAKEDOWN_UPDATE", "")
	once := build(t, 1, 20)
	once.Repeats = alike
	assert.True(t, assertion(once).failed, "one trial is enough beside so many runs that were alike")

	seeded := func(seed uint64) *contract.Report { // with two fields, so that all of them are compared too
		return build(t, 0, 20, func(m *contract.Matrix) {
			m.Seed, m.Invariants = seed, append(m.Invariants, m.Invariants[0])
			m.Invariants[1].Name = "right-again"
		})
	}
	t.Setenv("SHAKEDOWN_UPDATE", "1")
	assert.False(t, assertion(seeded(1)).failed)
	t.Setenv("SHAKEDOWN_UPDATE", "")
	unpaired := assertion(seeded(2))
	assert.False(t, unpaired.failed, unpaired.text)
	assert.NotContains(t, unpaired.logged, "of all fields", "nobody knows it of trials that are not paired")
	t.Setenv("SHAKEDOWN_UPDATE", "1")
	assert.False(t, assertion(build(t, 0, 20)).failed)
	t.Setenv("SHAKEDOWN_UPDATE", "")

	other := build(t, 0, 20)
	other.Fingerprint.Prompts = "another"
	assert.Contains(t, assertion(other).text, "no field could be compared")

	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, text[:len(text)/2], 0o666))
	assert.Contains(t, assertion(repeatable).text, "has not all cells of its matrix")
	text[len(text)/2]++
	require.NoError(t, os.WriteFile(file, text, 0o666))
	assert.Contains(t, assertion(repeatable).text, "is not what was written")
	assert.True(t, assertion(nil).failed)
}

// lookingUp is a matrix of an agent that looks up an order on a goroutine, whose context
// does not end with its own, and gives up after three seconds.
func lookingUp(t *testing.T) *contract.Matrix {
	tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "lookup", Effect: chaos.EffectNone},
		func(context.Context, struct{}) (string, error) { return "shipped", nil }))
	require.NoError(t, err)
	agent := func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
		answer := make(chan string, 1)
		go func() {
			if text, err := tools.CallTool(context.WithoutCancel(ctx), "lookup", json.RawMessage(`{}`)); err == nil {
				answer <- string(text)
			}
		}()
		select {
		case text := <-answer:
			return text, nil
		case <-time.After(3 * time.Second):
			return "I could not find out.", nil
		}
	}
	return &contract.Matrix{
		NewWorld: func(context.Context) (*contract.World, error) {
			return &contract.World{Agent: agent, Tools: tools}, nil
		},
		Prompts: []string{"Where is order 1042?"},
		Invariants: []contract.Invariant{{Name: "answers", Severity: contract.High,
			Check: func(_ context.Context, o *contract.Observation) error {
				if o.Response != `"shipped"` {
					return errors.New("the order was not found")
				}
				return nil
			}}},
		Scenarios: []contract.Scenario{contract.Calm(),
			{Name: "lookup-hangs", Rules: []chaos.Rule{{Target: "lookup", Fault: fault.Hang()}}}},
	}
}

func TestChildLooksUp(t *testing.T) {
	onlyInChild(t)
	contracttest.Run(t, lookingUp(t), &contracttest.Options{Dir: "-"})
}

// TestAHangThatOutlivesItsCellIsFound: the fault that holds the call is delivered, and the
// search names it.
func TestAHangThatOutlivesItsCellIsFound(t *testing.T) {
	out, failed := explaining(t, "-", "^TestChildLooksUp$")
	assert.True(t, failed)
	for _, want := range []string{
		"✗ lookup-hangs / answers (high): broken",
		"why       the order was not found",
		"faults    lookup, call 1: hang (rule lookup:hang), waited 4s, the call was still open when", // line end
		"DEFECTS  1 broken cell is 1 defect",
		"1 high      lookup fails",
		"faults    1 of 1 rule delivered, on 1 call",
	} {
		assert.Contains(t, out, want)
	}
	for _, never := range []string{"although no fault was delivered", "tested nothing", "did not break again"} {
		assert.NotContains(t, out, never)
	}
}
