package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract/audit"
	"github.com/shakedown-go/shakedown/contract/report"
)

// asServer makes the test binary an MCP server over standard input and output, or what its value says.
const asServer = "SHAKEDOWN_MCP_TEST_AS_SERVER"

// theSecret is what the server sends to its API, and says wherever it can.
const theSecret = "tok-1234567890abcdef"

type payment struct {
	Payment string `json:"payment"`
	Key     string `json:"idempotency_key,omitempty"`
}

// actAs is the server, or another program that it needs.
func actAs(what string) {
	switch what {
	case "server":
		fmt.Fprintln(os.Stderr, "the server begins with", os.Getenv("SHOP_API_TOKEN"))
		if folder := os.Getenv("SHOP_PIDS"); folder != "" {
			_ = os.WriteFile(filepath.Join(folder, fmt.Sprint(os.Getpid())), nil, 0o600)
		}
		if err := shopTools().Run(context.Background(), &mcp.StdioTransport{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	case "broken":
		fmt.Fprintln(os.Stderr, "cannot begin with", os.Getenv("SHOP_API_TOKEN"))
		os.Exit(1)
	}
}

// shopTools are tools over the API at SHOP_API, and over a file.
func shopTools() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)
	pays := func(name string, hints *mcp.ToolAnnotations, key func(payment) string) {
		mcp.AddTool(s, &mcp.Tool{Name: name, Annotations: hints}, func(ctx context.Context, _ *mcp.CallToolRequest, in payment) (*mcp.CallToolResult, any, error) {
			text, err := ask(ctx, http.MethodPost, "/v1/payments/"+in.Payment+"/"+name, key(in))
			return nil, map[string]any{"answer": text, "with": os.Getenv("SHOP_API_TOKEN")}, err
		})
	}
	none := func(payment) string { return "" }
	pays("refund", &mcp.ToolAnnotations{IdempotentHint: true}, none)
	pays("capture", nil, func(in payment) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(in.Payment))) })
	pays("transfer", nil, func(in payment) string { return in.Key })
	pays("erase", &mcp.ToolAnnotations{DestructiveHint: new(true)}, none)
	pays("hang", nil, none)
	mcp.AddTool(s, &mcp.Tool{Name: "dies"}, func(ctx context.Context, _ *mcp.CallToolRequest, in payment) (*mcp.CallToolResult, any, error) {
		const id = "made of the arguments" // so it is safe, as long as the process is there
		text, err := ask(ctx, http.MethodPost, "/v1/payments/"+in.Payment+"/dies", id)
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			os.Exit(1)
		}
		return nil, map[string]any{"answer": text}, err
	})
	mcp.AddTool(s, &mcp.Tool{Name: "looks"}, func(ctx context.Context, _ *mcp.CallToolRequest, in payment) (*mcp.CallToolResult, any, error) {
		text, err := ask(ctx, http.MethodGet, "/v1/payments", "") // and then does the work, if it is not done
		if path := "/v1/payments/" + in.Payment + "/looks"; err == nil && !strings.Contains(text, path) {
			text, err = ask(ctx, http.MethodPost, path, "made of the arguments")
		}
		return nil, map[string]any{"answer": text}, err
	})
	mcp.AddTool(s, &mcp.Tool{Name: "list", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			text, err := ask(ctx, http.MethodGet, "/v1/payments", "")
			return nil, map[string]any{"payments": json.RawMessage(text)}, err
		})
	s.AddResource(&mcp.Resource{URI: "shop://payments", Name: "payments"}, func(ctx context.Context, _ *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		text, err := ask(ctx, http.MethodGet, "/v1/payments", "")
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "shop://payments", Text: text}}}, err
	})
	return s
}

func ask(ctx context.Context, method, path, key string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, method, os.Getenv("SHOP_API")+path, strings.NewReader("{}"))
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", "Bearer "+os.Getenv("SHOP_API_TOKEN"))
	req.Header.Set("Idempotency-Key", key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close() //nolint:errcheck // it is only read
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = errors.New(res.Status)
	}
	return string(text), err
}

// A shop is an API that honours idempotency keys.
type shop struct {
	*httptest.Server
	mu      sync.Mutex
	made    map[string]int // by path
	known   map[string]bool
	asked   int    // requests of any kind
	fresh   string // a file: while it is there, all that was made is to be forgotten
	hanging chan struct{}
}

func newShop(t *testing.T) *shop {
	s := &shop{made: map[string]int{}, known: map[string]bool{}, hanging: make(chan struct{}, 100), fresh: filepath.Join(t.TempDir(), "fresh")}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	t.Setenv("SHOP_API", s.URL)
	t.Setenv("SHOP_API_TOKEN", theSecret)
	t.Setenv(asServer, "server")
	t.Setenv("GORACE", "atexit_sleep_ms=0") // else each server takes a second to end under -race
	return s
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/hang") {
		s.hanging <- struct{}{}
		_, _ = io.Copy(io.Discard, r.Body) // else the end of the connection is not seen
		<-r.Context().Done()
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	key := r.Header.Get("Idempotency-Key")
	if os.Remove(s.fresh) == nil {
		clear(s.made)
		clear(s.known)
	}
	if r.Method == http.MethodPost && (key == "" || !s.known[r.URL.Path+key]) {
		s.known[r.URL.Path+key] = true
		s.made[r.URL.Path]++
	}
	_ = json.NewEncoder(w).Encode(s.made)
}

// reset is a shell command, and starts no program: it runs before each world.
func (s *shop) reset() string { return ": > '" + s.fresh + "'" }

// quick are flags for tools that answer at once.
var quick = []string{"--settle", "10ms", "--cancellations", "1"}

func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	require.NoError(t, err)
	return path
}

// auditOf runs the command in this process, and returns its result by tool.
func auditOf(t *testing.T, args ...string) (status int, tools map[string]audit.ToolResult, said string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "result.json")
	var out, problems bytes.Buffer
	status = runAudit(t.Context(), append(append([]string{"--json", file}, quick...), args...), &out, &problems)
	var r audit.Result
	tools = map[string]audit.ToolResult{}
	if doc, err := os.ReadFile(file); err == nil {
		require.NoError(t, json.Unmarshal(doc, &r))
	}
	for _, tool := range r.Tools {
		tools[tool.Tool] = tool
	}
	return status, tools, out.String() + problems.String()
}

// The proxy is the state: a tool without a key doubles, one that makes its keys of the arguments is safe, one that passes on
// the caller's is safe with it. Nothing says the secret.
func TestAuditBehindAProxy(t *testing.T) {
	s := newShop(t)
	folder := t.TempDir()
	files := []string{}
	for flag, name := range map[string]string{"--html": "a.html", "--junit": "a.xml", "--markdown": "a.md", "--file": "a.run.jsonl"} {
		files = append(files, flag, filepath.Join(folder, name))
	}
	status, tools, said := auditOf(t, append(files, "--proxy", "SHOP_API="+s.URL, "--allow", "refund", "--allow", "capture", "--allow", "transfer",
		"--example", `refund={"payment":"pay_1"}`, "--", self(t))...)
	assert.Equal(t, 1, status, said)
	for tool, want := range map[string]audit.Verdict{"refund": audit.Doubles, "capture": audit.Safe, "transfer": audit.SafeWithKey, "erase": audit.Unknown} {
		assert.Equal(t, want, tools[tool].Verdict, "%s: %s", tool, tools[tool].Why)
	}
	assert.Equal(t, audit.Contradicted, tools["refund"].Idempotent)
	assert.JSONEq(t, `{"payment":"pay_1"}`, string(tools["refund"].Args))
	assert.True(t, tools["capture"].Made)
	for _, want := range []string{"✗ refund: doubles", "not called, since it is not allowed by its name: dies, erase, hang, list", "POST /v1/payments/pay_1/refund/without an idempotency key",
		"whether this one does is not known", `"pay_1"`} {
		assert.Contains(t, strings.Join(strings.Fields(said), " "), want)
	}
	assert.NotContains(t, said, theSecret)
	for name, want := range map[string]string{"a.html": "FAIL", "a.xml": "refund.reply-lost", "a.md": "contradicted", "a.run.jsonl": "done-once"} {
		doc, err := os.ReadFile(filepath.Join(folder, name))
		require.NoError(t, err)
		assert.Contains(t, string(doc), want, name)
		assert.NotContains(t, string(doc), theSecret, name)
	}
	f, err := os.Open(filepath.Join(folder, "a.run.jsonl"))
	require.NoError(t, err)
	defer f.Close() //nolint:errcheck // it is only read
	run, err := report.Read(f, nil)
	require.NoError(t, err)
	assert.NotEmpty(t, run.Cells)
}

// A server whose API has a fixed address is led to the proxy, which passes on or answers by itself.
func TestAuditIntercepts(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("Go trusts SSL_CERT_FILE on Linux alone")
	}
	s := newShop(t)
	t.Setenv("SHOP_API", "https://api.shop.test")
	t.Setenv("TMPDIR", t.TempDir()) // of this run alone
	for _, to := range []string{s.URL, `{"id":"r1"}`} {
		status, tools, said := auditOf(t, "--proxy", "https://api.shop.test="+to, "--allow", "refund", "--", self(t))
		assert.Equal(t, 1, status, said)
		assert.Equal(t, audit.Doubles, tools["refund"].Verdict, tools["refund"].Why)
	}
	_, tools, _ := auditOf(t, "--proxy", `https://other.shop.test={}`, "--allow", "refund", "--", self(t))
	assert.Equal(t, audit.Unknown, tools["refund"].Verdict)
	assert.Contains(t, tools["refund"].Why, "the example call fails", "the host is refused")
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "shakedown-*.pem"))
	require.NoError(t, err)
	assert.Empty(t, left)
}

// An answer in place of an API does not change by what was done: what a tool that reads would do with an API is not known.
func TestAuditWithoutAnAPI(t *testing.T) {
	newShop(t)
	for _, tc := range []struct {
		tool string
		want audit.Verdict
		why  string
	}{
		{"refund", audit.Doubles, "the work is done more than once"},
		{"looks", audit.Unknown, "the server reads from the API before it does work"},
	} {
		_, tools, said := auditOf(t, "--proxy", `SHOP_API={"id":"r1"}`, "--allow", tc.tool, "--", self(t))
		assert.Equal(t, tc.want, tools[tc.tool].Verdict, "%s: %s", tc.tool, said)
		assert.Contains(t, tools[tc.tool].Why, tc.why, tc.tool)
	}
}

// The state of the API itself, in each way in which it can be read, and what is known of it with and without a first state.
func TestAuditStates(t *testing.T) {
	s := newShop(t)
	if runtime.GOOS == "windows" {
		t.Skip("has no sh")
	}
	for name, tc := range map[string]struct {
		flags []string
		tool  string
		want  audit.Verdict
	}{
		"a tool, reset":             {[]string{"--state-tool", "list", "--reset", s.reset()}, "capture", audit.Safe},
		"a resource, reset":         {[]string{"--state-resource", "shop://payments", "--reset", s.reset()}, "refund", audit.Doubles},
		"a URL finds what doubles":  {[]string{"--state-url", s.URL + "/v1/payments"}, "refund", audit.Doubles},
		"a tool, whose API is kept": {[]string{"--state-tool", "list"}, "capture", audit.Unknown},
		"nothing":                   {nil, "capture", audit.Unknown},
	} {
		status, tools, said := auditOf(t, append(tc.flags, "--allow", tc.tool, "--", self(t))...)
		assert.Equal(t, tc.want, tools[tc.tool].Verdict, "%s: %s", name, tools[tc.tool].Why)
		assert.Equal(t, map[audit.Verdict]int{audit.Doubles: 1, audit.Unknown: 2}[tc.want], status, "%s: %s", name, said)
	}
}

// A call that ends the process of the server is told from one that fails, and the next treatment has a new process.
func TestAuditServerEnds(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("has no sh")
	}
	s := newShop(t)
	_, tools, said := auditOf(t, "--state-url", s.URL+"/v1/payments", "--reset", s.reset(), "--allow", "dies", "--", self(t))
	assert.Equal(t, audit.Wedged, tools["dies"].Verdict, said)
	for _, e := range tools["dies"].Evidence {
		if e.Treatment == "cancelled" {
			assert.Contains(t, e.Why, "the call fails 4 times: the process of the server has ended")
		} else {
			assert.Equal(t, audit.Safe, e.Verdict, "%s: %s", e.Treatment, e.Why)
		}
	}
}

// A server behind HTTP wants a token from the environment. Nobody restarts it, and only --reset gives its first state again.
func TestAuditOverHTTP(t *testing.T) {
	s := newShop(t)
	var mu sync.Mutex
	refused := 0
	streamable := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return shopTools() }, nil)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+theSecret {
			mu.Lock()
			refused++
			mu.Unlock()
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		streamable.ServeHTTP(w, r)
	}))
	defer server.Close()
	flags := []string{"--url", server.URL, "--state-url", s.URL + "/v1/payments", "--token", "SHOP_API_TOKEN"}
	status, tools, said := auditOf(t, append(flags, "--allow", "refund", "--allow", "capture")...)
	assert.Equal(t, 1, status, said)
	assert.Zero(t, refused)
	assert.Equal(t, audit.Doubles, tools["refund"].Verdict, tools["refund"].Why)
	assert.Equal(t, audit.Unknown, tools["capture"].Verdict)
	assert.NotContains(t, said, theSecret)
	status, _, said = auditOf(t, "--url", server.URL, "--sandbox")
	assert.Equal(t, 4, status, said)
	if runtime.GOOS != "windows" {
		_, tools, said = auditOf(t, append(flags, "--allow", "capture", "--reset", s.reset())...)
		assert.Equal(t, audit.Safe, tools["capture"].Verdict, tools["capture"].Why+said)
		assert.Contains(t, tools["capture"].NotTried, "restarted")
		_, _, said = auditOf(t, append(flags, "--allow", "capture", "--reset", "echo $SHOP_API_TOKEN; exit 7")...)
		assert.NotContains(t, said, theSecret)
		assert.Contains(t, strings.Join(strings.Fields(said), " "), "exit status 7")
	}
}

// A session that a call has broken is not the end of all calls that follow, over HTTP.
func TestSessionGoesOn(t *testing.T) {
	newShop(t)
	streamable := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return shopTools() },
		&mcp.StreamableHTTPOptions{JSONResponse: true})
	for _, tc := range []struct {
		reason, want string
		answer       func(w http.ResponseWriter, r *http.Request, cancel func())
	}{
		{"the call is cancelled while the body of its answer is read", "context canceled", func(w http.ResponseWriter, r *http.Request, cancel func()) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"jsonrpc":`)
			_ = http.NewResponseController(w).Flush() //nolint:errcheck // the client has it, or ends
			cancel()
			<-r.Context().Done()
		}},
		{"the body of its answer is cut", "unexpected EOF", func(w http.ResponseWriter, _ *http.Request, _ func()) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, `{"jsonrpc":`)
		}},
		{"the server has forgotten the session", "closed for good", func(w http.ResponseWriter, r *http.Request, _ func()) {
			http.NotFound(w, r)
		}},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		var calls atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			if bytes.Contains(body, []byte("tools/call")) && calls.Add(1) == 1 {
				tc.answer(w, r, cancel)
				return
			}
			streamable.ServeHTTP(w, r)
		}))
		target, err := (&auditing{url: server.URL}).open(t.Context())
		require.NoError(t, err)
		_, err = target.CallTool(ctx, "list", nil)
		assert.ErrorContains(t, err, tc.want, tc.reason)
		_, err = target.CallTool(t.Context(), "list", nil)
		assert.NoError(t, err, tc.reason)
		assert.NoError(t, target.close(), tc.reason)
		cancel()
		server.CloseClientConnections()
		server.Close()
	}
}

// Nothing is called that was not allowed, and the list says what would be.
func TestAuditListsFirst(t *testing.T) {
	s := newShop(t)
	status, _, said := auditOf(t, "--proxy", "SHOP_API="+s.URL, "--", self(t))
	assert.Equal(t, 2, status)
	assert.Contains(t, said, "name tools by --allow, or say --sandbox")
	status, _, said = auditOf(t, "--dry", "--sandbox", "--key", "refund=/reason/nonce", "--", self(t))
	assert.Zero(t, status)
	for _, want := range []string{"refund\n", `{"idempotentHint":true}`, `{"payment":"example"} (made from its input schema)`, "reply-lost",
		"key        /reason/nonce", "key        /idempotency_key",
		"not called: it claims to be destructive"} {
		assert.Contains(t, said, want)
	}
	assert.Zero(t, s.asked)
	_, tools, _ := auditOf(t, "--proxy", "SHOP_API="+s.URL, "--allow", "erase", "--", self(t))
	assert.Equal(t, audit.Doubles, tools["erase"].Verdict, "it was named")
}

// What was typed comes before a file, and a file of arguments before a session.
func TestAuditExamples(t *testing.T) {
	newShop(t)
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	session := write("session.json", `{"format":"shakedown/session","version":1,"name":"s","calls":[
		{"tool":"refund","args":{"payment":"failed"},"error":{"text":"no"}},
		{"tool":"mcp__shop__refund","args":{"payment":"of the session"}},{"tool":"refund","args":{"payment":"later"}},
		{"tool":"capture","args":{"payment":"of the session"}},{"tool":"transfer","args":{"payment":"of the session"}},
		{"tool":"elsewhere","args":{}}, {"type":"model","tool":"erase","args":{"payment":"a model"}}]}`)
	examples := write("examples.json", `{"capture":{"payment":"of the file"},"transfer":{"payment":"of the file"}}`)
	status, _, said := auditOf(t, "--dry", "--session", session, "--examples", examples, "--example", `transfer={"payment":"typed"}`, "--", self(t))
	assert.Zero(t, status, said)
	for tool, want := range map[string]string{"refund": "of the session", "capture": "of the file", "transfer": "typed", "erase": "example"} {
		_, of, _ := strings.Cut(said, tool+"\n")
		of, _, _ = strings.Cut(of, "\n  not called")
		assert.Contains(t, of, `{"payment":"`+want+`"}`, tool)
	}
}

// All that is wrong with what was typed is said at once, and nothing is started.
func TestAuditRefuses(t *testing.T) {
	newShop(t)
	for name, tc := range map[string]struct {
		args   []string
		status int
		says   []string
	}{
		"help":    {[]string{"--help"}, 0, []string{"shakedown-mcp audit", "--allow NAME", "--proxy VARIABLE=URL", "Exit status"}},
		"nothing": {nil, 3, []string{"COMMAND and --url is both, or neither"}},
		"all at once": {[]string{"--url", "ftp://u:s3cret@host", "--alow", "x", "--state-url", "http://host", "--state-tool", "list", "--example", "refund=[", "--secret", "NOT_SET",
			"--proxy", "A=nowhere", "--reads", "[", "--every", "soon", "--examples", "none.json", "--session", "none.json", "--html", "none/a.html", "--", "server"}, 3,
			[]string{`"--alow"`, "COMMAND and --url", "--url is", "--example is", "--secret is", "--proxy is", "--reads is", "--every is", "none.json", "none/a.html", "state is given twice"}},
		"a token for a command": {[]string{"--token", "SHOP_API_TOKEN", "--", "server"}, 3, []string{"--token is without --url"}},
		"a proxy for a URL":     {[]string{"--url", "http://127.0.0.1:1", "--proxy", "A=http://127.0.0.1:1"}, 3, []string{"--proxy is with --url"}},
		"no such program":       {[]string{"--allow", "x", "--", "./no-such-program"}, 4, []string{"shakedown-mcp: the server did not start: ", "no-such-program"}},
		"no such tool":          {[]string{"--allow", "refnd", "--", self(t)}, 3, []string{"refnd", "refund"}},
		"a state elsewhere": {[]string{"--state-url", "localhost:8080/state", "--allow", "refund", "--", self(t)}, 2,
			[]string{`State url is "localhost:8080/state"; allowed: an absolute http or https URL`, "twice: unknown (0 calls)"}},
		"a duration of no unit":   {[]string{"--timeout", "5", "--", "server"}, 3, []string{`--timeout is "5"`, "such as 10s"}},
		"a file that is two":      {[]string{"--html", "x.out", "--junit", "x.out", "--", "server"}, 3, []string{"x.out is named twice"}},
		"the state of a resource": {[]string{"--state-resource", "shop://no", "--allow", "refund", "--", self(t)}, 2, []string{"the state could not be read"}},
	} {
		status, _, said := auditOf(t, tc.args...)
		assert.Equal(t, tc.status, status, "%s: %s", name, said)
		for _, want := range tc.says {
			assert.Contains(t, strings.Join(strings.Fields(said), " "), want, name)
		}
		assert.NotContains(t, said, "s3cret", name)
	}
	t.Setenv(asServer, "broken")
	status, _, said := auditOf(t, "--allow", "refund", "--", self(t))
	assert.Equal(t, 4, status)
	assert.Contains(t, said, "its standard error ends in: cannot begin with [redacted]")
}

// An interrupt ends the servers, and what there is is printed.
func TestAuditInterrupted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("has no SIGINT")
	}
	s := newShop(t)
	pids := t.TempDir()
	cmd := exec.CommandContext(t.Context(), self(t), "audit", "--proxy", "SHOP_API="+s.URL, "--allow", "hang", "--", self(t))
	cmd.Env = append(os.Environ(), asCommand+"=1", "SHOP_PIDS="+pids)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	require.NoError(t, cmd.Start())
	<-s.hanging
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	_ = cmd.Wait()
	assert.Equal(t, 2, cmd.ProcessState.ExitCode(), said.String())
	assert.Contains(t, said.String(), "hang: unknown")
	left, err := os.ReadDir(pids)
	require.NoError(t, err)
	require.NotEmpty(t, left)
	for _, entry := range left {
		var pid int
		_, err := fmt.Sscan(entry.Name(), &pid)
		require.NoError(t, err)
		server, err := os.FindProcess(pid)
		require.NoError(t, err)
		assert.ErrorIs(t, server.Signal(syscall.Signal(0)), os.ErrProcessDone, "a server is left")
	}
}
