package contracttest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/contracttest"
	"github.com/shakedown-go/shakedown/contract/report"
)

type slow struct{ d time.Duration }

func (f slow) Phase() chaos.Phase { return chaos.PhaseBefore }
func (f slow) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	if err := chaos.Sleep(ctx, f.d); err != nil && !errors.Is(err, chaos.ErrDisarmed) {
		return nil, err
	}
	return next(ctx, args)
}

func clock(context.Context) (*contract.World, error) {
	tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "clock"}, func(context.Context, struct{}) (string, error) {
		return "noon", nil
	}))
	return &contract.World{Tools: tools, Agent: func(ctx context.Context, prompt string, tools chaos.ToolRegistry) (string, error) {
		raw, err := tools.CallTool(ctx, "clock", json.RawMessage(`{}`))
		return "it is " + string(raw), err
	}}, err
}

func saysNoon(_ context.Context, o *contract.Observation) error {
	if !strings.Contains(o.Response, "noon") {
		return errors.New("no noon")
	}
	return nil
}

// TestRunFile: the file of the options or of the environment has what the run showed.
func TestRunFile(t *testing.T) {
	for _, o := range []*contracttest.Options{{File: filepath.Join(t.TempDir(), "a.run.jsonl")}, nil} {
		path := filepath.Join(t.TempDir(), "b.run.jsonl")
		t.Setenv("SHAKEDOWN_FILE", path)
		if o != nil {
			path = o.File
		}
		r := contracttest.Run(t, &contract.Matrix{
			NewWorld: clock, Prompts: []string{"What time is it?"}, Scenarios: []contract.Scenario{contract.Calm()},
			Invariants: []contract.Invariant{{Name: fmt.Sprintf("noon-%t", o == nil), Severity: contract.Critical, Check: saysNoon}},
		}, o)
		file, err := os.Open(path)
		require.NoError(t, err)
		defer file.Close()
		back, err := report.Read(file, nil)
		require.NoError(t, err)
		assert.Equal(t, r.Score, back.Score)
		assert.Equal(t, r.Invariants, back.Invariants)
	}
}

func TestRun(t *testing.T) {
	r := contracttest.Run(t, &contract.Matrix{
		NewWorld:   clock,
		Prompts:    []string{"What time is it?"},
		Invariants: []contract.Invariant{{Name: "noon", Severity: contract.Critical, Check: saysNoon}},
		Scenarios: []contract.Scenario{contract.Calm(), {Name: "slow", Rules: []chaos.Rule{
			{Target: "clock", Fault: slow{time.Hour}}}}},
		Trials: 500,
	}, nil)
	contracttest.RequirePassed(t, r)
}

func TestChildFinish(t *testing.T) {
	onlyInChild(t)
	contracttest.Run(t, lying(t), &contracttest.Options{FailOn: contract.Critical, Finish: func(r *contract.Report) error {
		r.Warnings = append(r.Warnings, "finished after "+strings.ToLower(r.Score.Verdict.String()))
		return errors.New("no calibration")
	}})
}

// What completes a report comes before it is logged and written.
func TestFinishComesBeforeTheReport(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("SHAKEDOWN_REPORTS", dir)
	out, failed := child(t, "^TestChildFinish$")
	assert.True(t, failed, "an error of Finish fails the test")
	assert.Contains(t, out, "contracttest: Options.Finish: no calibration")
	assert.Contains(t, out, "* finished after pass")
	found := 0
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.Name() != "report.txt" {
			return err
		}
		found++
		text, err := os.ReadFile(path)
		assert.Contains(t, string(text), "* finished after pass")
		return err
	}))
	assert.Equal(t, 1, found)
}
