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

const expired = "when the context of a run ends, its last event is the runner's completion, which has no error, and no event before has one."

func framework() behaviour.Framework {
	return behaviour.Framework{
		Name: "trpc-agent-go", Module: "trpc.group/trpc-go/trpc-agent-go", Dir: "trpc", API: chaoshttp.OpenAI, Target: "POST api.openai.example/*",
		Ask: asking(false), Streamed: asking(true),
		Add: map[behaviour.Column]string{
			behaviour.Panic: "a `recover` in the tool itself. With `llmagent.WithEnableParallelTools(true)` a panic is told to the model, but only in a " +
				"turn of several calls (`TestAPanicAmongParallelCalls`).",
			behaviour.TimeOut:   "a deadline for each call, within the tool; and a look at `ctx.Err()` after the last event.",
			behaviour.Expired:   "a look at `ctx.Err()` after the last event.",
			behaviour.LostReply: "a key by which the tool knows a call that is made again; the identifier of the call is in the context, at `tool.ContextKeyToolCallID{}`.",
			behaviour.CutStream: "a look at `FinishReason` of the last answer: it is nil if the stream was cut; and `llmagent.WithMaxLLMCalls`, an end of the requests.",
		},
		Silent: []behaviour.Silence{
			{Column: behaviour.TimeOut, Fact: expired},
			{Column: behaviour.Expired, Fact: expired},
			{Column: behaviour.CutStream, Fact: "a stream of chat completions that ends before its `[DONE]` and before a finish reason is taken for a whole answer. If " +
				"nothing came, the model is asked again at once and without end (`TestAnEmptyStreamIsAskedForAgain`)."},
		},
	}
}

func TestBehaviour(t *testing.T) { framework().Table(t) }
func TestContract(t *testing.T)  { framework().Contract(t) }
