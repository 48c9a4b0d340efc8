package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/mcpadapter/client"
)

// asCommand makes the test binary the command.
const asCommand = "SHAKEDOWN_MCP_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if what := os.Getenv(asServer); what != "" && len(os.Args) == 1 {
		actAs(what)
		os.Exit(0)
	}
	if os.Getenv(asCommand) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const (
	aSuite = `version: "2.0"
golden_prompts: ["Refund order 1042"]
agent: {endpoint: ENDPOINT, type: http, request_template: '{"q": "{{prompt}}"}', response_path: $.a}
contract:
  name: refunds
  invariants:
    - {id: names-it, type: contains, value: "1042", severity: critical}
  chaos_matrix: [{name: no-chaos}]
`
	aTrace = `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"desk"}}]},
"scopeSpans":[{"spans":[{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174","name":"refund","kind":1,
"startTimeUnixNano":"1767000000000000000","endTimeUnixNano":"1767000001000000000"}]}]}]}`
)

// files are a suite, whose agent answers, and a trace.
func files(t *testing.T) (suiteFile, traceFile string) {
	t.Helper()
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"a": "order 1042 is refunded"}`)
	}))
	t.Cleanup(agent.Close)
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	return write("contract.yaml", strings.Replace(aSuite, "ENDPOINT", agent.URL, 1)), write("spans.json", aTrace)
}

// command is a process of the command.
func command(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(append(os.Environ(), asCommand+"=1"), env...)
	return cmd
}

// drive lists the tools and calls some.
func drive(t *testing.T, transport mcp.Transport) {
	t.Helper()
	c, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), transport, nil)
	require.NoError(t, err)
	list, err := c.ListTools(t.Context(), nil)
	require.NoError(t, err)
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	for _, name := range []string{"contract_run", "contract_list", "resilience_score", "get_runs", "get_graph", "detect_outages"} {
		assert.Contains(t, names, name)
	}
	assert.False(t, slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, "chaos_") }),
		"no program is there whose calls could fail")
	call := func(tool, args string, out any) {
		t.Helper()
		res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(args)})
		require.NoError(t, err)
		text := res.Content[0].(*mcp.TextContent).Text
		require.False(t, res.IsError, "%s: %s", tool, text)
		require.NoError(t, json.Unmarshal([]byte(text), out))
	}
	var run struct{ Score struct{ Verdict string } }
	call("contract_run", `{"matrix":"contract"}`, &run)
	assert.Equal(t, "pass", run.Score.Verdict)
	var runs struct{ Runs []struct{ ID string } }
	call("get_runs", `{}`, &runs)
	require.Len(t, runs.Runs, 1)
	assert.Equal(t, "spans", runs.Runs[0].ID)
	assert.NoError(t, c.Close())
}

var writing = []string{"SHAKEDOWN_MCP_MODE=read-write", "SHAKEDOWN_MCP_ENABLE_WRITE=true"}

func TestStandardInput(t *testing.T) {
	suiteFile, traceFile := files(t)
	cmd := command(t, writing, "serve", "--suite", suiteFile, "--trace", traceFile)
	drive(t, &mcp.CommandTransport{Command: cmd})
	assert.Zero(t, cmd.ProcessState.ExitCode(), "its client left")
}

// Without files it serves tools that say that nothing is there.
func TestWithoutFiles(t *testing.T) {
	c, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&mcp.CommandTransport{Command: command(t, nil, "serve")}, nil)
	require.NoError(t, err)
	res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "get_graph", Arguments: json.RawMessage(`{"runId":"live"}`)})
	require.NoError(t, err)
	assert.True(t, res.IsError)
	assert.Contains(t, res.Content[0].(*mcp.TextContent).Text, "not_found")
	_, err = c.CallTool(t.Context(), &mcp.CallToolParams{Name: "contract_run", Arguments: json.RawMessage(`{}`)})
	assert.ErrorContains(t, err, "contract_run")
	assert.NoError(t, c.Close())
}

// A place finds in what a process says where it listens.
type place struct {
	mu    sync.Mutex
	text  bytes.Buffer
	told  bool
	found chan string
}

var address = regexp.MustCompile(`http://\S+/mcp`)

func (p *place) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text.Write(text)
	if at := address.Find(p.text.Bytes()); at != nil && !p.told {
		p.told = true
		p.found <- string(at)
	}
	return len(text), nil
}

// A token is made by the command, put into a file, and lets its owner in alone.
func TestHTTP(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("has no SIGTERM")
	}
	suiteFile, traceFile := files(t)
	made, err := command(t, nil, "serve", "--new-token", "ci").Output()
	require.NoError(t, err)
	token := regexp.MustCompile(`# ([A-Z0-9]{20,})`).FindStringSubmatch(string(made))[1]
	tokens := filepath.Join(t.TempDir(), "tokens.yaml")
	all := strings.Replace(string(made), "contract:read", "contract:read, contract:write", 1)
	require.NoError(t, os.WriteFile(tokens, []byte("version: 1\ntokens:\n"+all), 0o600))

	at := &place{found: make(chan string, 1)}
	cmd := command(t, append(writing, "SHAKEDOWN_MCP_TOKENS_FILE="+tokens), "serve", "--http", "127.0.0.1:0",
		"--suite", suiteFile, "--trace", traceFile)
	cmd.Stderr = at
	require.NoError(t, cmd.Start())
	server := <-at.found
	transport := http.DefaultTransport.(*http.Transport).Clone()
	defer transport.CloseIdleConnections()
	with := func(token string) *http.Client {
		return client.WithToken(&http.Client{Transport: transport}, server, token)
	}
	status := func(path, token string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSuffix(server, "/mcp")+path, nil)
		require.NoError(t, err)
		res, err := with(token).Do(req)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		return res.StatusCode
	}
	assert.Equal(t, http.StatusUnauthorized, status("/mcp", "another-token"))
	assert.Equal(t, http.StatusOK, status("/healthz", "another-token"))
	drive(t, &mcp.StreamableClientTransport{Endpoint: server, HTTPClient: with(token)})
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	assert.NoError(t, cmd.Wait(), "it was interrupted")
}

func TestWhatIsTyped(t *testing.T) {
	suiteFile, traceFile := files(t)
	occupied := httptest.NewServer(http.NotFoundHandler())
	defer occupied.Close()
	none := func(string) string { return "" }
	for _, tc := range []struct {
		name   string
		args   []string
		getenv func(string) string
		status int
		says   []string
	}{
		{"help", []string{"--help"}, none, 0, []string{"shakedown-mcp serve --suite contract.yaml", "--http ADDRESS", "--trace FILE", "Exit status"}},
		{"an unknown flag and an argument", []string{"--htp", "1", "extra"}, none, 3, []string{"htp", `argument is "extra"; allowed: flags alone`}},
		{"half of a certificate", []string{"--tls-cert", "cert.pem"}, none, 3, []string{"--tls-cert and --tls-key is one of the two"}},
		{"no certificate", []string{"--tls-cert", "none.pem", "--tls-key", "none.pem"}, none, 3, []string{"none.pem"}},
		{"no token", []string{"--http", "127.0.0.1:0"}, none, 3, []string{"SHAKEDOWN_MCP_TOKEN"}},
		{"beyond loopback without a token", []string{"--http", ":0", "--loopback-without-token"}, none, 3, []string{"loopback"}},
		{"one switch alone", nil, func(name string) string { return map[string]string{"SHAKEDOWN_MCP_MODE": "read-write"}[name] }, 3, []string{"SHAKEDOWN_MCP_ENABLE_WRITE"}},
		{"no files", []string{"--suite", "none.yaml", "--trace", "none.json"}, none, 3, []string{"--suite", "none.yaml", "--trace", "none.json"}},
		{"a suite that is none, a trace twice", []string{"--suite", traceFile, "--trace", traceFile, "--trace", traceFile}, none, 3,
			[]string{"resourceSpans", "--trace"}},
		{"an address that is taken", []string{"--http", strings.TrimPrefix(occupied.URL, "http://"), "--suite", suiteFile},
			func(name string) string {
				return map[string]string{"SHAKEDOWN_MCP_TOKEN": "a-token-for-the-test"}[name]
			}, 4, []string{"listen tcp"}},
	} {
		var out, problems bytes.Buffer
		status := server().Run(context.Background(), tc.args, tc.getenv, &out, &problems)
		assert.Equal(t, tc.status, status, "%s: %s", tc.name, problems.String())
		for _, want := range tc.says {
			assert.Contains(t, out.String()+problems.String(), want, tc.name)
		}
		assert.Equal(t, tc.status == 0, problems.Len() == 0, tc.name)
		assert.Equal(t, tc.status == 0, out.Len() > 0, tc.name)
	}
	for args, want := range map[string]int{"": 3, "sereve": 3, "help": 0, "--help": 0, "serve --help": 0} {
		cmd := command(t, nil, strings.Fields(args)...)
		text, _ := cmd.CombinedOutput()
		assert.Equal(t, want, cmd.ProcessState.ExitCode(), args)
		assert.Contains(t, string(text), "serve", args)
	}
}
