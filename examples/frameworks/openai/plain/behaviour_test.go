package plain

import (
	"context"
	"testing"

	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/examples/frameworks/internal/behaviour"
)

func framework() behaviour.Framework {
	return behaviour.Framework{
		Name: "openai-go", Module: "github.com/openai/openai-go/v3", Dir: "openai/plain", API: chaoshttp.OpenAI, Target: "POST api.openai.example/*",
		Ask: func(ctx context.Context, w behaviour.World, question string) (string, error) {
			return ask(ctx, w.Model, w.Tools, question, false)
		},
		Streamed: func(ctx context.Context, w behaviour.World, question string) (string, error) {
			return ask(ctx, w.Model, w.Tools, question, true)
		},
		Add: map[behaviour.Column]string{
			behaviour.Panic:     "a `recover` around the call of a tool; its text goes to the model as an error does.",
			behaviour.TimeOut:   "a deadline for each call of a tool (`context.WithTimeout`).",
			behaviour.LostReply: "an idempotency key for each refund, which the tool knows again; the model cannot tell a lost reply from a lost request.",
			behaviour.CutStream: "a look whether an event `response.completed` came.",
		},
		Silent: []behaviour.Silence{{Column: behaviour.CutStream,
			Fact: "a stream of responses that ends before `response.completed` ends `Next` as a whole one does, and `Err` is nil."}},
	}
}

func TestBehaviour(t *testing.T) { framework().Table(t) }
func TestContract(t *testing.T)  { framework().Contract(t) }
