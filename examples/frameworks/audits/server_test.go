package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract/audit"
	"github.com/shakedown-go/shakedown/mcpadapter/client"
)

// build makes the command of a server by the module in a folder, whose build list is that of the server's release.
func build(t *testing.T, folder string) (command string) {
	t.Helper()
	began := time.Now()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", dir+string(filepath.Separator), "tool")
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "GOWORK=off")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	built, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Len(t, built, 1)
	t.Logf("built in %s", time.Since(began).Round(time.Second/10))
	return built[0]
}

// A process is a server that runs, over its standard input and output. It is the registry of its tools, also after it
// was restarted.
type process struct {
	command func() *exec.Cmd

	mu      sync.Mutex
	session *mcp.ClientSession
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

// restart starts the server; one that runs is ended before.
func (p *process) restart(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.session != nil {
		p.session.Close() //nolint:errcheck // it was ended, in one way or another
	}
	// It must live longer than the context of one restart.
	session, err := mcp.NewClient(&mcp.Implementation{Name: "audits", Version: "1"}, nil).Connect(context.Background(),
		&mcp.CommandTransport{Command: p.command(), TerminateDuration: time.Second}, nil)
	p.session = session
	return err
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
