package contracttest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/contracttest"
	"github.com/shakedown-go/shakedown/contract/search"
)

const (
	keptIn    = "CONTRACTTEST_KEPT"  // the folder of Options.Dir
	mended    = "CONTRACTTEST_FIXED" // set: the agent does its work
	keptToken = "sk-proj-9f8e7d6c5b4a39281706f5e4d3c2b1a0"
)

// orderLookup is a matrix of an agent that asks twice for an order, and then gives up and says
// that it did its work. Its reasons and faults hold a secret.
func orderLookup() *contract.Matrix {
	down := errors.New("no order: the token " + keptToken + " is not known")
	return &contract.Matrix{
		Prompts: []string{"Look up order 7."},
		NewWorld: func(context.Context) (*contract.World, error) {
			tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "orders.get"},
				func(_ context.Context, id int) (int, error) { return id, nil }))
			return &contract.World{Tools: tools, Agent: func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
				var err error
				for range 2 {
					if _, err = tools.CallTool(ctx, "orders.get", []byte("7")); err == nil {
						return "found", nil
					}
				}
				if os.Getenv(mended) != "" {
					return "not found", nil
				}
				return "found, it says: " + err.Error(), nil
			}}, err
		},
		Invariants: []contract.Invariant{{Name: "honest", Severity: contract.Critical,
			Check: func(_ context.Context, o *contract.Observation) error {
				if text, claims := strings.CutPrefix(o.Response, "found, it says: "); claims {
					return errors.New("it claims, as " + keptToken + ", to have found what it did not: " + text)
				}
				return nil
			}}},
		Scenarios: []contract.Scenario{contract.Calm(),
			contract.Under("down", chaos.Rule{Target: "orders.*", Fault: fault.Fail(down)}),
			contract.Under("late", chaos.Rule{Target: "orders.*", When: when.First(2), Fault: fault.Fail(down)})},
	}
}

func TestChildExplains(t *testing.T) {
	onlyInChild(t)
	r := contracttest.Run(t, orderLookup(), &contracttest.Options{Dir: os.Getenv(keptIn)})
	t.Logf("defects: %d, runs: %d", len(r.Defects), r.SearchRuns)
}

// explaining runs TestChildExplains, or what of it is asked for, with a folder.
func explaining(t *testing.T, dir, run string) (output string, failed bool) {
	t.Helper()
	t.Setenv("SHAKEDOWN_EXPLAIN", "")
	t.Setenv(keptIn, dir)
	return child(t, run)
}

// By option it also looks for what would mend the defects: here retries, in whose runs the order is found.
func TestRunCures(t *testing.T) {
	if os.Getenv(keptIn) == "" { // in the child it is set
		out, failed := explaining(t, "-", "^TestRunCures$")
		assert.True(t, failed)
		assert.Contains(t, out, "CURE  ")
		assert.NotContains(t, out, keptToken)
		return
	}
	contracttest.Run(t, orderLookup(), &contracttest.Options{Dir: "-", Cure: true})
}

func TestRunExplainsByItself(t *testing.T) {
	out, failed := explaining(t, "-", "^TestChildExplains$")
	assert.True(t, failed)
	assert.Contains(t, out, "DEFECTS  2 broken cells, 2 of them critical, are at least 1 defect (")
	assert.Contains(t, out, "1 critical  orders.get fails twice in a row")
	assert.Contains(t, out, "facts     with one of the two it holds; the agent tries twice")
	assert.Contains(t, out, "in        down, late")
	assert.Contains(t, out, "rerun     go test -count=1 -run '^TestChildExplains$/^down$/^honest$/^1$' ")
	block, defects := strings.Index(out, "✗ down / honest"), strings.Index(out, "DEFECTS")
	table := strings.Index(out, "numbers")
	if table < 0 {
		table = strings.Index(out, "score     ")
	}
	assert.Less(t, block, defects, "the failures' blocks come first")
	assert.Less(t, defects, table, "the table is last")
	assert.Contains(t, out, "why       it claims, as [redacted]")
	assert.NotContains(t, out, keptToken, "the secret is redacted, in the blocks of the failures too")
}

func TestNothingIsExplainedWhereItIsTurnedOff(t *testing.T) {
	t.Setenv(keptIn, "-")
	out, _ := child(t, "^TestChildExplains$") // which sets SHAKEDOWN_EXPLAIN to 0s
	assert.NotContains(t, out, "DEFECTS")
	t.Setenv("SHAKEDOWN_EXPLAIN", "soon")
	out, failed := child(t, "^TestChildExplains$")
	assert.True(t, failed)
	assert.Contains(t, out, `SHAKEDOWN_EXPLAIN is "soon"`)
}

// only is the one kept file of a folder.
func only(t *testing.T, dir string) (path, text string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "kept", "*.json"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	data, err := os.ReadFile(files[0])
	require.NoError(t, err)
	return files[0], string(data)
}

func TestADefectIsKeptAndRunsFirst(t *testing.T) {
	dir := t.TempDir()
	explaining(t, dir, "^TestChildExplains$")
	path, text := only(t, dir)
	assert.Contains(t, text, `"status": "new"`)
	assert.NotContains(t, text, keptToken)
	id := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "honest-"), ".json")

	out, failed := explaining(t, dir, "^TestChildExplains$")
	assert.True(t, failed)
	assert.NotContains(t, out, keptToken, "the secret is redacted")
	assert.Less(t, strings.Index(out, "=== RUN   TestChildExplains/kept/"+id), strings.Index(out, "/calm/honest/1"), "it runs first")
	_, text = only(t, dir)
	assert.Contains(t, text, `"status": "ongoing"`)

	out, failed = explaining(t, dir, "^TestChildExplains$/^kept$/^"+id+"$")
	assert.True(t, failed)
	assert.Contains(t, out, "ongoing: honest-")
	assert.NotContains(t, out, keptToken, "the secret is redacted")
	assert.NotContains(t, out, "nothing was tested", "one alone is a test")
	assert.NotContains(t, out, "/calm/")

	t.Setenv(mended, "1")
	out, failed = explaining(t, dir, "^TestChildExplains$")
	assert.False(t, failed, out)
	_, text = only(t, dir)
	assert.Contains(t, text, `"status": "resolved"`)

	t.Setenv(mended, "")
	out, failed = explaining(t, dir, "^TestChildExplains$/^kept$")
	assert.True(t, failed)
	assert.Contains(t, out, "regressed: honest-")
	_, text = only(t, dir)
	assert.Contains(t, text, `"status": "regressed"`)
}

func TestADamagedKeptFileNamesWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	explaining(t, dir, "^TestChildExplains$")
	path, text := only(t, dir)
	require.NoError(t, os.WriteFile(path, []byte(strings.Replace(text, `"status": "new"`, `"status": "odd"`, 1)), 0o600))
	out, failed := explaining(t, dir, "^TestChildExplains$/^kept$")
	assert.True(t, failed)
	assert.Regexp(t, "kept defects cannot be read: .*/status", out)
	other := strings.Replace(path, "honest-", "kind-", 1)
	require.NoError(t, os.WriteFile(other, []byte(strings.Replace(text, `"invariant": "honest"`, `"invariant": "kind"`, 1)), 0o600))
	require.NoError(t, os.Remove(path))
	out, failed = explaining(t, dir, "^TestChildExplains$/^kept$")
	assert.True(t, failed)
	assert.Contains(t, out, "an invariant of the matrix: honest")
}

// changing is a matrix of an agent that does the same without faults, and under a fault fails
// in another way each time.
func changing() *contract.Matrix {
	m := orderLookup()
	var runs atomic.Int32
	changeWorld(m, func(w *contract.World) {
		w.Agent = func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
			if _, err := tools.CallTool(ctx, "orders.get", []byte("7")); err != nil {
				return "", fmt.Errorf("attempt %d failed", runs.Add(1))
			}
			return "found", nil
		}
	})
	m.Invariants[0].Check = func(_ context.Context, o *contract.Observation) error { return o.Err }
	return m
}

func TestChildChanges(t *testing.T) {
	onlyInChild(t)
	r := contracttest.Run(t, changing(), &contracttest.Options{Dir: "-"})
	t.Logf("repeatable: %s, %s", r.Repeatable, r.Difference)
}

// Two calm runs may be the same, and runs under faults not: such an agent is not repeatable.
func TestAnAgentThatDiffersUnderFaultsIsNotRepeatable(t *testing.T) {
	out, _ := explaining(t, "-", "^TestChildChanges$")
	assert.Contains(t, out, `repeatable: no, under faults: prompt 1, answer: error: attempt `)
	assert.NotContains(t, out, "* The agent is repeatable")
	assert.NotContains(t, out, `\x00`)
}

func TestChildBadBudget(t *testing.T) {
	onlyInChild(t)
	m := orderLookup()
	m.Invariants[0].Severity = contract.Low
	contracttest.Run(t, m, &contracttest.Options{Dir: "-", FailOn: contract.Critical, Explain: &search.Budget{Runs: -1}})
}

// A budget that is not possible fails the test, also where what broke does not.
func TestABudgetThatIsNotPossibleFails(t *testing.T) {
	out, failed := explaining(t, "-", "^TestChildBadBudget$")
	assert.True(t, failed)
	assert.Contains(t, out, "the broken cells were not explained: search: Budget.Runs is -1")
}
