package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
)

// respond is POST /responses, with a text and a call, streamed or not.
func respond(w http.ResponseWriter, r *http.Request) {
	var in struct{ Stream bool }
	_ = json.NewDecoder(r.Body).Decode(&in)
	text := func(s string) object { return object{"type": "output_text", "text": s, "annotations": []any{}} }
	message := object{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": []any{text(answerText)}}
	call := object{"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": toolName, "arguments": toolArgs, "status": "completed"}
	whole := object{"id": "resp_1", "object": "response", "model": model, "status": "completed", "incomplete_details": nil, "output": []any{message, call}}
	if !in.Stream {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(whole)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	n := 0
	send := func(kind string, e object) {
		e["type"], e["sequence_number"] = kind, n
		n++
		doc, _ := json.Marshal(e)
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, doc)
	}
	part := func(e object) object { e["output_index"], e["content_index"], e["item_id"] = 0, 0, "msg_1"; return e }
	send("response.output_item.added", object{"output_index": 0, "item": object{"type": "message", "id": "msg_1", "role": "assistant", "content": []any{}}})
	send("response.content_part.added", part(object{"part": text("")}))
	send("response.output_text.delta", part(object{"delta": answerText[:10]}))
	send("response.output_text.delta", part(object{"delta": answerText[10:]}))
	send("response.output_text.done", part(object{"text": answerText}))
	send("response.content_part.done", part(object{"part": text(answerText)}))
	send("response.output_item.done", object{"output_index": 0, "item": message})
	send("response.output_item.added", object{"output_index": 1, "item": object{"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": toolName, "arguments": ""}})
	send("response.function_call_arguments.delta", object{"output_index": 1, "item_id": "fc_1", "delta": toolArgs})
	send("response.function_call_arguments.done", object{"output_index": 1, "item_id": "fc_1", "arguments": toolArgs})
	send("response.output_item.done", object{"output_index": 1, "item": call})
	send("response.completed", object{"response": whole})
}

// seenResponse is what a caller makes of a response.
func seenResponse(r *responses.Response) (s seen) {
	s.text, s.reason = r.OutputText(), r.IncompleteDetails.Reason
	for _, item := range r.Output {
		for _, part := range item.Content {
			s.refusal += part.Refusal
		}
		if item.Type == "function_call" {
			call := item.AsFunctionCall()
			s.calls = append(s.calls, call.Name+" "+call.Arguments)
		}
	}
	return s
}

// The same faults under the other API of the provider: streamed and not, the
// client's caller gets the same.
func TestResponses(t *testing.T) {
	both := toolName + " " + toolArgs
	for _, tc := range []struct {
		name  string
		fault chaos.Fault
		want  seen
	}{
		{"cut", chaoshttp.CutCompletion(5), seen{text: "Order", reason: "max_output_tokens"}},
		{"filter", chaoshttp.FilterCompletion(5), seen{text: "Order", reason: "content_filter"}},
		{"refusal", chaoshttp.RefuseCompletion("No."), seen{refusal: "No."}},
		{"strip", chaoshttp.StripToolCalls(), seen{text: answerText}},
		{"hallucinate", chaoshttp.HallucinateToolCall("orders_find"), seen{text: answerText, calls: []string{"orders_find " + toolArgs}}},
		{"malform", chaoshttp.MalformToolCall(), seen{text: answerText, calls: []string{both[:len(both)-1]}}},
		{"missing", chaoshttp.MissingArgument(""), seen{text: answerText, calls: []string{toolName + " {}"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				plan, err := chaos.NewPlan(1, chaos.Rule{Target: "POST api.openai.example/v1/responses", Fault: tc.fault})
				require.NoError(t, err)
				in := plan.Injector("responses", nil)
				ctx := chaos.NewContext(t.Context(), in)
				provider := chaoshttp.InProcess(http.HandlerFunc(respond))
				client := newClient(provider)
				params := responses.ResponseNewParams{Model: model, Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("Where is it?")}}

				r, err := client.Responses.New(ctx, params)
				require.NoError(t, err)
				assert.Equal(t, tc.want, seenResponse(r), "not streamed")

				stream, text, refusal := client.Responses.NewStreaming(ctx, params), "", ""
				for stream.Next() {
					switch e := stream.Current(); e.Type {
					case "response.output_text.delta":
						text += e.Delta
					case "response.refusal.delta":
						refusal += e.Delta
					case "response.completed", "response.incomplete":
						assert.Equal(t, tc.want, seenResponse(&e.Response), "streamed")
					}
				}
				require.NoError(t, stream.Err())
				assert.Equal(t, tc.want.text, text)
				assert.Equal(t, tc.want.refusal, refusal)
				require.NoError(t, provider.Close())
				for _, e := range in.Events() {
					assert.True(t, e.Delivered, e.Note)
				}
			})
		})
	}
}
