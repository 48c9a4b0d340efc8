package mcpadapter

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/experiment"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

func TestEachTypeOfFault(t *testing.T) {
	for kind, want := range map[string]error{
		"error": nil, "timeout": context.DeadlineExceeded, "resource_exhaustion": fault.ErrResourceExhausted, "network_partition": fault.ErrNetworkPartition,
	} {
		s := newShop(t)
		c := clientOf(t, serverOf(t, s.host, nil), nil)
		answer[injectOutput](t, c, "chaos_inject_fault", `{"fault_name":"f","action":"register","probability":1,"duration_seconds":0,"target":"*","fault_type":"`+kind+`"}`)
		_, err := s.lookup(t.Context(), "1")
		require.ErrorIs(t, err, chaos.ErrInjected, kind)
		if want != nil {
			assert.ErrorIs(t, err, want, kind)
		}
		if kind == "error" || kind == "timeout" {
			assert.EqualError(t, err, "service unavailable", kind)
		}
		status := answer[statusOutput](t, c, "chaos_status", `{}`)
		assert.Equal(t, kind, status.ActiveFaults[0].FaultType)
	}
}

func TestLatencyIsWaitedOutOnInject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := chaos.NewInjector(1, nil)
		srv, err := NewServer(Host{Name: "h", Injector: in}, &Options{Getenv: writable})
		require.NoError(t, err)
		_, err = srv.register(nil, injectInput{FaultName: "slow", FaultType: "latency", Probability: new(1.0)})
		require.NoError(t, err)
		began := time.Now()
		out, err := srv.trigger(t.Context(), injectInput{FaultName: "slow"})
		require.NoError(t, err)
		assert.True(t, *out.WasTriggered)
		assert.Empty(t, out.InjectedError)
		assert.Equal(t, time.Second, time.Since(began), "a latency without a duration takes one second")

		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, err = srv.trigger(ctx, injectInput{FaultName: "slow"})
		assert.ErrorIs(t, err, context.DeadlineExceeded, "it is bounded by the request")
		require.NoError(t, srv.Shutdown(t.Context()))
	})
}

func TestArmNextInjectsIntoTheNextMatchingCall(t *testing.T) {
	s := newShop(t)
	c := clientOf(t, serverOf(t, s.host, nil), nil)
	answer[injectOutput](t, c, "chaos_inject_fault", `{"fault_name":"f","action":"register","fault_type":"error","probability":0,"target":"orders.*"}`)
	for range 2 { // also a second time, after the first was delivered
		out := answer[injectOutput](t, c, "chaos_inject_fault", `{"fault_name":"f","action":"inject","arm_next":true}`)
		assert.Equal(t, []string{"orders.get"}, out.MatchedTargets, "the answer names the targets")
		assert.False(t, *out.WasTriggered)
		_, err := s.refund(t.Context(), "1")
		assert.NoError(t, err)
		_, err = s.lookup(t.Context(), "1")
		assert.EqualError(t, err, "service unavailable")
		_, err = s.lookup(t.Context(), "1")
		assert.NoError(t, err, "only the next one")
	}
	status := answer[statusOutput](t, c, "chaos_status", `{}`)
	assert.Len(t, status.ActiveFaults, 1, "what was delivered is no active fault")

	answer[injectOutput](t, c, "chaos_inject_fault", `{"fault_name":"f","action":"inject","arm_next":true}`)
	answer[injectOutput](t, c, "chaos_inject_fault", `{"fault_name":"f","action":"remove"}`)
	_, err := s.lookup(t.Context(), "1")
	assert.NoError(t, err, "removing a fault disarms it")
}

func TestASeedIsTextAndMovesTheDraws(t *testing.T) {
	injected := func(seed string) (calls string) {
		s := newShop(t)
		c := clientOf(t, serverOf(t, s.host, nil), nil)
		answer[injectOutput](t, c, "chaos_inject_fault", `{"fault_name":"f","action":"register","fault_type":"error","probability":0.5,"target":"*","seed":"`+seed+`"}`)
		for range 64 {
			calls += map[bool]string{true: "x", false: "."}[callFails(s)]
		}
		return calls
	}
	largest := injected("18446744073709551615")
	assert.Equal(t, largest, injected("18446744073709551615"))
	assert.NotEqual(t, largest, injected("18446744073709551614"), "a double would not tell these seeds apart")
	assert.Contains(t, largest, "x")
	assert.Contains(t, largest, ".")
}

func callFails(s *shop) bool {
	_, err := s.lookup(context.Background(), "1")
	return err != nil
}

func TestALimitEndsAFault(t *testing.T) {
	s := newShop(t)
	c := clientOf(t, serverOf(t, s.host, nil), nil)
	answer[injectOutput](t, c, "chaos_inject_fault", `{"fault_name":"f","action":"register","fault_type":"error","probability":1,"target":"*","limit":2}`)
	var failed int
	for range 5 {
		if callFails(s) {
			failed++
		}
	}
	assert.Equal(t, 2, failed)
}

func TestFaultsAreRefusedInOtherEnvironments(t *testing.T) {
	s := newShop(t)
	c := clientOf(t, serverOf(t, s.host, &Options{Environments: []string{"staging", "laptop"}}), nil)
	for tool, args := range map[string]string{
		"chaos_inject_fault": `{"fault_name":"f","action":"register","fault_type":"error"}`, "chaos_run_experiment": `{"experiment_name":"slow database"}`,
	} {
		p := refusal(t, c, tool, args)
		assert.Equal(t, 403, p.Status)
		assert.Equal(t, "environment_not_allowed", p.Code)
		assert.Contains(t, p.Detail, `SHAKEDOWN_ENVIRONMENT is "test"; allowed: staging, laptop`)
	}
	answer[injectOutput](t, c, "chaos_inject_fault", `{"fault_name":"f","action":"remove"}`)
	assert.Empty(t, s.host.Injector.Rules())
}

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
