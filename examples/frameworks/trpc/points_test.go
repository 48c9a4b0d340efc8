package trpc

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"trpc.group/trpc-go/trpc-agent-go/agent/llmagent"
	"trpc.group/trpc-go/trpc-agent-go/tool"
	"trpc.group/trpc-go/trpc-agent-go/tool/function"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp/modeltest"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
)

func armed(t *testing.T, rule chaos.Rule) (context.Context, *chaos.Injector) {
	plan, err := chaos.NewPlan(1, rule)
	require.NoError(t, err)
	in := plan.Injector(t.Name(), &chaos.InjectorOptions{RecordAll: true})
	return chaos.NewContext(t.Context(), in), in
}

type refundArgs struct {
	Order string `json:"order"`
}

func refund(made *int) tool.CallableTool {
	return function.NewFunctionTool(func(context.Context, refundArgs) (string, error) { *made++; return "refunded", nil },
		function.WithName("refund"), function.WithDescription("Refunds an order."))
}

// A user's own tool meets the faults of the caller's context.
func TestPoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made := 0
		ctx, in := armed(t, chaos.Rule{Target: "refund", When: when.Nth(2), Fault: fault.LoseReply()})
		model := modeltest.New(t, modeltest.Script(
			modeltest.Answer{Calls: []modeltest.Call{{Name: "refund", Args: `{"order":"1042"}`}}},
			modeltest.Answer{After: "refunded", Calls: []modeltest.Call{{Name: "refund", Args: `{"order":"7"}`}}},
			modeltest.Answer{After: "i/o timeout", Text: "One is refunded, of the other I do not know."}))
		answer, err := Agent{Model: model, Tools: []tool.Tool{Point(refund(&made))}}.Ask(ctx, "Refund 1042 and 7.")
		require.NoError(t, err)
		assert.Equal(t, "One is refunded, of the other I do not know.", answer)
		assert.Equal(t, 2, made)
		assert.Len(t, in.Events(), 2)
	})
}

// With parallel tools, the framework recovers from a panic in a turn of several calls, and tells the model.
func TestAPanicAmongParallelCalls(t *testing.T) {
	one, other := modeltest.Call{Name: "refund", Args: `{"order":"1042"}`}, modeltest.Call{Name: "refund", Args: `{"order":"7"}`}
	for _, tt := range []struct {
		name     string
		calls    []modeltest.Call
		parallel bool
		fatal    bool
	}{
		{"several calls at once", []modeltest.Call{one, other}, true, false},
		{"one call alone", []modeltest.Call{one}, true, true},
		{"several calls, one after the other, as by default", []modeltest.Call{one, other}, false, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			made := 0
			ctx, _ := armed(t, chaos.Rule{Target: "refund", When: when.First(1), Fault: fault.Panic("no memory")})
			model := modeltest.New(nil, modeltest.Script(modeltest.Answer{Calls: tt.calls}, modeltest.Answer{After: "tool execution panic: no memory", Text: "One failed."}))
			answer, err := Agent{Model: model, Tools: []tool.Tool{Point(refund(&made))},
				Options: []llmagent.Option{llmagent.WithEnableParallelTools(tt.parallel)}}.Ask(ctx, "Refund.")
			if tt.fatal {
				assert.ErrorContains(t, err, "flow panic: no memory", tt.name)
				return
			}
			require.NoError(t, err, tt.name)
			assert.Equal(t, "One failed.", answer, tt.name)
			assert.Equal(t, 1, made, "the other call goes on")
		})
	}
}

// A stream of a model that ends before anything of the answer came is asked for again, at once and without end.
func TestAnEmptyStreamIsAskedForAgain(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer modeltest.Answer
		cut    int // the events before the end
	}{
		{"before all of a text", modeltest.Answer{Text: "Order 1042 is refunded."}, 0},
		{"before all of a tool call but the role", modeltest.Answer{Calls: []modeltest.Call{{Name: "refund", Args: `{"order":"1042"}`}}}, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			const enough = 1000
			ctx, _ := armed(t, chaos.Rule{Target: "POST api.openai.example/*", Fault: chaoshttp.CutStream(tt.cut)})
			requests := 0
			model := modeltest.New(nil, func(context.Context, modeltest.Request) (modeltest.Answer, error) {
				if requests++; requests == enough {
					return modeltest.Answer{}, errors.New("enough")
				}
				return tt.answer, nil
			})
			begun := time.Now()
			a := Agent{Model: chaoshttp.NewTransport(model, nil), Tools: []tool.Tool{refund(nil)}, Streaming: true}
			answer, err := a.Ask(ctx, "Refund 1042.")
			assert.ErrorContains(t, err, "enough", tt.name)
			assert.Empty(t, answer)
			assert.Equal(t, enough, requests)
			assert.Zero(t, time.Since(begun))
		})
	}
}
