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
		Add: map[behaviour.Column]string{
			behaviour.Panic:     "a `recover` in the tool itself: the runner calls each tool on a goroutine of its own, which no `recover` of the caller reaches.",
			behaviour.TimeOut:   "a deadline for each call of a tool (`context.WithTimeout`).",
			behaviour.LostReply: "an idempotency key for each refund, which the tool knows again; the model cannot tell a lost reply from a lost request.",
			behaviour.Malformed: "a check in the tool itself that each argument it needs is there: the runner decodes them, and compares none " +
				"with the schema.",
			behaviour.CutStream: "a look at `StopReason` of the runner's `LastMessage`: it is empty.",
		},
		Silent: []behaviour.Silence{{Column: behaviour.Malformed,
			Fact: "arguments of a streamed call that are no JSON become `{}`, and the runner calls the tool with that: a tool that does not " +
				"look for what is missing does its work, without an error."}, {Column: behaviour.CutStream,
			Fact: "the streaming tool runner takes a stream that ends before `message_stop` for a whole message: a text that is cut is the " +
				"answer, and a turn whose tool call is cut has no stop reason, which ends the run without the call and without an error."}},
	}
}

func TestBehaviour(t *testing.T) { framework().Table(t) }
func TestContract(t *testing.T)  { framework().Contract(t) }
