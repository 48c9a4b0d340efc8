package replay_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/planjson"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/findings"
	"github.com/shakedown-go/shakedown/contract/replay"
)

// asking makes worlds of an agent that makes one call, "look" with its prompt, and
// answers with the result or with the error as its words.
func asking(_ context.Context, _ *replay.Session, tools chaos.ToolRegistry) (*contract.World, error) {
	return &contract.World{Tools: tools, Agent: func(ctx context.Context, prompt string, tools chaos.ToolRegistry) (string, error) {
		result, err := tools.CallTool(ctx, "look", json.RawMessage(prompt))
		if err != nil {
			return "failed: " + err.Error(), nil
		}
		return string(result), nil
	}}, nil
}

func judging(name string, check func(o *contract.Observation) error) contract.Invariant {
	return contract.Invariant{Name: name, Severity: contract.High,
		Check: func(_ context.Context, o *contract.Observation) error { return check(o) }}
}

func TestScenariosPlayTheirSessions(t *testing.T) {
	sessions := []*replay.Session{
		{Name: "known", Prompts: []string{"1", "2"}, Calls: []findings.Call{call("look", `1`, `"one"`), call("look", `2`, `"two"`)}},
		{Name: "unknown", Prompts: []string{"1", "3"}, Calls: []findings.Call{call("look", `1`, `"one"`)}},
		{Name: "without-prompts", Calls: []findings.Call{call("look", `9`, `"nine"`)}},
	}
	scenarios, err := replay.Scenarios(sessions, asking, nil)
	require.NoError(t, err)
	var answers []string
	m := &contract.Matrix{Scenarios: scenarios, Prompts: []string{"9"}, Trials: 3, Invariants: []contract.Invariant{
		judging("any", func(o *contract.Observation) error { return nil })}}
	r, err := m.Run(t.Context(), &contract.RunOptions{Keep: contract.KeepAll})
	require.NoError(t, err)
	for i, c := range r.Cells {
		answers = nil
		for _, o := range c.Observations() {
			answers = append(answers, o.Response)
		}
		switch c.Cell.Scenario {
		case "known":
			assert.Equal(t, contract.Held, c.State)
			assert.Equal(t, []string{`"one"`, `"two"`}, answers, "a player of its own in each cell: %d", i)
		case "unknown":
			assert.Equal(t, contract.Inconclusive, c.State, "what the agent made of a miss says nothing about it")
			assert.Contains(t, c.Why, "replay: session unknown has no answer to call 2 of this run")
		default:
			assert.Equal(t, contract.Held, c.State)
			assert.Equal(t, []string{`"nine"`}, answers, "the prompts of the matrix")
		}
	}
}

func TestTheWorldsOwnErrorCountsToo(t *testing.T) {
	own := errors.New("the model is gone")
	scenarios, err := replay.Scenarios([]*replay.Session{{Name: "a", Prompts: []string{"5"}, Calls: []findings.Call{call("look", `1`, `1`)}}},
		func(ctx context.Context, s *replay.Session, tools chaos.ToolRegistry) (*contract.World, error) {
			w, err := asking(ctx, s, tools)
			w.Err = func() error { return own }
			return w, err
		}, nil)
	require.NoError(t, err)
	w, err := scenarios[0].NewWorld(t.Context())
	require.NoError(t, err)
	assert.Equal(t, own.Error(), w.Err().Error())
	_, err = w.Agent(t.Context(), "5", w.Tools)
	require.NoError(t, err)
	assert.ErrorIs(t, w.Err(), own)
	var miss *replay.MissError
	assert.ErrorAs(t, w.Err(), &miss)

	broken, err := replay.Scenarios([]*replay.Session{{Name: "a"}},
		func(context.Context, *replay.Session, chaos.ToolRegistry) (*contract.World, error) { return nil, own }, nil)
	require.NoError(t, err)
	_, err = broken[0].NewWorld(t.Context())
	assert.Same(t, own, err)
}

func TestTheAnswerOfACalmSessionIsABaseline(t *testing.T) {
	good := func() *replay.Session {
		return &replay.Session{Name: "a", Prompts: []string{"1"}, Answer: "one", Calls: []findings.Call{call("look", `1`, `1`)}}
	}
	for _, row := range []struct {
		reason string
		change func(s *replay.Session)
		want   []string
		layer  chaos.Layer
	}{
		{"nothing failed", func(*replay.Session) {}, []string{"one"}, ""},
		{"something was wrong", func(s *replay.Session) { s.ExpectedFailure = "paid twice" }, nil, ""},
		{"a call failed", func(s *replay.Session) { s.Calls[0] = failing("look", `1`, "down") }, nil, chaos.LayerTool},
		{"a call looks as if it had failed", func(s *replay.Session) { s.Calls[0].Suspected = true }, nil, chaos.LayerTool},
		{"faults were injected", func(s *replay.Session) { s.Plan = &planjson.Plan{} }, nil, chaos.LayerTool},
		{"a call of a model failed, which is not played", func(s *replay.Session) {
			s.Calls = append(s.Calls, findings.Call{Type: findings.Model, Tool: "gpt", Error: failed("down")})
		}, nil, ""},
		{"whose answer it is, is not known", func(s *replay.Session) { s.Prompts = []string{"1", "2"} }, nil, ""},
		{"no answer", func(s *replay.Session) { s.Answer = "" }, nil, ""},
	} {
		s := good()
		row.change(s)
		scenarios, err := replay.Scenarios([]*replay.Session{s}, asking, nil)
		require.NoError(t, err)
		assert.Equal(t, row.want, scenarios[0].Baselines, row.reason)
		assert.Equal(t, row.layer, scenarios[0].Layer, row.reason)
	}
}

// A run that plays failures is no calm one: what is compared with it would always be the same.
func TestASessionWithFailuresHasNoCalmRun(t *testing.T) {
	same := contract.Invariant{Name: "same", Severity: contract.High, Needs: contract.NeedBaseline, JudgesErrors: true,
		Check: func(_ context.Context, o *contract.Observation) error {
			if o.Response != o.Baseline {
				return errors.New("differs")
			}
			return nil
		}}
	for _, row := range []struct {
		call findings.Call
		want contract.CellState
	}{
		{call("look", `1`, `1`), contract.Held},
		{failing("look", `1`, "down"), contract.Inconclusive},
	} {
		s := &replay.Session{Name: "a", Prompts: []string{"1"}, Calls: []findings.Call{row.call}}
		scenarios, err := replay.Scenarios([]*replay.Session{s},
			func(_ context.Context, _ *replay.Session, tools chaos.ToolRegistry) (*contract.World, error) {
				return &contract.World{Tools: tools, Agent: func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
					if _, err := tools.CallTool(ctx, "look", []byte(`1`)); err != nil {
						return "try later", nil
					}
					return "done", nil
				}}, nil
			}, nil)
		require.NoError(t, err)
		m := &contract.Matrix{Scenarios: scenarios, Invariants: []contract.Invariant{same}}
		r, err := m.Run(t.Context(), nil)
		require.NoError(t, err)
		assert.Equal(t, row.want, r.Cells[0].State, r.Cells[0].Why)
		if row.want == contract.Inconclusive {
			assert.Contains(t, r.Cells[0].Why, "replay: session a has failures, so no run that plays it is calm")
		}
	}
}

func TestScenariosReportAllProblems(t *testing.T) {
	hole := findings.Call{Tool: "a", Missing: []findings.Part{findings.Result}}
	sessions := []*replay.Session{nil, {Name: "a b"}, {Name: "hole", Calls: []findings.Call{hole}}, {Name: "twice"}, {Name: "twice"}}
	_, err := replay.Scenarios(sessions, nil, nil)
	assert.EqualError(t, err, `replay: world is missing; allowed: a function that makes a world
replay: sessions[0] is missing; allowed: a session
replay: sessions[1]: name is "a b"; allowed: letters, digits, '.', '_' and '-', at most 200, the first no '.'
replay: sessions[2]: calls[0] is without its result; allowed: a call that was recorded whole (an event: with KeepValues), or PlayOptions.AllowHoles
replay: sessions[4].name is "twice"; allowed: a name of its own: sessions[3] has this one`)
	_, err = replay.Scenarios(sessions[2:4], asking, &replay.PlayOptions{AllowHoles: true})
	assert.NoError(t, err)
}
