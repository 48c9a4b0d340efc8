package adk

import (
	"context"
	"iter"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"
	"google.golang.org/genai"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
)

type refundIn struct {
	Order string `json:"order"`
}

type refundOut struct {
	Status string `json:"status"`
}

// refunds is a user's own tool, wrapped where the framework takes it.
func refunds() (tool.Tool, error) {
	refund := chaos.Wrap("refund", func(context.Context, refundIn) (refundOut, error) { return refundOut{"refunded"}, nil })
	return functiontool.New(functiontool.Config{Name: "refund", Description: "Refunds an order."},
		func(ctx agent.Context, in refundIn) (refundOut, error) { return refund(ctx, in) })
}

// beforeTool is the slot for tools that are not the user's own: what comes before a call, no lost replies and no lies.
func beforeTool(ctx agent.Context, t tool.Tool, _ map[string]any) (map[string]any, error) {
	return nil, chaos.Point(ctx, "callback/"+t.Name())
}

// A wrapped is a model that is an injection point: its stream of responses is one call.
type wrapped struct {
	model.LLM
	generate func(context.Context, asked) iter.Seq2[*model.LLMResponse, error]
}

type asked struct {
	request *model.LLMRequest
	stream  bool
}

func wrap(m model.LLM) model.LLM {
	return wrapped{m, chaos.WrapStream("model", func(ctx context.Context, a asked) iter.Seq2[*model.LLMResponse, error] {
		return m.GenerateContent(ctx, a.request, a.stream)
	})}
}

func (w wrapped) GenerateContent(ctx context.Context, r *model.LLMRequest, stream bool) iter.Seq2[*model.LLMResponse, error] {
	return w.generate(ctx, asked{r, stream})
}

// scripted is a model without a client: it calls the tool, and then repeats what the tool said.
type scripted struct{}

func (scripted) Name() string { return "scripted" }

func (scripted) GenerateContent(_ context.Context, r *model.LLMRequest, _ bool) iter.Seq2[*model.LLMResponse, error] {
	answer := genai.NewContentFromFunctionCall("refund", map[string]any{"order": "1042"}, genai.RoleModel)
	if said := r.Contents[len(r.Contents)-1].Parts[0].FunctionResponse; said != nil {
		text, ok := said.Response["error"].(string)
		if !ok {
			text, _ = said.Response["status"].(string)
		}
		answer = genai.NewContentFromText(text, genai.RoleModel)
	}
	return func(yield func(*model.LLMResponse, error) bool) { yield(&model.LLMResponse{Content: answer}, nil) }
}

// Every slot that the README names hands the context on, so that rules reach it.
func TestSlots(t *testing.T) {
	for target, want := range map[string]struct{ answer, err string }{
		"":                {answer: "refunded"},
		"refund":          {answer: "service unavailable"},
		"callback/refund": {answer: "service unavailable"},
		"model":           {err: "service unavailable"},
	} {
		t.Run(target, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				refund, err := refunds()
				require.NoError(t, err)
				desk, err := llmagent.New(llmagent.Config{Name: "order_desk", Model: wrap(scripted{}), Tools: []tool.Tool{refund},
					BeforeToolCallbacks: []llmagent.BeforeToolCallback{beforeTool}})
				require.NoError(t, err)
				r, err := runner.NewInMemory("orders", desk)
				require.NoError(t, err)
				var rules []chaos.Rule
				if target != "" {
					rules = append(rules, chaos.Rule{Target: target, Fault: fault.Fail(fault.ErrUnavailable)})
				}
				plan, err := chaos.NewPlan(1, rules...)
				require.NoError(t, err)
				in := plan.Injector("slots", nil)
				answer, err := answerOf(r.Run(chaos.NewContext(t.Context(), in), "customer", "session",
					genai.NewContentFromText("Refund it.", genai.RoleUser), agent.RunConfig{}))
				assert.Equal(t, want.answer, answer)
				if want.err == "" {
					assert.NoError(t, err)
				} else {
					assert.EqualError(t, err, want.err)
					assert.ErrorIs(t, err, chaos.ErrInjected)
				}
				assert.Empty(t, in.Undelivered())
			})
		})
	}
}
