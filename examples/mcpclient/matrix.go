package main

import (
	"context"
	"fmt"
	"os/exec"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/invariant"
	"github.com/shakedown-go/shakedown/mcpadapter/client"
	"github.com/shakedown-go/shakedown/mcpadapter/mcpchaos"
)

// patience is how long the agent waits for one answer of a tool, and honest
// is what it says when it has none.
const (
	patience = 2 * time.Second
	honest   = "I could not find out."
)

// world starts a server and connects to it, with injection points at the tools,
// the protocol and the connection.
func (s *settings) world(ctx context.Context) (*contract.World, error) {
	protocol := mcp.NewClient(&mcp.Implementation{Name: "mcpclient", Version: "1"}, nil)
	protocol.AddSendingMiddleware(mcpchaos.Sending(nil))
	cmd := exec.Command(s.command[0], s.command[1:]...) // ends with the session
	transport := &mcp.CommandTransport{Command: cmd, TerminateDuration: time.Second}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	session, err := protocol.Connect(ctx, mcpchaos.Transport(transport, nil), nil)
	if err != nil {
		return nil, fmt.Errorf("mcpclient: %s: %w", s.command[0], err)
	}
	closed := func() error {
		_ = session.Close() // the error of a server that is cut off or stopped says nothing
		return nil
	}
	return &contract.World{Agent: s.ask, Tools: client.Registry(session), Close: closed}, nil
}

// ask is the agent under test: it asks the tool twice at most and does not
// make anything up.
func (s *settings) ask(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
	if _, err := tools.Tools(ctx); err != nil {
		return honest, nil
	}
	for range 2 {
		try, cancel := context.WithTimeout(ctx, patience)
		out, err := tools.CallTool(try, s.tool, s.args)
		cancel()
		if err == nil {
			return string(out), nil
		}
	}
	return honest, nil
}

// matrix checks the agent's invariants while the server's tools, the
// protocol and the connection break.
func (s *settings) matrix() *contract.Matrix {
	request, received := "mcp/tools/call/"+s.tool, "mcp/receive/tools/call/"+s.tool
	rule := func(target string, f chaos.Fault, w chaos.When) []chaos.Rule {
		return []chaos.Rule{{Target: target, Fault: f, When: w}}
	}
	once := when.First(1)
	return &contract.Matrix{
		Name: "a server that nobody here wrote", NewWorld: s.world, Prompts: []string{"Ask the tool."},
		Points: []string{request, received},
		Invariants: []contract.Invariant{
			invariant.ContainsAny("right-or-honest", contract.Critical, s.want, honest),
			invariant.Completes("answers", contract.High),
		},
		Scenarios: []contract.Scenario{
			contract.Calm(),
			{Name: "tool-fails-once", Rules: rule(s.tool, fault.Fail(fault.ErrUnavailable), once)},
			{Name: "tool-is-slow", Rules: rule(s.tool, fault.Delay(50*time.Millisecond), nil)},
			{Name: "tool-was-removed", Rules: rule(request, mcpchaos.RemoveTool(), nil)},
			{Name: "answer-is-lost-once", Rules: rule(received, mcpchaos.Drop(), once)},
			{Name: "answer-has-a-wrong-id", Rules: rule(received, mcpchaos.ChangeID(), once)},
			{Name: "answer-comes-twice", Rules: rule(received, mcpchaos.Duplicate(1), nil)},
			{Name: "list-changes-all-the-time", Rules: rule(received, mcpchaos.FloodListChanged(100), nil)},
			{Name: "server-prints-to-its-output",
				Rules: rule(received, mcpchaos.InsertGarbage("listening on stdio"), once)},
			{Name: "connection-is-cut", Rules: rule(received, mcpchaos.Cut(), once)},
		},
	}
}
