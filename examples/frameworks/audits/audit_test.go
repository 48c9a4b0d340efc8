package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
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

// A server is one that is audited, and what is called.
type server struct {
	name    string // and version, as in the table
	command func(f *front) *exec.Cmd
	fake    func() *backend
	calls   []call
}

// A call is an example call of a tool. Where a tool does several things, does says which.
type call struct{ tool, does, args string }

// atOnce bounds how many calls are audited at once: an audit waits more than it works.
var atOnce = make(chan struct{}, 16)

// table is held while rows of the table are compared or written.
var table sync.Mutex

// hold audits each call on a server of its own, and holds what was found to the table of docs/audits.md.
func (s *server) hold(t *testing.T) {
	results := make([]*audit.ToolResult, len(s.calls))
	var group errgroup.Group
	for i, c := range s.calls {
		group.Go(func() (err error) {
			atOnce <- struct{}{}
			defer func() { <-atOnce }()
			if results[i], err = s.audit(t, c); err != nil {
				err = fmt.Errorf("%s: %w", c.tool, err)
			}
			return err
		})
	}
	require.NoError(t, group.Wait())
	table.Lock()
	defer table.Unlock()
	for i, r := range results {
		c := s.calls[i]
		first := fmt.Sprintf("| %s | `%s` %s| ", s.name, c.tool, strings.TrimLeft(c.does+" ", " "))
		row := first
		for _, text := range []string{string(r.Verdict), string(r.ReadOnly), string(r.Idempotent), string(r.Destructive), r.Why} {
			row += text + " | "
		}
		page.Row(t, "audits.md", "servers", first, strings.TrimRight(row, " "))
		for _, e := range r.Evidence {
			t.Logf("%s %s: %s: %s %s", c.tool, c.does, e.Treatment, e.Verdict, e.Why)
		}
	}
}

func (s *server) audit(t *testing.T, c call) (*audit.ToolResult, error) {
	ctx := t.Context()
	b := s.fake()
	f, err := openFront(b, "127.0.0.1:0", t.TempDir())
	if err != nil {
		return nil, err
	}
	defer f.close()
	p := &process{command: func() *exec.Cmd { return s.command(f) }}
	if err := p.restart(ctx); err != nil {
		return nil, err
	}
	defer p.session.Close()
	claims, err := p.claims(ctx)
	if err != nil {
		return nil, err
	}
	r, err := audit.Run(ctx, &audit.Options{
		World: &audit.World{Tools: p, Restart: p.restart,
			State: func(context.Context) (any, error) { return b.state(), nil }},
		Reset: func(context.Context) error { b.reset(); return nil }, Claims: claims, Allow: []string{c.tool},
		Example: map[string]json.RawMessage{c.tool: json.RawMessage(c.args)}, Cancellations: 2, Settle: 100 * time.Millisecond,
	}, &contract.RunOptions{Workers: 1})
	if err != nil {
		return nil, err
	}
	for i := range r.Tools {
		if r.Tools[i].Tool == c.tool {
			return &r.Tools[i], nil
		}
	}
	return nil, fmt.Errorf("the server has no such tool")
}

func TestRazorpay(t *testing.T) {
	t.Parallel()
	command := build(t, "razorpay")
	s := server{name: "razorpay-mcp-server v1.2.1", fake: razorpay, command: func(f *front) *exec.Cmd {
		cmd := exec.Command(command, "stdio", "--key", "rzp_test_key", "--secret", "secret")
		cmd.Env = append(os.Environ(), "HTTPS_PROXY="+f.url, "SSL_CERT_FILE="+f.certificate)
		return cmd
	}, calls: []call{
		{"create_refund", "of a part", `{"payment_id":"pay_captured","amount":10000}`},
		{"create_refund", "of the whole", `{"payment_id":"pay_captured","amount":100000}`},
		{"capture_payment", "", `{"payment_id":"pay_authorized","amount":100000,"currency":"INR"}`},
		{"create_order", "", `{"amount":10000,"currency":"INR"}`},
		{"create_payment_link", "", `{"amount":10000,"currency":"INR"}`},
		{"payment_link_upi_create", "", `{"amount":10000,"currency":"INR"}`},
		{"payment_link_notify", "", `{"payment_link_id":"plink_1","medium":"sms"}`},
		{"create_qr_code", "", `{"type":"upi_qr","usage":"single_use","fixed_amount":true,"payment_amount":10000}`},
		{"create_instant_settlement", "", `{"amount":10000}`},
		{"update_payment", "", `{"payment_id":"pay_captured","notes":{"order":"1042"}}`},
		{"update_order", "", `{"order_id":"order_1","notes":{"order":"1042"}}`},
		{"update_payment_link", "", `{"payment_link_id":"plink_1","notes":{"order":"1042"}}`},
		{"fetch_payment", "", `{"payment_id":"pay_captured"}`},
	}}
	s.hold(t)
}

func TestGitHub(t *testing.T) {
	t.Parallel()
	command := build(t, "github")
	const inDemo = `{"owner":"octo","repo":"demo",`
	s := server{name: "github-mcp-server v1.0.0", fake: github, calls: []call{
		{"issue_write", "create", inDemo + `"method":"create","title":"broken"}`},
		{"issue_write", "update", inDemo + `"method":"update","issue_number":1,"title":"broken"}`},
		{"add_issue_comment", "", inDemo + `"issue_number":1,"body":"hello"}`},
		{"add_reply_to_pull_request_comment", "", inDemo + `"pullNumber":1,"commentId":1,"body":"hello"}`},
		{"create_pull_request", "", inDemo + `"title":"news","head":"news","base":"main"}`},
		{"update_pull_request", "", inDemo + `"pullNumber":1,"title":"news"}`},
		{"merge_pull_request", "", inDemo + `"pullNumber":1}`},
		{"create_branch", "", inDemo + `"branch":"news","from_branch":"main"}`},
		{"create_or_update_file", "create", inDemo + `"path":"new.txt","content":"new","message":"news","branch":"main"}`},
		{"create_or_update_file", "update", inDemo + `"path":"old.txt","content":"new","message":"news","branch":"main","sha":"` +
			idOf("old") + `"}`},
		{"push_files", "", inDemo + `"branch":"main","message":"news","files":[{"path":"new.txt","content":"new"}]}`},
		{"delete_file", "", inDemo + `"path":"old.txt","message":"news","branch":"main"}`},
		{"create_repository", "", `{"name":"news"}`},
		{"create_gist", "", `{"filename":"new.txt","content":"new"}`},
		{"actions_run_trigger", "run_workflow", inDemo + `"method":"run_workflow","workflow_id":"ci.yml","ref":"main"}`},
		{"star_repository", "", `{"owner":"octo","repo":"demo"}`},
		{"list_branches", "", `{"owner":"octo","repo":"demo"}`},
	}}
	names := map[string]bool{}
	for _, c := range s.calls {
		names[c.tool] = true
	}
	tools := strings.Join(slices.Sorted(maps.Keys(names)), ",")
	s.command = func(f *front) *exec.Cmd {
		cmd := exec.Command(command, "stdio", "--tools", tools)
		cmd.Env = append(os.Environ(), "GITHUB_PERSONAL_ACCESS_TOKEN=token", "HTTPS_PROXY="+f.url, "SSL_CERT_FILE="+f.certificate)
		return cmd
	}
	s.hold(t)
}
