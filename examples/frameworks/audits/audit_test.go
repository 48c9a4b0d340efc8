package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/audit"
	"github.com/shakedown-go/shakedown/examples/frameworks/internal/page"
	"github.com/shakedown-go/shakedown/mcpadapter/client"
)

// What each server does is a row a call in docs/audits.md. A busy machine may not be able to tell it of some calls, which
// end before they are cancelled, or are not under way at once.
func TestServers(t *testing.T) {
	rows := make([][]string, len(servers))
	var all sync.WaitGroup
	for i, s := range servers {
		all.Go(func() { t.Run(s.folder, func(t *testing.T) { rows[i] = s.rows(t, s.built(t)) }) })
	}
	all.Wait()
	notTold, mostNotTold := 0, 3
	for i, s := range servers {
		for j, row := range rows[i] {
			if row == "" {
				notTold++
				continue
			}
			first := fmt.Sprintf("| %s | `%s` %s| ", s.name, s.calls[j].tool, strings.TrimLeft(s.calls[j].does+" ", " "))
			page.Row(t, "audits.md", "servers", first, first+row)
		}
	}
	assert.LessOrEqual(t, notTold, mostNotTold, "calls of which this machine could not tell")
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

// rows audits each call on a server of its own, and returns its row of the table, without what is called; "" where this
// machine could not tell.
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
			if r.Verdict == audit.Unknown && r.NotTried[by] == what {
				t.Logf("%s %s: this machine could not tell: %s", c.tool, c.does, r.Why)
				return nil
			}
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
	f, err := openFront(b, b.mux, "127.0.0.1:0", dir)
	if err != nil {
		return nil, err
	}
	defer f.close()
	p := s.process(f, command)
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
		Reset: func(ctx context.Context) error { b.reset(); return p.revive(ctx) }, Claims: claims, Allow: []string{c.tool},
		Example: map[string]json.RawMessage{c.tool: json.RawMessage(c.args)}, Cancellations: 1, Settle: 100 * time.Millisecond,
	}, &contract.RunOptions{Workers: 1})
	if err != nil {
		return nil, err
	}
	if err := p.revive(ctx); err != nil {
		return nil, err
	}
	plain, err := twice(ctx, b, p, c)
	if err != nil {
		return nil, err
	}
	for i := range r.Tools {
		if r.Tools[i].Tool != c.tool {
			continue
		}
		if v := r.Tools[i].Verdict; v != plain && v != audit.Unknown {
			return nil, fmt.Errorf("%s, and two calls in a row are %s", v, plain)
		}
		for _, e := range r.Tools[i].Evidence {
			t.Logf("%s %s: %s: %s %s", c.tool, c.does, e.Treatment, e.Verdict, e.Why)
		}
		return &r.Tools[i], nil
	}
	return nil, fmt.Errorf("the server has no such tool")
}

// A call of the GitHub server whose second request gets no answer ends the process, be it that the call is cancelled or
// that the connection is cut: a function that is deferred closes the body of an answer that is not there
// (pkg/github/repositories.go:1217 and, of the others, 1030 and 1374). So all other calls of the session are lost too.
func TestACancelledCallEndsTheGitHubServer(t *testing.T) {
	s := githubServer
	command := s.built(t)
	for tool, second := range map[string]string{"create_branch": "POST /repos/octo/demo/git/refs",
		"push_files": "POST /repos/octo/demo/git/commits", "delete_file": "POST /repos/octo/demo/git/trees"} {
		t.Run(tool+"/cancelled", func(t *testing.T) {
			s.ends(t, command, tool, second, func(w http.ResponseWriter, r *http.Request, cancel func()) {
				cancel()
				<-r.Context().Done()
			})
		})
		t.Run(tool+"/cut", func(t *testing.T) {
			s.ends(t, command, tool, second, func(w http.ResponseWriter, _ *http.Request, _ func()) {
				conn, _, err := http.NewResponseController(w).Hijack()
				if assert.NoError(t, err) {
					conn.Close() //nolint:errcheck // it is cut in any case
				}
			})
		})
	}
}

// ends makes a call of a tool, does something when a request of it arrives, and finds that the process has panicked.
func (s *server) ends(t *testing.T, command []string, tool, second string, do func(w http.ResponseWriter, r *http.Request, cancel func())) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b := s.backend(t.TempDir())
	f, err := openFront(b, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method+" "+r.URL.Path == second {
			io.Copy(io.Discard, r.Body) //nolint:errcheck // else the server is not seen to leave
			do(w, r, cancel)
			return
		}
		b.mux.ServeHTTP(w, r)
	}), "127.0.0.1:0", t.TempDir())
	require.NoError(t, err)
	defer f.close()
	p := s.process(f, command)
	require.NoError(t, p.restart(ctx))
	defer p.end()
	i := slices.IndexFunc(s.calls, func(c call) bool { return c.tool == tool })
	_, err = p.CallTool(ctx, tool, json.RawMessage(s.calls[i].args))
	require.Error(t, err)
	p.session.Wait() //nolint:errcheck // it has no other end than that of the process, and of the test
	_, err = p.CallTool(t.Context(), "list_branches", json.RawMessage(`{"owner":"octo","repo":"demo"}`))
	var lost *client.SessionError
	require.ErrorAs(t, err, &lost)
	assert.True(t, lost.Closed)
	p.end()
	assert.Contains(t, p.said.String(), "nil pointer dereference")
}

// twice tells the verdict in another way, by the states after one call and after two: none of these tools behaves
// otherwise in any other treatment.
func twice(ctx context.Context, b *backend, tools chaos.ToolRegistry, c call) (audit.Verdict, error) {
	b.reset()
	args := json.RawMessage(c.args)
	if _, err := tools.CallTool(ctx, c.tool, args); err != nil {
		return "", err
	}
	once, err := json.Marshal(b.state())
	if err != nil {
		return "", err
	}
	_, failed := tools.CallTool(ctx, c.tool, args)
	after, err := json.Marshal(b.state())
	switch {
	case string(once) != string(after):
		return audit.Doubles, err
	case failed != nil:
		return audit.Wedged, err
	}
	return audit.Safe, err
}
