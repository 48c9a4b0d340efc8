package adk

import (
	"context"
	"testing"

	"google.golang.org/adk/v2/agent"

	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/examples/frameworks/internal/behaviour"
)

func framework() behaviour.Framework {
	return behaviour.Framework{
		Name: "google adk", Module: "google.golang.org/adk/v2", Dir: "adk",
		API: chaoshttp.Gemini, Target: "POST gemini.example/*",
		Ask: func(ctx context.Context, w behaviour.World, question string) (string, error) {
			return ask(ctx, w.Model, w.Tools, question, agent.StreamingModeNone)
		},
		Streamed: func(ctx context.Context, w behaviour.World, question string) (string, error) {
			return ask(ctx, w.Model, w.Tools, question, agent.StreamingModeSSE)
		},
		Add: map[behaviour.Column]string{
			behaviour.Panic:     "an `OnToolErrorCallback` that keeps the stack from the model; a recover of your own in callbacks of tools and in tool types that are no `functiontool`, whose panics end the process.",
			behaviour.TimeOut:   "a deadline for each call, in the handler.",
			behaviour.LostReply: "an idempotency key. The plugin `retryandreflect` asks the model to try again, whether the tool did its work or not.",
			behaviour.Malformed: "a look at the `ErrorCode` of events.",
			behaviour.CutStream: "a look at the `FinishReason` of the final event: it is empty. If there is no final event, there is no answer.",
			behaviour.RateLimit: "tries again, in the client's transport.",
		},
		Silent: []behaviour.Silence{
			{Column: behaviour.Malformed, Fact: "a response with finishReason `MALFORMED_FUNCTION_CALL` and without content becomes an event with that `ErrorCode`. " +
				"`Runner.Run` ends without an error and without an answer."},
			{Column: behaviour.CutStream, Fact: "a stream that ends before any finishReason is taken for a whole one: the final event has what came, and an empty `FinishReason`. " +
				"If nothing came, the run ends without an event, an answer and an error."},
		},
	}
}

func TestBehaviour(t *testing.T) { framework().Table(t) }
func TestContract(t *testing.T)  { framework().Contract(t) }
