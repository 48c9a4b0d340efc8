// Package drill tests a provider's client and an agent on it under every fault of package
// chaoshttp, live and from a tape. The examples of the providers share it.
package drill

import (
	"context"
	"net/http"

	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp/modeltest"
)

// Answer is what [Provider] answers.
const Answer = "Order 1042 was shipped to Zoë on Monday."

// Provider makes a model that calls the tool orders_status first, if there is a tool, and
// answers with the text once it has the tool's result, whatever that is.
func Provider() *modeltest.Model {
	return modeltest.New(nil, func(_ context.Context, r modeltest.Request) (modeltest.Answer, error) {
		if len(r.Tools) > 0 && r.Turn == 1 {
			return modeltest.Answer{Calls: []modeltest.Call{{Name: "orders_status", Args: `{"order_id":1042}`}}}, nil
		}
		return modeltest.Answer{Text: Answer}, nil
	})
}

// A Call asks the model one question through a client whose answers come from a transport, with
// tools or without.
type Call func(ctx context.Context, answers http.RoundTripper, tools bool) Seen

// A Client is what is tested. All of it is required.
type Client struct {
	API       chaoshttp.API
	Target    string                // of the client's requests
	Section   string                // of docs/reference/llm-clients.md
	Reason    string                // the member that says why an answer ended
	Kinds     []chaoshttp.ErrorKind // the errors that the provider has
	EventKind chaoshttp.ErrorKind   // the one that comes within a stream

	Provider        func() *modeltest.Model // makes one
	Whole, Streamed Call
	// Ask is the agent.
	Ask func(ctx context.Context, answers http.RoundTripper, question string) (string, error)
	// OwnError is a line for an error of the client's own type; "" for any other.
	OwnError func(error) string
}
