package trpc

import (
	"context"
	"testing"

	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/examples/frameworks/internal/behaviour"
)

func asking(streaming bool) behaviour.Agent {
	return func(ctx context.Context, w behaviour.World, question string) (string, error) {
		tools, err := Tools(ctx, w.Tools)
		if err != nil {
			return "", err
		}
		return Agent{Model: w.Model, Tools: tools, Streaming: streaming}.Ask(ctx, question)
	}
}

func framework() behaviour.Framework {
	return behaviour.Framework{
		Name: "trpc-agent-go", Module: "trpc.group/trpc-go/trpc-agent-go", Dir: "trpc", API: chaoshttp.OpenAI, Target: "POST api.openai.example/*",
		Ask: asking(false), Streamed: asking(true),
	}
}

func TestBehaviour(t *testing.T) { framework().Table(t) }
func TestContract(t *testing.T)  { framework().Contract(t) }
