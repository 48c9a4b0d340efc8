package modeltest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp/modeltest"
	"github.com/shakedown-go/shakedown/internal/modelapi"
)

type (
	answer  = modeltest.Answer
	call    = modeltest.Call
	message = modeltest.Message
)

// Every provider serves the same script, and the function sees the same request.
func TestConversation(t *testing.T) {
	each(t, func(t *testing.T, d dialect, stream bool) {
		var asked []modeltest.Request
		script := modeltest.Script(
			answer{Text: "Let me look.", Calls: []call{{Name: "status", Args: `{"n":1042}`}, {Name: "status"}}, InputTokens: 7, OutputTokens: 3},
			answer{After: `"shipped"`, Text: "Order 1042 was shipped to Zoë & <co>."},
		)
		m := modeltest.New(t, func(ctx context.Context, r modeltest.Request) (answer, error) {
			asked = append(asked, r)
			return script(ctx, r)
		})
		c := conversation{tools: []string{"status"}, messages: []message{{Role: "system", Text: "Be brief."}, {Role: "user", Text: "Where is order 1042?"}}}

		first := d.converse(t, m, c, stream)
		assert.Equal(t, "Let me look.", first.text)
		assert.Equal(t, 7, first.in)
		assert.Equal(t, 3, first.out)
		assert.Equal(t, map[string]string{"chat": "tool_calls", "responses": "completed", "anthropic": "tool_use", "gemini": "STOP", "ollama": "stop"}[d.api], first.reason)
		require.Len(t, first.calls, 2)
		assert.Equal(t, call{first.calls[0].ID, "status", `{"n":1042}`}, first.calls[0])
		assert.Equal(t, call{first.calls[1].ID, "status", `{}`}, first.calls[1])
		assert.NotEqual(t, first.calls[0].ID, first.calls[1].ID)

		c.messages = append(c.messages, message{Role: "assistant", Text: first.text, Calls: first.calls},
			message{Role: "tool", CallID: first.calls[0].ID, Text: `{"status":"shipped"}`},
			message{Role: "tool", CallID: first.calls[1].ID, Text: `{"status":"none"}`})
		second := d.converse(t, m, c, stream)
		assert.Equal(t, "Order 1042 was shipped to Zoë & <co>.", second.text)
		assert.Empty(t, second.calls)
		assert.Equal(t, map[string]string{"chat": "stop", "responses": "completed", "anthropic": "end_turn", "gemini": "STOP", "ollama": "stop"}[d.api], second.reason)
		characters := len("Be brief.Where is order 1042?Let me look.status{\"n\":1042}status{}{\"status\":\"shipped\"}{\"status\":\"none\"}")
		assert.Equal(t, (characters+3)/4, second.in)
		assert.Equal(t, (len([]rune("Order 1042 was shipped to Zoë & <co>."))+3)/4, second.out)

		require.Len(t, asked, 2)
		for i, r := range asked {
			assert.Equal(t, d.api, r.API)
			assert.Equal(t, "m-1", r.Model)
			assert.Equal(t, stream, r.Stream)
			assert.Equal(t, i+1, r.Turn)
			require.Len(t, r.Tools, 1)
			assert.Equal(t, "status It works.", r.Tools[0].Name+" "+r.Tools[0].Description)
			assert.JSONEq(t, document(schema()), string(r.Tools[0].Schema))
			assert.JSONEq(t, document(d.ask(conversation{c.messages[:2+3*i], c.tools}, stream)), string(r.Body))
		}
		assert.Equal(t, c.messages, asked[1].Messages)
	})
}

// conversations draws one that is in order, of up to three turns.
func conversations() *rapid.Generator[conversation] {
	return rapid.Custom(func(t *rapid.T) conversation {
		word := rapid.StringMatching(`[a-zé "\\{<&\n]{1,12}x`)
		c := conversation{tools: []string{"a", "b"}}
		c.messages = append(c.messages, message{Role: "user", Text: word.Draw(t, "prompt")})
		for turn := range rapid.IntRange(0, 2).Draw(t, "turns") {
			m := message{Role: "assistant", Text: word.Draw(t, "said")}
			for i := range rapid.IntRange(0, 3).Draw(t, "calls") {
				m.Calls = append(m.Calls, call{ID: fmt.Sprintf("c%d-%d", turn, i), Name: rapid.SampledFrom(c.tools).Draw(t, "tool"), Args: `{"n":1}`})
			}
			c.messages = append(c.messages, m)
			for _, called := range m.Calls {
				c.messages = append(c.messages, message{Role: "tool", CallID: called.ID, Text: `{"ok":true}`})
			}
			c.messages = append(c.messages, message{Role: "user", Text: word.Draw(t, "more")})
		}
		return c
	})
}

func answers() *rapid.Generator[answer] {
	return rapid.Custom(func(t *rapid.T) answer {
		a := answer{Text: rapid.String().Draw(t, "text"), InputTokens: rapid.IntRange(0, 9).Draw(t, "in"), OutputTokens: rapid.IntRange(0, 9).Draw(t, "out")}
		for range rapid.IntRange(0, 3).Draw(t, "calls") {
			args := rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "args")
			a.Calls = append(a.Calls, call{Name: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "tool"), Args: document(args)})
		}
		if a.Text == "" && len(a.Calls) == 0 {
			a.Text = "nothing"
		}
		return a
	})
}

// The streamed answer says the same as the other one, under the same identifiers
// and usage, and both are what was scripted.
func TestStreamedIsWhole(t *testing.T) {
	for _, d := range dialects() {
		t.Run(d.api, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				c, a := conversations().Draw(t, "conversation"), answers().Draw(t, "answer")
				m := modeltest.New(t, func(context.Context, modeltest.Request) (answer, error) { return a, nil })
				whole, streamed := d.converse(t, m, c, false), d.converse(t, m, c, true)
				for _, s := range []*said{&whole, &streamed} {
					for i := range s.calls {
						assert.JSONEq(t, a.Calls[i].Args, s.calls[i].Args)
						s.calls[i].Args = "" // documents were parsed, texts were not
					}
				}
				require.Equal(t, whole, streamed)
				require.Equal(t, strings.ToValidUTF8(a.Text, "�"), whole.text)
				require.Len(t, whole.calls, len(a.Calls))
			})
		})
	}
}

// An answer is a function of the request: sent again, and by many at once, it is
// the same to the byte; another conversation has other identifiers.
func TestAnswersAreFunctionsOfTheRequest(t *testing.T) {
	each(t, func(t *testing.T, d dialect, stream bool) {
		m := modeltest.New(t, modeltest.Script(answer{Calls: []call{{Name: "a"}, {Name: "a"}}}))
		ask := func(prompt string) string {
			c := conversation{messages: []message{{Role: "user", Text: prompt}}, tools: []string{"a"}}
			_, _, body := post(t, m, d.path(stream), document(d.ask(c, stream)))
			return body
		}
		want := ask("one")
		assert.NotEqual(t, want, ask("two"))
		var got [16]string
		var all sync.WaitGroup
		for i := range got {
			all.Go(func() { ask("other"); got[i] = ask("one") })
		}
		all.Wait()
		for _, body := range got {
			require.Equal(t, want, body)
		}
	})
}

// A reporter is a test whose errors are kept.
type reporter struct {
	cleanup []func()
	errs    []string
}

func (*reporter) Helper()            {}
func (r *reporter) Cleanup(f func()) { r.cleanup = append(r.cleanup, f) }
func (r *reporter) Errorf(format string, a ...any) {
	r.errs = append(r.errs, fmt.Sprintf(format, a...))
}
func (r *reporter) end() {
	for _, f := range slices.Backward(r.cleanup) {
		f()
	}
}

// A model without an answer says so to the client, in the provider's form and with
// its turn, and to the test.
func TestTheModelHasNoAnswer(t *testing.T) {
	boom := errors.New("boom")
	for _, tc := range []struct {
		name   string
		answer modeltest.Func
		want   string
	}{
		{"a script at its end", modeltest.Script(answer{Text: "Hello."}), "turn 2 of POST %s: the script has no answer for it, it ends after turn 1"},
		{"no script", nil, "turn 2 of POST %s: the script has no answer for it, it ends after turn 0"},
		{"a script that does not fit", modeltest.Script(answer{}, answer{After: "refund", Text: "x"}),
			`turn 2 of POST %s: the script expects "refund" in the newest messages, which are user "Where is it?"`},
		{"an error", func(context.Context, modeltest.Request) (answer, error) { return answer{}, boom }, "turn 2 of POST %s: boom"},
		{"nothing", func(context.Context, modeltest.Request) (answer, error) { return answer{}, nil },
			"turn 2 of POST %s: the answer has neither text nor calls (chaoshttp.EmptyCompletion makes an empty one)"},
		{"a tool that is not offered", modeltest.Script(answer{}, answer{Calls: []call{{Name: "b"}}}),
			`turn 2 of POST %s: Calls[0].Name "b"; allowed: a tool of the request (["a"])`},
		{"arguments that are no object", modeltest.Script(answer{}, answer{Calls: []call{{Name: "a", Args: "null"}}}),
			`turn 2 of POST %s: Calls[0].Args "null"; allowed: a JSON object`},
		{"an identifier twice", modeltest.Script(answer{}, answer{Calls: []call{{Name: "a", ID: "x"}, {Name: "a", ID: "x"}}}),
			`turn 2 of POST %s: Calls[1].ID "x"; allowed: one that no other call of the conversation has`},
		{"all that is wrong", modeltest.Script(answer{}, answer{InputTokens: -1, Calls: []call{{Name: "b", Args: "1"}}}),
			`turn 2 of POST %s: InputTokens -1, OutputTokens 0; allowed: 0 or more; Calls[0].Name "b"; allowed: a tool of the request (["a"]); ` +
				`Calls[0].Args "1"; allowed: a JSON object`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			each(t, func(t *testing.T, d dialect, stream bool) {
				test := &reporter{}
				m := modeltest.New(test, tc.answer)
				c := conversation{tools: []string{"a"}, messages: []message{{Role: "user", Text: "Hi"}, {Role: "assistant", Text: "Hello."}, {Role: "user", Text: "Where is it?"}}}
				for range 2 { // reported once, however often it is asked
					status, kind, body := post(t, m, d.path(stream), document(d.ask(c, stream)))
					path, _, _ := strings.Cut(d.path(stream), "?")
					want := "modeltest: " + fmt.Sprintf(tc.want, path)
					assert.Equal(t, http.StatusBadRequest, status)
					assert.Equal(t, "application/json", kind)
					assert.JSONEq(t, errorBody(d.api, 400, "", "", want), body)
					require.ErrorContains(t, m.Err(), strings.ReplaceAll(want, "; Calls", "\nCalls"))
				}
				assert.Empty(t, test.errs)
				test.end()
				assert.Equal(t, []string{m.Err().Error()}, test.errs)
			})
		})
	}
	m := modeltest.New(nil, func(context.Context, modeltest.Request) (answer, error) { return answer{}, boom })
	post(t, m, "/api/chat", `{"model":"m","messages":[{"role":"user"}]}`)
	assert.ErrorIs(t, m.Err(), boom)
}

// OpenAI's responses continue a conversation by its identifier.
func TestPreviousResponse(t *testing.T) {
	var asked []message
	m := modeltest.New(t, func(_ context.Context, r modeltest.Request) (answer, error) {
		asked = r.Messages
		if r.Turn == 1 {
			return answer{Calls: []call{{Name: "a", ID: "c1"}}}, nil
		}
		return answer{Text: "Done."}, nil
	})
	const tools = `,"tools":[{"type":"function","name":"a"}]}`
	ask := func(body string) (status int, id string) {
		status, _, answer := post(t, m, "/v1/responses", body)
		return status, answer[strings.Index(answer, "resp_"):][:21]
	}
	_, first := ask(`{"model":"m","instructions":"Be brief.","input":"Go."` + tools)
	status, second := ask(`{"model":"m","instructions":"Be kind.","previous_response_id":"` + first + `","input":[{"type":"function_call_output","call_id":"c1","output":[{"type":"input_text","text":"ok"}]}]` + tools)
	require.Equal(t, http.StatusOK, status)
	assert.NotEqual(t, first, second)
	assert.Equal(t, []message{
		{Role: "system", Text: "Be kind."}, {Role: "user", Text: "Go."},
		{Role: "assistant", Calls: []call{{"c1", "a", "{}"}}}, {Role: "tool", CallID: "c1", Text: "ok"},
	}, asked)

	_, unstored := ask(`{"model":"m","store":false,"input":"Again."` + tools)
	for id, message := range map[string]string{unstored: "not stored", "resp_0000000000000000": "made up"} {
		status, _, body := post(t, m, "/v1/responses", `{"model":"m","previous_response_id":"`+id+`","input":"x"}`)
		assert.Equal(t, http.StatusBadRequest, status, message)
		assert.JSONEq(t, errorBody("responses", 400, "previous_response_not_found", "previous_response_id", fmt.Sprintf("not found: %q", id)), body)
	}
}

// Gemini and Ollama need no identifiers of calls.
func TestOptionalForms(t *testing.T) {
	var asked modeltest.Request
	m := modeltest.New(t, func(_ context.Context, r modeltest.Request) (answer, error) {
		asked = r
		return answer{Text: "one two"}, nil
	})
	status, kind, body := post(t, m, "/v1beta/models/m:streamGenerateContent?alt=sse", `{"system_instruction":{"parts":[{"text":"Be brief."}]},"contents":[
		{"parts":[{"text":"Go."}]},
		{"role":"model","parts":[{"thought":true,"text":"hm"},{"function_call":{"name":"a","args":{ "n": 1 }}},{"function_call":{"name":"b"}}]},
		{"role":"function","parts":[{"function_response":{"name":"b","response":{"ok":2}}},{"function_response":{"name":"a","response":{"ok":1}}}]}]}`)
	require.Equal(t, http.StatusOK, status, body)
	assert.Equal(t, "text/event-stream", kind)
	assert.Equal(t, 2, strings.Count(body, "data: "))
	want := []message{
		{Role: "system", Text: "Be brief."}, {Role: "user", Text: "Go."},
		{Role: "assistant", Calls: []call{{"a-1-1", "a", `{"n":1}`}, {"b-1-2", "b", `{}`}}},
		{Role: "tool", CallID: "b-1-2", Text: `{"ok":2}`}, {Role: "tool", CallID: "a-1-1", Text: `{"ok":1}`},
	}
	assert.Equal(t, want, asked.Messages)

	status, kind, body = post(t, m, "/api/chat", `{"model":"m","messages":[{"role":"user","content":"Go."},
		{"role":"assistant","tool_calls":[{"function":{"name":"a","arguments":{}}},{"function":{"name":"b","arguments":{}}}]},
		{"role":"tool","tool_name":"b","content":"2"},{"role":"tool","content":"1"}]}`)
	require.Equal(t, http.StatusOK, status, body)
	assert.Equal(t, "application/x-ndjson", kind, "streamed unless the request says otherwise")
	assert.Equal(t, []message{{Role: "tool", CallID: "b-1-1", Text: "2"}, {Role: "tool", CallID: "a-1-0", Text: "1"}}, asked.Messages[2:])

	status, _, body = post(t, m, "/v1/chat/completions", `{"model":"m","stream":true,"messages":[{"role":"developer","content":[{"type":"text","text":"a"},{"type":"image_url"},{"type":"text","text":"b"}]}]}`)
	require.Equal(t, http.StatusOK, status, body)
	assert.Equal(t, []message{{Role: "system", Text: "a\nb"}}, asked.Messages)
	assert.NotContains(t, body, "usage", "a stream has it only if it is asked for")
}

// Gemini has two spellings of a member. A request with both has both instructions, and the schema of the second.
func TestBothSpellingsOfAMember(t *testing.T) {
	var asked modeltest.Request
	m := modeltest.New(t, func(_ context.Context, r modeltest.Request) (answer, error) {
		asked = r
		return answer{Text: "x"}, nil
	})
	status, _, body := post(t, m, "/v1beta/models/m:generateContent", `{"contents":[{"parts":[{"text":"Go."}]}],
		"systemInstruction":{"parts":[{"text":"Be brief."}]},"system_instruction":{"parts":[{"text":"Be kind."}]},
		"tools":[{"functionDeclarations":[{"name":"a","parametersJsonSchema":{"type":"array"},"parameters_json_schema":{"type":"object"}}]}]}`)
	require.Equal(t, http.StatusOK, status, body)
	assert.Equal(t, []message{{Role: "system", Text: "Be brief."}, {Role: "system", Text: "Be kind."}, {Role: "user", Text: "Go."}}, asked.Messages)
	require.Len(t, asked.Tools, 1)
	assert.JSONEq(t, `{"type":"object"}`, string(asked.Tools[0].Schema))
}

// The handler and the transport give the same bytes, and the handler sends every
// piece at once.
func TestHandlerAndTransport(t *testing.T) {
	each(t, func(t *testing.T, d dialect, stream bool) {
		m := modeltest.New(t, modeltest.Script(answer{Text: "one two three"}))
		body := document(d.ask(conversation{messages: []message{{Role: "user", Text: "Hi"}}}, stream))
		_, kind, want := post(t, m, d.path(stream), body)
		rec := &counting{ResponseRecorder: httptest.NewRecorder()}
		m.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, d.path(stream), strings.NewReader(body)))
		assert.Equal(t, want, rec.Body.String())
		assert.Equal(t, kind, rec.Header().Get("Content-Type"))
		assert.Equal(t, stream, rec.flushes >= 3)

		server := chaoshttp.InProcess(m)
		_, _, got := post(t, server, d.path(stream), body)
		assert.Equal(t, want, got)
		require.NoError(t, server.Close())
		assert.True(t, modelapi.AsksModel(strings.TrimSuffix(d.path(stream), "?alt=sse")), "faults of models apply to it")
	})
}

type counting struct {
	*httptest.ResponseRecorder
	flushes int
}

func (c *counting) Flush() { c.flushes++ }

// The transport keeps virtual time, and the context's end.
func TestTimeInTheFunction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := modeltest.New(t, func(ctx context.Context, _ modeltest.Request) (answer, error) {
			select {
			case <-time.After(time.Hour):
			case <-ctx.Done():
			}
			return answer{Text: "late"}, nil
		})
		begin := time.Now()
		const body = `{"model":"m","messages":[{"role":"user"}]}`
		status, _, _ := post(t, m, "/api/chat", body)
		assert.Equal(t, http.StatusOK, status)
		assert.Equal(t, time.Hour, time.Since(begin))

		_, err := (&http.Client{Transport: m, Timeout: time.Minute}).Post("https://o.example/api/chat", "", strings.NewReader(body))
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		r, _ := http.NewRequestWithContext(ended, http.MethodPost, "https://o.example/api/chat", bytes.NewReader([]byte(body)))
		_, err = m.RoundTrip(r)
		assert.ErrorIs(t, err, context.Canceled)
		_, err = m.RoundTrip(&http.Request{Body: io.NopCloser(strings.NewReader(body))})
		assert.ErrorContains(t, err, "nil Request.URL")
	})
}
