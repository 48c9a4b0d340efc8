package search

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/contract"
)

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
			status, _, err := k.Run(t.Context(), m, nil)
			require.NoError(t, err)
			assert.Equal(t, StatusOngoing, status, sentence)
		}
		good := scripted(func(call func(string, int) error) string { _ = agent(call); return "ok" })
		status, _, err := k.Run(t.Context(), good, nil)
		require.NoError(t, err)
		assert.Equal(t, StatusResolved, status, sentence)
		if len(k.Deliveries) > 0 {
			status, _, err = k.Run(t.Context(), scripted(func(func(string, int) error) string { return "ok" }), nil)
			require.NoError(t, err)
			assert.Equal(t, StatusUnreached, status, sentence)
		}
	}
}

// A defect that Explain keeps too is the same file.
func TestASweepAndExplainKeepOneFile(t *testing.T) {
	dir := t.TempDir()
	agent := breaksWith(1, "a1", "c1")
	kept, _ := keptOf(t, scripted(agent), Options{Dir: dir})
	explained(t, scripted(agent, contract.Under("all", fails("*", nil))), &Options{Dir: dir})
	both, err := ReadKept(dir, nil)
	require.NoError(t, err)
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
	status, _, err := kept[0].Run(t.Context(), scripted(agent), nil)
	require.NoError(t, err)
	assert.Equal(t, StatusOngoing, status)
}
