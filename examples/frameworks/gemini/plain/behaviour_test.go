package plain

import (
	"context"
	"testing"

	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/examples/frameworks/internal/behaviour"
)

func framework() behaviour.Framework {
	return behaviour.Framework{
		Name: "genai", Module: "google.golang.org/genai", Dir: "gemini/plain",
		API: chaoshttp.Gemini, Target: "POST gemini.example/*",
		Ask: func(ctx context.Context, w behaviour.World, question string) (string, error) {
			return ask(ctx, w.Model, w.Tools, question, false)
		},
		Streamed: func(ctx context.Context, w behaviour.World, question string) (string, error) {
			return ask(ctx, w.Model, w.Tools, question, true)
		},
		Add: map[behaviour.Column]string{
			behaviour.Panic:     "a `recover` around the call of a function; its text goes to the model as an error does.",
			behaviour.TimeOut:   "a deadline for each call of a tool (`context.WithTimeout`).",
			behaviour.LostReply: "an idempotency key for each refund, which the tool knows again; the model cannot tell a lost reply from a lost request.",
			behaviour.Malformed: "a look at the `FinishReason` of the candidate.",
			behaviour.CutStream: "a look whether any chunk had a `FinishReason`.",
			behaviour.RateLimit: "`HTTPOptions.RetryOptions`: without them the client sends once; with them it waits by its own delays and does not read Retry-After.",
		},
		Silent: []behaviour.Silence{
			{Column: behaviour.Malformed, Fact: "a response with finishReason `MALFORMED_FUNCTION_CALL` is no error, and its `Text` is empty, as the API has it."},
			{Column: behaviour.CutStream, Fact: "a stream that ends before any finishReason, and without a token to continue from, ends without an error; the chat leaves the " +
				"turn, the question included, out of the history that it sends (`History(true)`), and does not say so."},
		},
	}
}

func TestBehaviour(t *testing.T) { framework().Table(t) }
func TestContract(t *testing.T)  { framework().Contract(t) }
