package mcpadapter

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

// What a model gets wrong, and the answers.
func TestArgumentsThatAreWrong(t *testing.T) {
	c := clientOf(t, serverOf(t, newShop(t).host, nil), nil)
	const tool = "chaos_inject_fault"
	for _, tc := range []struct{ why, args, detail string }{
		{"nothing is given", `{}`, "fault_name is missing; allowed: text of 1 to 128 characters; action is missing; allowed: register, inject, remove"},
		{"a misspelt member", `{"falt_name":"f","fault_name":"f","action":"inject"}`, "falt_name is no member; did you mean fault_name?"},
		{"another letter case", `{"faultName":"f","fault_name":"f","action":"inject"}`, "faultName is no member; did you mean fault_name?"},
		{"a word of a member", `{"type":"error","name":"f","fault_name":"f","action":"inject"}`, "name is no member; did you mean fault_name?; type is no member; did you mean fault_type?"},
		{"a synonym", `{"ttl":5,"fault_name":"f","action":"inject"}`, "ttl is no member; did you mean expires_seconds?"},
		{"a line break in a name", `{"fault_name":"f\nroot","action":"register","fault_type":"error"}`, "allowed: text without control characters"},
		{"a mark of direction in a name", `{"fault_name":"f\u202eroot","action":"register","fault_type":"error"}`, "allowed: text without control characters"},
		{"a separator of lines in a name", `{"fault_name":"f\u2028root","action":"register","fault_type":"error"}`, "allowed: text without control characters"},
		{"the name of a plan's rule", `{"fault_name":"plan/p/r","action":"register","fault_type":"error"}`, "allowed: a name that does not begin with plan/"},
		{"an unknown member", `{"colour":"red","fault_name":"f","action":"inject"}`, "colour is no member; allowed: action, arm_next"},
		{"a misspelt value", `{"fault_name":"f","action":"regsiter"}`, `action is "regsiter"; allowed: register, inject, remove; did you mean register?`},
		{"no fault_type", `{"fault_name":"f","action":"register"}`, "fault_type is missing; allowed: latency, error, timeout"},
		{"an unknown fault_type", `{"fault_name":"f","action":"register","fault_type":"meteor"}`, `fault_type is "meteor"; allowed: latency, error, timeout, resource_exhaustion, network_partition`},
		{"an empty name", `{"fault_name":"","action":"remove"}`, `fault_name is ""; allowed: text of 1 to 128 characters`},
		{"a probability above 1", `{"fault_name":"f","action":"register","fault_type":"error","probability":1.5}`, "probability is 1.5; allowed: a number from 0 up to 1"},
		{"a negative probability", `{"fault_name":"f","action":"register","fault_type":"error","probability":-0.1}`, "probability is -0.1"},
		{"a probability in words", `{"fault_name":"f","action":"register","fault_type":"error","probability":"0.5"}`, `probability is "0.5"; allowed: a number`},
		{"null", `{"fault_name":"f","action":"register","fault_type":"error","probability":null}`, "probability is null"},
		{"a negative duration", `{"fault_name":"f","action":"register","fault_type":"latency","duration_seconds":-1}`, "duration_seconds is -1; allowed: a number from 0 up to 86400"},
		{"a number beyond all", `{"fault_name":"f","action":"register","fault_type":"latency","duration_seconds":1e400}`, "duration_seconds is 1e400"},
		{"a seed as a number", `{"fault_name":"f","action":"register","fault_type":"error","seed":9007199254740993}`, "seed is 9007199254740993; allowed: text of 1 to 20 characters"},
		{"a seed beyond 64 bits", `{"fault_name":"f","action":"register","fault_type":"error","seed":"18446744073709551616"}`, "allowed: a decimal number from 0 to 18446744073709551615, as a string"},
		{"a boolean as text", `{"fault_name":"f","action":"inject","arm_next":"true"}`, `arm_next is "true"; allowed: true or false`},
		{"half a delivery", `{"fault_name":"f","action":"register","fault_type":"error","limit":1.5}`, "limit is 1.5; allowed: a whole number from 1"},
		{"a target that is no glob", `{"fault_name":"f","action":"register","fault_type":"error","target":"a[b"}`, "Target"},
		{"an unknown fault", `{"fault_name":"f","action":"inject"}`, `unknown rule "f"; registered: none`},
		{"an unknown fault to arm", `{"fault_name":"f","action":"inject","arm_next":true}`, `unknown fault "f"; registered: none`},
		{"several at once", `{"fault_name":7,"action":"x","probability":2}`, "fault_name is 7; allowed: text of 1 to 128 characters; probability is 2"},
	} {
		res := ask(t, c, tool, tc.args)
		require.True(t, res.IsError, tc.why)
		var p policy.Error
		require.NoError(t, json.Unmarshal([]byte(textIn(t, res)), &p))
		assert.Contains(t, p.Detail, tc.detail, tc.why)
		assert.NotEmpty(t, p.Hint, tc.why)
		out, ok := res.StructuredContent.(map[string]any)
		require.True(t, ok)
		assert.Equal(t, "error", out["status"], tc.why)
	}
	assert.Empty(t, refusalRules(t, c), "none of them did anything")
}

func refusalRules(t *testing.T, c *mcp.ClientSession) any {
	return answer[statusOutput](t, c, "chaos_status", `{}`).ActiveFaults
}

// Documents that a client's encoder would not make: they go to the tool as they
// came over the wire.
func TestDocumentsThatAreWrong(t *testing.T) {
	s := serverOf(t, newShop(t).host, nil)
	for why, tc := range map[string]struct{ args, detail string }{
		"no JSON":             {`{"fault_name"`, "no JSON"},
		"not an object":       {`[1]`, "the arguments is a list of 1 item; allowed: an object"},
		"more than one":       {`{} {}`, "no JSON"},
		"many unknown fields": {`{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1,"k":1}`, "and 3 more"},
	} {
		res := direct(t, s, "chaos_inject_fault", tc.args)
		require.True(t, res.IsError, why)
		assert.Equal(t, 400, res.StructuredContent.(injectOutput).Problem.Status, why)
		assert.Contains(t, res.StructuredContent.(injectOutput).Problem.Detail, tc.detail, why)
	}
	for _, nothing := range []string{"", "null", " {} "} {
		assert.False(t, direct(t, s, "chaos_status", nothing).IsError, "%q", nothing)
	}
	assert.False(t, direct(t, s, "get_runs", `{"limit":5.0}`).IsError, "5.0 is a whole number")
}

// direct calls a tool past the protocol.
func direct(t testing.TB, s *Server, name, args string) *mcp.CallToolResult {
	t.Helper()
	for _, tool := range s.tools {
		if tool.Name == name {
			req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: name, Arguments: json.RawMessage(args)}}
			res, err := tool.serve(s)(context.Background(), req)
			require.NoError(t, err)
			return res
		}
	}
	require.Fail(t, "no such tool", name)
	return nil
}

// Whatever the arguments, reading them gives a value that the schema allows, or
// a problem that says what is allowed.
func FuzzArguments(f *testing.F) {
	tools, err := table(Host{Injector: newShop(f).host.Injector, Experiments: newShop(f).host.Experiments, Matrices: newShop(f).host.Matrices,
		Runs: newShop(f).host.Runs, Workload: true})
	require.NoError(f, err)
	for i, seed := range []string{
		`{"fault_name":"f","action":"register","fault_type":"latency","duration_seconds":0.5}`,
		`{"name":"p","plan":{"seed":"1","rules":[{"target":"*","fault":{"kind":"hang"}}]}}`, `{}`, `{"experiment_name":"e","dry_run":true}`,
		`{"include_results":true}`, `{"matrix":"m"}`, `{"scenarios":["a"],"trial":1,"seed":"7"}`, `{"cells":true,"states":["held"],"limit":5}`,
		`{"weights":{"mutation":1,"chaos":0,"contract":0,"replay":0}}`, `{"kind":"baseline"}`, `{"limit":1e2}`,
		`{"start":0,"end":"2026-05-04T03:02:18Z","metrics":["served"]}`, `{"nodeId":"n","start":0,"end":1}`,
		`{"nodeId":"n","outageStartTs":0,"lookaheadEndTs":9,"baselineWindow":{"start":0,"end":3}}`,
		`{"baseRunId":"a","label":"b","parameters":{"outageInjection":{"nodeId":"n","start":1,"durationBins":2}}}`,
		`{"a":{"b":{"c":[[[null]]]}}}`, "\xff", `{"a":1,"a":2}`, `[]`, `{"limit":9007199254740993}`,
	} {
		f.Add(uint8(i), []byte(seed))
	}
	f.Fuzz(func(t *testing.T, which uint8, args []byte) {
		tool := tools[int(which)%len(tools)]
		_, err := tool.read(args)
		if err != nil {
			p := problemOf(err)
			require.Equal(t, 400, p.Status, "%v", err)
			require.NotEmpty(t, p.Detail)
			require.NotEmpty(t, p.Hint)
			return
		}
		var clean map[string]any
		if text := strings.TrimSpace(string(args)); text != "" {
			require.NoError(t, json.Unmarshal(args, &clean))
		}
		if clean == nil {
			clean = map[string]any{}
		}
		resolved, err := tool.Input.Resolve(nil)
		require.NoError(t, err)
		require.NoError(t, resolved.Validate(clean), "%s: the published schema refuses what was accepted: %s", tool.Name, args)
	})
}
