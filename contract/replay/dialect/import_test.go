package dialect_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract/findings"
	"github.com/shakedown-go/shakedown/contract/replay"
	"github.com/shakedown-go/shakedown/contract/replay/dialect"
	"github.com/shakedown-go/shakedown/internal/golden"
)

// declared are the tools of the incident.
var declared = []chaos.Tool{{Name: "lookup_order", Effect: chaos.EffectNone}, {Name: "refund", Effect: chaos.EffectDone}}

// What a dialect tells, by docs/recordings.md.
type capabilities struct {
	dialect                                                       string
	times, overlap, arguments, results, failures, models, prompts string
}

// documented reads the table of docs/recordings.md: a row for each convention.
func documented(t *testing.T) map[string]capabilities {
	page, err := os.ReadFile("../../../docs/recordings.md")
	require.NoError(t, err)
	rows := make(map[string]capabilities)
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\| (\\S+) \\| [^|]+((?: \\| (?:yes|no|asked|hash|in words)){7}) \\|$").FindAllStringSubmatch(string(page), -1) {
		is := strings.Split(strings.TrimPrefix(m[3], " | "), " | ")
		rows[m[2]] = capabilities{m[1], is[0], is[1], is[2], is[3], is[4], is[5], is[6]}
	}
	return rows
}

// wanted are the calls of tools that a dialect can tell of an incident. It knows of the
// dialects only what the page says.
func (can capabilities) wanted(in *incident) []findings.Call {
	var calls []findings.Call
	for i, s := range in.Steps {
		c := findings.Call{Tool: s.Tool, Args: json.RawMessage(s.Args)}
		missing := func(part findings.Part) { c.Missing = append(c.Missing, part) }
		if can.arguments == "hash" {
			c.Args, c.ArgsHash = nil, "a hash"
			missing(findings.Args)
		} else if in.Withheld && can.dialect != "mcp" {
			c.Args = nil
			missing(findings.Args)
		}
		ended, unsure := in.Ended(i), false
		switch {
		case in.Fails(s) && can.failures == "yes":
			c.Error = &findings.CallError{Text: s.Failure}
		case in.Withheld && can.dialect != "mcp" || can.results == "no" || !ended:
			missing(findings.Result)
			unsure = ended && can.results != "no"
		case s.Failure != "":
			c.Result, c.Suspected = json.RawMessage(text("Error: "+s.Failure)), true
		case in.Truncated:
			c.Result, c.Truncated = json.RawMessage(text(s.Result[:len(s.Result)-2])), true
			unsure = true
		default:
			c.Result = json.RawMessage(s.Result)
		}
		if can.times == "yes" {
			c.At, c.Took = s.Begin, s.End-s.Begin
		}
		if !ended {
			c.Took = 0
			missing(findings.End)
		}
		if unsure {
			missing(findings.Outcome)
		}
		if s.Tool == "refund" {
			c.Effect = findings.Done
			if c.Failure() != nil || unsure || !ended {
				c.Effect = findings.Unknown
			}
		}
		calls = append(calls, c)
	}
	return calls
}

// toolCalls are the calls of tools, one a line.
func toolCalls(calls []findings.Call) (tools string, models int) {
	var b strings.Builder
	for _, c := range calls {
		if c.Type == findings.Model {
			models++
			continue
		}
		if c.ArgsHash != "" {
			c.ArgsHash = "a hash"
		}
		doc, err := json.Marshal(c)
		if err != nil {
			panic(err)
		}
		b.Write(append(doc, '\n'))
	}
	return b.String(), models
}

func imported(t *testing.T, text string, o *dialect.Options) *replay.Session {
	t.Helper()
	sessions, err := dialect.Import(strings.NewReader(text), o)
	require.NoError(t, err)
	require.Len(t, sessions, 1)
	require.NoError(t, sessions[0].Validate())
	return sessions[0]
}

// The same incident is told in every dialect, and gives the same calls, as far as the
// dialect has them. The files are those that docs/recordings.md speaks of.
func TestOneIncidentInEveryDialect(t *testing.T) {
	rows := documented(t)
	assert.Len(t, rows, len(tellers()), "docs/recordings.md has a row for each")
	for _, tell := range tellers() {
		t.Run(tell.name, func(t *testing.T) {
			can, ok := rows[tell.name]
			require.True(t, ok, "docs/recordings.md has no row")
			assert.Equal(t, can.dialect, tell.dialect)
			in := refundTwice()
			in.InWords = can.failures == "in words"
			told := tell.tell(&in)
			golden.Equal(t, "import/"+tell.name+".json", []byte(told))

			s := imported(t, told, &dialect.Options{Tools: declared})
			tools, models := toolCalls(s.Calls)
			want, _ := toolCalls(can.wanted(&in))
			assert.Equal(t, want, tools)
			assert.Equal(t, can.models == "yes", models == 1, "calls of models")
			for _, c := range s.Calls {
				if c.Type == findings.Model {
					assert.Equal(t, "small-1", c.Tool)
					assert.Contains(t, string(c.Args), in.Prompt)
					assert.Contains(t, string(c.Result), in.Answer)
				}
			}
			assert.Equal(t, tell.dialect, s.Source.Dialect)
			if can.prompts == "yes" {
				assert.Equal(t, []string{in.Prompt}, s.Prompts)
				assert.Equal(t, in.Answer, s.Answer)
			} else {
				assert.Empty(t, s.Prompts)
				assert.Empty(t, s.Answer)
			}
			if can.times == "yes" {
				assert.True(t, began.Equal(s.Source.CapturedAt), "%v", s.Source.CapturedAt)
			}
			if tell.dialect != "chat" && tell.dialect != "responses" && tell.dialect != "anthropic" && !strings.HasPrefix(tell.dialect, "mcp") {
				assert.Equal(t, in.Trace, s.Source.ID)
			}
			data, err := s.Encode()
			require.NoError(t, err)
			again, err := replay.Read(data)
			require.NoError(t, err)
			inFile, _ := toolCalls(again.Calls)
			assert.JSONEq(t, "["+strings.Join(strings.Split(strings.TrimSpace(want), "\n"), ",")+"]", "["+strings.Join(strings.Split(strings.TrimSpace(inFile), "\n"), ",")+"]", "written and read")
			rules, err := s.Faults(nil)
			require.NoError(t, err)
			assert.Len(t, rules, 1, "the time-out becomes a rule, also where it is told in words")
			asNamed := imported(t, told, &dialect.Options{Tools: declared, Dialect: tell.dialect})
			assert.Equal(t, s, asNamed, "told by shape, as if it had been named")
			for _, other := range dialect.Names() {
				sessions, err := dialect.Import(strings.NewReader(told), &dialect.Options{Tools: declared, Dialect: other})
				called := func(s *replay.Session) bool { return len(s.Calls) > 0 }
				assert.True(t, err != nil || slices.ContainsFunc(sessions, called), "read as %s, it has no calls, which is an error", other)
			}
		})
	}
}

// What is cut from a record is marked in its calls, and changes nothing else.
func TestWhatARecordLacksIsMarked(t *testing.T) {
	for _, tt := range []struct {
		why  string
		make func() incident
		cut  cut
	}{
		{"content was not captured", refundTwice, cut{Withheld: true}},
		{"results were cut off", refundTwice, cut{Truncated: true}},
		{"the step that encloses all is missing", refundTwice, cut{Orphans: true}},
		{"all was exported twice", refundTwice, cut{Twice: true}},
		{"errors are results that tell of them", refundTwice, cut{InWords: true}},
		{"the last call has no end", refundTwice, cut{Unended: true}},
		{"calls that overlap", inParallel, cut{}},
		{"calls that overlap, exported twice", inParallel, cut{Twice: true}},
	} {
		for _, tell := range tellers() {
			t.Run(tt.why+"/"+tell.name, func(t *testing.T) {
				can := documented(t)[tell.name]
				in := tt.make()
				in.cut = tt.cut
				if tell.dialect == "mcp-proxy" && (in.InWords || in.Truncated) {
					t.Skip("the proxy keeps no results")
				}
				in.InWords = in.InWords || can.failures == "in words"
				s := imported(t, tell.tell(&in), &dialect.Options{Tools: declared})
				tools, models := toolCalls(s.Calls)
				assert.Equal(t, can.models == "yes", models == 1, "calls of models")
				for _, c := range s.Calls {
					if c.Type == findings.Model {
						assert.Equal(t, in.Withheld, slices.Equal(c.Missing, []findings.Part{findings.Args, findings.Result}), "%v", c)
					}
				}
				calls := can.wanted(&in)
				for i := range calls {
					if tt.make().Steps[1].Begin < tt.make().Steps[0].End && i == 1 && can.overlap == "yes" {
						calls[i].Lane = "2"
					}
				}
				want, _ := toolCalls(calls)
				assert.Equal(t, want, tools)
			})
		}
	}
}

func TestSeveralRunsInOneInput(t *testing.T) {
	for _, tell := range tellers() {
		t.Run(tell.name, func(t *testing.T) {
			first, second := refundTwice(), inParallel()
			second.Trace, second.Prompt = strings.Replace(first.Trace, "4b", "5c", 1), "Look up three orders"
			one, two := tell.tell(&first), tell.tell(&second)
			sessions, err := dialect.Import(strings.NewReader(one+two), nil)
			require.NoError(t, err)
			require.Len(t, sessions, 2)
			assert.NotEqual(t, sessions[0].Name, sessions[1].Name)
			for i, alone := range []string{one, two} {
				s := imported(t, alone, nil)
				s.Name = sessions[i].Name
				assert.Equal(t, s, sessions[i], "run %d, as if it were alone", i+1)
			}
		})
	}
}

func TestUnknownDialects(t *testing.T) {
	_, err := dialect.Import(strings.NewReader(`{"spans":[],"service":"desk"}`), nil)
	require.ErrorContains(t, err, "replay: dialect is unknown: members service, spans; allowed: an input with one of the members resourceSpans or batches (otlp)")
	for _, tell := range tellers() {
		assert.ErrorContains(t, err, "("+tell.dialect+")")
	}
	_, err = dialect.Import(strings.NewReader(`{}`), &dialect.Options{Dialect: "openai-agent"})
	require.EqualError(t, err, `replay: dialect is "openai-agent"; allowed: anthropic, bedrock, chat, claude-code, codex, gemini, langfuse, langsmith, mcp, mcp-proxy, openai-agents, otlp, responses; did you mean openai-agents?`)
	for _, text := range []string{"", "no JSON", "[]", "7", `{"resourceSpans"`, "null", strings.Repeat("[", 1<<20), strings.Repeat(`{"data":`, 1<<18)} {
		_, err := dialect.Import(strings.NewReader(text), nil)
		var field *replay.FieldError
		assert.ErrorAs(t, err, &field, text)
	}
}

func TestWrongInputsAreLocated(t *testing.T) {
	for _, tt := range []struct{ why, text, want string }{
		{"no JSON in a later line", `{"jsonrpc":"2.0"}` + "\n{", "replay: line 2: input: unexpected EOF; allowed: JSON, or JSON lines"},
		{"a wrong type", "\n" + `{"run_type":"tool","name":7}`, `replay: line 2: name is 7; allowed: a text`},
		{"a time in words", `{"run_type":"tool","name":"x","id":"1","start_time":"noon"}`, `replay: line 1: start is "noon"; allowed: a time in RFC 3339`},
		{"no time", `{"run_type":"tool","name":"x","id":"1"}`, "replay: line 1: start is missing"},
		{"an end before the start", `{"run_type":"tool","name":"x","id":"1","start_time":"2026-05-04T03:02:01Z","end_time":"2026-05-04T03:02:00Z"}`,
			`replay: line 1: end is "2026-05-04T03:02:00Z"; allowed: not before the start`},
		{"a tool without a name", `{"role":"assistant","tool_calls":[{"id":"1","function":{"arguments":"{}"}}]}`, "replay: line 1: name is missing; allowed: the name of a tool"},
		{"two things of one id", `{"observations":[{"id":"1","type":"TOOL","name":"a","startTime":"2026-05-04T03:02:01Z"},{"id":"1","type":"TOOL","name":"b","startTime":"2026-05-04T03:02:01Z"}]}`,
			`replay: line 1: id is "1"; allowed: an id of its own`},
		{"things inside each other", `{"observations":[{"id":"1","parentObservationId":"2","type":"TOOL","name":"a","startTime":"2026-05-04T03:02:01Z"},{"id":"2","parentObservationId":"1","type":"TOOL","name":"b","startTime":"2026-05-04T03:02:01Z"}]}`,
			"replay: parent is"},
		{"a span without an id", `{"span_data":{"type":"function","name":"x"}}`, "replay: line 1: trace_id is missing"},
		{"a span of OTLP", `{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"x"}]}]}]}`, "replay: line 1: resourceSpans[0].scopeSpans[0].spans[0].traceId is missing"},
		{"a request without a tool", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}`, "replay: line 1: params.name is missing"},
		{"a time before the session", `{"t":-1,"kind":"tool_call","tool":"x","detail":{}}`, "replay: line 1: t is \"-1\""},
		{"no call and no prompt", `{"resourceSpans":[]}`, "replay: input is without calls; allowed: a run of an agent"},
		{"a program that is no agent", `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"4bf92f3577b34da6a3ce929d0e0e4736","spanId":"0000000000000001","name":"GET","startTimeUnixNano":"1","endTimeUnixNano":"2"}]}]}]}`,
			"replay: input is without calls"},
	} {
		t.Run(tt.why, func(t *testing.T) {
			sessions, err := dialect.Import(strings.NewReader(tt.text), nil)
			assert.Nil(t, sessions)
			require.ErrorContains(t, err, tt.want)
			var field *replay.FieldError
			assert.ErrorAs(t, err, &field)
		})
	}
}

func TestLimitsOfAnImport(t *testing.T) {
	for _, tell := range tellers() {
		in := refundTwice()
		told := tell.tell(&in)
		_, err := dialect.Import(strings.NewReader(told), &dialect.Options{MaxBytes: int64(len(told)) - 1})
		assert.ErrorContains(t, err, "replay: input is too long; allowed: at most MaxBytes bytes in all", tell.name)
		_, err = dialect.Import(strings.NewReader(told), &dialect.Options{MaxBytes: int64(len(told))})
		assert.NoError(t, err, tell.name)
	}
	_, err := dialect.Import(strings.NewReader("{}"), &dialect.Options{MaxBytes: -1})
	assert.ErrorContains(t, err, "maxBytes is -1")
	_, err = dialect.Import(strings.NewReader("{}"), &dialect.Options{MaxBytes: math.MaxInt64})
	assert.ErrorContains(t, err, "maxBytes is 9223372036854775807; allowed: at most 1 TiB")
	_, err = dialect.Import(strings.NewReader("{}"), &dialect.Options{Tools: []chaos.Tool{{Name: "", Effect: "some"}}})
	assert.ErrorContains(t, err, "tools[0]")
}

func TestKeysNeverArrive(t *testing.T) {
	const key = "sk-abcdefghijklmnopqrstuvwxyz0123456789"
	for _, tell := range tellers() {
		in := refundTwice()
		in.Prompt += " with " + key
		in.Answer = "I used " + key
		in.Steps[0].Args = `{"order":1042,"apiKey":"` + key + `","hidden":"\u0073` + key[1:] + `","line":"\n` + key + `"}`
		in.Steps[0].Result = `{"state":"delivered","used":"` + key + `"}`
		in.Steps[1].Failure = "i/o timeout with " + key
		s := imported(t, tell.tell(&in), nil)
		doc, err := json.Marshal(s)
		require.NoError(t, err)
		assert.NotContains(t, string(doc), key[1:], tell.name)
		if tell.dialect != "mcp-proxy" {
			assert.Contains(t, string(doc), "[redacted", tell.name)
		}
	}
}

func TestRedactSeesEverything(t *testing.T) {
	for _, tell := range tellers() {
		t.Run(tell.name, func(t *testing.T) {
			in := refundTwice()
			in.Prompt, in.Answer = "Refund Ann", "Ann has her money."
			in.Steps[0].Args, in.Steps[0].Result, in.Steps[1].Failure = `{"who":"Ann"}`, `{"owner":"Ann"}`, "timed out for Ann"
			var targets []string
			s := imported(t, tell.tell(&in), &dialect.Options{Redact: func(target string, doc []byte) []byte {
				targets = append(targets, target)
				return bytes.ReplaceAll(doc, []byte("Ann"), []byte("B."))
			}})
			doc, err := json.Marshal(s)
			require.NoError(t, err)
			assert.NotContains(t, string(doc), "Ann")
			assert.True(t, tell.dialect == "mcp-proxy" || slices.Contains(targets, "lookup_order"), "%v", targets)
		})
	}
	const asks = `{"messages":[{"role":"user","content":"Refund"},{"role":"assistant","tool_calls":[{"function":{"name":"refund","arguments":"{}"}}]}]}`
	_, err := dialect.Import(strings.NewReader(asks), &dialect.Options{Redact: func(string, []byte) []byte { return []byte("{") }})
	for _, want := range []string{"replay: prompts: ", "replay: calls[0].args is \"{\"; allowed: JSON, from Redact"} {
		assert.ErrorContains(t, err, want)
	}
}

func ExampleImport() {
	const spans = `{"messages": [
		{"role": "user", "content": "Refund order 1042"},
		{"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "refund", "arguments": "{\"order\": 1042}"}}]},
		{"role": "tool", "tool_call_id": "c1", "content": "Error: i/o timeout"},
		{"role": "assistant", "content": "It did not work."}]}`
	sessions, err := dialect.Import(strings.NewReader(spans), &dialect.Options{
		Tools: []chaos.Tool{{Name: "refund", Effect: chaos.EffectDone}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range sessions {
		fmt.Println(s.Name, s.Source.Dialect, s.Prompts, s.Answer)
		for _, c := range s.Calls {
			fmt.Println(c.Tool, string(c.Args), string(c.Result), "suspected:", c.Suspected, "effect:", c.Effect)
		}
	}
	// Output:
	// chat-1 chat [Refund order 1042] It did not work.
	// refund {"order": 1042} "Error: i/o timeout" suspected: true effect: unknown
}
