package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// asServer makes the test binary the program.
const asServer = "MCPSERVER_TEST_AS_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		main()
	}
	os.Exit(m.Run())
}

// drive does what a client would: break the desk, see it, judge it.
func drive(t *testing.T, c *mcp.ClientSession) {
	t.Helper()
	list, err := c.ListTools(t.Context(), nil)
	require.NoError(t, err)
	assert.GreaterOrEqual(t, len(list.Tools), 13)
	call := func(tool, args string, out any) {
		t.Helper()
		res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(args)})
		require.NoError(t, err)
		text := res.Content[0].(*mcp.TextContent).Text
		require.False(t, res.IsError, "%s: %s", tool, text)
		if out != nil {
			require.NoError(t, json.Unmarshal([]byte(text), out))
		}
	}
	call("chaos_inject_fault", `{"fault_name":"f","action":"register","fault_type":"error","target":"orders.*","limit":1}`, nil)
	call("chaos_inject_fault", `{"fault_name":"f","action":"remove"}`, nil)
	var result struct {
		Success bool
		Error   *string
	}
	call("chaos_run_experiment", `{"experiment_name":"lookups fail twice"}`, &result)
	assert.True(t, result.Success, "a robust desk bears it")
	call("chaos_run_experiment", `{"experiment_name":"the order database is gone"}`, &result)
	assert.False(t, result.Success, "nobody could")
	call("chaos_run_experiment", `{"experiment_name":"lookups are slow","dry_run":true}`, &result)
	assert.True(t, result.Success, "the rollback has taken the partition away")

	var run struct{ Score struct{ Verdict string } }
	call("contract_run", `{"matrix":"fragile desk","scenarios":["refund-reply-lost"],"invariants":["one-refund"],"trials":1}`, &run)
	assert.Equal(t, "fail", run.Score.Verdict)
	var outages struct{ Incidents []any }
	call("detect_outages", `{"runId":"live","nodeId":"orders.get","start":0,"end":999}`, &outages)
	var scenario struct{ RunID string }
	call("run_scenario", `{"baseRunId":"live","label":"one clerk","parameters":{"capacityMultiplier":0.25}}`, &scenario)
	var graph struct{ Nodes []struct{ ID string } }
	call("get_graph", `{"runId":"`+scenario.RunID+`"}`, &graph)
	assert.Len(t, graph.Nodes, 2, "the agent and the lookup")
}

// Over HTTP the program is that of shakedown-mcp, whose test has it.
func TestOverStandardInput(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), asServer+"=1", "SHAKEDOWN_MCP_MODE=read-write", "SHAKEDOWN_MCP_ENABLE_WRITE=true")
	c, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	require.NoError(t, err)
	drive(t, c)
	assert.NoError(t, c.Close(), "it exits with 0 when its client leaves")
}
