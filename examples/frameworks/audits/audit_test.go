package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/audit"
	"github.com/shakedown-go/shakedown/examples/frameworks/internal/page"
)

// What each server does is a row a call in docs/audits.md.
func TestServers(t *testing.T) {
	for _, s := range servers {
		t.Run(s.folder, func(t *testing.T) {
			t.Parallel()
			s.hold(t, s.built(t))
		})
	}
}

// built returns the command of the server, which is made of the release that its folder requires, with the build list
// of that release.
func (s *server) built(t *testing.T) (command []string) {
	dir, began := t.TempDir(), time.Now()
	if s.folder == "filesystem" {
		return npm(t, dir, s.folder, "@modelcontextprotocol/server-filesystem/dist/index.js")
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", dir+string(filepath.Separator), "tool")
	cmd.Dir, cmd.Env = s.folder, append(os.Environ(), "GOWORK=off")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	built, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Len(t, built, 1)
	t.Logf("%s: built in %s", s.name, time.Since(began).Round(time.Second/10))
	return built
}

// npm installs what the package.json of a folder requires, and returns the command that runs a script of it.
func npm(t *testing.T, dir, folder, script string) (command []string) {
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("not tried: there is no npm")
	}
	for _, name := range []string{"package.json", "package-lock.json"} {
		doc, err := os.ReadFile(filepath.Join(folder, name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), doc, 0o644))
	}
	install := exec.CommandContext(t.Context(), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	install.Dir = dir
	if out, err := install.CombinedOutput(); err != nil {
		t.Skipf("not tried: what it needs cannot be installed here: %v\n%s", err, out)
	}
	return []string{"node", filepath.Join(dir, "node_modules", filepath.FromSlash(script))}
}

// atOnce bounds how many calls are audited at once: an audit waits more than it works.
var atOnce = make(chan struct{}, 32)

// table is held while rows of the table are compared or written.
var table sync.Mutex

// hold audits each call on a server of its own, and holds what was found to the table.
func (s *server) hold(t *testing.T, command []string) {
	rows := make([][]string, len(s.calls))
	var group errgroup.Group
	for i, c := range s.calls {
		dir := t.TempDir()
		group.Go(func() error {
			atOnce <- struct{}{}
			defer func() { <-atOnce }()
			r, err := s.audit(t, c, command, dir)
			if err != nil {
				return fmt.Errorf("%s: %w", c.tool, err)
			}
			by, what, _ := strings.Cut(r.Why, ": ")
			if what != "" {
				what = page.Code(strings.ReplaceAll(what, dir, ""), 120)
			}
			rows[i] = []string{string(r.Verdict), by, string(r.ReadOnly), string(r.Idempotent), string(r.Destructive), what}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	table.Lock()
	defer table.Unlock()
	for i, row := range rows {
		first := fmt.Sprintf("| %s | `%s` %s| ", s.name, s.calls[i].tool, strings.TrimLeft(s.calls[i].does+" ", " "))
		page.Row(t, "audits.md", "servers", first, first+strings.Join(row, " | ")+" |")
	}
}

// audit audits one call. Parts of the time of a call are few here: most of what an audit of these servers takes is
// waiting before calls that fail are made again.
func (s *server) audit(t *testing.T, c call, command []string, dir string) (*audit.ToolResult, error) {
	ctx := t.Context()
	b := s.backend(dir)
	f, err := openFront(b, "127.0.0.1:0", dir)
	if err != nil {
		return nil, err
	}
	defer f.close()
	p := &process{command: func() *exec.Cmd {
		args, env := s.run(f)
		cmd := exec.Command(command[0], append(command[1:len(command):len(command)], args...)...)
		cmd.Env = append(os.Environ(), env...)
		return cmd
	}}
	if err := p.restart(ctx); err != nil {
		return nil, err
	}
	defer p.end()
	claims, err := p.claims(ctx)
	if err != nil {
		return nil, err
	}
	r, err := audit.Run(ctx, &audit.Options{
		World: &audit.World{Tools: p, Restart: p.restart,
			State: func(context.Context) (any, error) { return b.state(), nil }},
		Reset: func(context.Context) error { b.reset(); return nil }, Claims: claims, Allow: []string{c.tool},
		Example: map[string]json.RawMessage{c.tool: json.RawMessage(c.args)}, Cancellations: 1, Settle: 100 * time.Millisecond,
	}, &contract.RunOptions{Workers: 1})
	if err != nil {
		return nil, err
	}
	for i := range r.Tools {
		if r.Tools[i].Tool != c.tool {
			continue
		}
		for _, e := range r.Tools[i].Evidence {
			t.Logf("%s %s: %s: %s %s", c.tool, c.does, e.Treatment, e.Verdict, e.Why)
		}
		return &r.Tools[i], nil
	}
	return nil, fmt.Errorf("the server has no such tool")
}
