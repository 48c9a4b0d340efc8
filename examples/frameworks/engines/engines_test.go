package engines_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/testsuite"
	_ "modernc.org/sqlite"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/examples/frameworks/engines"
	"github.com/shakedown-go/shakedown/scoring"
)

// matrix has ten units, of which some break.
func matrix(t *testing.T) *contract.Matrix {
	t.Helper()
	tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "clock"},
		func(context.Context, struct{}) (string, error) { return "noon", nil }))
	require.NoError(t, err)
	agent := func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
		said, err := tools.CallTool(ctx, "clock", []byte("{}"))
		if err != nil {
			return "", err
		}
		return "it is " + string(said), nil
	}
	return &contract.Matrix{Name: "clock", Seed: 11, Trials: 5, Prompts: []string{"What time is it?"},
		NewWorld: func(context.Context) (*contract.World, error) {
			return &contract.World{Agent: agent, Tools: tools}, nil
		},
		Scenarios: []contract.Scenario{contract.Calm(),
			contract.Under("clock-flaky", chaos.Rule{Target: "clock", Fault: fault.Fail(fault.ErrUnavailable), When: when.Prob(0.4)})},
		Invariants: []contract.Invariant{{Name: "says-noon", Severity: contract.Critical, JudgesErrors: true,
			Check: func(_ context.Context, o *contract.Observation) error {
				if !strings.Contains(o.Response, "noon") {
					return errors.New("no noon")
				}
				return nil
			}}},
	}
}

func units(t *testing.T, build string) *contract.Units {
	t.Helper()
	u, err := matrix(t).Units(t.Context(), &contract.RunOptions{Build: build})
	require.NoError(t, err)
	t.Cleanup(u.Close)
	return u
}

// merged is the stable run file of what an engine wrote.
func merged(t *testing.T, file []byte) string {
	t.Helper()
	var whole bytes.Buffer
	_, err := report.Merge(&whole, written(t, file))
	require.NoError(t, err)
	r, err := report.Read(&whole, nil)
	require.NoError(t, err)
	return stable(t, r)
}

func written(t *testing.T, file []byte) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "engine.run.jsonl")
	require.NoError(t, os.WriteFile(path, file, 0o600))
	return path
}

func stable(t *testing.T, r *contract.Report) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, report.Write(&out, r, &report.WriteOptions{Stable: true}))
	return out.String()
}

// ofOne is the stable run file of one process.
func ofOne(t *testing.T) string {
	t.Helper()
	r, err := matrix(t).Run(t.Context(), nil)
	require.NoError(t, err)
	assert.Equal(t, scoring.Fail, r.Score.Verdict, "there is something to lose")
	return stable(t, r)
}

// temporal is a client whose workflows run in the test suite, one after the other.
type temporal struct {
	client.Client
	suite      testsuite.WorkflowTestSuite
	activities *engines.Activities
	lost       atomic.Int32 // activities whose workers are lost, from now on
	ran        map[string]*ended
}

type ended struct {
	client.WorkflowRun
	env *testsuite.TestWorkflowEnvironment
}

func (e *ended) Get(_ context.Context, value any) error {
	if err := e.env.GetWorkflowError(); err != nil {
		return err
	}
	return e.env.GetWorkflowResult(value)
}

func (c *temporal) ExecuteWorkflow(_ context.Context, o client.StartWorkflowOptions, workflow any, args ...any) (client.WorkflowRun, error) {
	if c.ran[o.ID] == nil {
		env := c.suite.NewTestWorkflowEnvironment()
		env.RegisterActivityWithOptions(func(ctx context.Context, head []byte, unit string) ([]byte, error) {
			if c.lost.Add(-1) >= 0 {
				return nil, errors.New("the worker is lost")
			}
			return c.activities.RunUnit(ctx, head, unit)
		}, activity.RegisterOptions{Name: "RunUnit"})
		env.ExecuteWorkflow(workflow, args...)
		c.ran[o.ID] = &ended{env: env}
	}
	return c.ran[o.ID], nil
}

func TestTemporal(t *testing.T) {
	u := units(t, "v1")
	c := &temporal{activities: &engines.Activities{Units: u}, ran: map[string]*ended{}}
	c.suite.SetLogger(slog.New(slog.DiscardHandler))
	c.lost.Store(3)
	var file bytes.Buffer
	require.NoError(t, engines.OnTemporal(t.Context(), c, "units", "nightly-7", u, &file))
	assert.Equal(t, ofOne(t), merged(t, file.Bytes()))
	assert.Len(t, c.ran, 10)
	assert.Contains(t, c.ran, "nightly-7/clock-flaky/5")

	_, err := (&engines.Activities{Units: units(t, "v2")}).RunUnit(t.Context(), first(file.Bytes()), "calm/1")
	assert.ErrorContains(t, err, "head.build")
}

func first(file []byte) []byte { return file[:bytes.IndexByte(file, '\n')+1] }

// forgetful loses the first tries, and all of a unit.
type forgetful struct {
	engines.UnitWorker
	lost   atomic.Int32
	always atomic.Value // the unit; nil: none
}

func (w *forgetful) Work(ctx context.Context, job *river.Job[engines.UnitArgs]) error {
	if w.lost.Add(-1) >= 0 {
		return errors.New("the worker is lost")
	}
	if job.Args.Unit == w.always.Load() {
		return river.JobCancel(errors.New("nobody can"))
	}
	return w.UnitWorker.Work(ctx, job)
}

type soon struct{}

func (soon) NextRetry(*rivertype.JobRow) time.Time { return time.Now() }

func TestRiver(t *testing.T) {
	db, err := sql.Open("sqlite", ":memory:")
	require.NoError(t, err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	driver := riversqlite.New(db)
	quiet := slog.New(slog.DiscardHandler)
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: quiet})
	require.NoError(t, err)
	_, err = migrator.Migrate(t.Context(), rivermigrate.DirectionUp, nil)
	require.NoError(t, err)

	u := units(t, "v1")
	worker := &forgetful{UnitWorker: engines.UnitWorker{Units: u}}
	worker.lost.Store(3)
	workers := river.NewWorkers()
	river.AddWorker(workers, worker)
	c, err := river.NewClient(driver, &river.Config{Logger: quiet, RetryPolicy: soon{}, Workers: workers,
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 4}}})
	require.NoError(t, err)
	require.NoError(t, c.Start(t.Context()))
	want := ofOne(t)
	for range 2 { // the second time, its jobs are done
		var file bytes.Buffer
		require.NoError(t, engines.OnRiver(t.Context(), c, "nightly-7", u, &file))
		assert.Equal(t, want, merged(t, file.Bytes()))
		worker.lost.Store(1000)
	}

	// A unit that was given up is missing, and the merge says so.
	worker.lost.Store(0)
	worker.always.Store("calm/2")
	var file, whole bytes.Buffer
	require.NoError(t, engines.OnRiver(t.Context(), c, "nightly-8", u, &file))
	r, err := report.Merge(&whole, written(t, file.Bytes()))
	require.NoError(t, err)
	assert.Contains(t, strings.Join(r.Warnings, "\n"), "lack 1 of 10 units: calm/2")
	require.NoError(t, c.Stop(context.WithoutCancel(t.Context())))

	head, err := u.Head("nightly-7")
	require.NoError(t, err)
	other := &engines.UnitWorker{Units: units(t, "v2")}
	assert.ErrorContains(t, other.Work(t.Context(), &river.Job[engines.UnitArgs]{Args: engines.UnitArgs{Head: head, Unit: "calm/1"}}), "head.build")
}
