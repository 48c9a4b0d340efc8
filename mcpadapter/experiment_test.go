package mcpadapter

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos/experiment"
)

// What else experiments answer is in TestTheWire.
func TestExperimentsByName(t *testing.T) {
	s := newShop(t)
	c := clientOf(t, serverOf(t, s.host, nil), nil)
	r := answer[experiment.Result](t, c, "chaos_run_experiment", `{"experiment_name":"panics"}`)
	assert.Contains(t, *r.Error, "no such table", "a panic is the step's error")

	p := refusal(t, c, "chaos_run_experiment", `{"experiment_name":"slow databse"}`)
	assert.Equal(t, 404, p.Status)
	assert.Contains(t, p.Detail, `unknown experiment "slow databse"; registered: bad action, panics, slow database`)
}

func TestOldResultsAreLeftOutAndCounted(t *testing.T) {
	s := newShop(t)
	for range 103 {
		_, err := s.host.Experiments.Run(t.Context(), "slow database", false)
		require.NoError(t, err)
	}
	c := clientOf(t, serverOf(t, s.host, nil), nil)
	status := answer[statusOutput](t, c, "chaos_status", `{"include_results":true}`)
	assert.Len(t, status.Results, 100)
	assert.Equal(t, 3, status.ResultsOmitted)
	assert.Equal(t, 103, status.TotalRuns)
}

func TestOneExperimentRunsOnceAtATime(t *testing.T) {
	s := newShop(t)
	begun, end := make(chan struct{}), make(chan struct{})
	e := experimentOf("long", nil)
	e.Method[0].Run = func(ctx context.Context) (any, error) {
		close(begun)
		select {
		case <-end:
		case <-ctx.Done():
		}
		return nil, ctx.Err()
	}
	require.NoError(t, s.host.Experiments.Register(e))
	c := clientOf(t, serverOf(t, s.host, nil), nil)
	first := make(chan *mcp.CallToolResult, 1)
	go func() {
		res, _ := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "chaos_run_experiment", Arguments: map[string]any{"experiment_name": "long"}})
		first <- res
	}()
	<-begun
	p := refusal(t, c, "chaos_run_experiment", `{"experiment_name":"long"}`)
	assert.Equal(t, "busy", p.Code)
	answer[experiment.Result](t, c, "chaos_run_experiment", `{"experiment_name":"slow database"}`)
	close(end)
	assert.Contains(t, textIn(t, <-first), `"success":true`)
}
