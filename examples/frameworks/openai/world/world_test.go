package world

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp/modeltest"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/contracttest"
	"github.com/shakedown-go/shakedown/contract/invariant"
)

const honest = "I could not find out where order 1042 is."

// An agent is the loop around the framework's client. Its tools are those of the
// world: a result, or an error, goes back to the model.
type agent struct{ client openai.Client }

func (a agent) ask(ctx context.Context, prompt string, tools chaos.ToolRegistry) (string, error) {
	answer, err := a.converse(ctx, prompt, tools)
	if err != nil {
		return honest, nil
	}
	return answer, nil
}

func (a agent) converse(ctx context.Context, prompt string, tools chaos.ToolRegistry) (string, error) {
	params := openai.ChatCompletionNewParams{
		Model:    openai.ChatModelGPT5_2,
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(prompt)},
	}
	offered, err := tools.Tools(ctx)
	if err != nil {
		return "", err
	}
	for _, tool := range offered {
		var schema openai.FunctionParameters
		if err := json.Unmarshal(tool.InputSchema, &schema); err != nil {
			return "", err
		}
		params.Tools = append(params.Tools, openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{Name: tool.Name, Parameters: schema}))
	}
	for range 5 {
		completion, err := a.client.Chat.Completions.New(ctx, params)
		if err != nil {
			return "", err
		}
		if len(completion.Choices) == 0 || completion.Choices[0].FinishReason == "length" {
			return "", errors.New("half an answer, or none")
		}
		message := completion.Choices[0].Message
		if len(message.ToolCalls) == 0 {
			return message.Content, nil
		}
		params.Messages = append(params.Messages, message.ToParam())
		for _, call := range message.ToolCalls {
			result, err := tools.CallTool(ctx, call.Function.Name, json.RawMessage(call.Function.Arguments))
			if err != nil {
				result = []byte("error: " + err.Error())
			}
			params.Messages = append(params.Messages, openai.ToolMessage(string(result), call.ID))
		}
	}
	return "", errors.New("too many turns")
}

// answer is the model: it calls the tool first, and then says what the tool said.
func answer(_ context.Context, r modeltest.Request) (modeltest.Answer, error) {
	last := r.Messages[len(r.Messages)-1]
	switch {
	case last.Role == "user":
		return modeltest.Answer{Calls: []modeltest.Call{{Name: "orders_status", Args: `{"order":"1042"}`}}}, nil
	case strings.Contains(last.Text, "shipped"):
		return modeltest.Answer{Text: "Order 1042 was shipped."}, nil
	}
	return modeltest.Answer{Text: honest}, nil
}

// newWorld gives each cell a client and a model of its own. The client's retries wait
// in virtual time.
func newWorld(context.Context) (*contract.World, error) {
	client := openai.NewClient(
		option.WithAPIKey("none"), option.WithBaseURL("https://api.openai.example/v1/"), option.WithRequestTimeout(30*time.Second),
		option.WithHTTPClient(&http.Client{Transport: chaoshttp.NewTransport(modeltest.New(nil, answer), nil)}),
	)
	tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{
		Name: "orders_status", Effect: chaos.EffectNone,
		InputSchema: json.RawMessage(`{"type":"object","properties":{"order":{"type":"string"}},"required":["order"]}`),
	},
		func(_ context.Context, in struct{ Order string }) (string, error) { return "shipped", nil }))
	return &contract.World{Agent: agent{client}.ask, Tools: tools}, err
}

func TestAgentWithAFramework(t *testing.T) {
	const model = "POST api.openai.example/v1/chat/completions"
	rateLimit := chaoshttp.APIError(chaoshttp.OpenAI, chaoshttp.KindRateLimit, nil)
	contracttest.Run(t, &contract.Matrix{
		NewWorld: newWorld,
		Points:   []string{model},
		Prompts:  []string{"Where is order 1042?"},
		Invariants: []contract.Invariant{
			invariant.ContainsAny("right-or-honest", contract.Critical, "1042 was shipped", honest),
			invariant.Within("in-time", contract.High, 5*time.Minute),
		},
		Scenarios: []contract.Scenario{
			contract.Calm(),
			{Name: "tool-down", Rules: []chaos.Rule{{Target: "orders_status", Fault: fault.Fail(fault.ErrUnavailable)}}},
			{Name: "rate-limited-twice", Rules: []chaos.Rule{{Target: model, When: when.First(2), Fault: rateLimit}}},
			{Name: "answer-cut", Rules: []chaos.Rule{{Target: model, When: when.Nth(2), Fault: chaoshttp.CutCompletion(9)}}},
			{Name: "arguments-broken", Rules: []chaos.Rule{{Target: model, When: when.First(1), Fault: chaoshttp.MalformToolCall()}}},
		},
	}, nil)
}
