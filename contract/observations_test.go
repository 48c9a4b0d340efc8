package contract_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/contract"
)

// A broken cell has the answers of its whole run, not only the one that decided; they
// are retained as the evidence is.
func TestObservationsAreThoseOfTheWholeRun(t *testing.T) {
	look := chaos.Func(chaos.Tool{Name: "look"}, func(context.Context, struct{}) (string, error) { return "seen", nil })
	m := &contract.Matrix{
		NewWorld: func(context.Context) (*contract.World, error) {
			tools, err := chaos.NewRegistry(look)
			return &contract.World{Tools: tools, Agent: func(ctx context.Context, prompt string, r chaos.ToolRegistry) (string, error) {
				_, err := r.CallTool(ctx, "look", nil)
				return "did " + prompt, err
			}}, err
		},
		Prompts: []string{"a", "b", "c"},
		Invariants: []contract.Invariant{
			verdicts("no-b", map[string]error{"b": errors.New("b")}), holds("holds", contract.High),
		},
		Scenarios: []contract.Scenario{contract.Calm()},
	}
	for _, row := range []struct {
		keep         contract.KeepPolicy
		broken, held []string
	}{
		{contract.KeepBroken, []string{"did a", "did b"}, nil},
		{contract.KeepAll, []string{"did a", "did b"}, []string{"did a", "did b", "did c"}},
		{contract.KeepNone, nil, nil},
	} {
		r, err := m.Run(t.Context(), &contract.RunOptions{Keep: row.keep})
		require.NoError(t, err)
		for i, want := range [][]string{row.broken, row.held} {
			var got []string
			for _, o := range r.Cells[i].Observations() {
				got = append(got, o.Response)
				assert.Len(t, o.Events, 1, "the calls of one prompt")
			}
			assert.Equal(t, want, got, "policy %d, %v", row.keep, r.Cells[i].Cell)
		}
	}
}

// Of a cell that holds, the run that met a fault says more than the last one.
func TestEvidenceOfACellThatHolds(t *testing.T) {
	for _, row := range []struct {
		why   string
		fault int // the call that fails, from 0; -1: none
		want  string
	}{
		{"no fault: the last prompt", -1, "c"},
		{"a fault at the first prompt", 0, "a"},
		{"at the second", 1, "b"},
		{"at a call that nobody makes", 3, "c"},
	} {
		m := matrix(t, func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
			_, _ = tellsTime(ctx, "", tools)
			return "it is late", nil
		}, func(m *contract.Matrix) {
			m.Prompts = []string{"a", "b", "c"}
			if row.fault >= 0 {
				m.Scenarios[0] = stormy()
				m.Scenarios[0].Rules[0].When = ordinal(row.fault)
			}
		})
		c := run(t, m, &contract.RunOptions{Keep: contract.KeepAll}).Cells[0]
		require.NotNil(t, c.Evidence, row.why)
		assert.Equal(t, row.want, c.Evidence.Prompt, row.why)
	}
}

// TestTextsThatAreNotUTF8: the names in a report of a matrix with such names hold in a file. Two names that differ in such bytes stay two.
func TestTextsThatAreNotUTF8(t *testing.T) {
	odd, other := "clock\xff", "clock\xfe"
	down := fault.Fail(errors.New("down " + odd))
	m := &contract.Matrix{
		Name: odd, Prompts: []string{odd}, KeepValues: true,
		NewWorld: func(context.Context) (*contract.World, error) {
			answers := func(context.Context, struct{}) (string, error) { return odd, nil }
			tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: odd, Description: odd}, answers),
				chaos.Func(chaos.Tool{Name: other}, answers), chaos.Func(chaos.Tool{Name: "un\xffused"}, answers))
			return &contract.World{Tools: tools, Agent: func(ctx context.Context, prompt string, tools chaos.ToolRegistry) (string, error) {
				_, err := tools.CallTool(ctx, odd, json.RawMessage(fmt.Sprintf("%q", prompt)))
				_, _ = tools.CallTool(ctx, other, json.RawMessage(`{}`))
				return odd, err
			}}, err
		},
		Invariants: []contract.Invariant{{Name: "answers", Severity: contract.High, JudgesErrors: true,
			Check: func(_ context.Context, o *contract.Observation) error { return errors.New(o.Response + odd) }}},
		Scenarios: []contract.Scenario{{Name: "down", Rules: []chaos.Rule{
			{Name: odd, Target: "*", Group: odd, Fault: down}, {Name: other, Target: "*", Fault: down}}}},
		Trials: 2,
	}
	r, err := m.Run(t.Context(), &contract.RunOptions{Keep: contract.KeepAll})
	require.NoError(t, err)
	require.NoError(t, r.Fingerprint.Check())
	text, err := json.Marshal(r.Fingerprint)
	require.NoError(t, err)
	var back contract.Fingerprint
	require.NoError(t, json.Unmarshal(text, &back))
	assert.NoError(t, back.Check(), "its sum is over the texts that a file has")
	names := map[string]int{r.Name: 1}
	for name := range r.Tools {
		names[name]++
	}
	for _, c := range r.Coverage {
		names[c.Target]++
	}
	for _, f := range r.Faults {
		names[f.Rule]++
	}
	assert.Equal(t, map[string]int{`clock\xff`: 4, `clock\xfe`: 3, `un\xffused`: 2}, names)
}

// TestNotTheAgent: an agent that could not be tested shows nothing, for any invariant.
// An injected fault is no excuse.
func TestNotTheAgent(t *testing.T) {
	assert.ErrorIs(t, contract.ErrNotTheAgent, contract.ErrUndecided)
	other := errors.New("no money left")
	for _, tc := range []struct {
		why   string
		err   func(injected error) error
		judge bool // the invariant judges errors, and accepts all
		state contract.CellState
		text  string
	}{
		{"its own failure", func(error) error { return other }, false, contract.Broken, "the agent failed: no money left"},
		{"its own failure, accepted", func(error) error { return other }, true, contract.Held, ""},
		{"not its own", func(error) error { return fmt.Errorf("%w: %w", contract.ErrNotTheAgent, other) }, false, contract.Inconclusive,
			"contract: undecided: the agent could not be tested: no money left"},
		{"not its own, and errors are judged", func(error) error { return contract.ErrNotTheAgent }, true, contract.Inconclusive,
			"contract: undecided: the agent could not be tested"},
		{"any undecided error", func(error) error { return contract.ErrUndecided }, false, contract.Inconclusive, "contract: undecided"},
		{"an injected error in disguise", func(injected error) error { return fmt.Errorf("%w: %w", contract.ErrNotTheAgent, injected) }, false, contract.Broken,
			"the agent failed: contract: undecided: the agent could not be tested: down"},
		{"an injected error in disguise, accepted", func(injected error) error { return errors.Join(contract.ErrNotTheAgent, injected) }, true, contract.Held, ""},
	} {
		agent := func(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
			return "", tc.err(chaos.Point(ctx, "model"))
		}
		r := run(t, matrix(t, agent, func(m *contract.Matrix) {
			m.Points, m.Invariants[0].JudgesErrors = []string{"model"}, tc.judge
			m.Scenarios = []contract.Scenario{contract.Under("down", chaos.Rule{Target: "model", Fault: fault.Fail(errors.New("down"))})}
		}), nil)
		assert.Equal(t, tc.state, r.Cells[0].State, tc.why)
		assert.Equal(t, tc.text, r.Cells[0].Why, tc.why)
		assert.False(t, r.Cells[0].Undecided, "%s: no check said so", tc.why)
	}
}

// A fault of a body shows only to an agent that reads it. One that leaves the body alone
// made a call all the same, and the cell says what it did not do.
func TestABodyThatTheAgentLeavesAloneIsNamed(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(body io.ReadCloser)
		why  string
	}{
		{"neither read nor closed", func(io.ReadCloser) {},
			"no fault was delivered: 1 injected and changed nothing (the answer was neither read to its end nor closed)"},
		{"read in part", func(body io.ReadCloser) { _, _ = body.Read(make([]byte, 1)) },
			"no fault was delivered: 1 injected and changed nothing (the answer was neither read to its end nor closed)"},
		{"closed", func(body io.ReadCloser) { _ = body.Close() }, "no fault was delivered: 1 injected and changed nothing"},
	} {
		agent := func(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
			server := chaoshttp.InProcess(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, "noon, as every day")
			}))
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://clock.example/now", nil)
			if err != nil {
				return "", err
			}
			resp, err := chaoshttp.NewTransport(server, nil).RoundTrip(req)
			if err != nil {
				return "", err
			}
			tt.end(resp.Body)
			return "noon, surely", nil
		}
		m := matrix(t, agent, func(m *contract.Matrix) {
			m.Scenarios = []contract.Scenario{{Name: "s", Rules: []chaos.Rule{{Target: "GET *", Fault: chaoshttp.CutBody(4)}}}}
			m.Invariants = []contract.Invariant{holds("i", contract.High)}
		})
		c := run(t, m, nil).Cells[0]
		assert.Equal(t, contract.Undelivered, c.State, tt.name)
		assert.Equal(t, tt.why, c.Why, tt.name)
	}
}
