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
		Silent: []behaviour.Silence{
			{Column: behaviour.Malformed, Fact: "a response with finishReason `MALFORMED_FUNCTION_CALL` is no error, and its `Text` is empty, as the API has it."},
			{Column: behaviour.CutStream, Fact: "a stream that ends before any finishReason ends without an error; the chat leaves the turn, " +
				"the question included, out of its history, and does not say so."},
		},
	}
}

func TestBehaviour(t *testing.T) { framework().Table(t) }
func TestContract(t *testing.T)  { framework().Contract(t) }
