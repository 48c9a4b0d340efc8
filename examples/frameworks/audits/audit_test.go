package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
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
	fake    func(dir string) *backend // dir is that of the front
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
	dir := t.TempDir()
	b := s.fake(dir)
	f, err := openFront(b, "127.0.0.1:0", dir)
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

// in makes a fake that needs no folder.
func in(fake func() *backend) func(string) *backend { return func(string) *backend { return fake() } }

func TestRazorpay(t *testing.T) {
	t.Parallel()
	command := build(t, "razorpay")
	s := server{name: "razorpay-mcp-server v1.2.1", fake: in(razorpay), command: func(f *front) *exec.Cmd {
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
	s := server{name: "github-mcp-server v1.0.0", fake: in(github), calls: []call{
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

func TestGrafana(t *testing.T) {
	t.Parallel()
	command := build(t, "grafana")
	s := server{name: "mcp-grafana v1.6.3", fake: in(grafana), command: func(f *front) *exec.Cmd {
		cmd := exec.Command(command, "--usage-stats", "disabled")
		cmd.Env = append(os.Environ(), "GRAFANA_URL="+f.url, "GRAFANA_SERVICE_ACCOUNT_TOKEN=token")
		return cmd
	}, calls: []call{
		{"update_dashboard", "create", `{"dashboard":{"title":"News","panels":[]}}`},
		{"update_dashboard", "append a panel", `{"uid":"demo","operations":[{"op":"add","path":"$.panels/-","value":{"title":"second"}}]}`},
		{"update_dashboard", "replace a title", `{"uid":"demo","operations":[{"op":"replace","path":"$.title","value":"News"}]}`},
		{"create_folder", "without uid", `{"title":"News"}`},
		{"create_folder", "with uid", `{"title":"News","uid":"news"}`},
		{"create_annotation", "", `{"dashboardUid":"demo","text":"deployed again","time":1764000000000}`},
		{"update_annotation", "", `{"id":1,"text":"deployed again"}`},
		{"create_snapshot", "", `{"dashboard":{"title":"Demo"},"name":"now"}`},
		{"alerting_manage_rules", "create", `{"operation":"create","title":"down","rule_group":"g","folder_uid":"home","condition":"A",` +
			`"data":[{"refId":"A","datasourceUid":"prom","model":{"expr":"up"}}],"no_data_state":"OK","exec_err_state":"OK","for":"1m","org_id":1}`},
		{"alerting_manage_silences", "create", `{"operation":"create","matchers":[{"name":"a","value":"b"}],` +
			`"starts_at":"2099-01-01T00:00:00Z","ends_at":"2099-01-02T00:00:00Z","comment":"quiet"}`},
		{"create_incident", "", `{"title":"it is down again","severity":"minor","roomPrefix":"room"}`},
		{"add_activity_to_incident", "", `{"incidentId":"1","body":"a note"}`},
		{"update_incident", "", `{"incidentId":"1","title":"it is up"}`},
		{"get_dashboard_by_uid", "", `{"uid":"demo"}`},
	}}
	s.hold(t)
}

// The server's backend is a folder: it needs no fake.
func TestFilesystem(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("not tried: there is no npm, and so no reference filesystem server")
	}
	modules := t.TempDir()
	for _, name := range []string{"package.json", "package-lock.json"} {
		doc, err := os.ReadFile(filepath.Join("filesystem", name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(modules, name), doc, 0o644))
	}
	install := exec.CommandContext(t.Context(), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	install.Dir = modules
	if out, err := install.CombinedOutput(); err != nil {
		t.Skipf("not tried: the reference filesystem server cannot be installed here: %v\n%s", err, out)
	}
	s := server{name: "server-filesystem 2026.8.31", fake: folder, command: func(f *front) *exec.Cmd {
		return exec.Command("node", filepath.Join(modules, "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"),
			filepath.Join(f.dir, "demo"))
	}, calls: []call{
		{"write_file", "new", `{"path":"new.txt","content":"new"}`},
		{"write_file", "replace", `{"path":"old.txt","content":"new"}`},
		{"edit_file", "replace a line", `{"path":"old.txt","edits":[{"oldText":"second","newText":"two"}]}`},
		{"edit_file", "insert a line", `{"path":"old.txt","edits":[{"oldText":"second","newText":"second\nthird"}]}`},
		{"create_directory", "", `{"path":"new/folder"}`},
		{"move_file", "", `{"source":"old.txt","destination":"moved.txt"}`},
		{"read_text_file", "", `{"path":"old.txt"}`},
		{"list_directory", "", `{"path":"."}`},
	}}
	s.hold(t)
}

// folder is a folder demo in dir, with a file. Its state is its files and their contents.
func folder(dir string) *backend {
	demo := filepath.Join(dir, "demo")
	return newBackend(func() {
		fails(os.RemoveAll(demo), os.Mkdir(demo, 0o755), os.WriteFile(filepath.Join(demo, "old.txt"), []byte("first\nsecond\n"), 0o644))
	}, func() any {
		files := map[string]string{}
		fails(filepath.WalkDir(demo, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || path == demo {
				return err
			}
			files[strings.TrimPrefix(path, demo)] = "a folder"
			if entry.IsDir() {
				return nil
			}
			content, err := os.ReadFile(path)
			files[strings.TrimPrefix(path, demo)] = string(content)
			return err
		}))
		return files
	})
}

// fails ends the audit: its reset or its state cannot be trusted.
func fails(errs ...error) {
	if err := errors.Join(errs...); err != nil {
		panic(err)
	}
}
