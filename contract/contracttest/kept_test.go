package contracttest_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/contracttest"
)

const keptAs = "CONTRACTTEST_KEPT_AS" // what TestChildKept changes in the matrix

func TestChildKept(t *testing.T) {
	onlyInChild(t)
	m := orderLookup()
	switch os.Getenv(keptAs) {
	case "rate":
		m.Invariants[0].AtLeast = .5
	case "miss":
		world := m.NewWorld
		m.NewWorld = func(ctx context.Context) (*contract.World, error) {
			w, err := world(ctx)
			w.Err = func() error { return errors.New("no recorded answer") }
			return w, err
		}
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
		world := m.NewWorld
		m.NewWorld = func(ctx context.Context) (*contract.World, error) {
			w, err := world(ctx)
			w.Err = func() error { return errors.New("no recorded answer") }
			return w, err
		}
	} else {
		world := m.NewWorld
		m.NewWorld = func(ctx context.Context) (*contract.World, error) {
			w, err := world(ctx)
			w.Agent = func(context.Context, string, chaos.ToolRegistry) (string, error) { return "it is noon", nil }
			return w, err
		}
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

// A sweep keeps what it found, and runs it first: new, ongoing, resolved, regressed. One of
// them alone sweeps nothing. Secrets are in no file.
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

	t.Setenv(mended, "1")
	out, failed = child(t, "^TestChildSweepKeeps$")
	assert.False(t, failed, out)
	assert.Contains(t, out, "no set of these breaks honest")
	_, text = only(t, dir)
	assert.Contains(t, text, `"status": "resolved"`)

	t.Setenv(mended, "")
	out, failed = child(t, "^TestChildSweepKeeps$/^kept$")
	assert.True(t, failed)
	assert.Contains(t, out, "regressed: honest-")
	_, text = only(t, dir)
	assert.Contains(t, text, `"status": "regressed"`)

	out, failed = child(t, "^TestChildSweepKeeps$/^kept$/^none$")
	assert.True(t, failed)
	assert.Contains(t, out, "nothing was tested")

	// what a sweep kept is a kept defect of the test, whoever runs it
	out, failed = child(t, "^TestChildExplains$/^kept$")
	assert.True(t, failed)
	assert.Contains(t, out, "regressed: honest-"+id)
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
