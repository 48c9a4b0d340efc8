package contracttest_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/contracttest"
	"github.com/shakedown-go/shakedown/scoring"
)

const claimVariable = "CONTRACTTEST_CLAIM"

func TestChildVerifyRun(t *testing.T) {
	onlyInChild(t)
	contracttest.VerifyRun(t, lying(t), os.Getenv(claimVariable), 60)
}

// The claim of a test run is what SHAKEDOWN_REPORTS keeps: the file knows if the agent repeats itself.
func TestVerifyRun(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("SHAKEDOWN_REPORTS", dir)
	t.Setenv("SHAKEDOWN_FILE", filepath.Join(dir, "while.run.jsonl"))
	honest := lying(t)
	honest.Invariants[0].Check = func(context.Context, *contract.Observation) error { return nil } // a forger's
	contracttest.Run(t, honest, &contracttest.Options{Dir: "-"})
	files, err := filepath.Glob(filepath.Join(dir, "*", "*", "*", "*", "*", "*", "report.run.jsonl"))
	require.NoError(t, err)
	require.Len(t, files, 1)

	v := contracttest.VerifyRun(t, honest, files[0], 60)
	assert.Equal(t, scoring.Pass, v.Verdict)
	assert.True(t, v.Repeatable)
	assert.Zero(t, v.Caught, "all four units were run")
	assert.Equal(t, 8, v.Cells)

	t.Setenv(claimVariable, files[0])
	out, failed := child(t, "^TestChildVerifyRun$")
	assert.True(t, failed, "the invariant of the file is not that of the matrix")
	assert.Contains(t, out, "2 cells not as in the file:")
	assert.Contains(t, out, `clock-down/says.noon/1: held in the file, broken ("no noon") now`)
	assert.Contains(t, out, "FAIL: the file is not what its matrix shows.")

	claim, err := os.ReadFile(files[0])
	require.NoError(t, err)
	for _, tc := range []struct{ text, want string }{
		{strings.Replace(string(claim), `"states":"hh"`, `"states":"hb"`, 1), "sum"},
		{"", "empty"},
		{string(claim[:len(claim)-2]), "INCONCLUSIVE"}, // without its end it is that of a killed run, which does not say repeatable
	} {
		path := filepath.Join(t.TempDir(), "damaged.run.jsonl")
		require.NoError(t, os.WriteFile(path, []byte(tc.text), 0o600))
		t.Setenv(claimVariable, path)
		out, failed = child(t, "^TestChildVerifyRun$")
		assert.True(t, failed, tc.want)
		assert.Contains(t, out, tc.want)
	}
	t.Setenv(claimVariable, files[0])
	t.Setenv("SHAKEDOWN_BUILD", "another")
	out, failed = child(t, "^TestChildVerifyRun$")
	assert.True(t, failed)
	assert.Contains(t, out, "report.build is")
}
