package mcpadapter

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// child is this test binary as a server in a process of its own.
func child(t *testing.T) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), asServer+"=1", "SHAKEDOWN_MCP_MODE=read-write", "SHAKEDOWN_MCP_ENABLE_WRITE=true")
	return cmd
}

func TestAServerInAProcess(t *testing.T) {
	for _, version := range []string{sessionless, "2025-11-25", "2024-11-05"} {
		t.Run(version, func(t *testing.T) {
			cmd := child(t)
			var audit lines
			cmd.Stderr = &audit
			c, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: cmd},
				&mcp.ClientSessionOptions{ProtocolVersion: version})
			require.NoError(t, err)
			assert.Equal(t, version, c.InitializeResult().ProtocolVersion)
			tools, err := c.ListTools(t.Context(), nil)
			require.NoError(t, err)
			assert.Len(t, tools.Tools, len(outputs()))
			answer[injectOutput](t, c, "chaos_inject_fault", `{"fault_name":"f","action":"register","fault_type":"error"}`)
			assert.Equal(t, 400, refusal(t, c, "chaos_inject_fault", `{"action":"inject"}`).Status)
			require.NoError(t, c.Close(), "it ends with its input")
			assert.Contains(t, audit.String(), `"event":"mcp.tool_call.completed"`, "audit goes to standard error")
		})
	}
}

// Lines that no client would write. Each gets an answer, and the server goes on.
func TestLinesThatAreWrong(t *testing.T) {
	cmd := child(t)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	answers := bufio.NewReader(out)
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	for _, tc := range []struct{ line, want string }{
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"chaos_inject_fault","arguments":{"fault_name":"` + "\xff" + `","action":"remove"},` + meta + `}}`, `"isError":true`},
		{`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"chaos_status","arguments":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `,` + meta + `}}`, `"isError":true`},
		{`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"chaos_status","arguments":{"a":"` + strings.Repeat("x", 2<<20) + `"},` + meta + `}}`, `"isError":true`},
		{`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"no.such",` + meta + `}}`, `-32602`},
		{`{"jsonrpc":"2.0","id":5,"method":"no/such","params":{` + meta + `}}`, `"error"`},
		{`no JSON at all`, `{"error":{"code":-32700`},
		{`{"jsonrpc":"2.0","id":1,"method":"ping"`, `-32700`},
		{`{} {}`, `-32700`},
		{"\xff\xfe\x00", `-32700`},
		{strings.Repeat("x", 5<<20), `-32600`},
		{`{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":"` + strings.Repeat("x", 5<<20) + `"}}`, `-32600`},
		{strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000), `-32700`},
		{strings.Repeat("[", 5_000) + strings.Repeat("]", 5_000), `-32600`},
		{`{"jsonrpc":"2.0","id":11,"method":"ping","params":{"a":` + strings.Repeat("[", 5_000) + strings.Repeat("]", 5_000) + `}}`, `-32600`},
		{`[]`, `-32600`},
		{`7`, `-32600`},
		{`null`, `-32600`},
		{`{}`, `-32600`},
		{`{"jsonrpc":"1.0","id":8,"method":"ping"}`, `-32600`},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, `-32600`},
		{`{"jsonrpc":"2.0","id":9,"method":["ping"]}`, `-32600`},
		{"\n \r\n\t" + `{"jsonrpc":"2.0","id":10,"method":"tools/call","params":{"name":"no.such",` + meta + `}}` + "\r", `-32602`},
		{`{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"chaos_status","arguments":{},` + meta + `}}`, `"total_runs"`},
	} {
		_, err := io.WriteString(in, tc.line+"\n")
		require.NoError(t, err)
		answer, err := answers.ReadString('\n')
		require.NoError(t, err, "the server ended after %.200s", tc.line)
		assert.Contains(t, answer, tc.want, "%.200s", tc.line)
		assert.True(t, json.Valid([]byte(answer)), "standard output has nothing but the protocol")
	}
	require.NoError(t, in.Close())
	require.NoError(t, cmd.Wait())
}
