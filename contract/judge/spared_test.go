package judge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/invariant"
)

// A judge and a state that call what the agent calls get no fault, whether that finds the
// injector in the context or is bound to it, and the agent's observations have none of it.
func TestNoFaultReachesWhatAJudgeShares(t *testing.T) {
	type shared struct {
		inContext, bound *http.Client
		handed           chaos.ToolRegistry
		own              func(context.Context, int) (int, error)
	}
	client := func(o *chaoshttp.Options) *http.Client {
		return &http.Client{Transport: chaoshttp.NewTransport(roundTrip(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(nil)), Request: r}, nil
		}), o)}
	}
	calls := func(ctx context.Context, s *shared) (errs [4]error) {
		for i, c := range []*http.Client{s.inContext, s.bound} {
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://model.example/x", nil)
			require.NoError(t, err)
			resp, err := c.Do(r)
			if errs[i] = err; err == nil {
				assert.NoError(t, resp.Body.Close())
			}
		}
		_, errs[2] = s.handed.CallTool(ctx, "lookup", json.RawMessage(`{"order":1}`))
		_, errs[3] = s.own(ctx, 1)
		return errs
	}
	var world *shared
	asked := 0
	m := matrix(1, nil, invariant.Judged("arrived", contract.High, sentence,
		func(ctx context.Context, q invariant.Question) (invariant.Judgement, error) {
			asked++
			errs := calls(chaos.WithLane(ctx, "judge"), world)
			if asked < 3 {
				assert.Equal(t, [4]error{}, errs)
			} else { // what is bound has ended with the cell
				assert.NoError(t, errs[0])
				assert.ErrorIs(t, errs[1], chaos.ErrCellEnded)
			}
			assert.Len(t, q.Tools, 1, "that of the agent")
			return invariant.Judgement{Ruling: invariant.Held, Judge: "own"}, nil
		}))
	m.Invariants[0].Needs |= contract.NeedState
	m.Prompts, m.Points = []string{"a", "b", "c"}, []string{"GET model.example/x", "own"}
	m.Scenarios = []contract.Scenario{contract.Under("down", chaos.Rule{Target: "*", Fault: fault.Fail(errors.New("down"))})}
	m.NewWorld = func(ctx context.Context) (*contract.World, error) {
		tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "lookup"}, func(context.Context, struct{ Order int }) (string, error) {
			return "on its way", nil
		}))
		in := chaos.FromContext(ctx)
		w := &shared{inContext: client(nil), bound: client(&chaoshttp.Options{Injector: in}),
			own: chaos.WrapWith("own", func(_ context.Context, n int) (int, error) { return n, nil }, &chaos.WrapOptions[int]{Injector: in})}
		world = w
		return &contract.World{Tools: tools, Agent: func(ctx context.Context, _ string, handed chaos.ToolRegistry) (string, error) {
			w.handed = handed
			for _, err := range calls(ctx, w) {
				assert.ErrorContains(t, err, "down")
			}
			return "It arrived.", nil
		}, State: func(ctx context.Context) (any, error) {
			if w.handed != nil {
				assert.Equal(t, [4]error{}, calls(ctx, w))
			}
			return "state", nil
		}}, err
	}
	rep, err := m.Run(t.Context(), &contract.RunOptions{Workers: 1, Keep: contract.KeepAll})
	require.NoError(t, err)
	assert.Equal(t, contract.Held, rep.Cells[0].State, rep.Cells[0].Why)
	assert.Equal(t, 3, asked)
	for i, o := range rep.Cells[0].Observations() {
		assert.Len(t, o.Events, 4, "of prompt %d: those of the agent", i)
	}
}
