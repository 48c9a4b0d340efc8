package contract_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
)

var errMiss = errors.New("tape: no answer to request 3")

// unsound is a world whose Err is errMiss once its agent has got one of the prompts.
func unsound(agent contract.Agent, prompts ...string) func(context.Context) (*contract.World, error) {
	return func(context.Context) (*contract.World, error) {
		var missed atomic.Bool
		return &contract.World{
			Agent: func(ctx context.Context, prompt string, tools chaos.ToolRegistry) (string, error) {
				if slices.Contains(prompts, prompt) {
					missed.Store(true)
				}
				return agent(ctx, prompt, tools)
			},
			Err: func() error {
				if missed.Load() {
					return errMiss
				}
				return nil
			},
		}, nil
	}
}

// TestWorldErr: an answer that does not count decides nothing, whatever it is. The
// answers before it count.
func TestWorldErr(t *testing.T) {
	says := func(answer string, err error) contract.Agent {
		return func(context.Context, string, chaos.ToolRegistry) (string, error) { return answer, err }
	}
	breaksAt := func(prompt string) contract.Invariant {
		inv := holds("at-"+prompt, contract.High)
		inv.Check = func(_ context.Context, o *contract.Observation) error {
			if o.Prompt == prompt {
				return errors.New("broken")
			}
			return nil
		}
		return inv
	}
	judging := contains("noon", contract.High, "noon")
	judging.JudgesErrors = true
	for _, tc := range []struct {
		why   string
		world func(context.Context) (*contract.World, error)
		inv   contract.Invariant
		all   bool // ShareObservations
		state contract.CellState
		text  string
	}{
		{"the check would hold", unsound(says("noon", nil), "b"), judging, false, contract.Inconclusive, errMiss.Error()},
		{"the check would break", unsound(says("ten", nil), "a"), judging, false, contract.Inconclusive, errMiss.Error()},
		{"the agent failed", unsound(says("", errDown), "a"), holds("held", contract.High), false, contract.Inconclusive, errMiss.Error()},
		{"the agent panicked", unsound(func(context.Context, string, chaos.ToolRegistry) (string, error) { panic("boom") }, "a"),
			holds("held", contract.High), false, contract.Inconclusive, errMiss.Error()},
		{"all answers count", unsound(says("noon", nil)), judging, false, contract.Held, ""},
		{"an earlier answer broke it, and the later prompt was not sent", unsound(says("", nil), "b"), breaksAt("a"), false, contract.Broken, "broken"},
		{"an earlier answer broke it, and the later prompt was sent", unsound(says("", nil), "b"), breaksAt("a"), true, contract.Broken, "broken"},
		{"the answer that would break it does not count", unsound(says("", nil), "b"), breaksAt("b"), true, contract.Inconclusive, errMiss.Error()},
		{"Err panics", func(context.Context) (*contract.World, error) {
			return &contract.World{Agent: says("noon", nil), Err: func() error { panic("boom") }}, nil
		}, judging, false, contract.Inconclusive, "asking World.Err: panic: boom"},
		{"Err ends its goroutine", func(context.Context) (*contract.World, error) {
			return &contract.World{Agent: says("noon", nil), Err: func() error { runtime.Goexit(); return nil }}, nil
		}, judging, false, contract.Inconclusive, "asking World.Err: " + contract.ErrFailNow.Error()},
		{"Err never returns", func(context.Context) (*contract.World, error) {
			return &contract.World{Agent: says("noon", nil), Err: func() error { select {} }}, nil
		}, judging, false, contract.Inconclusive, "no end after 720h0m0s of virtual time, while asking World.Err"},
		{"the agent left a goroutine behind", unsound(func(context.Context, string, chaos.ToolRegistry) (string, error) {
			go func() { select {} }()
			return "noon", nil
		}, "a"), judging, false, contract.Inconclusive, errMiss.Error()},
	} {
		r := run(t, matrix(t, nil, func(m *contract.Matrix) {
			m.NewWorld, m.Prompts, m.Invariants, m.ShareObservations = tc.world, []string{"a", "b"}, []contract.Invariant{tc.inv}, tc.all
		}), virtual(t))
		assert.Equal(t, tc.state, r.Cells[0].State, tc.why)
		assert.Equal(t, tc.text, r.Cells[0].Why, tc.why)
		assert.False(t, r.Cells[0].Undecided, "%s: no check said so", tc.why)
	}
}

// TestWorldErrEvidence: a report shows the answer that did not count.
func TestWorldErrEvidence(t *testing.T) {
	agent := func(_ context.Context, prompt string, _ chaos.ToolRegistry) (string, error) {
		return "re " + prompt, nil
	}
	r := run(t, matrix(t, nil, func(m *contract.Matrix) {
		m.NewWorld, m.Prompts = unsound(agent, "b"), []string{"a", "b", "c"}
	}), nil)
	assert.Equal(t, "re b", r.Cells[0].Evidence.Response)
}

// TestWorldErrWithSharedObservations: a run that several invariants judge is lost for
// all that no earlier answer broke. Those with other prompts have another run.
func TestWorldErrWithSharedObservations(t *testing.T) {
	agent := func(_ context.Context, prompt string, _ chaos.ToolRegistry) (string, error) { return prompt, nil }
	first, probing := contains("wants-b", contract.High, "b"), holds("probing", contract.High)
	probing.Probes = []string{"c"}
	r := run(t, matrix(t, nil, func(m *contract.Matrix) {
		m.NewWorld, m.Prompts, m.ShareObservations = unsound(agent, "b"), []string{"a", "b"}, true
		m.Invariants = []contract.Invariant{first, holds("held", contract.High), probing}
	}), nil)
	assert.Equal(t, []contract.CellState{contract.Broken, contract.Inconclusive, contract.Held}, states(r))
}

// TestWorldErrInACalmRun: what did not count is no baseline.
func TestWorldErrInACalmRun(t *testing.T) {
	agent := func(ctx context.Context, prompt string, _ chaos.ToolRegistry) (string, error) { return prompt, nil }
	for _, tc := range []struct {
		why     string
		prompts []string
		state   contract.CellState
		text    string
	}{
		{"its prompt did not count", []string{"b"}, contract.Inconclusive, "contract: undecided: no baseline: " + errMiss.Error()},
		{"a later prompt did not count", []string{"a", "b"}, contract.Inconclusive, "contract: undecided: no baseline: " + errMiss.Error()},
		{"all counted", []string{"a", "c"}, contract.Held, ""},
	} {
		inv := holds("same", contract.High)
		inv.Needs = contract.NeedBaseline
		m := matrix(t, nil, func(m *contract.Matrix) {
			m.Prompts, m.Invariants = tc.prompts, []contract.Invariant{inv}
			m.NewWorld = func(ctx context.Context) (*contract.World, error) {
				if c, _ := contract.CellOf(ctx); c.Trial > 0 { // its cells have sound worlds
					return &contract.World{Agent: agent}, nil
				}
				return unsound(agent, "b")(ctx)
			}
		})
		r := run(t, m, nil)
		assert.Equal(t, tc.state, r.Cells[0].State, tc.why)
		assert.Equal(t, tc.text, r.Cells[0].Why, tc.why)
	}
}

// TestWorldErrInTheStateProbe: two runs that did not count are not compared.
func TestWorldErrInTheStateProbe(t *testing.T) {
	n := 0
	r := run(t, matrix(t, nil, func(m *contract.Matrix) {
		m.NewWorld, m.World = nil, &contract.World{
			Agent: func(context.Context, string, chaos.ToolRegistry) (string, error) { return "noon", nil },
			Err:   func() error { n++; return errMiss },
		}
	}), nil)
	assert.Equal(t, []contract.CellState{contract.Inconclusive}, states(r))
	assert.Equal(t, []string{"The state probe found out nothing, because World.Err reported an error: " + errMiss.Error()}, r.Warnings)
	assert.Equal(t, 3, n, "asked after each answer: two of the probe, one of the cell")
}
