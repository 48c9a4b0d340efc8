package contract_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
)

// busy calls the clock a few times and reports what it got, so its answer
// shows the faults it met.
func busy(ctx context.Context, prompt string, tools chaos.ToolRegistry) (string, error) {
	var b strings.Builder
	for i := range 8 {
		args := fmt.Sprintf(`{"i":%d}`, i%3)
		if _, err := tools.CallTool(ctx, "clock", json.RawMessage(args)); err != nil {
			b.WriteByte('x')
		} else {
			b.WriteByte('.')
		}
	}
	return prompt + " " + b.String(), nil
}

// flakyMatrix is a matrix whose cells differ by their draws.
func flakyMatrix(t *testing.T, agent contract.Agent) *contract.Matrix {
	return matrix(t, agent, func(m *contract.Matrix) {
		m.Seed, m.Trials, m.Prompts = 7, 12, []string{"a", "b"}
		m.Invariants = append(m.Invariants, contains("first-works", contract.High, " ."), contains("second-works", contract.Critical, " .."))
		probed := contains("probed", contract.Low, "...")
		probed.Probes = []string{"c"}
		m.Invariants = append(m.Invariants, probed)
		for i, p := range []float64{0.1, 0.4} {
			m.Scenarios = append(m.Scenarios, contract.Scenario{Name: fmt.Sprintf("storm-%d", i),
				Rules: []chaos.Rule{{Target: "clock", When: chance(p), Fault: fails{}}}})
		}
	})
}

// plain is a report as JSON, without durations.
func plain(t *testing.T, r any) string {
	t.Helper()
	text, err := json.Marshal(r)
	require.NoError(t, err)
	var tree any
	require.NoError(t, json.Unmarshal(text, &tree))
	dropDurations(tree)
	text, err = json.MarshalIndent(tree, "", " ")
	require.NoError(t, err)
	return string(text)
}

func dropDurations(tree any) {
	switch tree := tree.(type) {
	case map[string]any:
		for key, v := range tree {
			if strings.HasSuffix(key, "Ns") {
				delete(tree, key)
			}
			dropDurations(v)
		}
	case []any:
		for _, v := range tree {
			dropDurations(v)
		}
	}
}

func TestReportDoesNotDependOnWorkers(t *testing.T) {
	jittery := func(ctx context.Context, p string, tools chaos.ToolRegistry) (string, error) {
		for range rand.N(20) {
			runtime.Gosched()
		}
		return busy(ctx, p, tools)
	}
	var want string
	for _, workers := range []int{1, 2, 8, 64} {
		r := run(t, flakyMatrix(t, jittery), &contract.RunOptions{Workers: workers, Keep: contract.KeepAll})
		got := plain(t, r)
		if want == "" {
			want = got
			assert.Contains(t, got, "broken", "the faults show")
		}
		assert.Equal(t, want, got, "%d workers", workers)
	}
	in := virtual(t)
	in.Workers, in.Keep = 8, contract.KeepAll
	assert.Equal(t, want, plain(t, run(t, flakyMatrix(t, busy), in)), "in virtual time")
}

func TestSeedsDiffer(t *testing.T) {
	m := flakyMatrix(t, busy)
	one := plain(t, run(t, m, nil).Cells)
	m.Seed++
	assert.NotEqual(t, one, plain(t, run(t, m, nil).Cells))
}

func TestRunCellIsTheCellOfRun(t *testing.T) {
	for _, share := range []bool{false, true} {
		m := flakyMatrix(t, busy)
		m.ShareObservations = share
		o := &contract.RunOptions{Keep: contract.KeepAll, Harness: contract.Harness{Rerun: "{scenario}/{invariant}/{trial}"}}
		for _, want := range run(t, m, o).Cells {
			got, err := m.RunCell(t.Context(), want.Cell, o)
			require.NoError(t, err)
			assert.Equal(t, plain(t, want), plain(t, got), "%v", want.Cell)
		}
	}
}

func TestRunCellRefusesUnknownCells(t *testing.T) {
	m := flakyMatrix(t, busy)
	for _, c := range []contract.Cell{{}, {Scenario: "calm", Invariant: "held"}, {Scenario: "calm", Invariant: "held", Trial: 13},
		{Scenario: "calm", Invariant: "helt", Trial: 1},
		{Scenario: "calm", Invariant: "nothing-like-it", Trial: 1}, {Scenario: "nope", Invariant: "held", Trial: 1}} {
		_, err := m.RunCell(t.Context(), c, nil)
		var field *contract.FieldError
		require.ErrorAs(t, err, &field, "%v", c)
		assert.Equal(t, "Cell", field.Field)
		assert.Equal(t, c.String(), field.Value)
		assert.Contains(t, field.Allowed, "a trial from 1 to 12")
		switch c.Invariant {
		case "helt":
			assert.Contains(t, field.Allowed, "did you mean calm/held?")
		case "nothing-like-it":
			assert.NotContains(t, field.Allowed, "did you mean")
		}
	}
}

// TestSameFaults: all invariants of a trial meet the same faults, so sharing
// an observation changes no result.
func TestSameFaults(t *testing.T) {
	m := flakyMatrix(t, busy)
	alone := run(t, m, &contract.RunOptions{Keep: contract.KeepAll})
	assert.False(t, alone.SharedObservations)
	answers := map[string]string{}
	for _, c := range alone.Cells {
		place := fmt.Sprint(c.Cell.Scenario, c.Cell.Trial, c.Evidence.Prompt)
		if seen, ok := answers[place]; ok {
			assert.Equal(t, seen, c.Evidence.Response, "%v", c.Cell)
		}
		answers[place] = c.Evidence.Response
	}
	m.ShareObservations = true
	for _, o := range []*contract.RunOptions{{Workers: 8}, virtual(t)} {
		o.Keep = contract.KeepAll
		together := run(t, m, o)
		assert.True(t, together.SharedObservations, "the report says so")
		assert.Equal(t, plain(t, alone.Cells), plain(t, together.Cells))
		assert.Equal(t, plain(t, alone.Score), plain(t, together.Score))
	}
}

func TestOnCellIsStreamedInOrder(t *testing.T) {
	m := flakyMatrix(t, busy)
	var streamed []contract.CellReport
	r := run(t, m, &contract.RunOptions{Workers: 8, Keep: contract.KeepAll, OnCell: func(c *contract.CellReport) { streamed = append(streamed, *c) }})
	assert.Equal(t, r.Cells, streamed)
}

func TestOnCellHasAReportOfItsOwn(t *testing.T) {
	m := flakyMatrix(t, busy)
	r := run(t, m, &contract.RunOptions{OnCell: func(c *contract.CellReport) { *c = contract.CellReport{} }})
	for _, c := range r.Cells {
		assert.NotEmpty(t, c.Cell.Scenario)
	}
}

func TestRerunLine(t *testing.T) {
	m := flakyMatrix(t, busy)
	m.Invariants[0].Name = "a.b"
	const pattern = "again {scenario}/{invariant}/{trial} '^{invariant}$/^{trial}$'"
	for _, c := range run(t, m, &contract.RunOptions{Harness: contract.Harness{Rerun: pattern}}).Cells {
		if c.State == contract.Held {
			assert.Empty(t, c.Rerun)
		} else {
			name := strings.ReplaceAll(c.Cell.Invariant, ".", `\.`)
			assert.Equal(t, fmt.Sprintf("again %v '^%s$/^%d$'", c.Cell, name, c.Cell.Trial), c.Rerun)
		}
	}
}

func TestParallelCellsOverlap(t *testing.T) {
	const n = 8
	var arrived atomic.Int64
	all := make(chan struct{})
	m := matrix(t, func(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
		if arrived.Add(1) == n {
			close(all)
		}
		select {
		case <-all:
			return "", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}, func(m *contract.Matrix) { m.Trials, m.Timeout = n, time.Minute })
	for _, c := range run(t, m, &contract.RunOptions{Workers: n}).Cells {
		assert.Equal(t, contract.Held, c.State, "each waited for all the others")
	}
}

func TestMatrixRunsSeveralTimesAtOnce(t *testing.T) {
	m := flakyMatrix(t, busy)
	want := plain(t, run(t, m, nil).Cells)
	got := make(chan string)
	for range 4 {
		go func() {
			r, _ := m.Run(t.Context(), nil)
			text, _ := json.Marshal(r.Score)
			got <- string(text)
		}()
	}
	first := <-got
	for range 3 {
		assert.Equal(t, first, <-got)
	}
	assert.Equal(t, want, plain(t, run(t, m, nil).Cells))
}
