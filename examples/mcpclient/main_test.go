package main

import (
	"bytes"
	"context"
	"os"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
)

// asServer makes the test binary a server that stands for any.
const asServer = "MCPCLIENT_TEST_AS_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) == "" {
		os.Exit(m.Run())
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "sums", Version: "1"}, nil)
	type terms struct{ A, B int }
	mcp.AddTool(s, &mcp.Tool{Name: "get-sum"}, func(_ context.Context, _ *mcp.CallToolRequest, in terms) (*mcp.CallToolResult, int, error) {
		return nil, in.A + in.B, nil
	})
	_ = s.Run(context.Background(), &mcp.StdioTransport{})
}

func TestAContractOverAServer(t *testing.T) {
	t.Setenv(asServer, "1")
	self, err := os.Executable()
	assert.NoError(t, err)
	var out, problems bytes.Buffer
	assert.Equal(t, 0, run(t.Context(), []string{"-args", `{"A":2,"B":3}`, self}, &out, &problems), "%s%s", &out, &problems)
	for _, kind := range []string{"mcp_tool_removed", "mcp_dropped", "mcp_wrong_id", "mcp_duplicated", "mcp_list_changed_flood", "mcp_garbage", "mcp_cut"} {
		assert.Contains(t, out.String(), kind)
	}
	assert.NotContains(t, out.String(), "delivered on 0 calls")
}

func TestWhatCannotBeRun(t *testing.T) {
	for _, args := range [][]string{{}, {"-args", "7", "x"}, {"-tool", "", "x"}, {"-workers", "0", "x"}, {"-nonsense"}, {"/no/such/command"}} {
		var out, problems bytes.Buffer
		assert.Equal(t, 3, run(t.Context(), args, &out, &problems), args)
		assert.NotEmpty(t, problems.String())
	}
	var out, problems bytes.Buffer
	assert.Equal(t, 0, run(t.Context(), []string{"-h"}, &out, &problems))
}
