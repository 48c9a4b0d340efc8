package contracttest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/contracttest"
)

// build is the report of a build whose agent is wrong in the first trials.
func build(t *testing.T, wrong, trials int) *contract.Report {
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
