package genkit

import (
	"context"
	"testing"

	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/examples/frameworks/internal/behaviour"
)

func framework() behaviour.Framework {
	return behaviour.Framework{
		Name: "genkit", Module: "github.com/firebase/genkit/go", Dir: "genkit",
		API: chaoshttp.Gemini, Target: "POST gemini.example/*",
		Ask: func(ctx context.Context, w behaviour.World, question string) (string, error) {
			return ask(ctx, w.Model, w.Tools, question)
		},
		Streamed: func(ctx context.Context, w behaviour.World, question string) (string, error) {
			return askStreamed(ctx, w.Model, w.Tools, question)
		},
		Add: map[behaviour.Column]string{
			behaviour.ToolError: "a `WrapTool` middleware that gives the model the error as a result, if the model is to know of it.",
			behaviour.Panic:     "a recover in that middleware.",
			behaviour.TimeOut:   "a deadline for each call, in the tool or in that middleware.",
			behaviour.Malformed: "a look at the `FinishReason` of the response, which `GenerateText` leaves out.",
			behaviour.CutStream: "a look at the `FinishReason`: it is empty. And a newer `google.golang.org/genai`, which returns the errors of streams.",
			behaviour.RateLimit: "`middleware.Retry`. It waits by its own schedule; the time that the provider asks for is in `googlegenai.RetryDelay`.",
			behaviour.Parallel:  "that middleware, so that no call fails.",
		},
		Silent: []behaviour.Silence{
			{Column: behaviour.Malformed, Fact: "a response with finishReason `MALFORMED_FUNCTION_CALL` and without content is a response with FinishReason `other`: " +
				"`GenerateText` returns an empty text and no error. A warning is logged."},
			{Column: behaviour.CutStream, Fact: "a stream that ends before any finishReason is taken for a whole response, with an empty `FinishReason`. " +
				"An error within a stream, such as a deadline, ends it the same way: the version of `google.golang.org/genai` in go.mod only logs it (`TestADeadlineInAStream`)."},
			{Column: behaviour.Parallel, Fact: "`Generate` returns at the first error, while the other calls go on in their goroutines: " +
				"their effects are done after the return, and their results are dropped."},
		},
	}
}

func TestBehaviour(t *testing.T) { framework().Table(t) }
func TestContract(t *testing.T)  { framework().Contract(t) }
