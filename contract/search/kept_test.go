package search

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/contract"
)

// FuzzDecodeKept: whatever a file holds, it is refused with a reason or read, and what was
// read is written and read as the same.
func FuzzDecodeKept(f *testing.F) {
	f.Add([]byte(`{"id":"0123abcd","status":"new","sentence":"s","invariant":"i","why":"w","scenario":"c","trial":1,` +
		`"seed":"7","runs":1,"deliveries":[{"rule":"r","fault":"error","target":"a","key":"1","occurrence":"0","ordinal":"0","attempt":1}],` +
		`"plan":{"seed":"7","rules":[{"name":"r","target":"a","fault":{"kind":"hang"}}]}}`))
	f.Add([]byte(`{"id":"0123abcd","plan":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		const name = "i-0123abcd.json"
		k, err := decodeKept(name, data, nil)
		if err != nil {
			return
		}
		written, err := json.Marshal(k)
		require.NoError(t, err)
		again, err := decodeKept(name, written, nil)
		require.NoError(t, err, "%s", written)
		k.plan, again.plan, k.Plan, again.Plan = nil, nil, nil, nil
		assert.Equal(t, k, again)
	})
}

func TestTheSeedOfTheFuzzTargetIsRead(t *testing.T) {
	_, err := decodeKept("i-0123abcd.json", []byte(`{"id":"0123abcd","status":"new","sentence":"s","invariant":"i","why":"w",`+
		`"scenario":"c","trial":1,"seed":"7","runs":1,"plan":{"seed":"7","rules":[]}}`), nil)
	require.NoError(t, err)
	_, err = decodeKept("i-0123abcd.json", []byte(`{"id":"0123abcd","status":"gone","trial":0,"odd":1}`), nil)
	for _, want := range []string{"/status", "/trial", "/odd", "/plan", "i-0123abcd.json"} {
		assert.ErrorContains(t, err, want)
	}
}

// sly makes the callee do something else, of which its caller sees nothing.
type sly struct{}

type slyKey struct{}

func (sly) Describe() chaos.Description { return chaos.Description{Kind: "sly"} }
func (sly) Inject(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
	return next(context.WithValue(ctx, slyKey{}, true), args)
}

func TestRulesAreLeftOutWhereDeliveriesAloneDoNotBreakIt(t *testing.T) {
	m := scripted(nil, contract.Under("sly", fails("b", nil), chaos.Rule{Name: "one", Target: "a", Fault: sly{}}))
	m.NewWorld = func(context.Context) (*contract.World, error) {
		seen := false
		touch := func(ctx context.Context, n int) (int, error) {
			seen = seen || ctx.Value(slyKey{}) != nil
			return n, nil
		}
		tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "a"}, touch), chaos.Func(chaos.Tool{Name: "b"}, touch))
		return &contract.World{Tools: tools, State: func(context.Context) (any, error) { return 0, nil },
			Agent: func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
				_, _ = tools.CallTool(ctx, "a", []byte("1"))
				_, _ = tools.CallTool(ctx, "b", []byte("1"))
				return map[bool]string{true: "bad", false: "ok"}[seen], nil
			}}, err
	}
	r := explained(t, m, &Options{})
	assert.Equal(t, []string{"under the rules one → fine"}, sentences(r), "and not: without any fault")
}

func TestProgressIsTold(t *testing.T) {
	var all []Progress
	o := &Options{OnProgress: func(p Progress) { all = append(all, p) },
		Cost: func(*contract.Result) float64 { return 2 }}
	r := explained(t, scripted(breaksWith(5, "b3"), contract.Under("all", fails("*", nil))), o)
	require.NotEmpty(t, all)
	last := all[len(all)-1]
	assert.Equal(t, r.SearchRuns, last.Runs)
	assert.InDelta(t, 2*float64(r.SearchRuns), last.Cost, 1e-9)
	assert.Equal(t, 1, last.Open)
}

// Where only scenarios have worlds, as those of played sessions do, a defect of one that was
// taken out cannot be run. That is no failure: whoever deleted the session meant it.
func TestAKeptDefectWhoseScenarioIsGoneIsUnreached(t *testing.T) {
	dir := t.TempDir()
	m := scripted(breaksWith(1, "b1"), contract.Under("gone", fails("b", nil)), contract.Under("stays"))
	m.Invariants = m.Invariants[:1]
	for i := range m.Scenarios {
		m.Scenarios[i].NewWorld, m.Scenarios[i].Prompts = m.NewWorld, m.Prompts
	}
	m.NewWorld, m.Prompts = nil, nil
	explained(t, m, &Options{Dir: dir})
	kept, err := ReadKept(dir, nil)
	require.NoError(t, err)
	require.Len(t, kept, 1)
	status, _, err := kept[0].Run(t.Context(), m, nil)
	require.NoError(t, err)
	assert.Equal(t, StatusOngoing, status)
	m.Scenarios = m.Scenarios[1:]
	status, cell, err := kept[0].Run(t.Context(), m, nil)
	require.NoError(t, err)
	assert.Equal(t, StatusUnreached, status)
	assert.Equal(t, contract.NotRun, cell.State)
	kept[0].Scenario = sweepScenario // a sweep found it when the matrix had a world
	status, _, err = kept[0].Run(t.Context(), m, nil)
	require.NoError(t, err)
	assert.Equal(t, StatusUnreached, status)
}

func TestAKeptFileThatNobodyCouldReadIsNotWritten(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer root.Close()
	require.NoError(t, root.Mkdir(keptFolder, 0o777))
	k := &Kept{ID: "0", Plan: json.RawMessage(`{}`), Why: strings.Repeat("x", maxFile), name: "a-0.json"}
	require.ErrorContains(t, k.save(root), "a kept file at most 1048576")
	files, err := filepath.Glob(filepath.Join(dir, keptFolder, "*"))
	require.NoError(t, err)
	assert.Empty(t, files)
}

// A fault with memory is found by number with the calls that it has to see before.
func TestAKeptDefectOfAFaultWithMemoryIsFoundByNumber(t *testing.T) {
	for _, random := range []bool{false, true} {
		arg := 0
		m := scripted(func(call func(string, int) error) string {
			if random {
				arg++
			}
			failed := 0
			for n := range 6 {
				if call("a", arg*100+n) != nil {
					failed++
				}
			}
			return map[bool]string{true: "bad", false: "ok"}[failed >= 2]
		}, contract.Under("budget", chaos.Rule{Target: "a", Fault: fault.CallBudget(3, time.Hour)}))
		dir := t.TempDir()
		o := &Options{Dir: dir}
		o.Run.Workers = 1
		explained(t, m, o)
		kept, err := ReadKept(dir, nil)
		require.NoError(t, err)
		require.Len(t, kept, 1)
		assert.NotEmpty(t, kept[0].Earlier)
		arg = 7 // the calls have other arguments by now
		status, _, err := kept[0].Run(t.Context(), m, &contract.RunOptions{Harness: bubbled(t)})
		require.NoError(t, err)
		assert.Equal(t, StatusOngoing, status, "random %t", random)
	}
}
