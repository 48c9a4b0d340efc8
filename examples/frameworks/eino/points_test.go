package eino

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp/modeltest"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
)

type refundArgs struct {
	Order string `json:"order"`
}

// refunds and mails are a user's own tools: one of each kind that Eino has.
func refunds(made *int) tool.BaseTool {
	t, err := utils.InferTool("refund", "Refunds an order.", func(context.Context, refundArgs) (string, error) {
		*made++
		return "refunded", nil
	})
	if err != nil {
		panic(err)
	}
	return t
}

func mails() tool.BaseTool {
	t, err := utils.InferStreamTool("notify", "Writes to the customer.", func(context.Context, refundArgs) (*schema.StreamReader[string], error) {
		return schema.StreamReaderFromArray([]string{"accepted, ", "sent, ", "delivered"}), nil
	})
	if err != nil {
		panic(err)
	}
	return t
}

// agent calls one tool in each turn, and says what it was told last.
func agent(t *testing.T, tools []tool.BaseTool, calls ...modeltest.Call) Agent {
	answer := func(_ context.Context, r modeltest.Request) (modeltest.Answer, error) {
		if r.Turn <= len(calls) {
			return modeltest.Answer{Calls: calls[r.Turn-1 : r.Turn]}, nil
		}
		return modeltest.Answer{Text: "told: " + r.Messages[len(r.Messages)-1].Text}, nil
	}
	return Agent{Tools: tools, Middlewares: []compose.ToolMiddleware{Points()}, Model: modeltest.New(t, answer)}
}

func armed(t *testing.T, rules ...chaos.Rule) (context.Context, *chaos.Injector) {
	plan, err := chaos.NewPlan(1, rules...)
	require.NoError(t, err)
	in := plan.Injector(t.Name(), &chaos.InjectorOptions{RecordAll: true})
	return chaos.NewContext(t.Context(), in), in
}

// The middleware makes points of tools of both kinds, whichever the kind of the run: Eino turns the one into the other.
func TestPoints(t *testing.T) {
	for _, tt := range []struct {
		name      string
		streaming bool
		rules     []chaos.Rule
		answer    string
		err       string
		made      int
	}{
		{name: "without faults", answer: "told: accepted, sent, delivered", made: 2},
		{name: "without faults, streamed", streaming: true, answer: "told: accepted, sent, delivered", made: 2},
		{name: "the second refund fails", rules: []chaos.Rule{{Target: "refund", When: when.Nth(2), Fault: fault.Fail(fault.ErrUnavailable)}},
			err: fault.ErrUnavailable.Error(), made: 1},
		{name: "the second refund is lost, streamed", streaming: true, rules: []chaos.Rule{{Target: "refund", When: when.Nth(2), Fault: fault.LoseReply()}},
			err: "i/o timeout", made: 2},
		{name: "a mail's stream ends early", rules: []chaos.Rule{{Target: "notify", Fault: fault.EndAfter(1)}}, answer: "told: accepted, ", made: 2},
		{name: "a mail's stream ends early, streamed", streaming: true, rules: []chaos.Rule{{Target: "notify", Fault: fault.EndAfter(1)}},
			answer: "told: accepted, ", made: 2},
		{name: "a mail's stream breaks", streaming: true, rules: []chaos.Rule{{Target: "notify", Fault: fault.CutAfter(2)}}, err: "EOF", made: 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			made := 0
			ctx, in := armed(t, tt.rules...)
			a := agent(t, []tool.BaseTool{refunds(&made), mails()}, modeltest.Call{Name: "refund", Args: `{"order":"1042"}`},
				modeltest.Call{Name: "refund", Args: `{"order":"7"}`}, modeltest.Call{Name: "notify", Args: `{"order":"1042"}`})
			a.Streaming = tt.streaming
			answer, err := a.Ask(ctx, "Refund orders 1042 and 7.")
			if tt.err != "" {
				assert.ErrorContains(t, err, tt.err)
			} else {
				assert.NoError(t, err)
				assert.Equal(t, tt.answer, answer)
			}
			assert.Equal(t, tt.made, made)
			for _, e := range in.Events() {
				assert.Equal(t, e.Rule != "", e.Delivered, "%s #%d", e.Target, e.Ordinal)
			}
		})
	}
}

// atOnce is an agent whose model calls refund and notify in one turn; notify takes 200 ms.
func atOnce(t *testing.T, mailed *atomic.Bool) Agent {
	registry, err := chaos.NewRegistry(
		chaos.Func(chaos.Tool{Name: "refund"}, func(context.Context, refundArgs) (string, error) { return "refunded", nil }),
		chaos.Func(chaos.Tool{Name: "notify"}, func(context.Context, refundArgs) (string, error) {
			time.Sleep(200 * time.Millisecond)
			mailed.Store(true)
			return "sent", nil
		}))
	require.NoError(t, err)
	tools, err := Tools(t.Context(), chaos.WrapRegistry(registry, nil))
	require.NoError(t, err)
	return Agent{Tools: tools, Model: modeltest.New(t, modeltest.Script(
		modeltest.Answer{Calls: []modeltest.Call{{Name: "refund", Args: `{"order":"1042"}`}, {Name: "notify", Args: `{"order":"1042"}`}}},
		modeltest.Answer{Text: "done"}))}
}

// A panic in the first of the tool calls of a turn ends the run while the others still work; a failure waits for them,
// and so does a panic in another call.
func TestAPanicOfTheFirstOfParallelCalls(t *testing.T) {
	for _, tt := range []struct {
		target string
		how    chaos.Fault
		after  time.Duration
		mailed bool // when the agent returned
	}{
		{"refund", fault.Panic("boom"), 0, false},
		{"refund", fault.Fail(fault.ErrUnavailable), 200 * time.Millisecond, true},
		{"notify", fault.Panic("boom"), 0, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			var mailed atomic.Bool
			a := atOnce(t, &mailed)
			ctx, _ := armed(t, chaos.Rule{Target: tt.target, Fault: tt.how})
			begun := time.Now()
			_, err := a.Ask(ctx, "Refund order 1042 and tell the customer.")
			assert.Error(t, err)
			assert.Equal(t, tt.after, time.Since(begun))
			assert.Equal(t, tt.mailed, mailed.Load())
			time.Sleep(time.Second)
			assert.Equal(t, tt.target == "refund", mailed.Load(), "a second later")
		})
	}
}
