package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/shakedown-go/shakedown/examples/cluster/sim"
	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

// contractYAML is the contract of the tools, which the server has as a resource.
//
//go:embed tools.yaml
var contractYAML []byte

const (
	// sessionTimeout is after which rest a session of the older protocol is closed.
	sessionTimeout = 30 * time.Minute
	// withoutSessions is the first revision of the protocol that has none.
	withoutSessions = "2026-07-28"
)

// table lists what each tool needs. The tools that list and get items of a
// collection are reads.
func table() []policy.Tool {
	var rows []policy.Tool
	add := func(scope string, c policy.Capability, names ...string) {
		for _, name := range names {
			rows = append(rows, policy.Tool{Name: name, Capability: c, Scopes: []string{scope}, Target: "id", Failure: refusal})
		}
	}
	add("cluster:read", policy.Read, "cluster.summary")
	add("components:read", policy.Read, "components.list", "components.get")
	add("components:write", policy.Write, "components.delete")
	add("power:read", policy.Read, "power.status", "power.transitions.list", "power.transitions.get")
	add("power:write", policy.Write, "power.transitions.abort")
	return append(rows, policy.Tool{Name: "power.transitions.create", Scopes: []string{"power:write"}, Target: "targets",
		Limit: &policy.Limit{PerSecond: 2, Burst: 10}, Failure: refusal})
}

// refusal is the structured output of a call that the gate refuses: the envelope itself, as in
// its text.
func refusal(_ json.RawMessage, e *policy.Error) any { return e }

// rules are the calls that need a confirmation: what cannot be undone, and what
// interrupts work.
func rules() []policy.Confirm {
	return []policy.Confirm{
		{Tool: "*.delete"},
		{Tool: "power.transitions.abort"},
		{Tool: "power.transitions.create", Field: "operation",
			Values: []any{"ForceOff", "GracefulShutdown", "GracefulRestart", "ForceRestart", "Nmi"}},
	}
}

// newServer is a server of the bare SDK with the gate in front of it. Of the
// options, table and rules are set here.
func newServer(c *sim.Cluster, o policy.Options) (*mcp.Server, *policy.Gate, error) {
	o.Tools, o.Confirm = table(), rules()
	gate, err := policy.New(&o)
	if err != nil {
		return nil, nil, err
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "cluster", Title: "Cluster control", Version: "1.0.0"},
		&mcp.ServerOptions{
			Instructions: "Begin with cluster.summary. Ask the user before you call a tool that wants confirm."})
	addTools(s, c)
	s.AddResource(&mcp.Resource{URI: "cluster://tools.yaml", Name: "tools.yaml", MIMEType: "application/yaml",
		Description: "The contract of the tools."},
		func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "cluster://tools.yaml",
				MIMEType: "application/yaml", Text: string(contractYAML)}}}, nil
		})
	s.AddReceivingMiddleware(gate.Middleware())
	return s, gate, nil
}

// handler serves revisions of the protocol with sessions and without on one URL.
// The SDK needs a handler for each.
func handler(s *mcp.Server) http.Handler {
	get := func(*http.Request) *mcp.Server { return s }
	stateful := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{SessionTimeout: sessionTimeout})
	stateless := mcp.NewStreamableHTTPHandler(get,
		&mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true})
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Mcp-Protocol-Version") >= withoutSessions {
			stateless.ServeHTTP(w, req)
			return
		}
		stateful.ServeHTTP(w, req)
	})
}
