package mcpadapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/planjson"
	"github.com/shakedown-go/shakedown/chaos/remote"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/trace"
	"github.com/shakedown-go/shakedown/internal/golden"
	"github.com/shakedown-go/shakedown/mcpadapter/client"
	"github.com/shakedown-go/shakedown/mcpadapter/mcpchaos"
	"github.com/shakedown-go/shakedown/mcpadapter/policy"
	"github.com/shakedown-go/shakedown/scoring"
)

func TestHostsThatAreRefused(t *testing.T) {
	whole := newShop(t).host
	two := []*contract.Matrix{deskMatrix(), deskMatrix(), nil, {Name: "empty"}}
	for _, tc := range []struct {
		host Host
		o    *Options
		want []string
	}{
		{Host{}, nil, []string{"Host.Name is missing; allowed: a name", "Host.Injector is missing; allowed: an Injector, Experiments, Matrices, a Suite or Runs"}},
		{Host{Name: "h", Matrices: two}, nil, []string{`Host.Matrices[1].Name is "desk"; allowed: a name that no other matrix has`, "Host.Matrices[2] is missing", "Host.Matrices[3]: contract: "}},
		{Host{Name: "h", Experiments: whole.Experiments, Workload: true}, nil, []string{"Host.Runs is missing; allowed: where Workload is true"}},
		{Host{Name: "h"}, &Options{Limits: Limits{CallTime: -1, BodyBytes: -1, Connections: -2}, TLS: &TLS{CertFile: "none", KeyFile: "none"}}, []string{
			"Host.Injector is missing", "Limits.CallTime is -1ns; allowed: above 0, or 0 for the default", "Limits.BodyBytes is -1", "Limits.Connections is -2",
			`TLS.CertFile is "none": open none: `,
		}},
		{whole, &Options{Getenv: func(string) string { return "read-write" }}, []string{"read-write mode requires SHAKEDOWN_MCP_ENABLE_WRITE=true"}},
		{whole, &Options{Policy: &policy.Options{Tools: []policy.Tool{{Name: "chaos_status", Scopes: []string{"two words"}}}}}, []string{"Scopes"}},
	} {
		_, err := NewServer(tc.host, tc.o)
		require.Error(t, err)
		for _, want := range tc.want {
			assert.ErrorContains(t, err, want)
		}
	}
	_, err := NewServer(whole, &Options{Limits: Limits{CallTime: -time.Second}})
	var wrong *FieldError
	require.ErrorAs(t, err, &wrong)
	assert.Equal(t, FieldError{Package: "mcpadapter", Field: "Limits.CallTime", Value: -time.Second, Allowed: "above 0, or 0 for the default"}, *wrong)
}

func TestReadOnlyIsTheDefault(t *testing.T) {
	s := newShop(t)
	c := clientOf(t, serverOf(t, s.host, &Options{Getenv: func(string) string { return "" }}), nil)
	for tool, args := range map[string]string{
		"chaos_inject_fault": `{"fault_name":"f","action":"remove"}`, "chaos_apply_plan": `{"name":"p","remove":true}`, "chaos_run_experiment": `{"experiment_name":"slow database"}`,
		"contract_run": `{}`, "run_scenario": `{"baseRunId":"monday","label":"x","parameters":{}}`,
	} {
		assert.Equal(t, "read_only", refusal(t, c, tool, args).Code, tool)
	}
	assert.Equal(t, "read_only", refusal(t, c, "chaos_run_experiment", `{"experiment_name":"slow database","dry_run":"true"}`).Code)
	answer[map[string]any](t, c, "chaos_run_experiment", `{"experiment_name":"slow database","dry_run":true}`)
	assert.Zero(t, len(s.host.Experiments.History().Results("")))
}

func TestTheHostsOwnPolicyGoesFirst(t *testing.T) {
	o := &Options{Policy: &policy.Options{
		Tools: []policy.Tool{{Name: "chaos_status", Capability: policy.Read, Scopes: []string{"operator"}}},
		Local: &policy.Caller{Subject: "somebody", Scopes: []string{"contract:read"}},
	}}
	c := clientOf(t, serverOf(t, newShop(t).host, o), nil)
	assert.Contains(t, refusal(t, c, "chaos_status", `{}`).Detail, "missing required scope(s): operator (granted: contract:read)")
	answer[listOutput](t, c, "contract_list", `{}`)
	assert.Equal(t, "missing_scope", refusal(t, c, "get_runs", `{}`).Code)
}

func TestCatalogueOfFaults(t *testing.T) {
	c := clientOf(t, serverOf(t, newShop(t).host, nil), nil)
	res, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uriCatalogue})
	require.NoError(t, err)
	var list []planjson.Kind
	require.NoError(t, json.Unmarshal([]byte(res.Contents[0].Text), &list))
	assert.Len(t, list, len(planjson.Rows())+len(mcpchaos.Rows()))
	var forClients []string
	var kinds strings.Builder // with the types of their parameters
	for _, f := range list {
		fmt.Fprintf(&kinds, "%s trigger=%v", f.Description.Kind, f.Trigger)
		var params map[string]any
		_ = json.Unmarshal(f.Description.Params, &params) // some have none
		for _, name := range slices.Sorted(maps.Keys(params)) {
			fmt.Fprintf(&kinds, " %s:%T", name, params[name])
		}
		kinds.WriteString("\n")
		if slices.Contains(remote.Types(), f.Description.Kind) {
			forClients = append(forClients, f.Description.Kind)
		}
	}
	assert.ElementsMatch(t, remote.Types(), forClients, "chaos_status shows the kind, which has to be the word that clients know")
	golden.Equal(t, "faults.txt", []byte(kinds.String()))
}

// A host that has kinds of its own shows them with the others. One that uses the
// rows of package mcpchaos anew does not have them twice.
func TestCatalogueHasTheHostsOwnKinds(t *testing.T) {
	h := newShop(t).host
	row := catalog.Fault(catalog.Row{Kind: "till_open", Doc: "The till does not close.", Go: "tillOpen()"}, func(catalog.None) chaos.Fault { return fault.Hang() })
	h.Plans = &planjson.Options{Rows: append(mcpchaos.Rows(), row)}
	c := clientOf(t, serverOf(t, h, nil), nil)
	res, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uriCatalogue})
	require.NoError(t, err)
	assert.Contains(t, res.Contents[0].Text, `"does": "The till does not close."`)
	assert.Equal(t, 1, strings.Count(res.Contents[0].Text, `"kind": "mcp_wrong_id"`))

	h.Plans = &planjson.Options{Rows: []*catalog.Row{row, row}}
	_, err = NewServer(h, nil)
	var wrong *FieldError
	require.ErrorAs(t, err, &wrong)
	assert.Equal(t, "Host.Plans", wrong.Field)
	assert.ErrorContains(t, err, "kind till_open")
}

// Who is to act decides the code: the caller by other arguments, by waiting, or
// not at all.
func TestWhatErrorsBecome(t *testing.T) {
	for _, tc := range []struct {
		err    error
		status int
		code   string
	}{
		{problem(418, "teapot", "short", "stout"), 418, "teapot"},
		{&scoring.FieldError{Package: "timeline", Field: "nodeId"}, 400, "invalid_arguments"},
		{&scoring.FieldError{Package: "gameday", Field: "Journal"}, 500, "tool_error"}, // the host's own setting
		{chaos.ErrUnknownRule, 404, "not_found"},
		{trace.ErrBusy, 409, "busy"},
		{trace.ErrUnread, 422, "parameters_unread"},
		{context.DeadlineExceeded, 504, "deadline_exceeded"},
		{context.Canceled, 408, "cancelled"},
		{errors.New("who knows"), 500, "tool_error"},
	} {
		p := problemOf(fmt.Errorf("in a call: %w", tc.err))
		assert.Equal(t, tc.status, p.Status, "%v", tc.err)
		assert.Equal(t, tc.code, p.Code, "%v", tc.err)
	}
}

// The tools of a server of this package are a registry, and what its gate refuses
// is said in the words of package client.
func TestAToolThatTheGateDoesNotKnow(t *testing.T) {
	gated := client.Registry(clientOf(t, serverOf(t, newShop(t).host, nil), nil))
	_, err := gated.CallTool(t.Context(), "nowhere", nil)
	assert.ErrorIs(t, err, chaos.ErrUnknownTool, "by the gate's code")
}

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
