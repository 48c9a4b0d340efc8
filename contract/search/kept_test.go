package search

import (
	"context"
	"encoding/json"
	"math/rand/v2"
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

// What breaks an agent without being delivered is not found, and no calm run is blamed for it.
func TestDeliveriesThatAloneDoNotBreakIt(t *testing.T) {
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
	require.Equal(t, []string{"did not break again → fine"}, sentences(r), "and not: without any fault")
	assert.Equal(t, withItsRules, r.Defects[0].Difference)
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
	kept := keptIn(t, dir)
	require.Len(t, kept, 1)
	assert.Equal(t, StatusOngoing, rerun(t, kept[0], m))
	m.Scenarios = m.Scenarios[1:]
	status, cell, err := kept[0].Run(t.Context(), m, nil)
	require.NoError(t, err)
	assert.Equal(t, StatusUnreached, status)
	assert.Equal(t, contract.NotRun, cell.State)
	kept[0].Scenario = sweepScenario // a sweep found it when the matrix had a world
	assert.Equal(t, StatusUnreached, rerun(t, kept[0], m))
}

func TestAKeptFileThatNobodyCouldReadIsNotWritten(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer root.Close()
	require.NoError(t, root.Mkdir(keptFolder, 0o777))
	k := &Kept{ID: "0", Plan: json.RawMessage(`{}`), Why: strings.Repeat("x", maxFile)}
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
		kept := keptIn(t, dir)
		require.Len(t, kept, 1)
		assert.NotEmpty(t, kept[0].Earlier)
		arg = 7 // the calls have other arguments by now
		assert.Equal(t, StatusOngoing, rerun(t, kept[0], m), "random %t", random)
	}
}

// keptIn are the defects that are kept in a folder.
func keptIn(t testing.TB, dir string) []*Kept {
	t.Helper()
	kept, err := ReadKept(dir, nil)
	require.NoError(t, err)
	return kept
}

// rerun is what became of a kept defect, in virtual time.
func rerun(t *testing.T, k *Kept, m *contract.Matrix) Status {
	t.Helper()
	status, _, err := k.Run(t.Context(), m, &contract.RunOptions{Harness: bubbled(t)})
	require.NoError(t, err)
	return status
}

// keptOf are the files of a sweep of the agent over plain failures.
func keptOf(t *testing.T, m *contract.Matrix, o Options) ([]*Kept, *Swept) {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	if !o.Budget.Set() {
		o.Budget.Runs = 1000
	}
	if o.Faults == nil {
		o.Faults = func(chaos.Event, chaos.Tool) []chaos.Fault { return []chaos.Fault{fault.Fail(fault.ErrUnavailable)} }
	}
	s, err := Sweep(t.Context(), m, &o)
	require.NoError(t, err)
	kept, err := ReadKept(o.Dir, o.Spec)
	require.NoError(t, err)
	return kept, s
}

// What a sweep found is kept with its faults: alone, on a retry, on two calls, and without
// any. A file runs with the matrix that it was found in, and with one that has scenarios.
func TestASweepKeepsWhatItFound(t *testing.T) {
	for sentence, agent := range map[string]script{
		"b fails": breaksWith(1, "b1"),
		"a fails twice in a row": func(call func(string, int) error) string {
			for range 2 {
				if call("a", 1) == nil {
					return "ok"
				}
			}
			return "bad"
		},
		"a fails, then c fails": breaksWith(1, "a1", "c1"),
		"without any fault":     func(call func(string, int) error) string { each(call, 1); return "bad" },
	} {
		kept, s := keptOf(t, scripted(agent), Options{})
		require.Len(t, kept, 1, "%s\n%v", sentence, s)
		k := kept[0]
		assert.Equal(t, []any{sentence, StatusNew, "fine", 1}, []any{k.Sentence, k.Status, k.Invariant, k.Runs})
		assert.Equal(t, k.ID, s.Defects[0].Breaks[0].ID)
		assert.Equal(t, s.Defects[0].Deliveries, k.Deliveries)
		assert.Len(t, k.plan.Rules(), len(k.Deliveries))
		for _, m := range []*contract.Matrix{scripted(agent), scripted(agent, contract.Under("other", fails("e", nil)))} {
			assert.Equal(t, StatusOngoing, rerun(t, k, m), sentence)
		}
		good := scripted(func(call func(string, int) error) string { _ = agent(call); return "ok" })
		assert.Equal(t, StatusResolved, rerun(t, k, good), sentence)
		if len(k.Deliveries) > 0 {
			assert.Equal(t, StatusUnreached, rerun(t, k, scripted(func(func(string, int) error) string { return "ok" })), sentence)
		}
	}
}

// A defect that Explain keeps too is the same file.
func TestASweepAndExplainKeepOneFile(t *testing.T) {
	dir := t.TempDir()
	agent := breaksWith(1, "a1", "c1")
	kept, _ := keptOf(t, scripted(agent), Options{Dir: dir})
	explained(t, scripted(agent, contract.Under("all", fails("*", nil))), &Options{Dir: dir})
	both := keptIn(t, dir)
	assert.Equal(t, kept, both)
}

// What is not sure is not kept, and neither is what cannot be written; why is said.
func TestWhatASweepDoesNotKeep(t *testing.T) {
	broken := 0
	kept, s := keptOf(t, scripted(func(call func(string, int) error) string {
		if call("a", 1) != nil {
			if broken++; broken == 1 {
				return "bad"
			}
		}
		return "ok"
	}), Options{Run: contract.RunOptions{Workers: 1}})
	assert.Empty(t, kept)
	assert.Equal(t, "did not break again", s.Defects[0].Sentence)

	kept, s = keptOf(t, scripted(breaksWith(1, "b1")), Options{Faults: func(chaos.Event, chaos.Tool) []chaos.Fault {
		return []chaos.Fault{coded{}}
	}})
	assert.Empty(t, kept)
	assert.Contains(t, strings.Join(s.Defects[0].Facts, "; "), "not kept: ")

	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "kept"), nil, 0o600))
	s, err := Sweep(t.Context(), scripted(breaksWith(1, "b1")), &Options{Dir: dir, Budget: Budget{Runs: 100}})
	require.NoError(t, err, "a folder that cannot be written ends no sweep")
	assert.Contains(t, strings.Join(s.Defects[0].Facts, "; "), "not kept: ")
}

// Names are redacted too. A file that could not be read then is not written.
func TestSecretsInNamesAreNotKept(t *testing.T) {
	for _, row := range []struct {
		secrets []string
		files   int
	}{{[]string{"hunter2"}, 1}, {[]string{"hunter2", "hunter3"}, 0}} {
		dir := t.TempDir()
		r := explained(t, scripted(breaksWith(1, "a1", "b1"), contract.Under("both",
			chaos.Rule{Name: "hunter2", Target: "a", Fault: fault.Fail(errDown)},
			chaos.Rule{Name: "hunter3", Target: "b", Fault: fault.Fail(errDown)})), &Options{Dir: dir, Secrets: row.secrets})
		files, err := filepath.Glob(filepath.Join(dir, "kept", "*.json"))
		require.NoError(t, err)
		require.Len(t, files, row.files)
		if row.files == 0 {
			assert.Contains(t, strings.Join(r.Defects[0].Facts, "; "), "not kept: without its secrets it cannot be read again: ")
			continue
		}
		text, err := os.ReadFile(files[0])
		require.NoError(t, err)
		assert.NotContains(t, string(text), "hunter2")
		_, err = ReadKept(dir, nil)
		assert.NoError(t, err)
	}
}

// coded is a fault that no file can hold.
type coded struct{}

func (coded) Describe() chaos.Description                                      { return chaos.Description{Kind: "coded"} }
func (coded) Inject(context.Context, chaos.Call, any, chaos.Next) (any, error) { return nil, errDown }

// Of an agent that does not repeat itself the calls are kept by number, and the file says
// how many runs it takes.
func TestASweepOfARandomAgentKeepsWhatWasConfirmed(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	agent := func(call func(string, int) error) string {
		_ = call("e", draw.IntN(1e9)) // no two runs are the same
		if call("b", draw.IntN(1e9)) != nil {
			return "bad"
		}
		return "ok"
	}
	kept, s := keptOf(t, scripted(agent), Options{Run: contract.RunOptions{Workers: 1}})
	require.NotNil(t, s.Difference)
	require.Len(t, kept, 1, "%v", s)
	assert.Equal(t, "b fails", kept[0].Sentence)
	assert.Greater(t, kept[0].Runs, 1)
	assert.Equal(t, StatusOngoing, rerun(t, kept[0], scripted(agent)))
}
