package chaoshttp_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// What a fault does not change keeps its order, its numbers and its strangers.
func TestTheRestStays(t *testing.T) {
	body := `{"z":1.50e+2,"choices":[{"finish_reason":"stop","x":[ 1 ],"message":{"content":"hello","role":"assistant"},"index":0}],"usage":{ "n":12345678901234567890 }}`
	a := fetch(t, doc(body), chaoshttp.CutCompletion(2))
	assert.Equal(t, `{"z":1.50e+2,"choices":[{"finish_reason":"length","x":[ 1 ],"message":{"content":"he","role":"assistant"},"index":0}],"usage":{ "n":12345678901234567890 }}`, a.body)
	assert.Equal(t, []chaos.Change{
		{Path: "$.choices[0].message.content", Before: []byte(`"hello"`), After: []byte(`"he"`)},
		{Path: "$.choices[0].finish_reason", Before: []byte(`"stop"`), After: []byte(`"length"`)},
	}, a.event(t).Changes)
}

func TestEachChoiceIsEdited(t *testing.T) {
	choice := `{"index":%d,"message":{"content":"hello"},"finish_reason":"stop"}`
	a := fetch(t, doc(`{"choices":[`+fmt.Sprintf(choice, 0)+`,`+fmt.Sprintf(choice, 1)+`]}`), chaoshttp.EmptyCompletion())
	assert.Equal(t, strings.ReplaceAll(`{"choices":[`+fmt.Sprintf(choice, 0)+`,`+fmt.Sprintf(choice, 1)+`]}`, `"hello"`, `""`), a.body)
	chunk := `{"choices":[{"index":%d,"delta":{"content":"hello"},"finish_reason":null}]}`
	two := "data: " + fmt.Sprintf(chunk, 0) + "\n\ndata: " + fmt.Sprintf(chunk, 1) + "\n\ndata: " + fmt.Sprintf(chunk, 0) + "\n\n"
	a = fetch(t, stream(two), chaoshttp.CutCompletion(7))
	assert.Equal(t, []string{"hello", "hello", "he"}, contents(t, a.body), "each has its own limit")
}

func contents(t *testing.T, body string) (texts []string) {
	for _, d := range data(body) {
		texts = append(texts, decoded[struct{ Choices []struct{ Delta chatMessage } }](t, d).Choices[0].Delta.text())
	}
	return texts
}

func (m chatMessage) text() string {
	if m.Content == nil {
		return ""
	}
	return *m.Content
}

func TestBodiesThatAreNotUnderstood(t *testing.T) {
	long := `{"choices":[{"message":{"content":"` + strings.Repeat("x", 9<<20) + `"},"finish_reason":"stop"}]}`
	for name, tc := range map[string]struct {
		from *canned
		note string
	}{
		"no JSON":             {doc(`{"choices":`), "no chat completion"},
		"nothing":             {doc(``), "no chat completion"},
		"an error in 200":     {doc(`{"error":{"message":"x"}}`), "no chat completion"},
		"a list":              {doc(`[]`), "no chat completion"},
		"an array":            {doc("[" + writeGemini(words(), nil) + "]"), "no chat completion"}, // Gemini's without alt=sse
		"no choices":          {doc(`{"choices":[]}`), "no chat completion"},
		"other objects":       {doc(`{"object":"list","data":[]}`), "no chat completion"},
		"other events":        {stream("data: {}\n\ndata: [DONE]\n\n"), "no chat completion"},
		"nothing of events":   {stream(""), "no chat completion"},
		"longer than is held": {&canned{contentType: "application/json", body: strings.NewReader(long)}, "too long"},
	} {
		t.Run(name, func(t *testing.T) {
			want, err := io.ReadAll(tc.from.body)
			require.NoError(t, err)
			tc.from.body = strings.NewReader(string(want))
			a := fetch(t, tc.from, chaoshttp.EmptyCompletion())
			assert.True(t, string(want) == a.body, "it passes as it is")
			assert.NoError(t, a.err)
			assert.False(t, a.event(t).Delivered)
			assert.Contains(t, a.event(t).Note, tc.note)
		})
	}
}

// A header that says how long the body was would be wrong.
func TestEditedBodiesHaveNoLength(t *testing.T) {
	from := doc(writeChat(words(), nil))
	from.header = http.Header{"Content-Length": {"999"}, "X-Request-Id": {"req_1"}}
	a := fetch(t, from, chaoshttp.EmptyCompletion())
	assert.Empty(t, a.header.Get("Content-Length"))
	assert.Equal(t, "req_1", a.header.Get("X-Request-Id"))
	assert.Equal(t, "999", from.header.Get("Content-Length"), "the provider's own is not touched")
}

// Several faults act on one stream, in the order of their rules.
func TestFaultsAddUp(t *testing.T) {
	plan, err := chaos.NewPlan(1,
		chaos.Rule{Name: "garbled", Target: "*", Fault: chaoshttp.SpoilCompletion(chaoshttp.PartContent, chaoshttp.SpoilError)},
		chaos.Rule{Name: "cut", Target: "*", Fault: chaoshttp.CutCompletion(8)},
		chaos.Rule{Name: "open", Target: "*", Fault: chaoshttp.DropTerminator()},
	)
	require.NoError(t, err)
	in := plan.Injector("cell", nil)
	w := wires()["chat stream"]
	client := &http.Client{Transport: chaoshttp.NewTransport(stream(w.write(words(), []int{5})), &chaoshttp.Options{Injector: in})}
	resp, err := client.Post("https://llm.example/v1/chat/completions", "application/json", strings.NewReader(`{}`))
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	assert.NotContains(t, string(body), "[DONE]")
	got := readChatStream(t, string(body)+"data: [DONE]\n\n")
	assert.Equal(t, said{text: "Internal", reason: "length"}, got)
	e := in.Events()[0]
	assert.True(t, e.Delivered)
	assert.Len(t, e.Also, 2)
}

// FuzzBodies holds that editing never panics, that what was JSON stays JSON, and that what
// was not changed is as it came.
func FuzzBodies(f *testing.F) {
	for _, w := range wires() {
		f.Add(w.write(call(), []int{3}), w.contentType != "application/json")
	}
	f.Add(`{"candidates":[{"finishReason":"STOP"},null,{"content":{"parts":[{"functionCall":null},{"text":"a","thought":true}]}}]}`, false)
	f.Add(`{"message":{"content":"","tool_calls":[null,{"function":{"arguments":7}}]},"done":false}`+"\n{", true)
	f.Add("data: {\"choices\":[{\"delta\":{\"tool_calls\":[null,{}]}}]}\n\n", true)
	f.Add("data: {\"type\":\"response.output_text.done\",\"output_index\":3}\n\n", true)
	f.Add("data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"content_index\":0,\"delta\":\"hi\"}\n\n"+
		"data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"output\":[]}}\n\n", true)
	faults := all()
	f.Fuzz(func(t *testing.T, body string, streamed bool) {
		for name, fault := range faults {
			from := doc(body)
			if streamed && strings.HasPrefix(body, "{") {
				from.contentType = "application/x-ndjson"
			} else if streamed {
				from = stream(body)
			}
			a := fetch(t, from, fault)
			assert.NoError(t, a.err)
			if !streamed && json.Valid([]byte(body)) {
				assert.True(t, json.Valid([]byte(a.body)), "%s: %s", name, a.body)
			}
			if !streamed && !a.event(t).Delivered {
				assert.Equal(t, body, a.body, name)
			}
		}
	})
}

// Bodies in which values are not what a form has there: what is delivered differs, and what is not says why.
func TestStrangeBodies(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	for range 12 {
		for form, w := range wires() {
			body := w.write(call(), []int{3})
			for range 1 + draw.IntN(3) {
				places := regexp.MustCompile(`":`).FindAllStringIndex(body, -1)
				from := places[draw.IntN(len(places))][1]
				if to := jsonedit.After([]byte(body), from); to > 0 {
					body = body[:from] + []string{"null", "{}", "[]", `""`, "7", "true", `"text"`, `{"a":1}`}[draw.IntN(8)] + body[to:]
				}
			}
			for name, f := range all() {
				a := fetch(t, &canned{contentType: w.contentType, body: strings.NewReader(body)}, f)
				require.NoError(t, a.err)
				require.Equal(t, a.event(t).Delivered, len(a.event(t).Changes) > 0, "%s, %s: %s", form, name, body)
				if a.event(t).Delivered {
					require.NotEqual(t, body, a.body, "%s, %s", form, name)
					continue
				}
				require.NotEmpty(t, a.event(t).Note, "%s, %s: %s", form, name, body)
				if w.contentType == "application/json" {
					require.Equal(t, body, a.body, "%s, %s", form, name)
				}
			}
		}
	}
}

// A stream that breaks off within the arguments of a call loses nothing to a
// fault that waited for their end: what it changed, it declares.
func TestBrokenStreamLosesNothing(t *testing.T) {
	const (
		half  = `{\"order_id\":`
		chat  = `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":""}}]}}]}` + "\n\n"
		chat2 = `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"` + half + `"}}]}}]}` + "\n\n"
		msg   = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{}}\n\n" +
			"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"f\",\"input\":{}}}\n\n" +
			"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"" + half + "\"}}\n\n"
		resp = "event: response.output_item.added\ndata: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"type\":\"function_call\",\"name\":\"f\"}}\n\n" +
			"event: response.function_call_arguments.delta\ndata: {\"type\":\"response.function_call_arguments.delta\",\"output_index\":0,\"delta\":\"" + half + "\"}\n\n"
	)
	for name, s := range map[string]string{"chat": chat + chat2, "message": msg, "response": resp} {
		for _, f := range []chaos.Fault{chaoshttp.WrongArgument(""), chaoshttp.MissingArgument("")} {
			a := fetch(t, stream(s), f)
			assert.Contains(t, a.body, half, name)
			assert.False(t, a.event(t).Delivered, name)
			assert.NotEmpty(t, a.event(t).Note, name)
		}
		a := fetch(t, stream(s), chaoshttp.MalformToolCall())
		assert.NotContains(t, a.body, half, name)
		assert.True(t, a.event(t).Delivered, "%s: the last sign is gone", name)
	}
}

// What a fault holds comes before a rest that broke off: behind it a client
// would take the two for one event. An event that is too long to be held is not
// overtaken either.
func TestWhatIsHeldComesBeforeTheRest(t *testing.T) {
	long := "data: " + strings.Repeat("x", 2<<20) + "\n\n"
	for name, rest := range map[string]string{"broken off": "data: {\"n\":", "a comment behind": "data: b", "long": long + "data: c\n\n"} {
		for _, f := range []chaos.Fault{chaoshttp.SwapEvents(0), chaoshttp.MalformToolCall()} {
			a := fetch(t, stream("data: a\n\n"+rest), f)
			require.Equal(t, "data: a\n\n"+rest, a.body, name)
			require.False(t, a.event(t).Delivered, name)
			require.NotEmpty(t, a.event(t).Note, name)
		}
	}
}

// A prompt that was blocked has no answer, and a line with an error is none.
func TestAnswersWithoutContent(t *testing.T) {
	for name, tc := range map[string]struct{ kind, body, note string }{
		"blocked":           {"application/json", `{"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"totalTokenCount":3}}`, "nothing that this fault changes"},
		"blocked, stream":   {"text/event-stream", "data: {\"promptFeedback\":{\"blockReason\":\"SAFETY\"}}\n\n", "nothing that this fault changes"},
		"without a content": {"application/json", `{"candidates":[{"finishReason":"RECITATION","index":0}]}`, ""},
		"an error":          {"application/x-ndjson", `{"error":"model requires more system memory"}` + "\n", "no chat completion"},
		"embeddings":        {"application/json", `{"model":"m","embeddings":[[1,2]]}`, "no chat completion"},
	} {
		for of, f := range all() {
			a := fetch(t, &canned{contentType: tc.kind, body: strings.NewReader(tc.body)}, f)
			if name == "without a content" && a.event(t).Delivered {
				assert.NotEqual(t, tc.body, a.body, of) // the reason became another
				continue
			}
			assert.Equal(t, tc.body, a.body, "%s, %s", name, of)
			assert.False(t, a.event(t).Delivered, "%s, %s", name, of)
			assert.Contains(t, a.event(t).Note, tc.note, "%s, %s", name, of)
			assert.NotEmpty(t, a.event(t).Note, "%s, %s", name, of)
		}
	}
}

// Ollama's completions have no message.
func TestOllamaGenerates(t *testing.T) {
	const line = `{"model":"m","created_at":"2026-01-01T00:00:00Z","response":%q,"done":false}` + "\n"
	const last = `{"model":"m","created_at":"2026-01-01T00:00:00Z","response":"","done":true,"done_reason":"stop","context":[1],"eval_count":7}` + "\n"
	lines := func(body string) *canned {
		return &canned{contentType: "application/x-ndjson", body: strings.NewReader(body)}
	}
	body := fmt.Sprintf(line, "The order") + fmt.Sprintf(line, " was shipped.") + last
	a := fetch(t, lines(body), chaoshttp.CutCompletion(11))
	assert.Equal(t, fmt.Sprintf(line, "The order")+fmt.Sprintf(line, " w")+strings.Replace(last, "stop", "length", 1), a.body)
	assert.True(t, a.event(t).Delivered)
	a = fetch(t, lines(body), chaoshttp.DriftCompletion(chaoshttp.DriftFormat))
	assert.Equal(t, fmt.Sprintf(line, `{"answer": "The order`)+fmt.Sprintf(line, " was shipped.")+
		`{"done":false,"model":"m","created_at":"2026-01-01T00:00:00Z","response":"\"}"}`+"\n"+last, a.body)
	a = fetch(t, doc(strings.Replace(last, `""`, `"Shipped."`, 1)), chaoshttp.RefuseCompletion("No."))
	assert.Equal(t, strings.Replace(last, `""`, `"No."`, 1), a.body+"\n")
	assert.Equal(t, "$.response", a.event(t).Changes[0].Path)
}

// A completion that is shorter than the limit does not meet it.
func TestShortCompletionsAreNotCut(t *testing.T) {
	for form, w := range wires() {
		for name, f := range map[string]chaos.Fault{"cut": chaoshttp.CutCompletion(99), "filtered": chaoshttp.FilterCompletion(99)} {
			body := w.write(words(), []int{5})
			from := &canned{contentType: w.contentType, body: strings.NewReader(body)}
			a := fetch(t, from, f)
			require.Equal(t, body, a.body, "%s, %s", form, name)
			require.False(t, a.event(t).Delivered, "%s, %s", form, name)
			require.Contains(t, a.event(t).Note, "nothing that this fault changes", "%s, %s", form, name)
		}
	}
}

// A client of a stream leaves at its terminator, and does not read to the end:
// what it got by then was delivered.
func TestClientsLeaveAtTheTerminator(t *testing.T) {
	calls := said{calls: []toolCall{{"call_1", "refund", `{"order":7}`}}, reason: "tool_calls"}
	for form, end := range map[string]string{
		"chat stream": "[DONE]", "message stream": "message_stop", "response stream": "response.completed",
		"gemini stream": `"finishReason":`, "ollama stream": `"done":true`,
	} {
		for name, f := range map[string]chaos.Fault{
			"malformed": chaoshttp.MalformToolCall(), "missing": chaoshttp.MissingArgument(""), "wrong": chaoshttp.WrongArgument(""), "renamed": chaoshttp.HallucinateToolCall(""),
			"stripped": chaoshttp.StripToolCalls(), "cut": chaoshttp.CutCompletion(3), "empty": chaoshttp.EmptyCompletion(),
		} {
			for _, flushed := range []bool{true, false} {
				in := injectorOf(t, chaos.Rule{Fault: f})
				body := wires()[form].write(calls, []int{3})
				resp, err := inProcess(t, answering(wires()[form].contentType, body, flushed)).Do(chatRequest(t, chaos.NewContext(t.Context(), in)))
				require.NoError(t, err)
				for lines := bufio.NewReaderSize(resp.Body, 16); ; {
					line, err := lines.ReadString('\n')
					require.NoError(t, err, "%s, %s", form, name)
					if !strings.HasPrefix(line, "event:") && (strings.Contains(line, end) || strings.Contains(line, "response.incomplete")) {
						break
					}
				}
				require.NoError(t, resp.Body.Close())
				assert.True(t, onlyEvent(t, in).Delivered, "%s, %s, flushed %v: %+v", form, name, flushed, onlyEvent(t, in))
			}
		}
	}
}
