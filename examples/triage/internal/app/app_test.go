package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/contract/trace"
	"github.com/shakedown-go/shakedown/examples/triage/internal/settings"
	"github.com/shakedown-go/shakedown/mcpadapter"
	"github.com/shakedown-go/shakedown/mcpadapter/incident"
	"github.com/shakedown-go/shakedown/mcpadapter/policy"
	"github.com/shakedown-go/shakedown/scoring/timeline"
)

// asProgram makes the test binary the program, which agents re-execute.
const asProgram = "TRIAGE_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" || len(os.Args) > 1 && os.Args[1] == offlineAgent {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		status := (&Program{Getenv: os.Getenv, Stdout: os.Stdout, Stderr: os.Stderr}).Run(ctx, os.Args[1:])
		stop()
		os.Exit(status)
	}
	os.Exit(m.Run())
}

// output is what a program writes, from several goroutines.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// run runs the program in this process.
func run(ctx context.Context, env map[string]string, p *Program, args ...string) (status int, stdout, stderr *output) {
	stdout, stderr = new(output), new(output)
	p.Getenv, p.Stdout, p.Stderr = func(name string) string { return env[name] }, stdout, stderr
	return p.Run(ctx, args), stdout, stderr
}

func TestWhatIsRefused(t *testing.T) {
	ok := map[string]string{envEndpoint: "http://127.0.0.1:1/mcp", "AGENT_CLI": "offline"}
	with := func(more ...string) map[string]string {
		env := map[string]string{}
		for k, v := range ok {
			env[k] = v
		}
		for i := 0; i < len(more); i += 2 {
			env[more[i]] = more[i+1]
		}
		return env
	}
	for name, tc := range map[string]struct {
		env  map[string]string
		args []string
		want []string
	}{
		"nothing set":       {nil, nil, []string{envEndpoint + " is missing", "ANTHROPIC_API_KEY is missing"}},
		"an argument":       {ok, []string{"extra"}, []string{`unexpected argument "extra"; allowed: none`}},
		"an unknown flag":   {ok, []string{"-nope"}, []string{"-nope"}},
		"files and a store": {with("AGENT_CLI", "gemini", "STORAGE_URL", "s3://b", "SLACK_WEBHOOK_URL", "hooks.example.com/secret"), nil, []string{"AGENT_SCRIPT_PATH is", "AGENT_SYSTEM_PROMPT_FILE is", "no object stores", "SLACK_WEBHOOK_URL"}},
		"an agent nowhere":  {ok, []string{offlineAgent}, []string{"--workspace is missing"}},
		"an agent in haste": {ok, []string{offlineAgent, "--workspace", ".", "--timeout", "0"}, []string{"--timeout is 0"}},
	} {
		status, stdout, stderr := run(t.Context(), tc.env, &Program{}, tc.args...)
		assert.Equal(t, exitUsage, status, name)
		assert.Empty(t, stdout.String(), name)
		for _, want := range tc.want {
			assert.Contains(t, stderr.String(), want, name)
		}
		assert.NotContains(t, stderr.String(), "example.com/secret", name)
	}
	status, stdout, _ := run(t.Context(), nil, &Program{}, "-h")
	assert.Equal(t, exitWell, status)
	assert.Contains(t, stdout.String(), "AGENT_TIMEOUT")
	status, _, stderr := run(t.Context(), ok, &Program{}, offlineAgent, "--workspace", t.TempDir(), "Look into it")
	assert.Equal(t, exitFailed, status)
	assert.Contains(t, stderr.String(), "incident.json")
}

// TestTheProgram listens over loopback to a server that had an outage a while
// ago, runs the agent as a process of its own, stores what it found, and ends
// when its context does.
func TestTheProgram(t *testing.T) {
	l, tell, hangUp := pastOutage(t)
	store := &memory{saved: make(chan incident.Incident, 100)}
	posted := make(chan string, 10)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // an empty one fails the test below
		posted <- string(body)
	}))
	defer hook.Close()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	type end struct {
		status         int
		stdout, stderr *output
	}
	ended := make(chan end, 1)
	go func() {
		status, stdout, stderr := run(ctx, map[string]string{
			envEndpoint: "http://" + l.Addr().String() + "/mcp", envToken: testToken, "AGENT_CLI": "offline",
			"WORKSPACE_ROOT": t.TempDir(), "STORAGE_URL": "mem://", "SLACK_WEBHOOK_URL": hook.URL + "/services/secret",
		}, &Program{OpenStore: func(context.Context, string) (Store, error) { return store, nil }})
		ended <- end{status, stdout, stderr}
	}()
	tick := time.NewTicker(50 * time.Millisecond) // until somebody listens; what comes later is a duplicate
	defer tick.Stop()
	for over := false; !over; {
		select {
		case in := <-store.saved:
			if over = in.Status != incident.StatusInvestigating; over {
				assert.Equal(t, incident.StatusResolved, in.Status, in.FailureReason)
			}
		case <-tick.C:
			tell()
		}
	}
	stop()
	e := <-ended
	assert.Equal(t, exitWell, e.status, e.stderr)
	assert.Contains(t, e.stdout.String(), "1 incidents: 1 resolved, 0 failed")
	assert.NotContains(t, e.stderr.String(), testToken)
	assert.NotContains(t, e.stderr.String(), "services/secret")
	message := <-posted
	for _, fact := range []string{"*Incident resolved*: error", "shipping.ship is the deepest node whose calls failed", "*Confidence*: high", "*Cluster*: desk", "*Namespace*: shipping"} {
		assert.Contains(t, message, fact)
	}
	assert.Empty(t, posted, "one message an incident")
	assert.True(t, store.closed)
	assert.Contains(t, store.report, "- Target: shipping.ship")
	assert.Contains(t, store.report, "Confidence: high")
	hangUp()
}

const testToken = "a-token-for-the-test"

// pastOutage serves a timeline of a minute, in the middle of which shipping fails. That ended two seconds
// ago, so that the agent waits a second for a recovery. tell makes the server report it.
func pastOutage(t *testing.T) (l net.Listener, tell, hangUp func()) {
	t.Helper()
	now := time.Now()
	recorder, err := trace.NewRecorder(&trace.Options{Run: timeline.RunOptions{Epoch: now.Add(-42 * time.Second)}})
	require.NoError(t, err)
	for i := range 240 {
		for _, target := range []string{"orders.get", "shipping.ship"} {
			e := chaos.Event{Target: target, Start: time.Duration(i) * time.Second / 4, Outcome: chaos.OutcomeOK}
			if target == "shipping.ship" && i >= 80 && i < 160 {
				e.Outcome = chaos.OutcomeInjected
			}
			e.End = e.Start + time.Millisecond
			recorder.Record(context.Background(), e)
		}
	}
	runs, err := trace.NewRuns(nil)
	require.NoError(t, err)
	_, err = runs.Add(trace.Entry{ID: "live", CreatedAt: now.Add(-time.Minute), Timeline: recorder.Run()})
	require.NoError(t, err)
	in := chaos.NewInjector(1, nil)
	srv, err := mcpadapter.NewServer(mcpadapter.Host{Name: "desk", Injector: in, Runs: runs}, &mcpadapter.Options{
		Policy: &policy.Options{Audit: io.Discard}, Getenv: func(name string) string { return map[string]string{"SHAKEDOWN_MCP_TOKEN": testToken}[name] }})
	require.NoError(t, err)
	l, err = net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	serving, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- srv.Serve(serving, l) }()
	tell = func() {
		assert.NoError(t, in.Register(chaos.Rule{Name: "outage", Target: "shipping.ship", Fault: fault.Fail(fault.ErrUnavailable), Limit: 1}))
		ship := chaos.WrapWith("shipping.ship", func(context.Context, int) (int, error) { return 0, nil }, &chaos.WrapOptions[int]{Injector: in})
		_, err := ship(context.Background(), 1)
		assert.Error(t, err)
	}
	return l, tell, func() {
		cancel()
		assert.NoError(t, <-served)
	}
}

// memory is a store.
type memory struct {
	saved  chan incident.Incident
	report string
	closed bool
}

func (m *memory) Save(in incident.Incident, report []byte) error {
	m.report = string(report)
	m.saved <- in
	return nil
}

func (m *memory) Close() error { m.closed = true; return nil }

func TestCommands(t *testing.T) {
	dir := t.TempDir()
	script, prompt := filepath.Join(dir, "run.sh"), filepath.Join(dir, "prompt.md")
	require.NoError(t, errors.Join(os.WriteFile(script, nil, 0o600), os.WriteFile(prompt, nil, 0o600)))
	s := &settings.Settings{Endpoint: "http://x/mcp", Token: "tok-1234", Model: "m", ScriptPath: script, SystemPromptFile: prompt, CLI: "claude", AnthropicKey: "key-5678", OpenAIKey: "key-9"}
	c, err := commandOf(s)
	require.NoError(t, err)
	assert.Equal(t, []string{"bash", script}, c.Path)
	assert.Equal(t, "key-5678", c.Env["ANTHROPIC_API_KEY"])
	assert.NotContains(t, c.Env, "OPENAI_API_KEY", "an agent gets its own key")
	assert.Equal(t, "[redacted] and [redacted]", c.Redact("tok-1234 and key-5678"))
	assert.Contains(t, c.Pass, "CONTAINER_ENGINE", "which the script reads")
	for _, cli := range []string{"gemini", "goose"} {
		t.Setenv("GEMINI_API_KEY", "of-the-process-1")
		t.Setenv("GOOGLE_API_KEY", "of-the-process-2")
		s.CLI = cli
		c, err = commandOf(s)
		require.NoError(t, err)
		assert.Equal(t, "[redacted]", c.Redact("of-the-process-2"), "what an agent inherits is as secret as what it is given")
	}
	assert.Equal(t, "key-9", c.Env["OPENAI_API_KEY"], "goose gets the keys of a file too")
	assert.Equal(t, "key-5678", c.Env["ANTHROPIC_API_KEY"])
	s.CLI = "offline"
	c, err = commandOf(s)
	require.NoError(t, err)
	assert.Equal(t, offlineAgent, c.Path[1])
	doc, err := json.Marshal(c.Env)
	require.NoError(t, err)
	assert.NotContains(t, string(doc), "key-", "an agent without a model gets none")
}
