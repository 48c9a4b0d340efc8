package contract_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
)

// asking is a matrix with rules, a goal, a calm run, and an invariant that applies in one scenario.
func asking(t *testing.T, change func(*contract.Matrix)) *contract.Matrix {
	m := thirdBreaks(new(atomic.Int64))
	m.NewWorld = fresh(t, tellsTime)
	m.Scenarios = append(m.Scenarios, contract.Under("clock-flaky", chaos.Rule{Target: "clock", Fault: fails{}, When: chance(0.5)}))
	m.Invariants[0].Needs = contract.NeedBaseline
	m.Goals = []contract.Goal{{Name: "asks", Reached: func(o *contract.Observation) bool { return len(o.Events) > 0 }}}
	if change != nil {
		change(m)
	}
	return m
}

var ownTimes = regexp.MustCompile(`,"elapsedNs":(\d+|\[[\d,]+\])|,"ms":\d+|"(start|end|spent)Ns":\d+,?|,"sum":.*`)

func TestTheLinesOfUnitsAreThoseOfOneRun(t *testing.T) {
	for _, row := range []struct {
		reason string
		change func(*contract.Matrix)
	}{
		{"a cell a run", nil},
		{"all cells of a unit judge one run", func(m *contract.Matrix) { m.ShareObservations = true }},
		{"values are kept", func(m *contract.Matrix) { m.KeepValues = true }},
		{"a shared world without reset is probed", func(m *contract.Matrix) {
			m.World, _ = m.NewWorld(context.Background())
			m.NewWorld = nil
		}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			m := asking(t, row.change)
			path := filepath.Join(t.TempDir(), "x.run.jsonl")
			whole, err := m.Run(t.Context(), &contract.RunOptions{File: path, Keep: contract.KeepAll})
			require.NoError(t, err)
			written, err := os.ReadFile(path)
			require.NoError(t, err)
			want := strings.SplitAfter(string(written), "\n")

			u, err := m.Units(t.Context(), &contract.RunOptions{Keep: contract.KeepAll})
			require.NoError(t, err)
			defer u.Close()
			require.NoError(t, u.Check([]byte(want[0])))
			names := u.Names()
			lines, wrong := make([][]byte, len(names)), make([]error, len(names))
			var all sync.WaitGroup
			for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(len(names)) {
				all.Go(func() { lines[i], wrong[i] = u.Run(t.Context(), names[i]) })
			}
			all.Wait()
			require.NoError(t, errors.Join(wrong...))
			for i, line := range lines {
				assert.Equal(t, ownTimes.ReplaceAllString(want[i+1], ""), ownTimes.ReplaceAllString(string(line), ""))
			}

			head, err := u.Head("other")
			require.NoError(t, err)
			slices.Reverse(lines) // a reader puts them in order
			read := new(contract.Report)
			require.NoError(t, read.ReadRun(bytes.NewReader(append(head, bytes.Join(lines, nil)...)), false))
			assert.Equal(t, whole.Counts, read.Counts)
			assert.Equal(t, whole.Faults, read.Faults)
			assert.Equal(t, whole.Goals, read.Goals)
		})
	}
}

func TestUnitsOfAnotherMatrixAreRefused(t *testing.T) {
	u, err := asking(t, nil).Units(t.Context(), nil)
	require.NoError(t, err)
	defer u.Close()
	for _, row := range []struct {
		reason, want string
		change       func(*contract.Matrix)
		build        string
	}{
		{"another seed", "head.seed", func(m *contract.Matrix) { m.Seed++ }, ""},
		{"another build", "head.build", nil, "v2"},
		{"a limit that no fingerprint has", "head.allowInconclusive is 3; allowed: 0", func(m *contract.Matrix) { m.AllowInconclusive = 3 }, ""},
		{"another goal", "head.goals[0].name is other", func(m *contract.Matrix) { m.Goals[0].Name = "other" }, ""},
	} {
		other, err := asking(t, row.change).Units(t.Context(), &contract.RunOptions{Build: row.build})
		require.NoError(t, err)
		head, err := other.Head("")
		require.NoError(t, err)
		assert.ErrorContains(t, u.Check(head), row.want, row.reason)
		other.Close()
	}
	head, err := u.Head("")
	require.NoError(t, err)
	for at := range len(head) - 1 { // the last is the line break
		assert.Error(t, u.Check(head[:at]), "cut at %d", at)
		changed := bytes.Clone(head)
		changed[at] ^= 1
		assert.Error(t, u.Check(changed), "changed at %d", at)
	}
}

func TestAUnitThatCannotBeRun(t *testing.T) {
	m := asking(t, nil)
	file := filepath.Join(t.TempDir(), "a.run.jsonl")
	u, err := m.Units(t.Context(), &contract.RunOptions{File: file})
	require.NoError(t, err)
	for _, name := range u.Names() {
		if name != "calm/2" {
			line, err := u.Run(t.Context(), name)
			require.NoError(t, err)
			require.NoError(t, u.Add(name, line))
			assert.ErrorContains(t, u.Add(name, line), "each unit once")
		}
	}
	assert.Equal(t, []string{"calm/2"}, u.Missing())
	other, err := u.Run(t.Context(), "calm/1")
	require.NoError(t, err)
	assert.ErrorContains(t, u.Add("calm/2", other), `unit is "calm/1"; allowed: calm/2`)
	assert.False(t, u.Same("calm/2", other, other))
	assert.True(t, u.Same("calm/1", other, other))
	r, err := u.Report(t.Context(), "its worker died")
	require.NoError(t, err)
	for _, c := range r.Cells {
		lost := c.Cell.Scenario == "calm" && c.Cell.Trial == 2
		assert.Equal(t, lost, c.State == contract.Inconclusive)
		assert.Equal(t, lost, c.Why == "its worker died")
	}
	merged := new(contract.Report)
	require.NoError(t, merged.MergeParts(io.Discard, file))
	assert.Contains(t, fmt.Sprint(merged.Warnings), "The merged parts lack 1 of 30 units: calm/2.", "it says nothing of that unit")

	// a run that goes on from it is one run, and runs that unit alone
	again, err := m.Units(t.Context(), &contract.RunOptions{File: file, Resume: file})
	require.NoError(t, err)
	assert.Equal(t, []string{"calm/2"}, again.Missing())
	again.Close()
	whole, err := m.Run(t.Context(), nil)
	require.NoError(t, err)
	resumed, err := m.Run(t.Context(), &contract.RunOptions{Resume: file})
	require.NoError(t, err)
	assert.Equal(t, stableText(t, whole), stableText(t, resumed))

	u, err = m.Units(t.Context(), nil)
	require.NoError(t, err)
	assert.ErrorContains(t, u.Add("calm/2", []byte("{}")), "sum")
	line, err := u.Run(t.Context(), "calm/2")
	require.NoError(t, err)
	assert.ErrorContains(t, u.Add("calm/2", line), "RunOptions.File")
	for _, name := range []string{"", "calm", "calm/0", "calm/11", "calm/02", "calm/+2", "other/1", "calm/2/2"} {
		_, err := u.Run(t.Context(), name)
		assert.ErrorContains(t, err, "unit", name)
	}
	u.Close()
	_, err = u.Run(t.Context(), "calm/1")
	assert.ErrorContains(t, err, "closed")

	_, err = m.Units(t.Context(), &contract.RunOptions{Sequential: true})
	assert.ErrorContains(t, err, "Sequential")
	_, err = (&contract.Matrix{}).Units(t.Context(), nil)
	assert.Error(t, err)
}

func stableText(t *testing.T, r *contract.Report) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, r.WriteRun(&b, true, false))
	return b.String()
}

func TestACancelledUnitHasNoLine(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := asking(t, nil)
	m.Invariants[0].Check = func(context.Context, *contract.Observation) error { cancel(); return nil }
	line, err := m.RunUnit(ctx, "calm/1", nil)
	assert.ErrorIs(t, err, context.Canceled)
	assert.Empty(t, line)
	_, err = m.RunUnit(ctx, "calm/1", nil)
	assert.ErrorIs(t, err, context.Canceled)
}

// An activity or a job of another engine has the name of a unit, and returns its line.
func ExampleMatrix_RunUnit() {
	m := thirdBreaks(new(atomic.Int64))
	line, err := m.RunUnit(context.Background(), "calm/3", nil)
	var unit struct{ Unit, States string }
	_ = json.Unmarshal(line, &unit)
	fmt.Println(unit.Unit, unit.States, err)
	// Output: calm/3 hb <nil>
}
