package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract/audit"
	"github.com/shakedown-go/shakedown/mcpadapter/client"
)

// A process is a server that runs, over its standard input and output. It is the registry of its tools, also after it
// was restarted.
type process struct {
	command []string
	env     []string

	mu      sync.Mutex
	session *mcp.ClientSession
	said    *bytes.Buffer // on its standard error, once it has ended
}

func (s *server) process(f *front, command []string) *process {
	args, env := s.run(f)
	return &process{command: slices.Concat(command, args), env: append(os.Environ(), env...)}
}

func (p *process) now() chaos.ToolRegistry {
	p.mu.Lock()
	defer p.mu.Unlock()
	return client.Registry(p.session)
}

func (p *process) Tools(ctx context.Context) ([]chaos.Tool, error) { return p.now().Tools(ctx) }

func (p *process) CallTool(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error) {
	return p.now().CallTool(ctx, name, args)
}

func (p *process) end() {
	if p.session != nil {
		p.session.Close() //nolint:errcheck // it has ended, in one way or another
	}
}

// restart starts the server; one that runs is ended before.
func (p *process) restart(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end()
	cmd := exec.Command(p.command[0], p.command[1:]...)
	p.said = new(bytes.Buffer)
	cmd.Env, cmd.Stderr = p.env, p.said
	// It must live longer than the context of one restart.
	session, err := mcp.NewClient(&mcp.Implementation{Name: "audits", Version: "1"}, nil).Connect(context.Background(),
		&mcp.CommandTransport{Command: cmd, TerminateDuration: time.Second}, nil)
	p.session = session
	return err
}

// revive starts the server again if it has ended by itself.
func (p *process) revive(ctx context.Context) error {
	if p.session.Ping(ctx, nil) == nil {
		return nil
	}
	return p.restart(ctx)
}

// claims are the annotations of the tools.
func (p *process) claims(ctx context.Context) (map[string]audit.Claims, error) {
	all := map[string]audit.Claims{}
	for tool, err := range p.session.Tools(ctx, nil) {
		if err != nil {
			return nil, err
		}
		if a := tool.Annotations; a != nil {
			all[tool.Name] = audit.Claims{ReadOnly: &a.ReadOnlyHint, Idempotent: &a.IdempotentHint, Destructive: a.DestructiveHint}
		}
	}
	return all, nil
}
