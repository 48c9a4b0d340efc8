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
		Add: map[behaviour.Column]string{
			behaviour.ToolError: "a `compose.ToolMiddleware` that makes a result of the error, for the model to read: by default an error of a tool ends the run.",
			behaviour.Panic:     "a `recover` in that middleware: a panic in the first call of a turn ends the run while the others still work.",
			behaviour.TimeOut:   "a deadline for each call, in that middleware.",
			behaviour.LostReply: "a key by which the tool knows a call that is made again; the identifier of the call is `compose.GetToolCallID(ctx)`.",
			behaviour.CutStream: "a look at `ResponseMeta` of the last message: it is nil or has no `FinishReason` if the stream was cut.",
			behaviour.RateLimit: "`ModelRetryConfig` of the agent. Its waits do not heed Retry-After.",
		},
		Silent: []behaviour.Silence{
			{Column: behaviour.CutStream, Fact: "a stream of chat completions that ends before its `[DONE]` and before a finish reason ends as a whole one " +
				"does. What came of the answer is the answer; if nothing came, the answer is empty, and there is no error."},
			{Column: behaviour.Parallel, Fact: "when one of the tool calls of a turn fails, the run ends, and the model is not told of those that succeeded. " +
				"The error names only the call that failed; an event of the run has the result of each other."},
		},
	}
}

func TestBehaviour(t *testing.T) { framework().Table(t) }
func TestContract(t *testing.T)  { framework().Contract(t) }
