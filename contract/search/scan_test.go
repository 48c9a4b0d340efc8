package search

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/contract"
)

// inBubbles makes the runs of a search in virtual time.
func inBubbles(t *testing.T) (o Options) {
	o.Budget.Runs = 100_000
	o.Run.Harness.Calm = bubbled(t).Calm
	return o
}

func scan(t *testing.T, m *contract.Matrix, a Axis, o Options) *Scanned {
	t.Helper()
	r, err := Scan(t.Context(), m, a, &o)
	require.NoError(t, err)
	return r
}

// An agent that tries an operation n times holds out n-1 failures in a row.
func TestScanOfABurst(t *testing.T) {
	for tries := 1; tries <= 18; tries++ {
		r := scan(t, planted(func(call caller) string {
			for range tries {
				if !call("a") {
					return "ok"
				}
			}
			return "wrong"
		}), Burst("a", fault.Fail(fault.ErrUnavailable)), Options{Budget: Budget{Runs: 100}})
		limit := r.Limits[0]
		assert.Len(t, limit.Points, 17)
		require.NotNil(t, limit.Held)
		assert.EqualValues(t, min(tries-1, 16), *limit.Held)
		if tries > 16 {
			assert.Nil(t, limit.Broke)
			assert.Contains(t, r.String(), "holds to 16 (1 of 1 held)\n")
			continue
		}
		require.NotNil(t, limit.Broke)
		assert.EqualValues(t, tries, *limit.Broke)
		assert.Empty(t, limit.HeldAgain)
	}
}

// The delay that breaks an agent which gives up after ten seconds, in virtual time.
func TestScanOfADelay(t *testing.T) {
	m := planted(nil)
	setAgent(m, func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		_, err := tools.CallTool(ctx, "a", json.RawMessage(`{"n":1}`))
		return verdict(err != nil), nil
	})
	r := scan(t, m, Delay("a"), inBubbles(t))
	limit := r.Limits[0]
	held, broke := time.Duration(*limit.Held), time.Duration(*limit.Broke)
	assert.Less(t, held, 10*time.Second)
	assert.GreaterOrEqual(t, broke, 10*time.Second)
	assert.LessOrEqual(t, math.Log2(float64(broke)/float64(held)), 16./256+1e-6, "a 256th of the axis")
	assert.Equal(t, 17+4, r.Runs)
}

// What is hit at a rate is hit at every higher one, and each value has all trials.
func TestScanOfARateIsNested(t *testing.T) {
	hits := map[int]int{} // by trial: what was hit at the value before
	m := planted(nil)
	m.Trials, m.Seed = 5, 11
	setAgent(m, func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
		mask := 0
		for i := range 20 {
			if _, err := tools.CallTool(ctx, "a", json.RawMessage(`{"n":1}`)); err != nil {
				mask |= 1 << i
			}
		}
		c, _ := contract.CellOf(ctx)
		return fmt.Sprintf("%d %d", c.Trial, mask), nil
	})
	m.Invariants[0].Check = func(_ context.Context, o *contract.Observation) error {
		var trial, mask int
		_, err := fmt.Sscan(o.Response, &trial, &mask)
		require.NoError(t, err)
		assert.Equal(t, hits[trial], hits[trial]&mask, "what was hit before")
		hits[trial] = mask
		return nil
	}
	o := Options{Budget: Budget{Runs: 1000}}
	o.Run.Workers = 1
	r := scan(t, m, Rate("a", fault.Fail(fault.ErrUnavailable)), o)
	require.Len(t, hits, 5)
	assert.Equal(t, 1<<20-1, hits[3], "at 100 %")
	for _, p := range r.Limits[0].Points {
		assert.Equal(t, 5, p.Runs)
	}
}

// between is an axis of a value that the agent sees, and a matrix whose agent is wrong
// within bounds.
func between(from, to float64) (Axis, *contract.Matrix) {
	m := planted(nil)
	setAgent(m, func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
		doc, err := tools.CallTool(ctx, "a", json.RawMessage(`{"n":1}`))
		var s string
		if json.Unmarshal(doc, &s) != nil {
			return "", err
		}
		var x float64
		_, err = fmt.Sscan(s, &x)
		return verdict(x >= from && x <= to), err
	})
	return Axis{Name: "value", From: 0, To: 1, Rules: func(x float64) []chaos.Rule {
		return []chaos.Rule{{Name: "v", Target: "a", Fault: fault.Replace(fmt.Sprint(x))}}
	}}, m
}

// Holding again above is said; bisection alone would not see it.
func TestScanSaysWhereItHoldsAgain(t *testing.T) {
	a, m := between(.3, .6)
	want := ""
	for _, workers := range []int{1, 2, 8, 64} {
		o := Options{Budget: Budget{Runs: 100}}
		o.Run.Workers = workers
		r := scan(t, m, a, o)
		limit := r.Limits[0]
		assert.Less(t, *limit.Held, .3)
		assert.GreaterOrEqual(t, *limit.Broke, .3)
		assert.LessOrEqual(t, *limit.Broke-*limit.Held, 1./256+1e-9)
		require.NotEmpty(t, limit.HeldAgain)
		assert.Equal(t, []float64{.625, 1}, []float64{limit.HeldAgain[0], limit.HeldAgain[len(limit.HeldAgain)-1]})
		assert.Contains(t, r.String(), "holds again at 7 values, such as 1\n")
		r.Elapsed = 0
		doc, err := json.Marshal(r)
		require.NoError(t, err)
		if want == "" {
			want = string(doc)
		}
		assert.Equal(t, want, string(doc))
	}
}

// What a check leaves undecided neither held nor broke.
func TestScanOfWhatIsUndecided(t *testing.T) {
	a, m := between(2, 3)
	m.Invariants[0].Check = func(context.Context, *contract.Observation) error { return contract.ErrUndecided }
	r := scan(t, m, a, Options{Budget: Budget{Runs: 100}})
	assert.Nil(t, r.Limits[0].Held)
	assert.Nil(t, r.Limits[0].Broke)
	assert.Contains(t, r.String(), "undecided in 17 runs")
}

// Runs that no fault reached say nothing of the axis, whatever they look like.
func TestScanOfWhatIsNotDelivered(t *testing.T) {
	holds := func(caller) string { return "ok" }
	breaks := func(caller) string { return "wrong" }
	calls := func(call caller) string { call("a"); return "ok" }
	down := fault.Fail(fault.ErrUnavailable)
	for _, row := range []struct {
		name  string
		agent func(caller) string
		axis  Axis
		want  string
		shows bool
	}{
		{"the target is called", calls, Rate("a", down), "holds to 100 % (1 of 1 held)", true},
		{"nothing is called", holds, Rate("a", down), "no fault was delivered in 17 runs", false},
		{"the target is misspelt", calls, Burst("z", down), "no fault was delivered in 17 runs", false},
		{"it breaks without faults", breaks, Rate("a", down),
			"breaks from 0 % (0 of 1 held), no fault was delivered in 17 runs", false},
		{"the axis has no rules", calls, Axis{From: 0, To: 1, Rules: func(float64) []chaos.Rule { return nil }},
			"no fault was delivered in 17 runs", false},
	} {
		r := scan(t, planted(row.agent), row.axis, Options{Budget: Budget{Runs: 100}})
		assert.Contains(t, r.String(), " "+row.want+"\n", row.name)
		assert.Equal(t, row.shows, r.Limits[0].Held != nil, row.name)
		again := &Scanned{}
		doc, err := json.Marshal(r)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(doc, again))
		assert.Equal(t, !row.shows, again.Limits[0].Held == nil, "%s: read from JSON", row.name)
	}
}

func TestScanIsCutInOrder(t *testing.T) {
	a, m := between(.3, .6)
	for runs := 1; runs < 17; runs++ {
		r := scan(t, m, a, Options{Budget: Budget{Runs: runs}})
		assert.Len(t, r.Limits[0].Points, runs)
		assert.Contains(t, r.String(), "stopped: the ")
	}
}

func TestScanRefuses(t *testing.T) {
	_, m := between(0, 1)
	_, err := Scan(t.Context(), m, Axis{From: 2, To: 1}, nil)
	for _, want := range []string{"Budget", "Axis.From is \"2\"; allowed: a finite value below To, which is 1", "Axis.Rules is nil"} {
		assert.ErrorContains(t, err, want)
	}
	_, err = Scan(t.Context(), nil, Rate("", nil), nil)
	for _, want := range []string{"Budget", "Axis: fault is nil", "Axis: target", "m is nil"} {
		assert.ErrorContains(t, err, want)
	}
	budget := &Options{Budget: Budget{Runs: 10}}
	for _, a := range []Axis{{From: math.NaN(), To: 1}, {To: math.Inf(1)}, {From: -math.MaxFloat64, To: math.MaxFloat64}} {
		_, err = Scan(t.Context(), m, a, budget)
		assert.ErrorContains(t, err, "allowed: a finite value below To", "%v", a)
	}
	_, err = Scan(t.Context(), m, Axis{To: 1, Rules: func(float64) []chaos.Rule { panic("boom") }}, budget)
	assert.ErrorContains(t, err, "Axis.Rules panicked: boom")
}

// Repeat names the first difference: the call, the place in its arguments or its
// result, the answer, the state.
func TestRepeatNamesTheFirstDifference(t *testing.T) {
	for _, row := range []struct {
		name  string
		agent func(run int, call func(tool, args string) (string, error)) string
		state func(run int) any
		want  string // "": the same
	}{
		{"the same", func(_ int, call func(string, string) (string, error)) string {
			call("echo", `{"a":1}`)
			return "done"
		}, nil, ""},
		{"a call more", func(run int, call func(string, string) (string, error)) string {
			for range run {
				call("echo", `{}`)
			}
			return "done"
		}, nil, "prompt 1, call 2: none, then echo"},
		{"another tool", func(run int, call func(string, string) (string, error)) string {
			call([]string{"", "echo", "other"}[run], `{}`)
			return "done"
		}, nil, "prompt 1, call 1: echo, then none"},
		{"an argument", func(run int, call func(string, string) (string, error)) string {
			call("echo", `{"x":1}`)
			call("echo", fmt.Sprintf(`{"a":{"b/c":[1,%d]},"z":%d}`, run, run))
			return "done"
		}, nil, "prompt 1, call 2, echo: arguments at /a/b~1c/1: 1, then 2"},
		{"a missing argument", func(run int, call func(string, string) (string, error)) string {
			call("echo", []string{"", `{"a":1}`, `{}`}[run])
			return "done"
		}, nil, "prompt 1, call 1, echo: arguments at /a: 1, then nothing"},
		{"a result", func(_ int, call func(string, string) (string, error)) string {
			call("count", `{}`)
			return "done"
		}, nil, "prompt 1, call 1, count: result at /n: 1, then 2"},
		{"an error", func(run int, call func(string, string) (string, error)) string {
			call("fails", `{}`)
			return "done"
		}, nil, "prompt 1, call 1, fails: result: failed: failure 1, then failed: failure 2"},
		{"the answer", func(run int, _ func(string, string) (string, error)) string { return fmt.Sprint("answer ", run) },
			nil, "prompt 1, answer: answer 1, then answer 2"},
		{"the state", func(int, func(string, string) (string, error)) string { return "done" },
			func(run int) any { return map[string]any{"same": 1, "orders": []int{7, run}} },
			"prompt 1, end state at /orders/1: 1, then 2"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var worlds int
			m := planted(nil)
			m.NewWorld = func(context.Context) (*contract.World, error) {
				worlds++
				run := worlds - 1 // the first world only lists its tools
				type doc = map[string]any
				tools, err := chaos.NewRegistry(
					chaos.Func(chaos.Tool{Name: "echo"}, func(_ context.Context, in doc) (doc, error) { return in, nil }),
					chaos.Func(chaos.Tool{Name: "other"}, func(_ context.Context, in doc) (doc, error) { return in, nil }),
					chaos.Func(chaos.Tool{Name: "count"}, func(context.Context, doc) (doc, error) { return doc{"n": run}, nil }),
					chaos.Func(chaos.Tool{Name: "fails"}, func(context.Context, doc) (doc, error) {
						return nil, fmt.Errorf("failure %d", run)
					}))
				w := &contract.World{Tools: tools,
					Agent: func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
						return row.agent(run, func(tool, args string) (string, error) {
							doc, err := tools.CallTool(ctx, tool, json.RawMessage(args))
							return string(doc), err
						}), nil
					}}
				if row.state != nil {
					w.State = func(context.Context) (any, error) { return row.state(run), nil }
				}
				return w, err
			}
			o := &Options{}
			o.Run.Workers = 1
			d, err := Repeat(t.Context(), m, o)
			require.NoError(t, err)
			if row.want == "" {
				assert.Nil(t, d)
				return
			}
			require.NotNil(t, d)
			assert.Equal(t, row.want, d.String())
			assert.Equal(t, "go", d.Text)
		})
	}
}

func TestRepeatErrs(t *testing.T) {
	_, err := Repeat(t.Context(), nil, nil)
	assert.ErrorContains(t, err, "m is nil")
	_, err = Repeat(t.Context(), planted(usual), &Options{Budget: Budget{Runs: 1}})
	assert.ErrorContains(t, err, "stopped before it was done")
	m := planted(usual)
	m.NewWorld = func(context.Context) (*contract.World, error) { return nil, errors.New("no world") }
	_, err = Repeat(t.Context(), m, nil)
	assert.ErrorContains(t, err, "no world")
}

// In real time no usual fault waits, also none of a lost reply.
func TestSweepInRealTimeDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		r := sweep(t, planted(usual), Options{})
		assert.Positive(t, r.Runs)
		assert.Zero(t, time.Since(begun))
	})
}
