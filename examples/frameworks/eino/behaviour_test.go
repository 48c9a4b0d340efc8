package eino

import (
	"context"
	"runtime/debug"
	"testing"

	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/examples/frameworks/internal/behaviour"
)

func asking(streaming bool) behaviour.Agent {
	return func(ctx context.Context, w behaviour.World, question string) (string, error) {
		if streaming {
			// The finalizer of a stream closes a channel, which outside of the bubble ends the process.
			debug.SetGCPercent(-1)
		}
		tools, err := Tools(ctx, w.Tools)
		if err != nil {
			return "", err
		}
		return Agent{Model: w.Model, Tools: tools, Streaming: streaming}.Ask(ctx, question)
	}
}

func framework() behaviour.Framework {
	return behaviour.Framework{
		Name: "eino", Module: "github.com/cloudwego/eino", Dir: "eino", API: chaoshttp.OpenAI, Target: "POST api.openai.example/*",
		Ask: asking(false), Streamed: asking(true),
	}
}

func TestBehaviour(t *testing.T) { framework().Table(t) }
func TestContract(t *testing.T)  { framework().Contract(t) }
