package genkit

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/genkit"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
func refunds(g *genkit.Genkit) ai.Tool {
	refund := chaos.Wrap("refund", func(context.Context, refundIn) (refundOut, error) { return refundOut{"refunded"}, nil })
	return genkit.DefineTool(g, "refund", "Refunds an order.",
		func(ctx *ai.ToolContext, in refundIn) (refundOut, error) { return refund(ctx, in) })
}

// points is a middleware that makes injection points of all tools and of the model, those of plugins too.
func points(context.Context) (*ai.Hooks, error) {
	return &ai.Hooks{
		WrapTool: func(ctx context.Context, p *ai.ToolParams, next ai.ToolNext) (*ai.MultipartToolResponse, error) {
			call := chaos.WrapDispatch(func(ctx context.Context, _ string, input any) (*ai.MultipartToolResponse, error) {
				request := *p.Request
				request.Input = input // the one that a fault may have changed
				return next(ctx, &ai.ToolParams{Tool: p.Tool, Request: &request})
			})
			return call(ctx, "tool/"+p.Request.Name, p.Request.Input)
		},
		WrapModel: func(ctx context.Context, p *ai.ModelParams, next ai.ModelNext) (*ai.ModelResponse, error) {
			slices.SortFunc(p.Request.Tools, func(a, b *ai.ToolDefinition) int { return cmp.Compare(a.Name, b.Name) })
			return chaos.Wrap("model", next)(ctx, p)
		},
	}, nil
}

// scripted is a model without a client: it calls the tool, and then repeats what the tool said.
func scripted(_ context.Context, r *ai.ModelRequest, _ struct{}, _ ai.ModelStreamCallback) (*ai.ModelResponse, error) {
	part := ai.NewToolRequestPart(&ai.ToolRequest{Name: "refund", Input: map[string]any{"order": "1042"}})
	if last := r.Messages[len(r.Messages)-1]; last.Role == ai.RoleTool {
		said, _ := last.Content[0].ToolResponse.Output.(map[string]any)
		text, _ := said["status"].(string)
		part = ai.NewTextPart(text)
	}
	return &ai.ModelResponse{Message: ai.NewModelMessage(part), FinishReason: ai.FinishReasonStop}, nil
}

// Every slot that the README names hands the context on, so that rules reach it.
func TestSlots(t *testing.T) {
	for target, want := range map[string]struct{ answer, err string }{
		"":            {answer: "refunded"},
		"refund":      {err: `tool "refund" failed: error calling tool refund: service unavailable`},
		"tool/refund": {err: `tool "refund" failed: service unavailable`},
		"model":       {err: "service unavailable"},
	} {
		t.Run(target, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := genkit.Init(t.Context())
				genkit.DefineModelAction(g, "scripted/model", &ai.ModelOptions{Supports: &ai.ModelSupports{Tools: true, Multiturn: true}}, scripted)
				var rules []chaos.Rule
				if target != "" {
					rules = append(rules, chaos.Rule{Target: target, Fault: fault.Fail(fault.ErrUnavailable)})
				}
				plan, err := chaos.NewPlan(1, rules...)
				require.NoError(t, err)
				in := plan.Injector("slots", nil)
				answer, err := genkit.GenerateText(chaos.NewContext(t.Context(), in), g, ai.WithModelName("scripted/model"),
					ai.WithPrompt("Refund it."), ai.WithTools(refunds(g)), ai.WithUse(ai.MiddlewareFunc(points)))
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

// Genkit lists the tools of a request in a random order. The middleware gives them one, so that equal requests are equal.
func TestToolsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := genkit.Init(t.Context())
		var tools []ai.ToolRef
		for _, name := range []string{"refund", "notify", "look_up", "audit"} {
			tools = append(tools, genkit.DefineTool(g, name, name, func(*ai.ToolContext, refundIn) (refundOut, error) { return refundOut{}, nil }))
		}
		var names []string
		genkit.DefineModelAction(g, "scripted/model", &ai.ModelOptions{Supports: &ai.ModelSupports{Tools: true}},
			func(_ context.Context, r *ai.ModelRequest, _ struct{}, _ ai.ModelStreamCallback) (*ai.ModelResponse, error) {
				names = nil
				for _, tool := range r.Tools {
					names = append(names, tool.Name)
				}
				return &ai.ModelResponse{Message: ai.NewModelTextMessage("Nothing to do.")}, nil
			})
		for range 20 {
			_, err := genkit.GenerateText(t.Context(), g, ai.WithModelName("scripted/model"), ai.WithPrompt("Refund it."),
				ai.WithTools(tools...), ai.WithUse(ai.MiddlewareFunc(points)))
			require.NoError(t, err)
			assert.Equal(t, []string{"audit", "look_up", "notify", "refund"}, names)
		}
	})
}
