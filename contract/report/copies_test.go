package report_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
)

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
