// Command gemini runs an agent on Google's Go client for Gemini while the provider
// fails.
//
//	go run .
//
// The client's transport is an injection point (chaoshttp.NewTransport), and behind
// it is a scripted model in the same process (chaoshttp/modeltest): no key is needed
// and nothing is sent.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"google.golang.org/genai"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp/modeltest"
	"github.com/shakedown-go/shakedown/chaos/when"
)

func main() {
	if err := run(context.Background(), os.Stdout, newProvider); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const (
	model      = "gemini-3-pro"
	answerText = "Order 1042 was shipped to Zoë on Monday."
)

// script calls the tool for two orders, and answers once one was shipped.
func script() modeltest.Func {
	return modeltest.Script(
		modeltest.Answer{Text: "Let me look.", Calls: []modeltest.Call{
			{Name: "orders_status", Args: `{"order_id":1042}`}, {Name: "orders_status", Args: `{"order_id":7}`},
		}},
		modeltest.Answer{After: `"status":"shipped"`, Text: answerText},
	)
}

// newProvider makes a provider in this process.
func newProvider() http.RoundTripper { return modeltest.New(nil, script()) }

// newClient makes a client over the transport.
func newClient(ctx context.Context, base http.RoundTripper) (*genai.Client, error) {
	return genai.NewClient(ctx, &genai.ClientConfig{
		Backend: genai.BackendGeminiAPI, APIKey: "none",
		HTTPOptions: genai.HTTPOptions{BaseURL: "https://gemini.example/"},
		HTTPClient:  &http.Client{Transport: base},
	})
}

// run asks the same question in several scenarios; provider makes what answers in one.
func run(ctx context.Context, out io.Writer, provider func() http.RoundTripper) error {
	for _, w := range []struct {
		name string
		rule chaos.Rule
	}{
		{"one rate limit", chaos.Rule{When: when.Nth(1), Fault: chaoshttp.Status(http.StatusTooManyRequests, nil)}},
		{"a connection that is reset", chaos.Rule{When: when.Nth(2), Fault: chaoshttp.Reset()}},
		{"an answer that breaks off", chaos.Rule{When: when.Nth(2), Fault: chaoshttp.CutBody(60)}},
		{"no quota left", chaos.Rule{Fault: chaoshttp.Status(http.StatusTooManyRequests, nil)}},
	} {
		w.rule.Target = "POST gemini.example/*"
		plan, err := chaos.NewPlan(1, w.rule)
		if err != nil {
			return err
		}
		in := plan.Injector(w.name, &chaos.InjectorOptions{RecordAll: true})
		client, err := newClient(ctx, chaoshttp.NewTransport(provider(), nil))
		if err != nil {
			return err
		}
		answer, err := ask(chaos.NewContext(ctx, in), client, "Where is order 1042?")
		fmt.Fprintf(out, "%s, %d attempts on the wire: %q %v\n", w.name, len(in.Events()), answer, err)
	}
	return nil
}

// ask is the loop of an agent: the model is asked until it calls no more tools.
func ask(ctx context.Context, client *genai.Client, question string) (string, error) {
	history := []*genai.Content{genai.NewContentFromText(question, genai.RoleUser)}
	for range 5 {
		response, err := askAgain(ctx, client, history)
		if err != nil {
			return "", err
		}
		calls := response.FunctionCalls()
		if len(calls) == 0 {
			return response.Text(), nil
		}
		history = append(history, response.Candidates[0].Content, work(calls))
	}
	return "", errors.New("too many turns")
}

// askAgain asks up to three times: the client itself asks once.
func askAgain(ctx context.Context, client *genai.Client,
	history []*genai.Content) (response *genai.GenerateContentResponse, err error) {
	for range 3 {
		if response, err = client.Models.GenerateContent(ctx, model, history, tools()); err == nil {
			return response, nil
		}
		time.Sleep(time.Second)
	}
	return nil, err
}

func tools() *genai.GenerateContentConfig {
	return &genai.GenerateContentConfig{Tools: []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{{
		Name: "orders_status", Description: "Where an order is.",
		Parameters: &genai.Schema{Type: genai.TypeObject,
			Properties: map[string]*genai.Schema{"order_id": {Type: genai.TypeInteger}}},
	}}}}}
}

// work runs the tools.
func work(calls []*genai.FunctionCall) *genai.Content {
	results := &genai.Content{Role: genai.RoleUser}
	for _, c := range calls {
		result := map[string]any{"order_id": c.Args["order_id"], "status": "shipped"}
		results.Parts = append(results.Parts,
			&genai.Part{FunctionResponse: &genai.FunctionResponse{ID: c.ID, Name: c.Name, Response: result}})
	}
	return results
}
