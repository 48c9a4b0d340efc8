package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
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
	rows := make([][]string, len(servers))
	var all sync.WaitGroup
	for i, s := range servers {
		all.Go(func() { t.Run(s.folder, func(t *testing.T) { rows[i] = s.rows(t, s.built(t)) }) })
	}
	all.Wait()
	for i, s := range servers {
		for j, row := range rows[i] {
			first := fmt.Sprintf("| %s | `%s` %s| ", s.name, s.calls[j].tool, strings.TrimLeft(s.calls[j].does+" ", " "))
			page.Row(t, "audits.md", "servers", first, first+row)
		}
	}
}

func (s *server) built(t *testing.T) (command []string) {
	began := time.Now()
	command, err := s.build(t.Context(), t.TempDir())
	if errors.Is(err, errNotHere) {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Logf("%s: built in %s", s.name, time.Since(began).Round(time.Second/10))
	return command
}

// atOnce bounds how many calls are audited at once: an audit waits more than it works.
var atOnce = make(chan struct{}, 32)

// rows audits each call on a server of its own, and returns its row of the table, without what is called.
func (s *server) rows(t *testing.T, command []string) []string {
	rows := make([]string, len(s.calls))
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
			if what = strings.ReplaceAll(reason.ReplaceAllString(what, ""), dir, ""); what != "" {
				what = page.Code(what, 120)
			}
			cells := []string{string(r.Verdict), by, string(r.ReadOnly), string(r.Idempotent), string(r.Destructive), what}
			rows[i] = strings.Join(cells, " | ") + " |"
			return nil
		})
	}
	require.NoError(t, group.Wait())
	return rows
}

// reason is what the verdict says already.
var reason = regexp.MustCompile(`(?s)^.*(more than once|fails \d+ times|first one did): `)

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
