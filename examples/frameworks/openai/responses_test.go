package main

import (
	"testing"
	"testing/synctest"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp/modeltest"
	"github.com/shakedown-go/shakedown/examples/frameworks/internal/drill"
)

// seenResponse is what a caller makes of a response.
func seenResponse(r *responses.Response) (s drill.Seen) {
	s.Text, s.Reason = r.OutputText(), r.IncompleteDetails.Reason
	for _, item := range r.Output {
		for _, part := range item.Content {
			s.Refusal += part.Refusal
		}
		if item.Type == "function_call" {
			call := item.AsFunctionCall()
			s.Calls = append(s.Calls, call.Name+" "+call.Arguments)
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
		want  drill.Seen
	}{
		{"cut", chaoshttp.CutCompletion(5), drill.Seen{Text: "Order", Reason: "max_output_tokens"}},
		{"filter", chaoshttp.FilterCompletion(5), drill.Seen{Text: "Order", Reason: "content_filter"}},
		{"refusal", chaoshttp.RefuseCompletion("No."), drill.Seen{Refusal: "No."}},
		{"strip", chaoshttp.StripToolCalls(), drill.Seen{Text: answerText}},
		{"hallucinate", chaoshttp.HallucinateToolCall("orders_find"), drill.Seen{Text: answerText, Calls: []string{"orders_find " + toolArgs}}},
		{"malform", chaoshttp.MalformToolCall(), drill.Seen{Text: answerText, Calls: []string{both[:len(both)-1]}}},
		{"missing", chaoshttp.MissingArgument(""), drill.Seen{Text: answerText, Calls: []string{toolName + " {}"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				plan, err := chaos.NewPlan(1, chaos.Rule{Target: "POST api.openai.example/v1/responses", Fault: tc.fault})
				require.NoError(t, err)
				in := plan.Injector("responses", nil)
				ctx := chaos.NewContext(t.Context(), in)
				provider := chaoshttp.InProcess(modeltest.New(t, modeltest.Script(
					modeltest.Answer{Text: answerText, Calls: []modeltest.Call{{Name: toolName, Args: toolArgs}}},
				)))
				client := newClient(provider)
				params := responses.ResponseNewParams{
					Model: model, Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("Where is it?")},
					Tools: []responses.ToolUnionParam{responses.ToolParamOfFunction(toolName, map[string]any{"type": "object"}, true)},
				}

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
				assert.Equal(t, tc.want.Text, text)
				assert.Equal(t, tc.want.Refusal, refusal)
				require.NoError(t, provider.Close())
				for _, e := range in.Events() {
					assert.True(t, e.Delivered, e.Note)
				}
			})
		})
	}
}
