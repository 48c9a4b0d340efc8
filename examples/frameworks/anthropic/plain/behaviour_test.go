package plain

import (
	"context"
	"testing"

	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/examples/frameworks/internal/behaviour"
)

func framework() behaviour.Framework {
	return behaviour.Framework{
		Name: "anthropic-sdk-go", Module: "github.com/anthropics/anthropic-sdk-go/v2", Dir: "anthropic/plain",
		API: chaoshttp.Anthropic, Target: "POST api.anthropic.example/*",
		Ask: func(ctx context.Context, w behaviour.World, question string) (string, error) {
			return ask(ctx, w.Model, w.Tools, question)
		},
		Streamed: func(ctx context.Context, w behaviour.World, question string) (string, error) {
			return askStreamed(ctx, w.Model, w.Tools, question)
		},
		Silent: []behaviour.Silence{{Column: behaviour.CutStream,
			Fact: "the streaming tool runner takes a stream that ends before `message_stop` for a whole message: a text that is cut is the " +
				"answer, and a turn whose tool call is cut has no stop reason, which ends the run without the call and without an error."}},
	}
}

func TestBehaviour(t *testing.T) { framework().Table(t) }
func TestContract(t *testing.T)  { framework().Contract(t) }
