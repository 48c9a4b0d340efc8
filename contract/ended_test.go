package contract_test

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/scoring"
)

// counted is a registry whose tool counts the calls that reach it.
func counted(t *testing.T, reached *atomic.Int64) chaos.ToolRegistry {
	tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "clock"}, func(context.Context, struct{}) (string, error) {
		reached.Add(1)
		return "noon", nil
	}))
	require.NoError(t, err)
	return tools
}

// TestLateCalls: what an agent does after its cell has ended, with the context
// of the cell, with none, and through a wrapped function.
func TestLateCalls(t *testing.T) {
	r := lateCalls(t, virtual(t))
	assert.Equal(t, contract.Held, r.Cells[0].State)
	assert.Equal(t, 3, r.Cells[0].LateCalls, "in a bubble all of them are counted")
	synctest.Test(t, func(t *testing.T) { lateCalls(t, nil) })
}

func lateCalls(t *testing.T, o *contract.RunOptions) *contract.Report {
	var reached atomic.Int64
	late := make(chan error, 3)
	tools := counted(t, &reached)
	point := chaos.Wrap("point", func(context.Context, int) (int, error) { reached.Add(1); return 0, nil })
	agent := func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
		go func() {
			<-ctx.Done() // the answer is in
			time.Sleep(time.Millisecond)
			for _, own := range []context.Context{ctx, context.Background()} {
				_, err := tools.CallTool(own, "clock", json.RawMessage(`{}`))
				late <- err
			}
			_, err := point(ctx, 1)
			late <- err
		}()
		return "done", nil
	}
	r := run(t, matrix(t, nil, func(m *contract.Matrix) {
		m.Points = []string{"point"}
		m.NewWorld = func(context.Context) (*contract.World, error) {
			return &contract.World{Agent: agent, Tools: tools}, nil
		}
	}), o)
	for range 3 {
		assert.ErrorIs(t, <-late, chaos.ErrCellEnded)
	}
	assert.Zero(t, reached.Load(), "late calls never reach a tool")
	return r
}

// TestAgentThatIgnoresItsContext cannot touch the cells after it.
func TestAgentThatIgnoresItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reached, refused atomic.Int64
		first := true
		agent := func(ctx context.Context, p string, tools chaos.ToolRegistry) (string, error) {
			if !first {
				return tellsTime(ctx, p, tools)
			}
			first = false
			for refused.Load() < 5 {
				time.Sleep(time.Minute)
				if _, err := tools.CallTool(context.Background(), "clock", json.RawMessage(`{}`)); err != nil {
					assert.ErrorIs(t, err, chaos.ErrCellEnded)
					refused.Add(1)
				}
			}
			return "at last", nil
		}
		tools := counted(t, &reached)
		m := matrix(t, nil, func(m *contract.Matrix) {
			m.NewWorld, m.SkipStateProbe = nil, true
			m.World = &contract.World{Agent: agent, Tools: tools}
			m.Timeout, m.Trials = 10*time.Minute, 3
		})
		r := run(t, m, &contract.RunOptions{Keep: contract.KeepAll})
		assert.Equal(t, []contract.CellState{contract.Broken, contract.Held, contract.Held}, states(r))
		assert.Equal(t, 1, r.Abandoned)
		assert.Equal(t, []string{"the agent of calm/held/1 did not end and may still touch the shared world"}, r.Warnings)
		for _, c := range r.Cells[1:] {
			assert.Len(t, c.Evidence.Events, 1, "the log of a cell has its own calls only")
		}
		time.Sleep(time.Hour)
		assert.EqualValues(t, 5, refused.Load())
		assert.EqualValues(t, 10+2, reached.Load(), "ten before it was left behind, and one for each of the others")
	})
}

func TestContextOfACell(t *testing.T) {
	type key struct{}
	outer := context.WithValue(t.Context(), key{}, "value")
	var contexts []context.Context
	m := matrix(t, nil, func(m *contract.Matrix) {
		m.Invariants[0].Needs = contract.NeedState
		keep := func(ctx context.Context) {
			assert.Equal(t, "value", ctx.Value(key{}))
			assert.NoError(t, ctx.Err())
			contexts = append(contexts, ctx)
		}
		m.NewWorld = func(ctx context.Context) (*contract.World, error) {
			keep(ctx)
			return &contract.World{
				Agent: func(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
					keep(ctx)
					assert.NotNil(t, chaos.FromContext(ctx), "wrapped functions find the injector")
					return "", nil
				},
				State: func(ctx context.Context) (any, error) { keep(ctx); return 1, nil },
			}, nil
		}
	})
	for _, o := range []*contract.RunOptions{nil, virtual(t)} {
		contexts = nil
		_, err := m.Run(outer, o)
		require.NoError(t, err)
		require.Len(t, contexts, 1+4, "the first world, and NewWorld, State, Agent, State of the cell")
		for _, ctx := range contexts {
			if o == nil { // those of a bubble must not be touched from outside
				assert.ErrorIs(t, ctx.Err(), context.Canceled, "ended with the cell")
			}
		}
	}
}

// cancelling is a matrix of ten cells whose third ends the run.
func cancelling(t *testing.T, cancel func(), agent contract.Agent) *contract.Matrix {
	asked := 0
	return matrix(t, func(ctx context.Context, p string, tools chaos.ToolRegistry) (string, error) {
		if asked++; asked == 3 {
			cancel()
		}
		return agent(ctx, p, tools)
	}, func(m *contract.Matrix) { m.Trials = 10 })
}

func TestCancellation(t *testing.T) {
	obedient := func(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(time.Minute):
			return "done", nil
		}
	}
	polite := func(ctx context.Context, p string, tools chaos.ToolRegistry) (string, error) {
		if _, err := obedient(ctx, p, tools); err != nil {
			return "I was interrupted", nil
		}
		return "done", nil
	}
	deaf := func(context.Context, string, chaos.ToolRegistry) (string, error) {
		time.Sleep(time.Minute)
		return "done", nil
	}
	for _, tc := range []struct {
		reason    string
		agent     contract.Agent
		took      time.Duration // of the last cell
		abandoned int
	}{
		{"an agent that ends with its context", obedient, 0, 0},
		{"one that makes an answer of it: that says nothing of the agent", polite, 0, 0},
		{"one that does not is left behind after a second", deaf, time.Second, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			m := cancelling(t, func() { cancel(errDown) }, tc.agent)
			start := time.Now()
			r, err := m.Run(ctx, &contract.RunOptions{Workers: 1})
			assert.ErrorIs(t, err, context.Canceled, tc.reason)
			require.NotNil(t, r, "%s: with the report so far", tc.reason)
			assert.Equal(t, []contract.CellState{contract.Held, contract.Held, contract.Inconclusive}, states(r), tc.reason)
			assert.Equal(t, "the run was cancelled", r.Cells[2].Why, tc.reason)
			assert.Equal(t, scoring.Inconclusive, r.Score.Verdict, "%s: a part is no pass", tc.reason)
			assert.Equal(t, "the run was cancelled", r.Score.Why)
			assert.Equal(t, tc.abandoned, r.Abandoned, tc.reason)
			assert.Equal(t, 2*time.Minute+tc.took, time.Since(start), tc.reason)
			time.Sleep(time.Hour) // until the deaf one is done: nothing else stays behind
		})
	}
}

// TestCancellationOfBubbles: nothing may reach into a bubble, so its cell runs
// on to its end, without tools.
func TestCancellationOfBubbles(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := cancelling(t, cancel, func(ctx context.Context, p string, tools chaos.ToolRegistry) (string, error) {
		time.Sleep(time.Hour)
		return tellsTime(ctx, p, tools)
	})
	o := virtual(t)
	o.Workers = 1
	r, err := m.Run(ctx, o)
	assert.ErrorIs(t, err, context.Canceled)
	require.NotNil(t, r)
	require.GreaterOrEqual(t, len(r.Cells), 2)
	assert.LessOrEqual(t, len(r.Cells), 3, "no further cell was begun")
	assert.NotEqual(t, scoring.Pass, r.Score.Verdict)
	assert.Zero(t, r.Abandoned)
}

func TestFailGoesOverCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	m := matrix(t, tellsTime, func(m *contract.Matrix) {
		m.Invariants = []contract.Invariant{contains("midnight", contract.Critical, "midnight")}
		m.Trials = 1000
	})
	r, err := m.Run(ctx, &contract.RunOptions{Workers: 1, OnCell: func(*contract.CellReport) { cancel() }})
	assert.ErrorIs(t, err, context.Canceled)
	assert.Len(t, r.Cells, 1)
	assert.Equal(t, scoring.Fail, r.Score.Verdict)
}

func TestCancelledBeforeItBegan(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m := matrix(t, tellsTime)
	r, err := m.Run(ctx, nil)
	require.ErrorIs(t, err, context.Canceled)
	assert.True(t, r == nil || len(r.Cells) == 0)
	_, err = m.RunCell(ctx, m.Cells()[0], nil)
	assert.ErrorIs(t, err, context.Canceled)
}

// The end of its context in the last cell cuts a run; after it, nothing is left to cut.
func TestCancelledAtTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r, err := matrix(t, tellsTime).Run(ctx, &contract.RunOptions{OnCell: func(*contract.CellReport) { cancel() }})
	require.NoError(t, err)
	assert.Equal(t, scoring.Pass, r.Score.Verdict)

	ctx, cancel = context.WithCancel(t.Context())
	m := matrix(t, func(context.Context, string, chaos.ToolRegistry) (string, error) { cancel(); return "done", nil })
	r, err = m.Run(ctx, nil)
	assert.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, []contract.CellState{contract.Inconclusive}, states(r))
}

// hangsUntil holds a call until its context ends, or until the test lets go.
type hangsUntil struct{ released chan struct{} }

func (f hangsUntil) Inject(ctx context.Context, _ chaos.Call, _ any, _ chaos.Next) (any, error) {
	if f.released == nil {
		return nil, chaos.Sleep(ctx, -1)
	}
	select {
	case <-f.released:
		return nil, errDown
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// impatient asks the clock through ask, gives up after three seconds and says so. Told to
// be patient, it asks nothing.
func impatient(ask func(context.Context, chaos.ToolRegistry, chan<- string)) contract.Agent {
	return func(ctx context.Context, prompt string, tools chaos.ToolRegistry) (string, error) {
		if prompt == "Be patient." {
			return "it is noon", nil
		}
		answer := make(chan string, 1)
		ask(ctx, tools, answer)
		select {
		case text := <-answer:
			return "it is " + text, nil
		case <-time.After(3 * time.Second):
			return "nobody knows", nil
		}
	}
}

func asks(ctx context.Context, tools chaos.ToolRegistry, answer chan<- string) {
	text, err := tools.CallTool(ctx, "clock", json.RawMessage(`{}`))
	if err == nil {
		answer <- string(text)
	}
}

// onGoroutine asks on a goroutine that the agent leaves behind.
func onGoroutine(ctx context.Context, tools chaos.ToolRegistry, answer chan<- string) {
	go asks(context.WithoutCancel(ctx), tools, answer)
}

// withWorker makes worlds whose agent asks through a worker that lives for the cell. own
// makes the context of the worker's calls.
func withWorker(t testing.TB, own func(context.Context) context.Context) func(context.Context) (*contract.World, error) {
	type job struct {
		tools  chaos.ToolRegistry
		answer chan<- string
	}
	tools := clock(t)
	return func(ctx context.Context) (*contract.World, error) {
		jobs := make(chan job, 1)
		go func() {
			for j := range jobs {
				asks(own(ctx), j.tools, j.answer)
			}
		}()
		agent := impatient(func(_ context.Context, tools chaos.ToolRegistry, answer chan<- string) { jobs <- job{tools, answer} })
		return &contract.World{Agent: agent, Tools: tools, Close: func() error { close(jobs); return nil }}, nil
	}
}

// A call that outlives its cell leaves its event, and the fault that holds it is
// delivered: the agent never got the answer.
func TestACallThatOutlivesItsCellIsDelivered(t *testing.T) {
	sameContext := func(ctx context.Context) context.Context { return ctx }
	for _, tt := range []struct {
		name, why string
		world     func(context.Context) (*contract.World, error)
		outcome   chaos.Outcome
	}{
		{"a goroutine of the agent's", "its context never ends", fresh(t, impatient(onGoroutine)), chaos.OutcomeOpen},
		{"a worker with the context of the cell", "it ends with the cell", withWorker(t, sameContext), chaos.OutcomeInjected},
		{"a worker with a context of its own", "it outlives the cell", withWorker(t, context.WithoutCancel), chaos.OutcomeOpen},
	} {
		check := func(t *testing.T, r *contract.Report, outcome chaos.Outcome) {
			t.Helper()
			c := r.Cells[len(r.Cells)-1]
			require.Equal(t, contract.Broken, c.State, "%v", c.Why)
			assert.Equal(t, 1, c.Delivered)
			require.Len(t, c.Evidence.Events, 1)
			e := c.Evidence.Events[0]
			assert.Equal(t, "clock", e.Target)
			assert.Equal(t, outcome, e.Outcome, tt.why)
			assert.Equal(t, "stop the clock", e.Rule)
			assert.True(t, e.Delivered)
			assert.GreaterOrEqual(t, e.End, 3*time.Second)
			assert.Equal(t, 1, r.Faults[0].Delivered)
		}
		scenario := func(f chaos.Fault) func(*contract.Matrix) {
			return func(m *contract.Matrix) {
				m.NewWorld = tt.world
				m.Invariants = []contract.Invariant{contains("tells", contract.High, "noon")}
				m.Scenarios = append(m.Scenarios, contract.Scenario{Name: "stopped",
					Rules: []chaos.Rule{{Name: "stop the clock", Target: "clock", Fault: f}}})
			}
		}
		t.Run(tt.name+", in virtual time", func(t *testing.T) {
			check(t, run(t, matrix(t, nil, scenario(hangsUntil{})), virtual(t)), tt.outcome)
		})
		t.Run(tt.name+", without", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				released := make(chan struct{})
				defer close(released)
				check(t, run(t, matrix(t, nil, scenario(hangsUntil{released})), nil), chaos.OutcomeOpen)
			})
		})
	}
}

// An open call belongs to the prompt in whose answer it began.
func TestAnOpenCallBelongsToItsPrompt(t *testing.T) {
	m := matrix(t, impatient(onGoroutine), func(m *contract.Matrix) {
		m.Prompts = []string{"What time is it?", "Be patient."}
		m.Invariants = []contract.Invariant{contains("tells", contract.High, "noon"), holds("holds", contract.Low)}
		m.ShareObservations = true
		m.Scenarios = []contract.Scenario{{Name: "stopped", Rules: []chaos.Rule{{Target: "clock", Fault: hangsUntil{}}}}}
	})
	o := virtual(t)
	o.Keep = contract.KeepAll
	r := run(t, m, o)
	c := r.Cells[0]
	assert.Equal(t, contract.Broken, c.State)
	assert.Equal(t, 1, c.Delivered, "what broke the first prompt was delivered to it")
	seen := c.Observations()
	require.Len(t, seen, 2)
	assert.Len(t, seen[0].Events, 1)
	assert.Empty(t, seen[1].Events)
}
