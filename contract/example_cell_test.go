package contract_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/invariant"
)

// An agent in another process, or in another language, calls its model through a
// proxy, which has the injector of the cell. Here the agent is a function that knows
// the address alone; a real one would be started with it in OPENAI_BASE_URL.
func ExampleCellOf() {
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"choices":[{"message":{"role":"assistant","content":"It is noon."}}]}`)
	}))
	defer model.Close()
	target, _ := url.Parse(model.URL)
	newWorld := func(ctx context.Context) (*contract.World, error) {
		proxy := &httputil.ReverseProxy{
			Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
			Transport: chaoshttp.NewTransport(nil, &chaoshttp.Options{
				Target: func(r *http.Request) string { return "POST model" + r.URL.Path }, // the port of the model changes
			}),
		}
		server := httptest.NewServer(chaoshttp.WithInjector(proxy, chaos.FromContext(ctx)))
		agent := func(ctx context.Context, prompt string, _ chaos.ToolRegistry) (string, error) {
			resp, err := http.Post(server.URL+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m"}`))
			if err != nil {
				return "", err
			}
			defer resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				return "I cannot say: the model is down.", nil
			}
			body, err := io.ReadAll(resp.Body)
			return string(body), err
		}
		return &contract.World{Agent: agent, Close: func() error { server.Close(); return nil }}, nil
	}
	report, err := (&contract.Matrix{
		NewWorld: newWorld,
		Points:   []string{"POST model/v1/chat/completions#m"},
		Prompts:  []string{"What time is it?"},
		Invariants: []contract.Invariant{
			invariant.ContainsAny("honest", contract.High, "noon", "cannot say"),
			{Name: "says-where", Severity: contract.Low, Check: func(ctx context.Context, o *contract.Observation) error {
				c, _ := contract.CellOf(ctx)
				fmt.Printf("%s, trial %d, seed %d: %d call, %d bytes\n", c.Scenario, c.Trial, c.Seed, len(o.Events), len(o.Response))
				return nil
			}},
		},
		Scenarios: []contract.Scenario{
			contract.Calm(),
			{Name: "overloaded", Rules: []chaos.Rule{{Target: "POST model/*", Fault: chaoshttp.APIError(chaoshttp.OpenAI, chaoshttp.KindOverloaded, nil)}}},
		},
		Seed: 7,
	}).Run(context.Background(), &contract.RunOptions{Workers: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Score.Verdict)
	// Output:
	// calm, trial 1, seed 7: 1 call, 70 bytes
	// overloaded, trial 1, seed 7: 1 call, 32 bytes
	// PASS
}
