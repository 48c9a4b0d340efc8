// Command ollama runs an agent on Ollama's Go client while the server fails.
//
//	go run .
//
// The client's transport is an injection point (chaoshttp.NewTransport), and behind
// it is a scripted model in the same process (chaoshttp/modeltest): no server is
// needed and nothing is sent.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/ollama/ollama/api"

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
	model      = "qwen3"
	answerText = "Order 1042 was shipped to Zoë on Monday."
)

// script calls the tool for two orders, and answers once one was shipped.
func script() modeltest.Func {
	return modeltest.Script(
		modeltest.Answer{Text: "Let me look.", Calls: []modeltest.Call{
			{Name: "orders_status", Args: `{"order_id":1042}`}, {Name: "orders_status", Args: `{"order_id":7}`},
		}},
		modeltest.Answer{After: "shipped", Text: answerText},
	)
}

// newProvider makes a server in this process.
func newProvider() http.RoundTripper { return modeltest.New(nil, script()) }

// newClient makes a client over the transport.
func newClient(base http.RoundTripper) *api.Client {
	return api.NewClient(&url.URL{Scheme: "http", Host: "ollama.example"}, &http.Client{Transport: base})
}

// run asks the same question in several scenarios; provider makes what answers in one.
func run(ctx context.Context, out io.Writer, provider func() http.RoundTripper) error {
	for _, w := range []struct {
		name string
		rule chaos.Rule
	}{
		{"a server that starts", chaos.Rule{When: when.Nth(1), Fault: chaoshttp.Refused()}},
		{"an answer that breaks off", chaos.Rule{When: when.Nth(2), Fault: chaoshttp.CutBody(200)}},
		{"a server that is busy", chaos.Rule{Fault: chaoshttp.Status(http.StatusServiceUnavailable, nil)}},
	} {
		w.rule.Target = "POST ollama.example/*"
		plan, err := chaos.NewPlan(1, w.rule)
		if err != nil {
			return err
		}
		in := plan.Injector(w.name, &chaos.InjectorOptions{RecordAll: true})
		client := newClient(chaoshttp.NewTransport(provider(), nil))
		answer, err := ask(chaos.NewContext(ctx, in), client, "Where is order 1042?")
		fmt.Fprintf(out, "%s, %d attempts on the wire: %q %v\n", w.name, len(in.Events()), answer, err)
	}
	return nil
}

// ask is the loop of an agent: the model is asked until it calls no more tools.
func ask(ctx context.Context, client *api.Client, question string) (string, error) {
	history := []api.Message{{Role: "user", Content: question}}
	for range 5 {
		said, err := askAgain(ctx, client, history)
		if err != nil {
			return "", err
		}
		if len(said.ToolCalls) == 0 {
			return said.Content, nil
		}
		history = append(append(history, said), work(said.ToolCalls)...)
	}
	return "", errors.New("too many turns")
}

// askAgain asks up to three times: the client itself asks once.
func askAgain(ctx context.Context, client *api.Client, history []api.Message) (said api.Message, err error) {
	for range 3 {
		if said, _, err = askOnce(ctx, client, history, true); err == nil {
			return said, nil
		}
		time.Sleep(time.Second)
	}
	return said, err
}

// askOnce collects the answer, which is in several parts if it is streamed.
func askOnce(ctx context.Context, client *api.Client, history []api.Message,
	stream bool) (said api.Message, used api.Metrics, err error) {
	done := false
	err = client.Chat(ctx, &api.ChatRequest{Model: model, Messages: history, Tools: api.Tools{tool()}, Stream: &stream},
		func(r api.ChatResponse) error {
			said.Role = r.Message.Role
			said.Content += r.Message.Content
			said.ToolCalls = append(said.ToolCalls, r.Message.ToolCalls...)
			done, used = r.Done, r.Metrics
			return nil
		})
	if err == nil && !done {
		err = errors.New("the answer is incomplete")
	}
	return said, used, err
}

func tool() api.Tool {
	tool := api.Tool{Type: "function",
		Function: api.ToolFunction{Name: "orders_status", Description: "Where an order is."}}
	tool.Function.Parameters.Type = "object"
	return tool
}

// work runs the tools.
func work(calls []api.ToolCall) (results []api.Message) {
	for _, c := range calls {
		results = append(results,
			api.Message{Role: "tool", ToolName: c.Function.Name, ToolCallID: c.ID,
				Content: c.Function.Arguments.String() + " is shipped"})
	}
	return results
}
