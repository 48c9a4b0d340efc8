package dialect_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract/findings"
	"github.com/shakedown-go/shakedown/contract/replay"
	"github.com/shakedown-go/shakedown/contract/replay/dialect"
)

const ms = time.Millisecond

// A span of OTLP for tests of what dialects share.
type testSpan struct {
	id, parent int
	from, to   time.Duration
	scope      string
	attrs      []string
	failure    string
	status     int
}

func spansOf(spans ...testSpan) string {
	var scopes []any
	for _, s := range spans {
		one := object{"traceId": refundTwice().Trace, "spanId": fmt.Sprintf("%016x", s.id), "name": "step",
			"startTimeUnixNano": fmt.Sprint(began.Add(s.from).UnixNano()), "endTimeUnixNano": fmt.Sprint(began.Add(s.to).UnixNano())}
		if s.parent > 0 {
			one["parentSpanId"] = fmt.Sprintf("%016x", s.parent)
		}
		list := attributes(s.attrs...)
		if s.status != 0 {
			list = append(list, object{"key": "http.response.status_code", "value": object{"intValue": fmt.Sprint(s.status)}})
		}
		if s.failure != "" {
			one["status"] = object{"code": 2, "message": s.failure}
		}
		one["attributes"] = list
		scopes = append(scopes, object{"scope": object{"name": s.scope}, "spans": []any{one}})
	}
	return text(object{"resourceSpans": []any{object{"scopeSpans": scopes}}})
}

// called are the attributes of a call of a tool.
func called(tool, args, result string, more ...string) []string {
	return append([]string{"gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", tool,
		"gen_ai.tool.call.arguments", args, "gen_ai.tool.call.result", result}, more...)
}

func TestACallThatTwoInstrumentationsSawCountsOnce(t *testing.T) {
	openInference := func(tool, args, result string) []string {
		return []string{"openinference.span.kind", "TOOL", "tool.name", tool, "input.value", args, "output.value", result}
	}
	chat := []string{"gen_ai.operation.name", "chat", "gen_ai.request.model", "small"}
	root := testSpan{id: 1, to: 900 * ms, attrs: []string{"gen_ai.operation.name", "invoke_agent"}}
	for _, tt := range []struct {
		why   string
		spans []testSpan
		want  string // tool, arguments, result of each
	}{
		{"one within the other", []testSpan{{id: 2, parent: 1, from: 10 * ms, to: 50 * ms, attrs: called("refund", `{"n":1}`, `"ok"`)},
			{id: 3, parent: 2, from: 11 * ms, to: 49 * ms, attrs: openInference("refund", `{"n":1.0}`, `"ok"`)}}, `refund {"n":1} "ok"`},
		{"each fills in what the other lacks", []testSpan{{id: 2, parent: 1, from: 10 * ms, to: 50 * ms, attrs: called("refund", "", `"ok"`)},
			{id: 3, parent: 2, from: 11 * ms, to: 49 * ms, attrs: openInference("refund", `{"n":1}`, "")}}, `refund {"n":1} "ok"`},
		{"a step lies between them", []testSpan{{id: 2, parent: 1, from: 10 * ms, to: 50 * ms, attrs: called("refund", `{"n":1}`, `"ok"`)},
			{id: 3, parent: 2, from: 11 * ms, to: 49 * ms, attrs: []string{"http.request.method", "POST"}},
			{id: 4, parent: 3, from: 12 * ms, to: 48 * ms, attrs: called("refund", `{"n":1}`, `"ok"`)}}, `refund {"n":1} "ok"`},
		{"a tool that calls itself with other arguments", []testSpan{{id: 2, parent: 1, from: 10 * ms, to: 50 * ms, attrs: called("walk", `{"n":1}`, `"ok"`)},
			{id: 3, parent: 2, from: 11 * ms, to: 49 * ms, attrs: called("walk", `{"n":2}`, `"ok"`)}}, `walk {"n":1} "ok", walk {"n":2} "ok" in 1`},
		{"an agent lies between them", []testSpan{{id: 2, parent: 1, from: 10 * ms, to: 50 * ms, attrs: called("ask", `{"n":1}`, `"ok"`)},
			{id: 3, parent: 2, from: 11 * ms, to: 49 * ms, attrs: []string{"gen_ai.operation.name", "invoke_agent"}},
			{id: 4, parent: 3, from: 12 * ms, to: 48 * ms, attrs: called("ask", `{"n":1}`, `"ok"`)}}, `ask {"n":1} "ok", ask {"n":1} "ok" in 1`},
		{"beside each other, for one request of the model", []testSpan{{id: 2, parent: 1, from: 11 * ms, to: 49 * ms, attrs: called("refund", `{"n":1}`, `"in"`, "gen_ai.tool.call.id", "c1")},
			{id: 3, parent: 1, from: 10 * ms, to: 50 * ms, attrs: called("refund", `{"n":1}`, `"out"`, "gen_ai.tool.call.id", "c1")}}, `refund {"n":1} "out"`},
		{"a request that was carried out again", []testSpan{{id: 2, parent: 1, from: 10 * ms, to: 20 * ms, attrs: called("refund", `{"n":1}`, `"a"`, "gen_ai.tool.call.id", "c1")},
			{id: 3, parent: 1, from: 30 * ms, to: 50 * ms, attrs: called("refund", `{"n":1}`, `"b"`, "gen_ai.tool.call.id", "c1")}}, `refund {"n":1} "a", refund {"n":1} "b"`},
		{"a model, whose version one knows", []testSpan{{id: 2, parent: 1, from: 10 * ms, to: 50 * ms, attrs: chat},
			{id: 3, parent: 2, from: 11 * ms, to: 49 * ms, attrs: []string{"openinference.span.kind", "LLM", "llm.model_name", "small-2026-01-01"}}}, `model small  `},
		{"tools listed are no call", []testSpan{{id: 2, parent: 1, from: 10 * ms, to: 50 * ms, attrs: []string{"mcp.method.name", "tools/list"}},
			{id: 3, parent: 1, from: 10 * ms, to: 50 * ms, attrs: called("refund", `{}`, `"ok"`)}}, `refund {} "ok"`},
		{"what ADK joined", []testSpan{{id: 2, parent: 1, from: 10 * ms, to: 50 * ms, scope: "gcp.vertex.agent", attrs: []string{"gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", "a", "gcp.vertex.agent.tool_call_args", `{"n":1}`, "gcp.vertex.agent.tool_response", `{"r":1}`}},
			{id: 3, parent: 1, from: 50 * ms, to: 51 * ms, scope: "gcp.vertex.agent", attrs: []string{"gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", "(merged tools)", "gcp.vertex.agent.tool_call_args", "N/A"}}}, `a {"n":1} {"r":1}`},
	} {
		t.Run(tt.why, func(t *testing.T) {
			s := imported(t, spansOf(append([]testSpan{root}, tt.spans...)...), nil)
			var got []string
			for _, c := range s.Calls {
				one := fmt.Sprintf("%s %s %s", c.Tool, string(c.Args), string(c.Result))
				if c.Type != "" {
					one = string(c.Type) + " " + one
				}
				if c.Parent > 0 {
					one += fmt.Sprintf(" in %d", c.Parent)
				}
				got = append(got, one)
			}
			assert.Equal(t, tt.want, strings.Join(got, ", "))
		})
	}
}

// Who is asked for prompts and answer.
func TestPromptsAreThoseOfTheOutermost(t *testing.T) {
	said := func(op, who string) []string {
		return []string{"gen_ai.operation.name", op, "gen_ai.input.messages", `[{"role":"user","parts":[{"type":"text","content":"to ` + who + `"}]}]`,
			"gen_ai.output.messages", `[{"role":"assistant","parts":[{"type":"text","content":"by ` + who + `"},{"type":"tool_call","name":"x"}]}]`}
	}
	model := func(id, parent int, from time.Duration, who string) testSpan {
		return testSpan{id: id, parent: parent, from: from, to: from + ms, attrs: said("chat", who)}
	}
	for _, tt := range []struct {
		why, asked, told string
		spans            []testSpan
	}{
		{"the root", "to root", "by root", []testSpan{model(3, 1, 0, "a"), {id: 1, to: 9 * ms, attrs: said("invoke_agent", "root")}}},
		{"an agent within a request", "to outer", "by outer", []testSpan{{id: 1, to: 9 * ms, attrs: []string{"http.request.method", "POST"}}, model(4, 3, 3*ms, "a"),
			{id: 3, parent: 2, from: 2 * ms, to: 8 * ms, attrs: said("invoke_agent", "inner")}, {id: 2, parent: 1, from: ms, to: 9 * ms, attrs: said("invoke_agent", "outer")}}},
		{"a member before the outer one within it", "to root", "by root", []testSpan{model(3, 1, 0, "a"), {id: 1, to: 9 * ms, attrs: []string{
			"openinference.span.kind", "AGENT", "input.value", `{"question":{"input":"to root"}}`, "output.value", `{"result":{"output":"by root"}}`}}}},
		{"models alone: the first and the last", "to a", "by b", []testSpan{model(2, 9, 5*ms, "b"), model(1, 9, 0, "a")}},
	} {
		s := imported(t, spansOf(tt.spans...), nil)
		assert.Equal(t, []string{tt.asked}, s.Prompts, tt.why)
		assert.Equal(t, tt.told, s.Answer, tt.why)
	}
}

// The lanes of calls: "." is the first one.
func TestCallsThatOverlapGetLanes(t *testing.T) {
	call := func(id, parent int, from, to time.Duration) testSpan {
		return testSpan{id: id, parent: parent, from: from * ms, to: to * ms, attrs: called(fmt.Sprint("t", id), `{}`, `1`)}
	}
	for _, tt := range []struct {
		why   string
		spans []testSpan
		want  string
	}{
		{"one after the other", []testSpan{call(1, 0, 0, 10), call(2, 0, 10, 20), call(3, 0, 20, 30)}, ". . ."},
		{"two at once, then one", []testSpan{call(1, 0, 0, 10), call(2, 0, 5, 8), call(3, 0, 10, 12)}, ". 2 ."},
		{"the first lane that is free", []testSpan{call(1, 0, 0, 10), call(2, 0, 1, 3), call(3, 0, 2, 9), call(4, 0, 4, 5)}, ". 2 3 2"},
		{"within each other is one strand", []testSpan{call(1, 0, 0, 10), call(2, 1, 1, 9), call(3, 2, 2, 8), call(4, 1, 9, 10)}, ". . . ."},
		{"two at once within one", []testSpan{call(1, 0, 0, 10), call(2, 1, 1, 9), call(3, 1, 2, 8)}, ". . 2"},
		{"beside a call with two in it", []testSpan{call(1, 0, 0, 10), call(2, 1, 1, 9), call(3, 1, 2, 8), call(4, 0, 3, 12)}, ". . 2 3"},
		{"of no length", []testSpan{call(1, 0, 5, 5), call(2, 0, 5, 5)}, ". ."},
	} {
		t.Run(tt.why, func(t *testing.T) {
			var lanes []string
			for _, c := range imported(t, spansOf(tt.spans...), nil).Calls {
				if c.Lane == "" {
					c.Lane = "."
				}
				lanes = append(lanes, c.Lane)
			}
			assert.Equal(t, tt.want, strings.Join(lanes, " "))
		})
	}
}

// A machine whose clock is behind that of its caller: what it did has the order of its own clock.
func TestCallsBeforeTheirParentAreInOrder(t *testing.T) {
	root := testSpan{id: 1, from: 500 * ms, to: 900 * ms, attrs: []string{"gen_ai.operation.name", "invoke_agent"}}
	s := imported(t, spansOf(root,
		testSpan{id: 2, parent: 1, from: 300 * ms, to: 350 * ms, attrs: called("x", `{}`, `"second"`)},
		testSpan{id: 3, parent: 1, from: 100 * ms, to: 150 * ms, attrs: called("x", `{}`, ""), failure: "busy"},
		testSpan{id: 4, parent: 1, from: 400 * ms, to: 450 * ms, attrs: called("x", `{}`, `"third"`)}), nil)
	var got []string
	for _, c := range s.Calls {
		got = append(got, fmt.Sprint(c.At, " ", c.Lane, string(c.Result), c.Error != nil))
	}
	assert.Equal(t, []string{`0s true`, `200ms "second"false`, `300ms "third"false`}, got)
}

// Whatever the times: parents stand before what is in them, and calls of one lane overlap
// only if one is within the other. The latter needs clocks that agree: with them nothing
// begins before what it is in.
func TestLanesHoldForAnyTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 20).Draw(t, "calls")
		agree := rapid.Bool().Draw(t, "clocks agree")
		spans := make([]testSpan, n)
		for i := range spans {
			from, parent := time.Duration(rapid.IntRange(0, 30).Draw(t, "from")), rapid.IntRange(0, i).Draw(t, "parent")
			if parent > 0 && agree {
				from = max(from, spans[parent-1].from/ms)
			}
			spans[i] = testSpan{id: i + 1, parent: parent, from: from * ms,
				to: (from + time.Duration(rapid.IntRange(0, 10).Draw(t, "length"))) * ms, attrs: called(fmt.Sprint("t", i), `{}`, `1`)}
		}
		sessions, err := dialect.Import(strings.NewReader(spansOf(spans...)), nil)
		require.NoError(t, err)
		calls := sessions[0].Calls
		require.Len(t, calls, n)
		within := func(i, j int) bool {
			for at := i; at >= 0; at = calls[at].Parent - 1 {
				if at == j {
					return true
				}
			}
			return false
		}
		for i, c := range calls {
			require.LessOrEqual(t, c.Parent, i)
			for j, d := range calls[:i] {
				overlap := c.At < d.At+d.Took && d.At < c.At+c.Took
				if agree && c.Lane == d.Lane && overlap {
					require.True(t, within(i, j) || within(j, i), "calls %d and %d of lane %q", j+1, i+1, c.Lane)
				}
			}
		}
	})
}

func TestWhatIsKnownOfTheWork(t *testing.T) {
	for _, tt := range []struct {
		failure string
		status  int
		want    findings.Effect
	}{
		{"", 0, findings.Done},
		{"i/o timeout", 0, findings.Unknown}, {"context deadline exceeded", 0, findings.Unknown},
		{"read: connection reset by peer", 0, findings.Unknown}, {"unexpected EOF", 0, findings.Unknown},
		{"bad gateway", 502, findings.Unknown}, {"", 504, findings.Unknown}, {"request timeout", 408, findings.Unknown},
		{"internal server error", 500, findings.Unknown}, {"something else", 0, findings.Unknown},
		{"dial tcp: connection refused", 0, findings.NotDone}, {"lookup shop: no such host", 0, findings.NotDone},
		{"x509: certificate has expired", 0, findings.NotDone}, {"too many", 429, findings.NotDone},
		{"[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate", 0, findings.NotDone},
		{"booked, but the gift certificate was not sent in time", 0, findings.Unknown},
		{"no such order", 404, findings.NotDone}, {"Error code: 403 - no", 0, findings.NotDone},
		{"invalid argument: order", 0, findings.NotDone}, {"forbidden", 0, findings.NotDone},
	} {
		one := testSpan{id: 1, to: ms, attrs: called("refund", `{}`, `1`), failure: tt.failure, status: tt.status}
		if tt.status != 0 && tt.failure == "" {
			one.attrs = append(one.attrs, "error.type", fmt.Sprint(tt.status))
		}
		c := imported(t, spansOf(one), &dialect.Options{Tools: declared}).Calls[0]
		assert.Equal(t, tt.want, c.Effect, "%q %d", tt.failure, tt.status)
		if tt.status != 0 {
			assert.Equal(t, tt.status, c.Error.Status)
		}
		for _, effect := range []chaos.Effect{"", chaos.EffectNone, chaos.EffectUnknown} {
			c := imported(t, spansOf(one), &dialect.Options{Tools: []chaos.Tool{{Name: "refund", Effect: effect}}}).Calls[0]
			assert.Empty(t, c.Effect, "the tool does not declare that it has effects")
		}
	}
}

// What a result says becomes one of three outcomes; package failure has the table of texts.
func TestOutcomesOfResults(t *testing.T) {
	for _, tt := range []struct{ result, want string }{
		{`"Error: i/o timeout"`, "failed"}, {`{"error":"gone"}`, "failed"}, {`{"ok":false}`, "failed"},
		{`"The error rate is 0."`, "unknown"}, {`"Order 1042 not found, I fear"`, "unknown"}, {`"[truncated]"`, "unknown"},
		{`"Refunded."`, "done"}, {`{"errors":[],"id":1}`, "done"}, {`503`, "done"}, {`[1]`, "done"}, {`true`, "done"},
	} {
		c := imported(t, spansOf(testSpan{id: 1, to: ms, attrs: called("refund", `{}`, tt.result)}), &dialect.Options{Tools: declared}).Calls[0]
		assert.Nil(t, c.Error)
		assert.Equal(t, tt.want == "failed", c.Suspected, tt.result)
		assert.Equal(t, tt.want == "unknown", slices.Contains(c.Missing, findings.Outcome), tt.result)
		assert.Equal(t, tt.want == "done", c.Effect == findings.Done, tt.result)
	}
	both := []testSpan{{id: 1, to: ms, attrs: called("x", `{}`, `[]`)}, {id: 2, from: ms, to: 2 * ms, attrs: called("x", `{}`, `[1]`)}, {id: 3, from: 2 * ms, to: 3 * ms, attrs: called("y", `{}`, `[]`)}}
	var doubted []bool
	for _, c := range imported(t, spansOf(both...), nil).Calls {
		doubted = append(doubted, slices.Contains(c.Missing, findings.Outcome))
	}
	assert.Equal(t, []bool{true, false, false}, doubted, "nothing, where another call of the tool returned something")
	_, err := imported(t, spansOf(both[:2]...), nil).Faults(nil)
	assert.ErrorContains(t, err, "nobody knows whether call 1 did its work")
	rules, err := imported(t, spansOf(both[:2]...), nil).Faults(&replay.FaultOptions{Suspected: true})
	require.NoError(t, err)
	assert.Len(t, rules, 1, "its result is played")
}

// Facts of the forms that the one incident does not show.
func TestFormsOfVendors(t *testing.T) {
	at := `"startTime":"2026-05-04T03:02:01Z","endTime":"2026-05-04T03:02:02Z"`
	for _, tt := range []struct{ why, text, want string }{
		{"Langfuse before it had tools: spans with nothing in them", `{"id":"t","observations":[{"id":"1","type":"SPAN","name":"run",` + at + `},{"id":"2","parentObservationId":"1","type":"SPAN","name":"refund","input":{"n":1},"output":"ok",` + at + `}]}`,
			`{"tool":"refund","args":{"n":1},"result":"ok","took":1000000000}`},
		{"Langfuse: such a span beside tools is none", `{"id":"t","observations":[{"id":"1","type":"SPAN","name":"run",` + at + `},{"id":"3","parentObservationId":"1","type":"TOOL","name":"x","input":{},"output":1,` + at + `},{"id":"2","parentObservationId":"1","type":"SPAN","name":"refund","input":{"n":1},"output":"ok",` + at + `}]}`,
			`{"tool":"x","args":{},"result":1,"took":1000000000}`},
		{"Langfuse: observations alone", `{"data":[{"id":"2","traceId":"t","type":"TOOL","name":"x","level":"ERROR","statusMessage":"HTTP 503","input":{},` + at + `}]}`,
			`{"tool":"x","args":{},"error":{"text":"HTTP 503","status":503},"took":1000000000}`},
		{"LangSmith: parent and trace are in the order", `{"id":"b","run_type":"tool","name":"x","inputs":{"input":"{'n': 1}"},"outputs":{"output":"ok"},"start_time":"2026-05-04T03:02:01.5","end_time":"2026-05-04T03:02:02","dotted_order":"20260504T030201000000Za.20260504T030201500000Zb"}`,
			`{"tool":"x","args":"{'n': 1}","result":"ok","took":500000000}`},
		{"OpenAI Agents: a dictionary of Python is a text", `{"object":"trace.span","id":"1","trace_id":"t","started_at":"2026-05-04T03:02:01Z","ended_at":"2026-05-04T03:02:02Z","span_data":{"type":"function","name":"x","input":"{}","output":"{'id': 'R-2'}"}}`,
			`{"tool":"x","args":{},"result":"{'id': 'R-2'}","took":1000000000}`},
		{"chat: ids that a server uses again", `[{"role":"assistant","tool_calls":[{"id":"0","function":{"name":"x","arguments":""}}]},{"role":"tool","tool_call_id":"0","content":"a"},{"role":"assistant","tool_calls":[{"id":"0","function":{"name":"x","arguments":""}}]},{"role":"tool","tool_call_id":"0","content":[{"type":"text","text":"b"}]}]`,
			`{"tool":"x","result":"a"} {"tool":"x","result":"b"}`},
		{"chat: a message a line", `{"role":"user","content":"go"}` + "\n" + `{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"x","arguments":"{}"}}]}` + "\n" + `{"role":"tool","tool_call_id":"1","content":""}`,
			`{"tool":"x","args":{},"result":""}`},
		{"chat: LangChain says that it failed", `[{"role":"assistant","tool_calls":[{"id":"1","name":"x","args":{"n":1}}]},{"role":"tool","tool_call_id":"1","status":"error","content":"no"}]`,
			`{"tool":"x","args":{"n":1},"error":{"text":"no"}}`},
		{"responses: a call of a server, by the provider", `{"output":[{"type":"mcp_call","id":"1","name":"x","arguments":"{}","output":null,"error":"gone"},{"type":"function_call","call_id":"2","name":"y","arguments":"{}"}]}`,
			`{"tool":"x","args":{},"error":{"text":"gone"}} {"tool":"y","args":{},"missing":["result","end"]}`},
		{"anthropic: a tool that returns nothing", `[{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"x","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1"}]}]`,
			`{"tool":"x","args":{},"result":""}`},
		{"MCP without times: lines that overlap", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}` + "\n" + `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"y"}}` + "\n" + `{"jsonrpc":"2.0","id":"a","result":{"structuredContent":{"n":1},"content":[]}}` + "\n" + `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no such tool"}}`,
			`{"tool":"x","error":{"text":"no such tool","status":-32602}} {"tool":"y","lane":"2","result":{"n":1}}`},
		{"MCP: the server counts its own requests", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}` + "\n" + `{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage"}` + "\n" + `{"jsonrpc":"2.0","id":1,"result":{"role":"assistant","content":{"type":"text","text":"hm"}}}` + "\n" + `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"ok"}]}}`,
			`{"tool":"x","result":"ok"}`},
		{"the proxy did not pass it on", `{"t":1,"kind":"tool_call","tool":"refund","detail":{"id":1,"args_hash":"ab"}}` + "\n" + `{"t":2,"kind":"fault","tool":"refund","detail":{"id":1,"type":"timeout","mode":"short_circuit"}}`,
			`{"tool":"refund","argsHash":"ab","error":{"text":"timeout"},"effect":"none","missing":["args"],"at":1000000000,"took":1000000000}`},
	} {
		t.Run(tt.why, func(t *testing.T) {
			s := imported(t, tt.text, &dialect.Options{Tools: declared})
			var got []string
			for _, c := range s.Calls {
				if c.Tool == "refund" && s.Source.Dialect == "langfuse" {
					c.Effect = ""
				}
				doc, err := json.Marshal(c)
				require.NoError(t, err)
				got = append(got, string(doc))
			}
			assert.Equal(t, tt.want, strings.Join(got, " "))
		})
	}
}

// recordedRuns are files of real runs beside the repository; see package trace.
func recordedRuns(t *testing.T) []string {
	for _, up := range []string{"../..", "../../.."} {
		files, err := filepath.Glob(filepath.Join(up, "..", "shared", "data", "mcp-traces", "*.jsonl"))
		require.NoError(t, err)
		if len(files) > 0 {
			return files
		}
	}
	t.Skip("the recorded runs are not there: ../shared/data/mcp-traces beside the repository")
	return nil
}

func TestRecordedRunsOfRealModels(t *testing.T) {
	files := recordedRuns(t)
	assert.Len(t, files, 12)
	for _, file := range files {
		lines, err := os.ReadFile(file)
		require.NoError(t, err)
		s := imported(t, string(lines), &dialect.Options{Tools: []chaos.Tool{{Name: "write_file", Effect: chaos.EffectDone}}})
		assert.Equal(t, "mcp-proxy", s.Source.Dialect)
		assert.Equal(t, 2026, s.Source.CapturedAt.Year())
		assert.Len(t, s.Calls, strings.Count(string(lines), `"kind": "tool_call"`), file)
		for _, c := range s.Calls {
			assert.NotEmpty(t, c.ArgsHash)
			assert.NotContains(t, c.Missing, findings.End, file)
			if c.Tool == "write_file" {
				assert.Equal(t, findings.NotDone, c.Effect, "its one fault never reached the server")
				assert.NotNil(t, c.Error)
			}
		}
	}
}
