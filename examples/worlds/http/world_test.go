package http_test

import (
	"context"
	"encoding/json"
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
	"github.com/shakedown-go/shakedown/contract/httpagent"
	"github.com/shakedown-go/shakedown/contract/invariant"
)

const honest = "I cannot say where order 1042 is."

// A service is an agent behind HTTP: POST {"input": "…"} gives {"output": "…"}. It
// wraps what it calls, which does nothing in production.
type service struct {
	status func(ctx context.Context, order string) (string, error)
	model  *http.Client
}

func newService(model http.RoundTripper) *service {
	lookUp := func(_ context.Context, order string) (string, error) { return "shipped", nil }
	return &service{
		status: chaos.Wrap("orders.status", lookUp),
		model:  &http.Client{Transport: chaoshttp.NewTransport(model, nil), Timeout: 30 * time.Second},
	}
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := honest
	if status, err := s.status(r.Context(), "1042"); err == nil {
		answer = s.phrase(r.Context(), status)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]string{"output": answer})
}

func (s *service) phrase(ctx context.Context, status string) string {
	body := `{"model":"claude","max_tokens":99,"messages":[{"role":"user","content":"Say that order 1042 was ` + status + `"}]}`
	req, err := http.NewRequestWithContext(ctx, "POST", "https://api.anthropic.example/v1/messages", strings.NewReader(body))
	if err != nil {
		return honest
	}
	resp, err := s.model.Do(req)
	if err != nil {
		return honest
	}
	defer resp.Body.Close()
	var said struct{ Content []struct{ Text string } }
	if json.NewDecoder(resp.Body).Decode(&said) != nil || len(said.Content) == 0 {
		return honest
	}
	return said.Content[0].Text
}

// newWorld runs the service without a socket, so time is virtual here too. Over a
// real server give httpagent its URL, and contracttest.Options RealTime.
func newWorld(context.Context) (*contract.World, error) {
	model := modeltest.New(nil, modeltest.Script(modeltest.Answer{Text: "Order 1042 was shipped."}))
	server := chaoshttp.InProcess(newService(model))
	agent := httpagent.Agent(&httpagent.Options{URL: "http://desk/agent", Client: &http.Client{Transport: server}})
	return &contract.World{Agent: agent, Close: server.Close}, nil
}

func TestService(t *testing.T) {
	const model = "POST api.anthropic.example/v1/messages"
	overloaded := chaoshttp.APIError(chaoshttp.Anthropic, chaoshttp.KindOverloaded, nil)
	contracttest.Run(t, &contract.Matrix{
		NewWorld: newWorld,
		Points:   []string{"orders.status", model},
		Prompts:  []string{"Where is order 1042?"},
		Invariants: []contract.Invariant{
			invariant.ContainsAny("right-or-honest", contract.Critical, "1042 was shipped", honest),
			invariant.Within("in-time", contract.High, time.Minute),
		},
		Scenarios: []contract.Scenario{
			contract.Calm(),
			{Name: "lookup-slow", Rules: []chaos.Rule{{Target: "orders.status", Fault: fault.Delay(20 * time.Second)}}},
			{Name: "overloaded", Rules: []chaos.Rule{{Target: model, Fault: overloaded}}},
		},
	}, nil)
}
