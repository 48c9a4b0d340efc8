// This file and the fixtures of the Go SDK's own conformance server make the
// program against which .ci/mcp-policy-conformance.sh runs the official suite.
// The script copies those fixtures beside it, with their main renamed. It is not
// built in this folder.
//
// Usage: fixture -http ADDRESS [-policy]
// It serves every revision of the protocol on one URL, as mcpadapter does, and
// with -policy puts the middleware and the HTTP guard of mcpadapter/policy in front,
// whose audit goes to standard output.
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"net/http"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

// transient is the tool that a fixture adds when it is called.
const transient = "__transient_tool_for_list_changed"

func main() {
	behindPolicy := flag.Bool("policy", false, "put mcpadapter/policy in front")
	flag.Parse()
	server := mcp.NewServer(&mcp.Implementation{Name: "fixtures", Version: "1"}, &mcp.ServerOptions{
		CompletionHandler: completionHandler, SubscribeHandler: subscribeHandler, UnsubscribeHandler: unsubscribeHandler,
	})
	registerTools(server)
	registerResources(server)
	registerPrompts(server)
	handler := bothEras(server)
	if *behindPolicy {
		gate, err := newGate(context.Background(), server)
		if err != nil {
			log.Fatal(err)
		}
		server.AddReceivingMiddleware(gate.Middleware())
		if handler, err = gate.HTTPHandler(handler, &policy.HTTPOptions{Listen: *httpAddr, LoopbackWithoutToken: true}); err != nil {
			log.Fatal(err)
		}
	}
	go watchedResourceUpdater(context.Background(), server)
	log.Fatal(http.ListenAndServe(*httpAddr, handler))
}

// bothEras serves the revisions with sessions and without.
func bothEras(server *mcp.Server) http.Handler {
	get := func(*http.Request) *mcp.Server { return server }
	with := mcp.NewStreamableHTTPHandler(get, nil)
	without := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Protocol-Version") >= "2026-07-28" {
			without.ServeHTTP(w, r)
			return
		}
		with.ServeHTTP(w, r)
	})
}

// newGate has a row for each tool that the server lists, and lets all of them be called.
func newGate(ctx context.Context, server *mcp.Server) (*policy.Gate, error) {
	here, there := mcp.NewInMemoryTransports()
	session, err := server.Connect(ctx, there, nil)
	if err != nil {
		return nil, err
	}
	client, err := mcp.NewClient(&mcp.Implementation{Name: "table", Version: "1"}, nil).Connect(ctx, here, nil)
	if err != nil {
		return nil, err
	}
	rows := []policy.Tool{{Name: transient}}
	for tool, err := range client.Tools(ctx, nil) {
		if err != nil {
			return nil, err
		}
		rows = append(rows, policy.Tool{Name: tool.Name, Scopes: []string{"fixtures:write"}})
	}
	if err := errors.Join(client.Close(), session.Wait()); err != nil {
		return nil, err
	}
	return policy.New(&policy.Options{Mode: policy.ReadWrite, EnableWrite: true, Tools: rows, Audit: os.Stdout})
}
