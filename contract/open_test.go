package contract_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
)

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
