package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/examples/cluster/sim"
	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

func nobody(string) string { return "" }

// UPDATE_GOLDEN=1 writes the file anew.
func TestTheServerKeepsItsContract(t *testing.T) {
	everywhere(t, policy.Options{Tokens: []policy.Token{{Value: token}}}, func(t *testing.T, s *surface, cs *mcp.ClientSession) {
		running, err := s.gate.Manifest(t.Context(), cs)
		require.NoError(t, err)
		text, err := running.YAML()
		require.NoError(t, err)
		if os.Getenv("UPDATE_GOLDEN") == "1" {
			require.NoError(t, os.WriteFile("tools.yaml", text, 0o600))
		}
		assert.Equal(t, string(contractYAML), string(text))
		assert.Len(t, running.Tools, len(table()), "every row has a tool")
		for _, tool := range running.Tools {
			reads := strings.HasSuffix(tool.Name, ".list") || strings.HasSuffix(tool.Name, ".get") ||
				slices.Contains([]string{"cluster.summary", "power.status"}, tool.Name)
			assert.Equal(t, reads, tool.Capability == policy.Read, tool.Name)
			needsWord := strings.HasSuffix(tool.Name, ".delete") || strings.HasPrefix(tool.Name, "power.transitions.") && !reads
			assert.Equal(t, needsWord, len(tool.Confirmation) > 0, tool.Name)
			assert.Len(t, tool.Scopes, 1, tool.Name)
		}
	})
}

func TestTheContractIsAResource(t *testing.T) {
	everywhere(t, writable(), func(t *testing.T, _ *surface, cs *mcp.ClientSession) {
		res, err := cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "cluster://tools.yaml"})
		require.NoError(t, err)
		assert.Equal(t, string(contractYAML), res.Contents[0].Text)
	})
}

func TestEveryToolAnswers(t *testing.T) {
	everywhere(t, writable(), func(t *testing.T, s *surface, cs *mcp.ClientSession) {
		for _, step := range []struct{ tool, args string }{
			{"cluster.summary", `{}`},
			{"components.list", `{}`},
			{"components.get", `{"id":"x0c0s7b0n0"}`},
			{"power.status", `{"ids":["x0c0s7b0n0"]}`},
			{"power.transitions.create", `{"operation":"On","targets":["x0c0s7b0n0"]}`},
			{"power.transitions.list", `{}`},
			{"power.transitions.get", `{"id":"t-1"}`},
			{"power.transitions.abort", `{"id":"t-1","confirm":true}`},
			{"components.delete", `{"id":"x0c0s7b0n0","confirm":true}`},
		} {
			out := call[map[string]any](t, cs, step.tool, step.args)
			assert.NotEmpty(t, out, step.tool)
		}
		assert.Len(t, s.audit.lines(t), len(table()), "all tools, one line each")
		sum := call[sim.Summary](t, cs, "cluster.summary", `{}`)
		assert.Equal(t, sim.Summary{Components: 7, ByRole: map[string]int{"Compute": 6, "Management": 1}, PoweredOn: 7}, sum)
	})
}

func TestReadOnlyIsTheDefault(t *testing.T) {
	everywhere(t, policy.Options{Tokens: []policy.Token{{Value: token}}}, func(t *testing.T, s *surface, cs *mcp.ClientSession) {
		for _, row := range table() {
			if row.Capability == policy.Read {
				continue
			}
			e := refused(t, cs, row.Name, `{"id":"x0c0s1b0n0","operation":"On","targets":["x0c0s7b0n0"],"confirm":true}`)
			assert.Equal(t, []any{403, policy.CodeReadOnly}, []any{e.Status, e.Code}, row.Name)
		}
		assert.Equal(t, 7, call[sim.Summary](t, cs, "cluster.summary", `{}`).PoweredOn)
	})
}

func TestDangerousOperationsWantAWord(t *testing.T) {
	everywhere(t, writable(), func(t *testing.T, _ *surface, cs *mcp.ClientSession) {
		want := func(op, confirm string) {
			quoted, _ := json.Marshal(op)
			e := refused(t, cs, "power.transitions.create", `{"operation":`+string(quoted)+`,"targets":["x0c0s1b0n0"]`+confirm+`}`)
			assert.Equal(t, []any{400, policy.CodeConfirmationRequired}, []any{e.Status, e.Code}, "%s%s", op, confirm)
			assert.True(t, strings.HasPrefix(e.Detail, "tool power.transitions.create requires confirm=true"), e.Detail)
		}
		for _, op := range []string{"ForceOff", "FORCEOFF", " ForceOff ", "GracefulShutdown", "gracefulSHUTDOWN", "gracefulrestart", "FoRcErEsTaRt", "Nmi", "nmi"} {
			want(op, "")
		}
		for _, confirm := range []string{`,"confirm":"true"`, `,"confirm":1`, `,"confirm":false`, `,"Confirm":true`} {
			want("ForceRestart", confirm)
		}
		for _, tool := range []string{"components.delete", "power.transitions.abort"} {
			assert.Equal(t, policy.CodeConfirmationRequired, refused(t, cs, tool, `{"id":"x0c0s1b0n0"}`).Code, tool)
		}
		assert.Empty(t, call[list[sim.Transition]](t, cs, "power.transitions.list", `{}`).Items, "nothing has begun")
		began := call[sim.Transition](t, cs, "power.transitions.create", `{"operation":"nMI","targets":["x0c0s1b0n0"],"confirm":true}`)
		assert.Equal(t, "Nmi", began.Operation)
	})
}

func TestProblemsComeThroughWhole(t *testing.T) {
	everywhere(t, writable(), func(t *testing.T, s *surface, cs *mcp.ClientSession) {
		for _, tc := range []struct {
			tool, args string
			want       policy.Problem
		}{
			{"components.get", `{"id":"x9"}`, policy.Problem{Type: "https://cluster.example/problems/not-found", Title: "Not Found", Status: 404,
				Detail: `There is no component "x9"`, Instance: "/components/x9"}},
			{"components.delete", `{"id":"x0c0s1b0n0","confirm":true}`, policy.Problem{Type: "https://cluster.example/problems/in-use", Title: "Conflict", Status: 409,
				Detail: `Component "x0c0s1b0n0" is on`, Instance: "/components/x0c0s1b0n0", Extensions: map[string]any{"state": "on"}}},
			{"power.transitions.create", `{"operation":"Off","targets":["x0c0s7b0n0"]}`, policy.Problem{Type: "https://cluster.example/problems/wrong-state", Title: "Conflict",
				Status: 409, Detail: `Off needs component "x0c0s7b0n0" to be on`, Instance: "/power/transitions", Extensions: map[string]any{"component": "x0c0s7b0n0", "state": "off"}}},
			{"power.transitions.create", `{"operation":"Explode","targets":["x9"]}`, policy.Problem{Type: "https://cluster.example/problems/invalid", Title: "Bad Request",
				Status: 400, Detail: "2 member(s) of the request are not allowed", Instance: "/power/transitions", Extensions: map[string]any{"errors": []any{
					map[string]any{"field": "operation", "value": "Explode", "allowed": "On, Off, GracefulShutdown, GracefulRestart, ForceOff, ForceRestart, Nmi"},
					map[string]any{"field": "targets[0]", "value": "x9", "allowed": "the id of a component, once"}}}}},
		} {
			e := refused(t, cs, tc.tool, tc.args)
			assert.Equal(t, policy.CodeUpstreamProblem, e.Code)
			assert.Equal(t, []any{tc.want.Status, tc.want.Detail}, []any{e.Status, e.Detail})
			assert.Equal(t, &tc.want, e.Problem, tc.tool)
		}
		lines := s.audit.lines(t)
		assert.Equal(t, []any{"components.get", "x9", "error", `upstream_problem: There is no component "x9"`},
			[]any{lines[0]["tool"], lines[0]["target"], lines[0]["result"], lines[0]["error_detail"]})
	})
}

func TestTheProgramRefusesToStart(t *testing.T) {
	env := func(values ...string) func(string) string {
		return func(name string) string {
			for i := 0; i < len(values); i += 2 {
				if values[i] == name {
					return values[i+1]
				}
			}
			return ""
		}
	}
	for _, tc := range []struct {
		reason string
		args   []string
		env    func(string) string
		want   string
	}{
		{"read-write, enabled once", nil, env("SHAKEDOWN_MCP_MODE", "read-write"), "read-write mode requires SHAKEDOWN_MCP_ENABLE_WRITE=true"},
		{"a mode that is none", nil, env("SHAKEDOWN_MCP_MODE", "rw"), `invalid mode "rw" (allowed: read-only|read-write)`},
		{"HTTP without a token", []string{"-listen", "127.0.0.1:0"}, nobody, "Tokens is missing"},
		{"everywhere without a token", []string{"-listen", ":0", "-loopback-without-token"}, nobody, "a loopback address"},
		{"a flag that is none", []string{"-port", "1"}, nobody, "flag provided but not defined"},
	} {
		var stderr bytes.Buffer
		err := run(t.Context(), tc.args, tc.env, nil, nil, &stderr)
		assert.ErrorContains(t, err, tc.want, tc.reason)
	}
}

func TestTheProgramServesStandardInputAndOutput(t *testing.T) {
	here, there := mcp.NewInMemoryTransports()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- run(ctx, nil, nobody, there, nil, new(journal)) }()
	cs := connect(t, here, newEra)
	assert.Equal(t, 8, call[sim.Summary](t, cs, "cluster.summary", `{}`).Components)
	cs.Close()
	cancel()
	assert.NoError(t, <-done)
}
