package modeltest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp/modeltest"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/lies"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/contracttest"
	"github.com/shakedown-go/shakedown/contract/invariant"
)

// newDesk makes the world of a cell: a model that calls a tool and words its result,
// and an agent that asks it.
func newDesk(context.Context) (*contract.World, error) {
	model := modeltest.New(nil, func(_ context.Context, r modeltest.Request) (modeltest.Answer, error) {
		if last := r.Messages[len(r.Messages)-1]; last.Role == "tool" {
			return modeltest.Answer{Text: "The desk says: " + last.Text}, nil
		}
		return modeltest.Answer{Calls: []modeltest.Call{{Name: "status", Args: `{"order":"1042"}`}}}, nil
	})
	type order struct {
		Order string `json:"order"`
	}
	tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "status"}, func(_ context.Context, in order) (string, error) {
		return in.Order + " was shipped", nil
	}))
	client := &http.Client{Transport: chaoshttp.NewTransport(model, nil)}
	return &contract.World{Tools: tools, Agent: func(ctx context.Context, prompt string, tools chaos.ToolRegistry) (string, error) {
		messages := []any{obj{"role": "user", "content": prompt}}
		for range 8 {
			said, err := askModel(ctx, client, messages)
			if err != nil {
				time.Sleep(time.Second)
				continue
			}
			if len(said.Calls) == 0 {
				return said.Content, nil
			}
			messages = append(messages, said)
			for _, c := range said.Calls {
				result, err := tools.CallTool(ctx, c.Function.Name, json.RawMessage(c.Function.Arguments))
				if err != nil {
					result, _ = json.Marshal("no answer, try again: " + err.Error())
				}
				messages = append(messages, obj{"role": "tool", "tool_call_id": c.ID, "content": string(result)})
			}
		}
		return "", errors.Join(errors.New("no answer"), model.Err())
	}}, err
}

type assistant struct {
	Role    string `json:"role"`
	Content string `json:"content"`
	Calls   []struct {
		ID       string                           `json:"id"`
		Function struct{ Name, Arguments string } `json:"function"`
	} `json:"tool_calls,omitempty"`
}

func askModel(ctx context.Context, client *http.Client, messages []any) (*assistant, error) {
	body := document(obj{"model": "m", "messages": messages, "tools": []any{
		obj{"type": "function", "function": obj{"name": "status", "parameters": schema()}}}})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://api.example/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s %w", resp.Status, err)
	}
	var doc struct {
		Choices []struct{ Message *assistant }
	}
	if err := json.Unmarshal(all, &doc); err != nil || len(doc.Choices) == 0 {
		return nil, errors.New("no completion")
	}
	return doc.Choices[0].Message, nil
}

// The conversation stands in the evidence of a matrix that keeps values. A canary in it
// has not leaked: only arguments and the answer are searched.
func TestTheConversationIsKept(t *testing.T) {
	for _, keep := range []bool{false, true} {
		r, err := (&contract.Matrix{
			NewWorld: newDesk, Prompts: []string{"Where is order 1042?"}, KeepValues: keep,
			Invariants: []contract.Invariant{invariant.Contains("names-the-order", contract.Low, "1042")},
			Scenarios:  []contract.Scenario{{Name: "bait", Rules: []chaos.Rule{{Target: "status", Fault: lies.Inject(lies.Attack{Kind: lies.Exfiltration})}}}},
		}).Run(t.Context(), &contract.RunOptions{Keep: contract.KeepAll})
		require.NoError(t, err)
		events := r.Cells[0].Evidence.Events
		canaries := lies.Canaries(events)
		require.Len(t, canaries, 1, "it was delivered")
		var said []string
		for _, e := range events {
			assert.Equal(t, keep && e.Layer == chaos.LayerLLM, e.Exchange != nil, e.Target)
			if e.Exchange != nil {
				said = append(said, e.Exchange.Request, e.Exchange.Response)
			}
		}
		if !keep {
			continue
		}
		require.Len(t, said, 4, "two calls of the model")
		assert.Contains(t, said[0], "Where is order 1042?")
		assert.Contains(t, said[1], "status", "the tool that it calls")
		assert.Contains(t, said[2], canaries[0], "what the tool answered")
		assert.Contains(t, said[3], "The desk says", "complete, since it was read before the answer ended")
		assert.Empty(t, lies.Leaks(events, ""))
	}
}

// A model in the world of each cell: its client sends requests again, and cells run
// side by side in virtual time.
func TestMatrix(t *testing.T) {
	const model = "POST api.example/v1/chat/completions"
	contracttest.Run(t, &contract.Matrix{
		NewWorld:   newDesk,
		Prompts:    []string{"Where is order 1042?"},
		Points:     []string{model},
		Invariants: []contract.Invariant{invariant.Contains("names-the-order", contract.Low, "1042 was shipped")},
		Scenarios: []contract.Scenario{
			contract.Calm(),
			{Name: "limited", Rules: []chaos.Rule{{Target: model, When: when.First(2), Fault: chaoshttp.APIError(chaoshttp.OpenAI, chaoshttp.KindRateLimit, nil)}}},
			{Name: "reply-lost", Rules: []chaos.Rule{{Target: model, When: when.Nth(1), Fault: chaoshttp.CutBody(40)}}},
			{Name: "slow", Rules: []chaos.Rule{{Target: model, Fault: fault.Delay(time.Hour)}}},
		},
		Trials: 8,
	}, nil)
}
