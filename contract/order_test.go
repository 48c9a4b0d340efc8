package contract_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
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
	r := run(t, m, &contract.RunOptions{Workers: 8, Keep: contract.KeepAll, OnCell: func(c *contract.CellReport) {
		streamed = append(streamed, *c)
		*c = contract.CellReport{} // it is the callee's own
	}})
	assert.Equal(t, r.Cells, streamed)
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

// TestWarningsAboutOverlappingCalls: a trigger that counts matches one of several calls
// that are under way at the same time, and in the next run perhaps another.
func TestWarningsAboutOverlappingCalls(t *testing.T) {
	tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "clock"}, func(ctx context.Context, _ int) (string, error) {
		time.Sleep(time.Second)
		return "noon", nil
	}))
	require.NoError(t, err)
	agent := func(each func(ctx context.Context, i int, call func(context.Context))) contract.Agent {
		return func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
			for i := range 3 {
				each(ctx, i, func(ctx context.Context) { _, _ = tools.CallTool(ctx, "clock", json.RawMessage(fmt.Sprint(i))) })
			}
			return "done", nil
		}
	}
	var workers sync.WaitGroup // of one cell at a time
	parallel := func(ctx context.Context, i int, call func(context.Context)) {
		workers.Go(func() { call(ctx) })
		if i == 2 {
			workers.Wait()
		}
	}
	inLanes := func(ctx context.Context, i int, call func(context.Context)) {
		parallel(chaos.WithLane(ctx, fmt.Sprint(i)), i, call)
	}
	oneByOne := func(ctx context.Context, _ int, call func(context.Context)) { call(ctx) }
	down := fault.Fail(fault.ErrUnavailable)
	for _, tc := range []struct {
		why   string
		each  func(ctx context.Context, i int, call func(context.Context))
		rule  chaos.Rule
		warns bool
	}{
		{"the second of three at once", parallel, chaos.Rule{When: when.Nth(2), Fault: down}, true},
		{"the first two, after the work was done", parallel, chaos.Rule{When: when.First(2), Fault: fault.LoseReply()}, true},
		{"a part of a trigger counts", parallel, chaos.Rule{When: when.Not(when.Nth(2)), Fault: down}, true},
		{"all of them, in whatever order", parallel, chaos.Rule{When: when.First(3), Fault: fault.LoseReply()}, false},
		{"none of them", parallel, chaos.Rule{When: when.Nth(9), Fault: down}, false},
		{"one after the other", oneByOne, chaos.Rule{When: when.Nth(2), Fault: fault.LoseReply()}, false},
		{"a lane each", inLanes, chaos.Rule{When: when.Nth(1), Fault: fault.LoseReply()}, false},
		{"chance does not count", parallel, chaos.Rule{When: when.Prob(0.5), Fault: down}, false},
		{"a group counts", parallel, chaos.Rule{When: when.Nth(2), Fault: down, Group: "g"}, true},
	} {
		tc.rule.Name, tc.rule.Target = "r", "cl*"
		o := virtual(t)
		o.Workers = 1
		m := matrix(t, nil, func(m *contract.Matrix) {
			m.Trials = 2
			m.NewWorld = func(context.Context) (*contract.World, error) {
				return &contract.World{Agent: agent(tc.each), Tools: tools}, nil
			}
			m.Scenarios = []contract.Scenario{{Name: "s", Rules: []chaos.Rule{tc.rule}, AllowUndelivered: true}}
		})
		warnings := run(t, m, o).Warnings
		if !tc.warns {
			assert.Empty(t, warnings, tc.why)
			continue
		}
		require.Len(t, warnings, 1, tc.why)
		assert.True(t, strings.HasPrefix(warnings[0], "Rule r of scenario s may act on other calls in the next run: it counts calls, and in 2 runs some overlapped. "+
			"In s/held/1 it matched call "), "%s: %s", tc.why, warnings[0])
		assert.Contains(t, warnings[0], " of clock, which overlapped with call ", tc.why)
	}
}

// asksAtOnce is an agent that makes rounds of equal calls at the same time, and waits
// between rounds.
func asksAtOnce(rounds, calls int, pause time.Duration) contract.Agent {
	return func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
		for range rounds {
			var all sync.WaitGroup
			for range calls {
				all.Go(func() {
					for range rand.N(4) { // another order each time
						runtime.Gosched()
					}
					_, _ = tools.CallTool(ctx, "clock", json.RawMessage(`{}`))
				})
			}
			all.Wait()
			time.Sleep(pause)
		}
		return "it is noon", nil
	}
}

// under is a matrix of one scenario, with that agent and these rules on its clock.
func under(t testing.TB, agent contract.Agent, trials int, rules ...chaos.Rule) *contract.Matrix {
	return matrix(t, agent, func(m *contract.Matrix) {
		m.Trials, m.Scenarios = trials, []contract.Scenario{contract.Under("storm", rules...)}
	})
}

// TestTriesOfCallsAtOnce says which try a call is that others equal to it surround.
func TestTriesOfCallsAtOnce(t *testing.T) {
	const pause = time.Second
	fail := fault.Fail(fault.ErrUnavailable)
	second := func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
		for range 3 {
			_, _ = tools.CallTool(chaos.WithAttempt(ctx, 2), "clock", json.RawMessage(`{}`))
		}
		return "it is noon", nil
	}
	for _, tc := range []struct {
		why   string
		agent contract.Agent
		rules []chaos.Rule
		want  [3]int // calls on a first, a second, a later try
	}{
		{"one after the other", asksAtOnce(4, 1, 0), []chaos.Rule{{Target: "clock", Fault: fail}}, [3]int{1, 1, 2}},
		{"three that overlap are one try", asksAtOnce(1, 3, 0), []chaos.Rule{{Target: "clock", Fault: fault.Timeout(pause)}},
			[3]int{3, 0, 0}},
		{"and three that follow are the next", asksAtOnce(2, 3, 0), []chaos.Rule{{Target: "clock", Fault: fault.Timeout(pause)}},
			[3]int{3, 3, 0}},
		{"a try of which one call succeeds is over", asksAtOnce(2, 3, 0),
			[]chaos.Rule{{Target: "clock", When: when.Nth(1, 2, 4, 5), Fault: fault.Timeout(pause)},
				{Name: "slow", Target: "clock", When: when.Nth(3, 6), Fault: fault.Delay(pause / 2)}}, [3]int{6, 0, 0}},
		{"calls that end as they begin cannot overlap", asksAtOnce(1, 4, pause), []chaos.Rule{{Target: "clock", Fault: fail}},
			[3]int{1, 1, 2}},
		{"the agent says which try it is", second, []chaos.Rule{{Target: "clock", Fault: fail}}, [3]int{0, 3, 0}},
	} {
		r := run(t, under(t, tc.agent, 1, tc.rules...), virtual(t))
		var got [3]int
		for _, c := range r.Coverage {
			got[c.Try-1] += c.Delivered
		}
		assert.Equal(t, tc.want, got, tc.why)
	}
}

// TestTriesOfCallsAtOnceRepeat: the coverage of an agent whose equal calls run at once is
// the same in every run, at any number of workers.
func TestTriesOfCallsAtOnceRepeat(t *testing.T) {
	m := under(t, asksAtOnce(3, 4, time.Millisecond), 8,
		chaos.Rule{Name: "down", Target: "clock", When: when.Prob(.4), Fault: fault.Fail(fault.ErrUnavailable)},
		chaos.Rule{Name: "late", Target: "clock", When: when.Prob(.4), Fault: fault.Timeout(time.Millisecond)})
	seen := map[string]int{}
	for _, workers := range []int{1, 2, 8, 64, 1, 2, 8, 64} {
		o := virtual(t)
		o.Workers = workers
		seen[fmt.Sprint(run(t, m, o).Coverage)]++
	}
	assert.Len(t, seen, 1)
}
