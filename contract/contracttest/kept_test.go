package contracttest_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/contracttest"
	"github.com/shakedown-go/shakedown/contract/invariant"
	"github.com/shakedown-go/shakedown/contract/replay"
)

const keptAs = "CONTRACTTEST_KEPT_AS" // what TestChildKept changes in the matrix

func TestChildKept(t *testing.T) {
	onlyInChild(t)
	m := orderLookup()
	switch os.Getenv(keptAs) {
	case "rate":
		m.Invariants[0].AtLeast = .5
	case "miss":
		changeWorld(m, func(w *contract.World) {
			w.Err = func() error { return errors.New("no recorded answer") }
		})
	}
	contracttest.Run(t, m, &contracttest.Options{Dir: os.Getenv(keptIn)})
}

// A kept defect of an invariant that promises a rate is a broken trial: it fails nothing.
func TestAKeptDefectOfARateFailsNothing(t *testing.T) {
	dir := t.TempDir()
	_, failed := explaining(t, dir, "^TestChildKept$")
	assert.True(t, failed)
	t.Setenv(keptAs, "rate")
	out, failed := explaining(t, dir, "^TestChildKept$/^kept$")
	assert.False(t, failed, out)
	assert.Contains(t, out, "ongoing: honest-")
}

// A run that decided nothing says nothing about whether the faults reach the agent.
func TestAKeptDefectWhoseRunDecidesNothing(t *testing.T) {
	dir := t.TempDir()
	explaining(t, dir, "^TestChildKept$")
	t.Setenv(keptAs, "miss")
	out, _ := explaining(t, dir, "^TestChildKept$/^kept$")
	assert.Contains(t, out, "its run decided nothing: ")
	assert.Contains(t, out, "no recorded answer")
	assert.NotContains(t, out, "no longer reaches the agent")
}

func TestChildSweepOfNothing(t *testing.T) {
	onlyInChild(t)
	m := lying(t)
	if os.Getenv(keptAs) == "miss" {
		changeWorld(m, func(w *contract.World) {
			w.Err = func() error { return errors.New("no recorded answer") }
		})
	} else {
		changeWorld(m, func(w *contract.World) {
			w.Agent = func(context.Context, string, chaos.ToolRegistry) (string, error) { return "it is noon", nil }
		})
	}
	contracttest.Sweep(t, m, keepsNothing(contracttest.SweepOptions{}))
}

// A sweep that tried nothing, or whose runs decided nothing, does not pass.
func TestASweepOfNothingFails(t *testing.T) {
	out, failed := child(t, "^TestChildSweepOfNothing$")
	assert.True(t, failed, out)
	assert.Contains(t, out, "nothing was tried")
	t.Setenv(keptAs, "miss")
	out, failed = child(t, "^TestChildSweepOfNothing$")
	assert.True(t, failed, out)
	assert.Contains(t, out, "no run decided says.noon, answers")
}

func TestChildSweepKeeps(t *testing.T) {
	onlyInChild(t)
	m := orderLookup()
	m.Scenarios = nil
	o := &contracttest.SweepOptions{}
	o.Search.Dir = os.Getenv(keptIn)
	down := errors.New("no order: the token " + keptToken + " is not known")
	o.Search.Faults = func(chaos.Event, chaos.Tool) []chaos.Fault { return []chaos.Fault{fault.Fail(down)} }
	r := contracttest.Sweep(t, m, o)
	t.Logf("swept in %d runs; stopped: %s", r.Runs, r.Stopped)
}

// A sweep keeps what it found, and runs it first. One of them alone sweeps nothing. Secrets are in no file.
func TestASweepKeepsItsDefects(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(keptIn, dir)
	out, failed := child(t, "^TestChildSweepKeeps$")
	assert.True(t, failed)
	assert.Contains(t, out, "--- FAIL: TestChildSweepKeeps/orders.get_fails_twice_in_a_row ")
	path, text := only(t, dir)
	assert.Contains(t, text, `"status": "new"`)
	assert.Contains(t, text, `"sentence": "orders.get fails twice in a row"`)
	assert.NotContains(t, text, keptToken)
	id := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "honest-"), ".json")
	one := "^TestChildSweepKeeps$/^kept$/^" + id + "$"
	assert.Contains(t, out, "rerun  go test -count=1 -run '"+one+"' github.com/shakedown-go/shakedown/contract/contracttest")

	out, failed = child(t, "^TestChildSweepKeeps$")
	assert.True(t, failed)
	kept, found := strings.Index(out, "=== RUN   TestChildSweepKeeps/kept/"+id), strings.Index(out, "=== RUN   TestChildSweepKeeps/orders.get")
	assert.Less(t, kept, found, "it runs first")
	assert.GreaterOrEqual(t, kept, 0)
	_, text = only(t, dir)
	assert.Contains(t, text, `"status": "ongoing"`)

	out, failed = child(t, one)
	assert.True(t, failed)
	assert.Contains(t, out, "ongoing: honest-"+id)
	assert.Contains(t, out, "swept in 0 runs; stopped: -run selects kept defects alone")

	out, failed = child(t, "^TestChildSweepKeeps$/^kept$/^none$")
	assert.True(t, failed)
	assert.Contains(t, out, "nothing was tested")

	// what a sweep kept is a kept defect of the test, whoever runs it
	out, failed = child(t, "^TestChildExplains$/^kept$")
	assert.True(t, failed)
	assert.Contains(t, out, "ongoing: honest-"+id)
}

// With "-" nothing is kept, and nothing is said to be.
func TestASweepThatKeepsNothing(t *testing.T) {
	t.Setenv(keptIn, "-")
	out, failed := child(t, "^TestChildSweepKeeps$")
	assert.True(t, failed)
	assert.NotContains(t, out, "/kept")
	_, err := os.Stat("-")
	assert.ErrorIs(t, err, os.ErrNotExist)
}

// saving is a matrix whose agent pays twice if the reply is lost. Its calls hold secrets.
// With sessions it plays them besides.
func saving(t *testing.T, sessions ...*replay.Session) *contract.Matrix {
	agent := func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
		args := json.RawMessage(`{"order":7,"token":"ours","note":"with sk-proj-0123456789abcdefghijklmnop of Ada"}`)
		_, err := tools.CallTool(ctx, "pay", args)
		if err != nil {
			_, err = tools.CallTool(ctx, "pay", args)
		}
		return "paid", err
	}
	played, err := replay.Scenarios(sessions, func(_ context.Context, _ *replay.Session, tools chaos.ToolRegistry) (*contract.World, error) {
		return &contract.World{Agent: agent, Tools: tools, State: tools.(*replay.Player).State}, nil
	}, &replay.PlayOptions{Secrets: []string{"Ada"}})
	require.NoError(t, err)
	return &contract.Matrix{
		NewWorld: func(context.Context) (*contract.World, error) {
			var paid replay.Effects
			tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "pay", Effect: chaos.EffectDone},
				func(_ context.Context, args json.RawMessage) (string, error) {
					paid = append(paid, replay.Effect{Tool: "pay", Args: args})
					return "done", nil
				}))
			return &contract.World{Agent: agent, Tools: tools, State: func(context.Context) (any, error) {
				return append(replay.Effects(nil), paid...), nil
			}}, err
		},
		Prompts: []string{"pay"},
		Invariants: []contract.Invariant{
			invariant.AtMostOnce("once", contract.Critical, replay.Effects.Names),
			{Name: "answers", Severity: contract.Low, Check: func(_ context.Context, o *contract.Observation) error {
				if o.Response == "" {
					return errors.New("no answer")
				}
				return nil
			}},
		},
		Scenarios: append([]contract.Scenario{contract.Calm(), contract.Under("lost",
			chaos.Rule{Target: "pay", Limit: 1, Fault: fault.LoseReplyAfter(0)})}, played...),
	}
}

const savingFolder = "CONTRACTTEST_SAVING"

func TestChildSaves(t *testing.T) {
	onlyInChild(t)
	contracttest.Run(t, saving(t), &contracttest.Options{SaveFailures: replay.SaveCell, Dir: os.Getenv(savingFolder), Secrets: []string{"Ada"}})
}

func TestChildSavesAndPlays(t *testing.T) {
	onlyInChild(t)
	dir := os.Getenv(savingFolder)
	sessions, err := replay.ReadDir(filepath.Join(dir, "sessions"))
	require.NoError(t, err)
	contracttest.Run(t, saving(t, sessions...), &contracttest.Options{SaveFailures: replay.SaveCell, Dir: dir, Secrets: []string{"Ada"}})
}

// inFolder runs a test in a child process, with a folder to save to, and in another to
// work in.
func inFolder(t *testing.T, test, dir, work string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+test+"$", "-test.v", "-test.timeout", "60s")
	cmd.Dir = work
	t.Setenv(savingFolder, dir)
	out, failed := finish(t, cmd)
	assert.True(t, failed, "a broken cell fails the test all the same\n%s", out)
	return out
}

func TestBrokenCellsAreSaved(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "sessions")
	out := inFolder(t, "TestChildSaves", dir, "")
	assert.Contains(t, out, "contracttest: 1 session of broken cells saved in "+folder)
	sessions, err := replay.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, sessions, 1, "the one that broke, and no other")
	assert.Equal(t, "lost_once_1", sessions[0].Name)
	assert.Equal(t, []string{"pay"}, sessions[0].Prompts)
	assert.Len(t, sessions[0].Calls, 2)
	file := filepath.Join(folder, "lost_once_1.json")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	for _, secret := range []string{"sk-proj", "Ada", "ours"} {
		assert.NotContains(t, string(text), secret)
	}

	// What is there stays as it is, and a session that breaks again is not saved again.
	changed := strings.Replace(string(text), `"answer": "paid"`, `"answer": "by hand"`, 1)
	require.NotEqual(t, string(text), changed)
	require.NoError(t, os.WriteFile(file, []byte(changed), 0o600))
	out = inFolder(t, "TestChildSavesAndPlays", dir, "")
	assert.Contains(t, out, "lost_once_1/once/1", "the session was played")
	assert.Regexp(t, `--- FAIL: TestChildSavesAndPlays/lost_once_1/once/1 `, out, "and broke again")
	assert.Contains(t, out, "contracttest: 2 broken cells not saved: a file in "+folder+" has it already")
	again, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, changed, string(again))
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	assert.Len(t, entries, 1)
}

func TestWhereBrokenCellsAreSaved(t *testing.T) {
	work := t.TempDir()
	out := inFolder(t, "TestChildSaves", "", work)
	assert.FileExists(t, filepath.Join(work, "testdata", "shakedown", "TestChildSaves", "sessions", "lost_once_1.json"), "%s", out)

	work = t.TempDir()
	out = inFolder(t, "TestChildSaves", "-", work)
	entries, err := os.ReadDir(work)
	require.NoError(t, err)
	assert.Empty(t, entries, "nothing is written")
	assert.NotContains(t, out, "saved")

	file := filepath.Join(work, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	out = inFolder(t, "TestChildSaves", file, work)
	assert.Contains(t, out, "contracttest: not saved: cell lost/once/1: ", "it is logged")

	outside := t.TempDir()
	require.NoError(t, os.Symlink(outside, filepath.Join(work, "sessions")))
	out = inFolder(t, "TestChildSaves", work, work)
	assert.Contains(t, out, "contracttest: not saved: cell lost/once/1: ", "a link leaves the folder")
	entries, err = os.ReadDir(outside)
	require.NoError(t, err)
	assert.Empty(t, entries)
}

func TestNothingIsSavedUnlessAskedFor(t *testing.T) {
	work := t.TempDir()
	t.Chdir(work)
	r := contracttest.RunCell(t, saving(t), contract.Cell{Scenario: "lost", Invariant: "once", Trial: 1}, nil)
	assert.True(t, r.Violated)
	entries, err := os.ReadDir(work)
	require.NoError(t, err)
	assert.Empty(t, entries)
}
