package chaoshttp_test

import (
	"bufio"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
)

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
	for form, end := range map[string]string{"chat stream": "[DONE]", "message stream": "message_stop", "response stream": "response.completed"} {
		for name, f := range map[string]chaos.Fault{
			"malformed": chaoshttp.MalformToolCall(), "missing": chaoshttp.MissingArgument(""), "wrong": chaoshttp.WrongArgument(""), "renamed": chaoshttp.HallucinateToolCall(""),
			"stripped": chaoshttp.StripToolCalls(), "cut": chaoshttp.CutCompletion(3), "empty": chaoshttp.EmptyCompletion(),
		} {
			for _, flushed := range []bool{true, false} {
				in := injectorOf(t, chaos.Rule{Fault: f})
				body := wires()[form].write(calls, []int{3})
				resp, err := inProcess(t, answering("text/event-stream", body, flushed)).Do(chatRequest(t, chaos.NewContext(t.Context(), in)))
				require.NoError(t, err)
				for lines := bufio.NewReaderSize(resp.Body, 16); ; {
					line, err := lines.ReadString('\n')
					require.NoError(t, err, "%s, %s", form, name)
					if strings.HasPrefix(line, "data:") && (strings.Contains(line, end) || strings.Contains(line, "response.incomplete")) {
						break
					}
				}
				require.NoError(t, resp.Body.Close())
				assert.True(t, onlyEvent(t, in).Delivered, "%s, %s, flushed %v: %+v", form, name, flushed, onlyEvent(t, in))
			}
		}
	}
}
