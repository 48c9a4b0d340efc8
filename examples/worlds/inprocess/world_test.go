package inprocess

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp/modeltest"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/contracttest"
	"github.com/shakedown-go/shakedown/contract/invariant"
)

const honest = "I could not find out where order 1042 is."

// An agent looks the order up, and its model phrases the answer.
type agent struct{ model *http.Client }

func (a agent) ask(ctx context.Context, prompt string, tools chaos.ToolRegistry) (string, error) {
	status, err := tools.CallTool(ctx, "orders_status", json.RawMessage(`{"order":"1042"}`))
	if err != nil {
		return honest, nil
	}
	answer, err := a.complete(ctx, prompt+" Its status: "+string(status))
	if err != nil {
		return honest, nil
	}
	return answer, nil
}

func (a agent) complete(ctx context.Context, prompt string) (string, error) {
	messages := []map[string]string{{"role": "user", "content": prompt}}
	body, err := json.Marshal(map[string]any{"model": "gpt-5", "messages": messages})
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, "POST", "https://api.openai.example/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	resp, err := a.model.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	var said struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.NewDecoder(resp.Body).Decode(&said); err != nil {
		return "", err
	}
	if len(said.Choices) == 0 || said.Choices[0].Message.Content == "" {
		return "", errors.New("the model said nothing")
	}
	return said.Choices[0].Message.Content, nil
}

// newWorld makes all that one cell touches: cells run in parallel, in virtual time.
func newWorld(context.Context) (*contract.World, error) {
	model := modeltest.New(nil, func(_ context.Context, r modeltest.Request) (modeltest.Answer, error) {
		if strings.Contains(r.Messages[0].Text, "shipped") {
			return modeltest.Answer{Text: "Order 1042 was shipped."}, nil
		}
		return modeltest.Answer{Text: honest}, nil
	})
	tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "orders_status", Effect: chaos.EffectNone},
		func(_ context.Context, in struct{ Order string }) (string, error) { return "shipped", nil }))
	a := agent{model: &http.Client{Transport: chaoshttp.NewTransport(model, nil), Timeout: 30 * time.Second}}
	return &contract.World{Agent: a.ask, Tools: tools}, err
}

func TestAgent(t *testing.T) {
	const model = "POST api.openai.example/v1/chat/completions"
	contracttest.Run(t, &contract.Matrix{
		NewWorld: newWorld,
		Points:   []string{model},
		Prompts:  []string{"Where is order 1042?"},
		Invariants: []contract.Invariant{
			invariant.ContainsAny("right-or-honest", contract.Critical, "1042 was shipped", honest),
			invariant.Within("in-time", contract.High, time.Minute),
		},
		Scenarios: []contract.Scenario{
			contract.Calm(),
			{Name: "lookup-down", Rules: []chaos.Rule{{Target: "orders_status", Fault: fault.Fail(fault.ErrUnavailable)}}},
			{Name: "model-hangs", Rules: []chaos.Rule{{Target: model, Fault: fault.Hang()}}},
			{Name: "model-says-nothing", Rules: []chaos.Rule{{Target: model, Fault: chaoshttp.EmptyCompletion()}}},
		},
	}, nil)
}
