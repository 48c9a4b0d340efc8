package process

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp/modeltest"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/contracttest"
	"github.com/shakedown-go/shakedown/contract/httpagent"
	"github.com/shakedown-go/shakedown/contract/invariant"
)

// A model is the endpoint that the other process calls. Its requests carry no
// injector: they get the one of the cell that runs.
type model struct {
	cell atomic.Pointer[chaos.Injector]
}

func (m *model) start(t *testing.T) (url string) {
	script := modeltest.Script(
		modeltest.Answer{Calls: []modeltest.Call{{Name: "refund", Args: `{"order":"1042"}`}}},
		modeltest.Answer{After: "refunded", Text: "Order 1042 was refunded."},
	)
	target := func(r *http.Request) string { return "model" } // a name without the port, which changes
	faulty := chaoshttp.Handler(modeltest.New(t, script), &chaoshttp.Options{Target: target})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		faulty.ServeHTTP(w, r.WithContext(chaos.NewContext(r.Context(), m.cell.Load())))
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1"
}

// observed is the agent, whose cells run one at a time.
func (m *model) observed(agent contract.Agent) contract.Agent {
	return func(ctx context.Context, prompt string, tools chaos.ToolRegistry) (string, error) {
		m.cell.Store(chaos.FromContext(ctx))
		return agent(ctx, prompt, tools)
	}
}

// startAgent starts the service and returns its address.
func startAgent(t *testing.T, modelURL string, args ...string) (url string) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("the agent is a Python program: ", err)
	}
	cmd := exec.Command(python, append([]string{"agent.py"}, args...)...)
	cmd.Env = append(os.Environ(), "MODEL_URL="+modelURL)
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil { // closed when this process ends, and then the agent ends too
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // its error is the kill
	})
	port, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal("the agent did not start: ", err)
	}
	return "http://127.0.0.1:" + strings.TrimSpace(port)
}

// refunds asks the service what it has done.
func refunds(url string) func(context.Context) (any, error) {
	return func(ctx context.Context) (any, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/state", nil)
		if err != nil {
			return nil, err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		var orders []string
		if err := json.NewDecoder(resp.Body).Decode(&orders); err != nil {
			return nil, fmt.Errorf("the agent's state: %w", err)
		}
		return orders, nil
	}
}

func matrix(t *testing.T, args ...string) *contract.Matrix {
	m := &model{}
	url := startAgent(t, m.start(t), args...)
	on := func(name string, w chaos.When, f chaos.Fault) contract.Scenario {
		return contract.Scenario{Name: name, Rules: []chaos.Rule{{Target: "model", When: w, Fault: f}}}
	}
	return &contract.Matrix{
		World: &contract.World{
			Agent: m.observed(httpagent.Agent(&httpagent.Options{URL: url + "/agent"})),
			State: refunds(url),
		},
		Reset:   httpagent.Reset(url + "/reset"),
		Points:  []string{"model"},
		Prompts: []string{"Refund order 1042"},
		Invariants: []contract.Invariant{
			invariant.AtMostOnce("one-refund", contract.Critical, func(orders []string) []string { return orders }),
			invariant.Contains("names-the-order", contract.Low, "1042"),
		},
		Scenarios: []contract.Scenario{
			contract.Calm(),
			on("rate-limited", when.First(1), chaoshttp.APIError(chaoshttp.OpenAI, chaoshttp.KindRateLimit, nil)),
			on("answer-cut", when.Nth(2), chaoshttp.CutBody(40)),
			on("second-turn-down", when.Nth(2), chaoshttp.Status(http.StatusServiceUnavailable, nil)),
			on("says-nothing", when.Nth(2), chaoshttp.EmptyCompletion()),
			on("reset-for-good", when.After(1), chaoshttp.Reset()),
			on("reply-lost", when.First(1), fault.LoseReplyAfter(10*time.Millisecond)),
		},
	}
}

func TestAgentInAnotherProcess(t *testing.T) {
	contracttest.Run(t, matrix(t), nil)
}
