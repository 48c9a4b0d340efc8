package dialect_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract/findings"
	"github.com/shakedown-go/shakedown/contract/replay/dialect"
)

// callsIn are the calls of an input as JSON, those of a run in brackets.
func callsIn(t *testing.T, text string, o *dialect.Options) string {
	t.Helper()
	sessions, err := dialect.Import(strings.NewReader(text), o)
	require.NoError(t, err)
	var runs []string
	for _, s := range sessions {
		require.NoError(t, s.Validate())
		_, err := s.Encode()
		require.NoError(t, err)
		var calls []string
		for _, c := range s.Calls {
			doc, err := json.Marshal(c)
			require.NoError(t, err)
			calls = append(calls, string(doc))
		}
		runs = append(runs, "["+strings.Join(calls, " ")+"]")
	}
	return strings.Join(runs, " ")
}

const (
	chatCalls      = `{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"x","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"a"}`
	anthropicCalls = `{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"y","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"b","is_error":true}]}`
	responsesCalls = `{"type":"function_call","call_id":"r","name":"z","arguments":"{}"},{"type":"function_call_output","call_id":"r","output":"c"}`

	chatSaid      = `{"tool":"x","args":{},"result":"a"}`
	anthropicSaid = `{"tool":"y","args":{},"error":{"text":"b"}}`
	responsesSaid = `{"tool":"z","args":{},"result":"c"}`
)

// No call of a transcript is dropped because of what stands before it.
func TestEachItemOfATranscriptIsReadInItsOwnForm(t *testing.T) {
	messages := func(items string) string { return `{"messages":[` + items + `]}` }
	long := strings.Repeat(`{"role":"user","content":"go on"},`, 100) // more than is looked at to tell the dialect
	for _, tt := range []struct{ why, text, want string }{
		{"the first call of Anthropic's comes late", messages(long + anthropicCalls), "[" + anthropicSaid + "]"},
		{"the first item of Responses comes late", `{"input":[` + long + responsesCalls + `]}`, "[" + responsesSaid + "]"},
		{"a log of two providers", messages(chatCalls) + "\n" + messages(anthropicCalls), "[" + chatSaid + "] [" + anthropicSaid + "]"},
		{"in the other order", messages(anthropicCalls) + "\n" + messages(chatCalls), "[" + anthropicSaid + "] [" + chatSaid + "]"},
		{"a log of all three", messages(chatCalls) + messages(anthropicCalls) + `{"input":[` + responsesCalls + `]}`,
			"[" + chatSaid + "] [" + anthropicSaid + "] [" + responsesSaid + "]"},
		{"one conversation that changed its provider", messages(chatCalls + "," + anthropicCalls), "[" + chatSaid + " " + anthropicSaid + "]"},
		{"LangChain lists a call in the content and beside it", messages(`{"role":"assistant","content":[{"type":"text","text":"hm"},"hm",{"type":"tool_use","id":"1","name":"x","input":{}}],"tool_calls":[{"id":"1","name":"x","args":{}}]},{"role":"tool","tool_call_id":"1","status":"error","content":"no"}`),
			`[{"tool":"x","args":{},"error":{"text":"no"}}]`},
		{"Anthropic: a tool that the provider runs", messages(`{"role":"assistant","content":[{"type":"server_tool_use","id":"s","name":"web_search","input":{}},{"type":"web_search_tool_result","tool_use_id":"s","content":[{"type":"web_search_result","url":"u"}]}]}`),
			`[{"tool":"web_search","args":{},"result":[{"type":"web_search_result","url":"u"}]}]`},
		{"Anthropic: such a tool failed", messages(`{"role":"assistant","content":[{"type":"server_tool_use","id":"s","name":"web_search","input":{}},{"type":"web_search_tool_result","tool_use_id":"s","content":{"type":"web_search_tool_result_error","error_code":"max_uses_exceeded"}}]}`),
			`[{"tool":"web_search","args":{},"error":{"text":"max_uses_exceeded"}}]`},
		{"Responses: a list that begins with a call of a server", `{"data":[{"type":"mcp_call","id":"m","name":"x","arguments":"{}","output":"a"},` + responsesCalls + `]}`,
			`[{"tool":"x","args":{},"result":"a"} ` + responsesSaid + "]"},
		{"Responses: a shell, which the agent runs; a search, which it does not", `{"input":[{"type":"web_search_call","id":"w","status":"completed"},{"type":"local_shell_call","call_id":"s","action":{"command":["ls"]}},{"type":"local_shell_call_output","call_id":"s","output":"a.go"},` + responsesCalls + `]}`,
			`[{"tool":"local_shell","args":{"command":["ls"]},"result":"a.go"} ` + responsesSaid + "]"},
		{"Responses: the newest first, of a shell", `{"object":"list","data":[` + `{"type":"shell_call_output","call_id":"s","output":"b"},{"type":"shell_call","call_id":"s","action":{}},{"type":"function_call_output","call_id":"r","output":"c"},{"type":"function_call","call_id":"r","name":"z","arguments":"{}"}]}`,
			"[" + responsesSaid + ` {"tool":"shell","args":{},"result":"b"}]`},
	} {
		t.Run(tt.why, func(t *testing.T) { assert.Equal(t, tt.want, callsIn(t, tt.text, nil)) })
	}
}

// An answer belongs to the call of its own turn, also where a server uses its ids again.
func TestAnAnswerIsOfItsOwnTurn(t *testing.T) {
	asks := func(id string, n int) string {
		return fmt.Sprintf(`{"role":"assistant","tool_calls":[{"id":%q,"function":{"name":"x","arguments":"{\"n\":%d}"}}]},`, id, n)
	}
	const answer, open = `{"role":"tool","tool_call_id":"0","content":"b"}`, `"missing":["result","end"]`
	for _, tt := range []struct{ why, items, want string }{
		{"the first call was never answered", asks("0", 1) + `{"role":"user","content":"go on"},` + asks("0", 2) + answer,
			`[{"tool":"x","args":{"n":1},` + open + `} {"tool":"x","args":{"n":2},"result":"b"}]`},
		{"another call was answered in between", asks("0", 1) + asks("1", 2) + `{"role":"tool","tool_call_id":"1","content":"a"},` + asks("0", 3) + answer,
			`[{"tool":"x","args":{"n":1},` + open + `} {"tool":"x","args":{"n":2},"result":"a"} {"tool":"x","args":{"n":3},"result":"b"}]`},
		{"answers of one turn without ids are in order", `{"role":"assistant","tool_calls":[{"function":{"name":"x","arguments":{"n":1}}},{"function":{"name":"x","arguments":{"n":2}}}]},{"role":"tool","content":"a"},{"role":"tool","content":"b"}`,
			`[{"tool":"x","args":{"n":1},"result":"a"} {"tool":"x","lane":"2","args":{"n":2},"result":"b"}]`},
	} {
		t.Run(tt.why, func(t *testing.T) {
			assert.Equal(t, tt.want, callsIn(t, `{"messages":[`+tt.items+`]}`, nil))
		})
	}
}

// A conversation goes on with an earlier one only within its thread.
func TestEqualConversationsOfTwoThreadsAreTwoRuns(t *testing.T) {
	turn := func(head string) string { return `{` + head + `"messages":[` + chatCalls + `]}` + "\n" }
	one := "[" + chatSaid + "]"
	assert.Equal(t, one, callsIn(t, turn("")+turn(""), nil), "a log of requests repeats what was said")
	assert.Equal(t, one, callsIn(t, turn(`"thread_id":"a",`)+turn(`"thread_id":"a",`), nil))
	assert.Equal(t, one+" "+one, callsIn(t, turn(`"thread_id":"a",`)+turn(`"thread_id":"b",`), nil))
	assert.Equal(t, one+" "+one, callsIn(t, turn(`"session_id":"a",`)+turn(`"session_id":"b",`), nil))
}

// Lines of messages are one conversation, or one for each thread that they name.
func TestLinesOfTwoThreadsAreTwoRuns(t *testing.T) {
	line := func(thread, call, message string) string {
		return strings.ReplaceAll(`{`+thread+message+`}`+"\n", "CALL", call)
	}
	const asks = `"role":"assistant","tool_calls":[{"id":"c","function":{"name":"x","arguments":"{\"n\":CALL}"}}]`
	const answers = `"role":"tool","tool_call_id":"c","content":"CALL"`
	one := func(n string) string { return `{"tool":"x","args":{"n":` + n + `},"result":` + n + `}` }
	told := func(a, b string) string {
		return line(a, "1", asks) + line(b, "2", asks) + line(a, "1", answers) + line(b, "2", answers)
	}
	assert.Equal(t, "["+one("1")+"] ["+one("2")+"]", callsIn(t, told(`"session_id":"a",`, `"session_id":"b",`), nil))
	assert.Equal(t, "["+one("1")+"] ["+one("2")+"]", callsIn(t, told(`"thread_id":"a",`, ``), nil))
}

// Calls that were asked for at once are no retries of each other, and a repetition is told
// by the lane of the call that it repeats.
func TestRetriesAfterCallsAtOnce(t *testing.T) {
	uses := func(calls ...string) string {
		var blocks, results []string
		for i, c := range calls {
			n, answer, failed := c[:1], "ok", "false"
			if strings.HasSuffix(c, "!") {
				answer, failed = "503 Service Unavailable", "true"
			}
			blocks = append(blocks, fmt.Sprintf(`{"type":"tool_use","id":"%d","name":"get","input":{"n":%s}}`, i, n))
			results = append(results, fmt.Sprintf(`{"type":"tool_result","tool_use_id":"%d","content":%q,"is_error":%s}`, i, answer, failed))
		}
		return `{"role":"assistant","content":[` + strings.Join(blocks, ",") + `]},{"role":"user","content":[` + strings.Join(results, ",") + `]}`
	}
	span := func(id int, from, to time.Duration, args, failure string) testSpan {
		return testSpan{id: id, from: from * ms, to: to * ms, attrs: called("get", args, ""), failure: failure}
	}
	transcript := func(turns ...string) string { return `{"messages":[` + strings.Join(turns, ",") + `]}` }
	for _, tt := range []struct {
		why, text string
		want      findings.Verdict
	}{
		{"four at once, which all failed", transcript(uses("1!", "2!", "3!", "4!")), findings.Stopped},
		{"each once again, at once", transcript(uses("1!", "2!", "3!", "4!"), uses("1", "2", "3", "4")), findings.Retried},
		{"one of them once again", transcript(uses("1", "2!"), uses("2")), findings.Retried},
		{"one of them three times", transcript(uses("1", "2!"), uses("2!"), uses("2!"), uses("2")), findings.Runaway},
		{"after one that did not fail", transcript(uses("1", "2!"), uses("1")), findings.Stopped},
		{"one after the other", transcript(uses("1!"), uses("2!"), uses("3!"), uses("4!")), findings.Runaway},
		{"with times: one of them once again", spansOf(span(1, 0, 9, `{"n":1}`, ""), span(2, 1, 5, `{"n":2}`, "busy"), span(3, 20, 21, `{"n":2}`, "")), findings.Retried},
	} {
		t.Run(tt.why, func(t *testing.T) {
			r, err := findings.Find(imported(t, tt.text, nil).Calls, nil)
			require.NoError(t, err)
			require.NotNil(t, r.Verdict)
			assert.Equal(t, tt.want, *r.Verdict)
		})
	}
}

// What a record says in a member that is easily overlooked.
func TestFailuresAreNotOverlooked(t *testing.T) {
	langsmith := func(run string) string {
		return `{"id":"2","run_type":"tool","name":"x","start_time":"2026-05-04T03:02:01","end_time":"2026-05-04T03:02:02","inputs":{"input":"{}"},` + run + `}`
	}
	otlp := func(result string) string {
		return spansOf(testSpan{id: 1, to: ms, attrs: called("x", `{}`, result)})
	}
	proxy := func(lines ...string) string {
		return `{"t":1,"kind":"tool_call","tool":"x","detail":{"id":1,"args_hash":"ab"}}` + "\n" + strings.Join(lines, "\n")
	}
	const delayed = `{"t":1,"kind":"fault","tool":"x","detail":{"id":1,"type":"slow","mode":"delay"}}`
	for _, tt := range []struct{ why, text, want string }{
		{"LangSmith: the message of the tool says so", langsmith(`"outputs":{"output":{"type":"tool","status":"error","content":"no"}}`),
			`[{"tool":"x","args":{},"error":{"text":"no"},"took":1000000000}]`},
		{"LangSmith: the state of the run alone says so", langsmith(`"outputs":null,"status":"error"`),
			`[{"tool":"x","args":{},"error":{"text":""},"missing":["result"],"took":1000000000}]`},
		{"parts of a text are read as one", otlp(`[{"type":"text","text":"Error: i/o timeout"}]`),
			`[{"tool":"x","args":{},"result":[{"type":"text","text":"Error: i/o timeout"}],"suspected":true,"took":1000000}]`},
		{"also in a result of MCP", otlp(`{"content":[{"type":"text","text":"Error: i/o timeout"}]}`),
			`[{"tool":"x","args":{},"result":{"content":[{"type":"text","text":"Error: i/o timeout"}]},"suspected":true,"took":1000000}]`},
		{"a fault of the proxy that lets the result pass is no failure", proxy(delayed, `{"t":4,"kind":"tool_result","tool":"x","detail":{"id":1,"ok":true}}`),
			`[{"tool":"x","argsHash":"ab","missing":["args","result"],"at":1000000000,"took":3000000000}]`},
		{"and one, if the result says so", proxy(delayed, `{"t":4,"kind":"tool_result","tool":"x","detail":{"id":1,"ok":false}}`),
			`[{"tool":"x","argsHash":"ab","error":{"text":"slow"},"missing":["args"],"at":1000000000,"took":3000000000}]`},
	} {
		t.Run(tt.why, func(t *testing.T) { assert.Equal(t, tt.want, callsIn(t, tt.text, nil)) })
	}
}

// Spans of Langfuse before it had tools, at the top of their trace.
func TestSpansAtTheTopOfALangfuseTrace(t *testing.T) {
	at := `"startTime":"2026-05-04T03:02:01Z","endTime":"2026-05-04T03:02:02Z"`
	span := func(id string) string {
		return `{"id":"` + id + `","type":"SPAN","name":"x","input":{},"output":1,` + at + `}`
	}
	trace := func(observations string) string {
		return `{"id":"t","timestamp":"2026-05-04T03:02:01Z","input":"go","observations":[` + observations + `]}`
	}
	const call = `{"tool":"x","args":{},"result":1,"took":1000000000}`
	assert.Equal(t, "["+call+" "+strings.Replace(call, `,`, `,"lane":"2",`, 1)+"]", callsIn(t, trace(span("1")+","+span("2")), nil), "beside each other: calls of tools")
	assert.Equal(t, "[]", callsIn(t, trace(span("1")), nil), "alone: the run itself")
	_, err := dialect.Import(strings.NewReader(trace("")+"\n"+`{"object":"trace.span","id":"s","trace_id":"t"}`), nil)
	assert.ErrorContains(t, err, "line 2: observations is missing; allowed: a trace with them, or an observation with a traceId")
}

// Lines of MCP may have any of the clocks that logs have.
func TestClocksOfLines(t *testing.T) {
	for _, tt := range []struct{ why, asked, answered string }{
		{"RFC 3339", `"2026-05-04T03:02:01Z"`, `"2026-05-04T05:02:01.25+02:00"`},
		{"without a zone", `"2026-05-04 03:02:01"`, `"2026-05-04T03:02:01.250"`},
		{"seconds", `1777863721`, `1777863721.25`}, {"as a text", `"1777863721"`, `"1777863721.25"`},
		{"milliseconds", `1777863721000`, `1777863721250`},
		{"microseconds", `1777863721000000`, `1777863721250000`},
		{"nanoseconds", `1777863721000000000`, `1777863721250000000`},
	} {
		line := func(at, message string) string { return `{"ts":` + at + `,"jsonrpc":"2.0","id":1,` + message + "}\n" }
		s := imported(t, line(tt.asked, `"method":"tools/call","params":{"name":"x"}`)+line(tt.answered, `"result":{"content":[]}`), nil)
		assert.Equal(t, 250*ms, s.Calls[0].Took, tt.why)
		assert.Equal(t, "2026-05-04T03:02:01Z", s.Source.CapturedAt.Format(time.RFC3339), tt.why)
	}
}

// Whatever is imported can be written.
func TestWhatIsImportedIsASession(t *testing.T) {
	line := func(second int, message string) string {
		return fmt.Sprintf(`{"timestamp":"2026-05-04T03:02:%02d+02:00","message":{"jsonrpc":"2.0","id":%s}}`, second, message) + "\n"
	}
	assert.Equal(t, `[{"tool":"x","result":"ok","took":1000000000}]`,
		callsIn(t, line(5, `0,"method":"initialize"`)+line(3, `1,"method":"tools/call","params":{"name":"x"}`)+
			line(4, `1,"result":{"content":[{"type":"text","text":"ok"}]}`), nil), "MCP: lines out of order")
	assert.Equal(t, `[{"tool":"x","args":{"a":"`+"\ufffd"+`"},"result":[{"type":"image","data":"`+"\ufffd"+`"}]}]`,
		callsIn(t, `{"messages":[{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"x","arguments":{"a":"`+"\xff"+`"}}}]},{"role":"tool","tool_call_id":"1","content":[{"type":"image","data":"`+"\xff"+`"}]}]}`, nil), "what is not UTF-8")
	assert.Equal(t, "["+chatSaid+"]", callsIn(t, "\ufeff"+`{"messages":[`+chatCalls+`]}`, nil), "a mark of the byte order")

	var many strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&many, `{"id":"a","messages":[{"role":"user","content":"%d"}]}`+"\n", i)
	}
	sessions, err := dialect.Import(strings.NewReader(many.String()+`{"id":"a-7","messages":[{"role":"user","content":"x"}]}`),
		&dialect.Options{Tools: []chaos.Tool{{Name: "x"}}})
	require.NoError(t, err)
	names := make(map[string]bool)
	for _, s := range sessions {
		names[s.Name] = true
	}
	assert.Len(t, names, 3001, "each has a name of its own")
	assert.True(t, names["chat-a"] && names["chat-a-2"] && names["chat-a-3000"])
}
