package contract_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/scoring"
)

// mischief is user code that behaves at every call but one.
type mischief struct {
	mu    sync.Mutex
	calls int
	at    int // the call that misbehaves, from 1
	do    func()
}

func (m *mischief) call() {
	m.mu.Lock()
	m.calls++
	now := m.calls == m.at
	m.mu.Unlock()
	if now {
		m.do()
	}
}

// site is a place where user code runs, and the result when it misbehaves.
type site struct {
	name  string
	at    int // the call that belongs to the second of three cells
	plant func(m *contract.Matrix, o *contract.RunOptions, bad *mischief)
	// The state of the second cell, and a part of its reason: when the code dies,
	// and when it hangs in real time.
	state contract.CellState
	dies  string
	hangs string
}

// mustReturn is for a function of the host, which is trusted to return.
const mustReturn = "-"

func sites(t *testing.T) []site {
	world := func(m *contract.Matrix, change func(*contract.World)) {
		inner := m.NewWorld
		m.NewWorld = func(ctx context.Context) (*contract.World, error) {
			w, err := inner(ctx)
			change(w)
			return w, err
		}
	}
	const gaveUp = "the watchdog gave up after 5m0s of real time, while "
	return []site{
		{"agent", 2, func(m *contract.Matrix, _ *contract.RunOptions, bad *mischief) {
			m.NewWorld = fresh(t, func(ctx context.Context, p string, tools chaos.ToolRegistry) (string, error) {
				bad.call()
				return tellsTime(ctx, p, tools)
			})
		}, contract.Broken, "the agent failed: ", gaveUp + "the agent was answering"},
		{"NewWorld", 3, func(m *contract.Matrix, _ *contract.RunOptions, bad *mischief) {
			world(m, func(*contract.World) { bad.call() })
		}, contract.Inconclusive, "making the world: ", gaveUp + "making the world"},
		{"Reset", 2, func(m *contract.Matrix, _ *contract.RunOptions, bad *mischief) {
			m.NewWorld, m.World = nil, &contract.World{Agent: tellsTime, Tools: clock(t)}
			m.Reset = func(context.Context) error { bad.call(); return nil }
		}, contract.Inconclusive, "resetting the world: ", gaveUp + "resetting the world"},
		{"State", 3, func(m *contract.Matrix, _ *contract.RunOptions, bad *mischief) {
			m.Invariants[0].Needs = contract.NeedState
			world(m, func(w *contract.World) { w.State = func(context.Context) (any, error) { bad.call(); return 1, nil } })
		}, contract.Inconclusive, "contract: undecided: reading the state of the world: ", gaveUp + "reading the state of the world"},
		{"Close", 3, func(m *contract.Matrix, _ *contract.RunOptions, bad *mischief) {
			world(m, func(w *contract.World) { w.Close = func() error { bad.call(); return nil } })
		}, contract.Inconclusive, "closing the world: ", gaveUp + "closing the world"},
		{"Check", 2, func(m *contract.Matrix, _ *contract.RunOptions, bad *mischief) {
			m.Invariants[0].Check = func(context.Context, *contract.Observation) error { bad.call(); return nil }
		}, contract.Inconclusive, "the check of the invariant failed: ", gaveUp + "the invariant was checking"},
		{"Around before", 2, func(_ *contract.Matrix, o *contract.RunOptions, bad *mischief) {
			inner := o.Harness.Around
			o.Harness.Around = func(c contract.Cell, cell func(contract.Bubble) *contract.CellReport) { bad.call(); inner(c, cell) }
		}, contract.Inconclusive, "Around failed: ", mustReturn},
		{"Around after", 2, func(_ *contract.Matrix, o *contract.RunOptions, bad *mischief) {
			inner := o.Harness.Around
			o.Harness.Around = func(c contract.Cell, cell func(contract.Bubble) *contract.CellReport) { inner(c, cell); bad.call() }
		}, contract.Inconclusive, "Around failed: ", mustReturn},
		{"OnCell", 2, func(_ *contract.Matrix, o *contract.RunOptions, bad *mischief) {
			o.OnCell = func(*contract.CellReport) { bad.call() }
		}, contract.Held, "", ""},
	}
}

// three is a matrix of three cells, and options that run it plainly or in bubbles.
func three(t *testing.T, s site, bad *mischief, bubbles bool) (*contract.Matrix, *contract.RunOptions) {
	m := matrix(t, tellsTime, func(m *contract.Matrix) { m.Trials = 3 })
	o := &contract.RunOptions{Harness: contract.Harness{Around: func(_ contract.Cell, cell func(contract.Bubble) *contract.CellReport) { cell(nil) }}}
	if bubbles {
		o = virtual(t)
	}
	o.Workers = 1
	bad.at = s.at
	s.plant(m, o, bad)
	return m, o
}

// TestUserCodeThatDies: user code that panics or ends its goroutine affects only its own cell.
func TestUserCodeThatDies(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for _, s := range sites(t) {
		for name, death := range map[string]struct {
			do   func()
			says string
		}{
			"a panic":             {func() { panic("boom") }, "panic: boom"},
			"a panic with nil":    {func() { panic(nil) }, "panic: " + new(runtime.PanicNilError).Error()},
			"an ended goroutine":  {runtime.Goexit, contract.ErrFailNow.Error()},
			"a runtime error":     {func() { _ = []int{}[len(s.name)] }, "panic: runtime error: index out of range"},
			"a panic in a defer":  {func() { defer func() { panic("second") }(); panic("first") }, "panic: second"},
			"a Goexit in a defer": {func() { defer runtime.Goexit(); panic("first") }, contract.ErrFailNow.Error()},
		} {
			for _, bubbles := range []bool{false, true} {
				m, o := three(t, s, &mischief{do: death.do}, bubbles)
				r, err := m.Run(t.Context(), o)
				reason := fmt.Sprintf("%s: %s, in bubbles %t", s.name, name, bubbles)
				require.NoError(t, err, reason)
				assert.Equal(t, []contract.CellState{contract.Held, s.state, contract.Held}, states(r), reason)
				assert.Zero(t, r.Abandoned, reason)
				if s.state == contract.Held {
					require.Len(t, r.Warnings, 1, reason)
					assert.Contains(t, r.Warnings[0], death.says, reason)
					continue
				}
				assert.Empty(t, r.Warnings, reason)
				assert.Contains(t, r.Cells[1].Why, s.dies, reason)
				assert.Contains(t, r.Cells[1].Why, death.says, reason)
			}
		}
	}
}

// TestUserCodeThatHangs runs in real time, which a bubble around everything
// makes short.
func TestUserCodeThatHangs(t *testing.T) {
	for _, s := range sites(t) {
		if s.hangs == mustReturn {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				m, o := three(t, s, &mischief{do: func() { <-release }}, false)
				start := time.Now()
				r, err := m.Run(t.Context(), o)
				require.NoError(t, err)
				assert.Less(t, time.Since(start), 6*time.Minute, "the watchdog is five minutes")
				if s.hangs == "" {
					assert.Equal(t, []contract.CellState{contract.Held, contract.Held, contract.Held}, states(r))
					require.Len(t, r.Warnings, 1)
					assert.Contains(t, r.Warnings[0], "it did not return within 5m0s")
				} else {
					assert.Equal(t, []contract.CellState{contract.Held, contract.Inconclusive, contract.Held}, states(r))
					assert.Equal(t, s.hangs, r.Cells[1].Why)
					assert.True(t, r.Cells[1].Abandoned)
					assert.Equal(t, 1, r.Abandoned)
				}
				close(release) // the bubble now shows that nothing else stayed behind
			})
		})
	}
}

// TestUserCodeThatHangsInABubble: there a hang costs no real time, whether it
// ends with its context or not.
func TestUserCodeThatHangsInABubble(t *testing.T) {
	const waited = "no end after 720h0m0s of virtual time, while "
	for _, s := range sites(t) {
		if s.name == "Rerun" || s.name == "OnCell" || s.name == "Check" || len(s.name) > 6 {
			continue // these run outside of the bubble
		}
		m, o := three(t, s, &mischief{do: func() { select {} }}, true)
		r, err := m.Run(t.Context(), o)
		require.NoError(t, err, s.name)
		assert.Equal(t, []contract.CellState{contract.Held, s.state, contract.Held}, states(r)[:3], s.name)
		assert.True(t, r.Cells[1].Abandoned, s.name)
		if s.name == "agent" {
			assert.Equal(t, "the agent failed: contract: the agent hangs: no answer after 720h0m0s of virtual time", r.Cells[1].Why)
			assert.ErrorIs(t, r.Cells[1].Evidence.Err, contract.ErrHung)
			continue
		}
		assert.Contains(t, r.Cells[1].Why, waited, s.name)
	}
}

func TestAgentThatHangsUntilItIsCancelled(t *testing.T) {
	closed := 0
	m := matrix(t, nil, func(m *contract.Matrix) {
		m.NewWorld = func(context.Context) (*contract.World, error) {
			return &contract.World{
				Agent: func(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
					<-ctx.Done()
					return "", ctx.Err()
				},
				Close: func() error { closed++; return nil },
			}, nil
		}
	})
	r := run(t, m, virtual(t))
	assert.ErrorIs(t, r.Cells[0].Evidence.Err, contract.ErrHung)
	assert.False(t, r.Cells[0].Abandoned, "it was cancelled, and ended")
	assert.Equal(t, 2, closed, "so its world could be closed")
}

func TestLeaks(t *testing.T) {
	leaks := func(until func(context.Context)) contract.Agent {
		return func(ctx context.Context, p string, tools chaos.ToolRegistry) (string, error) {
			go until(ctx)
			return tellsTime(ctx, p, tools)
		}
	}
	for _, tc := range []struct {
		reason string
		agent  contract.Agent
		state  contract.CellState
	}{
		{"a goroutine that ends with its context is no leak", leaks(func(ctx context.Context) { <-ctx.Done() }), contract.Held},
		{"nor is one that looks at it every now and then", leaks(func(ctx context.Context) {
			for ctx.Err() == nil {
				time.Sleep(300 * time.Millisecond)
			}
		}), contract.Held},
		{"one that never ends is", leaks(func(context.Context) { select {} }), contract.Broken},
		{"so is one that sleeps for long", leaks(func(context.Context) { time.Sleep(time.Hour) }), contract.Broken},
	} {
		c := run(t, matrix(t, tc.agent), virtual(t)).Cells[0]
		assert.Equal(t, tc.state, c.State, tc.reason)
		assert.Equal(t, tc.state == contract.Broken, c.Abandoned, tc.reason)
		if tc.state == contract.Broken {
			assert.Contains(t, c.Why, "the agent or its world left goroutines behind: ", tc.reason)
		}
	}
	c := run(t, matrix(t, leaks(func(context.Context) { select {} }), func(m *contract.Matrix) {
		m.Invariants = []contract.Invariant{contains("midnight", contract.High, "midnight")}
	}), virtual(t)).Cells[0]
	assert.Equal(t, `no "midnight" in the answer`, c.Why, "what the answer breaks goes first")
}

func TestTimeout(t *testing.T) {
	slow := func(obey bool) contract.Agent {
		return func(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
			if !obey {
				time.Sleep(time.Hour)
				return "an hour later", nil
			}
			<-ctx.Done()
			return "I ran out of time", nil
		}
	}
	for _, bubbles := range []bool{false, true} {
		for _, tc := range []struct {
			reason    string
			agent     contract.Agent
			state     contract.CellState
			abandoned bool
		}{
			{"an agent that notices and says so has answered", slow(true), contract.Held, false},
			{"one that ignores its context has not", slow(false), contract.Broken, true},
		} {
			try := func(t *testing.T, o *contract.RunOptions) {
				m := matrix(t, tc.agent, func(m *contract.Matrix) { m.Timeout, m.Prompts = time.Minute, []string{"a", "b"} })
				c := run(t, m, o).Cells[0]
				assert.Equal(t, tc.state, c.State, tc.reason)
				assert.Equal(t, tc.abandoned, c.Abandoned, tc.reason)
				if tc.state == contract.Broken {
					assert.Equal(t, "the agent failed: contract: the agent did not answer in time: context deadline exceeded", c.Why)
					assert.ErrorIs(t, c.Evidence.Err, contract.ErrTimeout)
					assert.ErrorIs(t, c.Evidence.Err, context.DeadlineExceeded)
					assert.Equal(t, "a", c.Evidence.Prompt, "it was not asked again")
					assert.Equal(t, 61*time.Second, c.Evidence.Elapsed, "and given a second to end")
				}
			}
			if bubbles {
				try(t, virtual(t))
				continue
			}
			synctest.Test(t, func(t *testing.T) {
				try(t, nil)
				time.Sleep(time.Hour) // until the agent is done
			})
		}
	}
}

func TestPanicIsAnError(t *testing.T) {
	c := run(t, matrix(t, func(context.Context, string, chaos.ToolRegistry) (string, error) { panic(errDown) }), nil).Cells[0]
	assert.Equal(t, "the agent failed: panic: the clock is down", c.Why)
	assert.ErrorIs(t, c.Evidence.Err, errDown)
	var p *contract.PanicError
	require.ErrorAs(t, c.Evidence.Err, &p)
	assert.Contains(t, p.Stack, "TestPanicIsAnError", "the stack leads to the panic")
}

func TestBrokenStaysBrokenWhateverFailsAfterwards(t *testing.T) {
	m := matrix(t, nil, func(m *contract.Matrix) {
		m.Invariants = []contract.Invariant{contains("midnight", contract.Critical, "midnight")}
		m.NewWorld = func(context.Context) (*contract.World, error) {
			first := true
			return &contract.World{Agent: func(ctx context.Context, p string, tools chaos.ToolRegistry) (string, error) {
				first = false
				return "noon", nil
			}, Close: func() error {
				if !first {
					panic("boom")
				}
				return nil
			}}, nil
		}
	})
	for _, o := range []*contract.RunOptions{nil, virtual(t), {Harness: contract.Harness{Around: func(_ contract.Cell, cell func(contract.Bubble) *contract.CellReport) {
		cell(nil)
		runtime.Goexit() // as t.FailNow does
	}}}} {
		r := run(t, m, o)
		assert.Equal(t, []contract.CellState{contract.Broken}, states(r))
		assert.Equal(t, scoring.Fail, r.Score.Verdict)
		assert.Equal(t, `no "midnight" in the answer`, r.Cells[0].Why)
	}
}

func TestCloseErrorIsAWarning(t *testing.T) {
	m := matrix(t, nil, func(m *contract.Matrix) {
		m.NewWorld = func(context.Context) (*contract.World, error) {
			return &contract.World{Agent: tellsTime, Tools: clock(t), Close: func() error { return errors.New("busy") }}, nil
		}
	})
	r := run(t, m, nil)
	assert.Equal(t, []contract.CellState{contract.Held}, states(r), "the answers are in")
	assert.Equal(t, []string{"closing the world of a calm run: busy", "closing the world of calm/held/1: busy"}, r.Warnings)
	m.Trials = 1000
	assert.Len(t, run(t, m, nil).Warnings, 100, "bounded")
}

// TestWatchdogStandsOverBubbles: a goroutine that waits for a mutex is not
// durably blocked, so the clock of its bubble stands still.
func TestWatchdogStandsOverBubbles(t *testing.T) {
	var mu sync.Mutex
	asked := 0
	m := matrix(t, func(ctx context.Context, p string, tools chaos.ToolRegistry) (string, error) {
		if asked++; asked == 2 {
			if _, err := tools.CallTool(ctx, "clock", json.RawMessage(`{}`)); err != nil {
				return "", err
			}
			mu.Lock()
			defer mu.Unlock()
		}
		return "done", nil
	}, func(m *contract.Matrix) { m.Trials = 3 })
	o := virtual(t)
	o.Workers, o.Watchdog = 1, 500*time.Millisecond
	mu.Lock()
	defer mu.Unlock()
	r := run(t, m, o)
	assert.Equal(t, []contract.CellState{contract.Held, contract.Inconclusive, contract.Held}, states(r))
	c := r.Cells[1]
	assert.Regexp(t, `^the watchdog gave up after 500ms of real time, while the agent was answering; what kept the clock from moving: `+
		`.*contract_test\.TestWatchdogStandsOverBubbles\.func1 \(isolation_test\.go:\d+\), sync\.Mutex\.Lock$`, c.Why)
	assert.True(t, c.Abandoned)
	require.NotNil(t, c.Evidence)
	assert.Equal(t, "What time is it?", c.Evidence.Prompt)
	require.Len(t, c.Evidence.Events, 1, "what is known of it is kept")
}

func TestNothingIsSharedBetweenCells(t *testing.T) {
	m := matrix(t, tellsTime, func(m *contract.Matrix) {
		m.Trials = 20
		m.Scenarios = []contract.Scenario{{Name: "second", Rules: []chaos.Rule{{Target: "clock", Fault: fails{}, When: ordinal(1)}}},
			{Name: "once", Rules: []chaos.Rule{{Target: "clock", Fault: fails{}, Limit: 1}}}}
	})
	r := run(t, m, &contract.RunOptions{Workers: 8, Keep: contract.KeepAll})
	for _, c := range r.Cells {
		if c.Cell.Scenario == "second" {
			assert.Equal(t, contract.Undelivered, c.State, "counters begin at 0 in each cell: there is no second call")
		} else {
			assert.Equal(t, 1, c.Delivered, "a limit is the cell's own")
		}
		require.Len(t, c.Evidence.Events, 1, "so is the log")
		assert.Zero(t, c.Evidence.Events[0].Ordinal)
		assert.Equal(t, fmt.Sprintf("%s/%d", c.Cell.Scenario, c.Cell.Trial), c.Evidence.Events[0].Cell)
	}
}
