package dialect_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract/findings"
	"github.com/shakedown-go/shakedown/contract/replay/dialect"
)

// What becomes of a form of the incident: refund order 1042, which times out and is asked
// for again.
const (
	whole   = "whole"   // the calls, the failure, the prompt, the answer
	calls   = "calls"   // the calls and the failure
	marked  = "marked"  // the calls, and what is missing
	counted = "counted" // the session says that calls were not imported
	refused = "refused"
)

// One incident as forty-two programs write it down. None loses a call without a word.
func TestTheIncidentInTheFormsOfOthers(t *testing.T) {
	want := map[string]string{
		"anthropic-messages": whole, "bedrock-converse": whole, "chat-completions-bare-list": whole,
		"chat-completions-body-of-the-last-request": whole, "chat-completions-lines-of-request-and-response": whole,
		"claude-code-session": whole, "claude-code-session-a-block-a-line": whole, "codex-rollout": whole,
		"codex-rollout-custom-tools": calls, "gemini-contents": whole, "langchain-messages-flat": whole,
		"langchain-messages-to-dict": whole, "langfuse-trace": whole, "langsmith-runs": whole,
		"langsmith-runs-of-langchain-s-tracer": calls, "mcp-lines": calls, "ollama-messages-no-ids": whole,
		"openai-agents-sdk": calls, "otlp-gen-ai-model-spans-only": whole, "otlp-gen-ai-model-spans-with-events": counted,
		"otlp-gen-ai-no-content": marked, "otlp-gen-ai-tools-only": calls, "otlp-gen-ai-whole": whole, "otlp-mlflow": whole,
		"otlp-openinference": whole, "otlp-openinference-model-spans-only": whole, "otlp-pydantic-ai-v2": whole,
		"otlp-spans-that-name-no-kind": refused, "otlp-strands-span-events": whole, "otlp-traceloop": whole,
		"otlp-traceloop-model-spans-only": whole, "otlp-vercel-ai-sdk": whole,
		"protojson-of-the-same-base64-ids-enum-names": whole, "responses-input-items": whole, "tempo-s-batches": whole,
		"inspect-ai-eval-log": refused, "jaeger-json": refused, "pydantic-ai-messages": refused,
		"python-consolespanexporter": refused, "stdouttrace-of-the-go-sdk": refused, "tau-bench-results": refused,
		"tau2-bench-simulations": refused,
	}
	files, err := filepath.Glob("testdata/forms/*.json")
	require.NoError(t, err)
	require.Len(t, files, len(want))
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			f, err := os.Open(file)
			require.NoError(t, err)
			defer f.Close()
			sessions, err := dialect.Import(f, &dialect.Options{Tools: []chaos.Tool{{Name: "refund", Effect: chaos.EffectDone}}})
			if want[name] == refused {
				assert.Error(t, err)
				return
			}
			require.NoError(t, err)
			require.Len(t, sessions, 1)
			s := sessions[0]
			_, err = s.Encode()
			require.NoError(t, err)
			report, err := s.Findings(nil)
			require.NoError(t, err)
			if want[name] == counted {
				assert.Positive(t, s.NotImported)
				assert.NotEmpty(t, s.Notes)
				assert.Nil(t, report.Verdict)
				_, err := s.Faults(nil)
				assert.ErrorContains(t, err, "notImported is")
				return
			}
			assert.Zero(t, s.NotImported, s.Notes)
			var made []findings.Call
			for _, c := range s.Calls {
				if c.Type != findings.Model {
					made = append(made, c)
				}
			}
			require.Len(t, made, 3, "%v", s.Calls)
			assert.Equal(t, []string{"get_order", "refund", "refund"}, []string{made[0].Tool, made[1].Tool, made[2].Tool})
			require.NotNil(t, made[1].Failure())
			assert.Contains(t, made[1].Failure().Text, "i/o timeout")
			assert.Equal(t, findings.Unknown, made[1].Effect)
			require.NotNil(t, report.Verdict)
			assert.Equal(t, findings.Retried, *report.Verdict)
			rules, err := s.Faults(nil)
			require.NoError(t, err)
			assert.Len(t, rules, 1)
			if want[name] == marked {
				assert.True(t, slices.Contains(made[0].Missing, findings.Result) && slices.Contains(made[0].Missing, findings.Outcome))
				return
			}
			if name != "langsmith-runs-of-langchain-s-tracer" { // it has a dictionary as Python prints it
				assert.JSONEq(t, `{"order_id":"1042"}`, string(made[0].Args))
				assert.JSONEq(t, `{"order_id":"1042","amount":59.9}`, string(made[1].Args))
			}
			result := made[2].Result
			if name == "codex-rollout-custom-tools" {
				var around struct{ Output string }
				require.NoError(t, json.Unmarshal(result, &around))
				result = json.RawMessage(around.Output)
			}
			assert.JSONEq(t, `{"refund_id":"R-2"}`, string(result))
			for _, i := range []int{0, 2} {
				assert.Empty(t, made[i].Missing)
				assert.Nil(t, made[i].Failure())
			}
			assert.Equal(t, findings.Done, made[2].Effect)
			if want[name] == whole {
				assert.Equal(t, []string{"Refund order 1042"}, s.Prompts)
				assert.Equal(t, "Order 1042 was refunded as R-2.", s.Answer)
			}
		})
	}
}

// Whatever names a call and does not become one is counted, and leaves the verdict open.
func TestCallsAreNotLostInSilence(t *testing.T) {
	asks := func(id string) string {
		return `{"role":"assistant","tool_calls":[{"id":"` + id + `","function":{"name":"x","arguments":"{}"}}]}`
	}
	model := func(told string) testSpan {
		return testSpan{id: 2, parent: 1, to: ms, attrs: []string{"gen_ai.operation.name", "chat", "gen_ai.input.messages", `[{"role":"user","content":"go"}]`,
			"gen_ai.output.messages", told}}
	}
	tool := testSpan{id: 3, parent: 1, from: ms, to: 2 * ms, attrs: called("x", "{}", "1")}
	for _, tt := range []struct {
		why, text string
		lost      int
	}{
		{"an answer whose call is lost", `[{"role":"user","content":"go"},{"role":"tool","tool_call_id":"9","content":"a"},` + asks("1") + `]`, 1},
		{"an answer that is there twice", `[` + asks("1") + `,{"role":"tool","tool_call_id":"1","content":"a"},{"role":"tool","tool_call_id":"1","content":"a"}]`, 0},
		{"a part of an unknown form", `[{"role":"user","content":"go"},{"role":"assistant","content":[{"kind":"tool-call","tool":"x"}]}]`, 1},
		{"functions before there were ids", `[{"role":"user","content":"go"},{"role":"assistant","function_call":{"name":"x","arguments":"{}"}},{"role":"function","name":"x","content":"ok"}]`, 1},
		{"a model asked for two calls, and one has a span", spansOf(model(`[`+asks("1")+`,`+asks("2")+`]`), tool), 1},
		{"a model asked for one, and it has a span", spansOf(model(`[`+asks("1")+`]`), tool), 0},
		{"a span of an unknown convention", spansOf(model(`[{"role":"assistant","content":"hm"}]`), testSpan{id: 4, parent: 1, to: ms, attrs: []string{"tool_name", "x"}}), 1},
		{"MCP: an answer alone", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}` + "\n" + `{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`, 1},
		{"two agents, each with a history of its own", spansOf(
			model(`[`+asks("1")+`]`), testSpan{id: 5, parent: 4, from: ms, to: 2 * ms, attrs: []string{"gen_ai.operation.name", "chat",
				"gen_ai.input.messages", `[{"role":"user","content":"other"}]`, "gen_ai.output.messages", `[` + asks("2") + `]`}}), 0},
	} {
		t.Run(tt.why, func(t *testing.T) {
			s := imported(t, tt.text, nil)
			assert.Equal(t, tt.lost, s.NotImported, s.Notes)
			r, err := s.Findings(nil)
			require.NoError(t, err)
			assert.False(t, tt.lost > 0 && r.Verdict != nil, "no verdict")
		})
	}
	_, err := dialect.Import(strings.NewReader(spansOf(testSpan{id: 1, to: ms, attrs: []string{"input", "{}", "output", "1"}})), nil)
	assert.ErrorContains(t, err, "has an input and an output, and does not say what it is")
}

// Calls of a turn that are made of the messages of a model overlap, and have no times.
func TestCallsOfModelsHaveNoTimes(t *testing.T) {
	const twice = `{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"x","arguments":"{}"}},{"id":"2","function":{"name":"x","arguments":"{}"}}]}`
	const user, first, second = `{"role":"user","content":"go"}`, `{"role":"tool","tool_call_id":"1","content":"Error: gone"}`, `{"role":"tool","tool_call_id":"2","content":"ok"}`
	span := func(id int, asked, told string) testSpan {
		return testSpan{id: id, from: 10 * ms, to: 20 * ms, attrs: []string{"gen_ai.operation.name", "chat", "gen_ai.request.model", "m",
			"gen_ai.input.messages", "[" + asked + "]", "gen_ai.output.messages", "[" + told + "]"}}
	}
	s := imported(t, spansOf(span(1, user, twice), span(2, strings.Join([]string{user, twice, first, second}, ","), `{"role":"assistant","content":"done"}`)), nil)
	var got []string
	for _, c := range s.Calls {
		got = append(got, fmt.Sprint(c.Tool, c.Lane, c.At+c.Took))
	}
	assert.Equal(t, []string{"m0s", "x0s", "x20s", "m0s"}, got)
	assert.Equal(t, 1970, s.Source.CapturedAt.Year())
	r, err := s.Findings(nil)
	require.NoError(t, err)
	assert.Equal(t, findings.Stopped, *r.Verdict)
}
