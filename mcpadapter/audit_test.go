package mcpadapter

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"

	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

// fiveLines is the server of the documentation.
var fiveLines = regexp.MustCompile(`(?m)^(?://)?\s*in := chaos\.NewInjector\(1, nil\)\n` +
	`(?://)?\s*srv, err := mcpadapter\.NewServer\(mcpadapter\.Host\{Name: "order desk", Injector: in\}, nil\)\n`)

// The smallest server, as the documentation has it, leaves a line for every
// fault that is delivered, whoever armed it.
func TestTheSmallestServerLogsDeliveredFaults(t *testing.T) {
	for _, page := range []string{"../docs/mcp.md", "doc.go"} {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		assert.Regexp(t, fiveLines, string(text), page)
	}
	synctest.Test(t, func(t *testing.T) {
		var audit lines
		in := chaos.NewInjector(1, nil)
		srv, err := NewServer(Host{Name: "order desk", Injector: in}, &Options{Getenv: writable, Policy: &policy.Options{Audit: &audit}})
		require.NoError(t, err)
		require.NoError(t, in.Register(chaos.Rule{Name: "from code", Target: "orders.get", Fault: fault.Fail(fault.ErrUnavailable)}))
		lookup := chaos.WrapWith("orders.get", func(context.Context, int) (int, error) { return 0, nil }, &chaos.WrapOptions[int]{Injector: in})
		_, err = lookup(t.Context(), 1)
		require.Error(t, err)
		synctest.Wait()
		assert.Equal(t, 1, strings.Count(audit.String(), `"event":"chaos.fault.delivered","target":"orders.get"`))
		assert.Contains(t, audit.String(), `"rule":"from code"`)
		require.NoError(t, srv.Shutdown(t.Context()))
		_, _ = lookup(t.Context(), 1)
		synctest.Wait()
		assert.Equal(t, 1, strings.Count(audit.String(), `"event":"chaos.fault.delivered"`), "a server that has ended listens no more")
	})
}

// Whatever refuses a call, the structured output says so in the tool's own
// words: status error where it has a status, the problem where it has none.
func TestRefusalsInStructuredOutput(t *testing.T) {
	readOnly := func(name string) string {
		return map[string]string{"SHAKEDOWN_MCP_TOKEN": token}[name]
	}
	s := newShop(t)
	for _, tt := range []struct {
		name, tool, args string
		options          Options
		code             string
		own              bool // the tool's output has a status
	}{
		{"the mode", "chaos_inject_fault", `{"fault_name":"f","action":"remove"}`, Options{Getenv: readOnly}, "read_only", true},
		{"the mode, of stopping", "chaos_disarm", `{}`, Options{Getenv: readOnly}, "read_only", true},
		{"the mode, of a tool without a status", "chaos_run_experiment", `{"experiment_name":"slow database"}`, Options{Getenv: readOnly}, "read_only", false},
		{"the environment", "chaos_inject_fault", `{"fault_name":"f","action":"register","fault_type":"error"}`, Options{Environments: []string{"staging"}}, "environment_not_allowed", true},
		{"the arguments", "chaos_inject_fault", `{"fault_name":"f","action":"regster"}`, Options{}, "invalid_arguments", true},
		{"the arguments, of stopping", "chaos_disarm", `{"fault_name":"f"}`, Options{}, "invalid_arguments", true},
		{"the arguments, of a tool without a status", "chaos_status", `{"x":1}`, Options{}, "invalid_arguments", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			srv := serverOf(t, s.host, &tt.options)
			base, client := listen(t, srv)
			sessions := map[string]*mcp.ClientSession{"in memory": clientOf(t, srv, nil)}
			for name, era := range eras(base, client) {
				sessions[name] = connect(t, era, nil)
			}
			for name, c := range sessions {
				res := ask(t, c, tt.tool, tt.args)
				require.True(t, res.IsError, name)
				var p policy.Error
				require.NoError(t, json.Unmarshal([]byte(textIn(t, res)), &p), name)
				assert.Equal(t, tt.code, p.Code, name)
				out, _ := res.StructuredContent.(map[string]any)
				if !tt.own {
					assert.Equal(t, float64(p.Status), out["status"], name)
					assert.Equal(t, p.Detail, out["detail"], name)
					continue
				}
				assert.Equal(t, "error", out["status"], name)
				assert.Equal(t, p.Detail, out["problem"].(map[string]any)["detail"], name)
				if tt.tool == "chaos_inject_fault" {
					assert.Equal(t, "f", out["fault_name"], name)
				}
			}
		})
	}
	assert.Equal(t, http.StatusForbidden, refusal(t, clientOf(t, serverOf(t, s.host, &Options{Getenv: readOnly}), nil), "chaos_disarm", `{}`).Status)
}
