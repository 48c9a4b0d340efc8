package mcpadapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/experiment"
	"github.com/shakedown-go/shakedown/chaos/experiment/gameday"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/invariant"
	"github.com/shakedown-go/shakedown/contract/trace"
	"github.com/shakedown-go/shakedown/mcpadapter/policy"
	"github.com/shakedown-go/shakedown/scoring/timeline"
)

// writable is an environment in which everything may be done.
func writable(name string) string {
	return map[string]string{
		"SHAKEDOWN_MCP_MODE": "read-write", "SHAKEDOWN_MCP_ENABLE_WRITE": "true", "SHAKEDOWN_MCP_TOKEN": token, "SHAKEDOWN_ENVIRONMENT": "test",
	}[name]
}

const token = "t0ken-of-the-tests"

// shop is the program under test: an injector, two wrapped calls, experiments,
// a matrix, and a recorded run.
type shop struct {
	host   Host
	lookup func(context.Context, string) (string, error)
	refund func(context.Context, string) (string, error)
}

func newShop(t testing.TB) *shop {
	t.Helper()
	s := &shop{}
	in := chaos.NewInjector(7, &chaos.InjectorOptions{RecordAll: true})
	answer := func(_ context.Context, order string) (string, error) { return "order " + order, nil }
	s.lookup = chaos.WrapWith("orders.get", answer, &chaos.WrapOptions[string]{Injector: in})
	s.refund = chaos.WrapWith("payments.refund", answer, &chaos.WrapOptions[string]{Injector: in})
	for _, call := range []func(context.Context, string) (string, error){s.lookup, s.refund} {
		_, err := call(t.Context(), "1042") // so that the points are known
		require.NoError(t, err)
	}
	lab := gameday.NewLab(&gameday.LabOptions{Injector: in})
	require.NoError(t, lab.Register(experimentOf("slow database", nil), experimentOf("bad action", errors.New("connection refused")), panics()))
	s.host = Host{Name: "order desk", Injector: in, Experiments: lab, Matrices: []*contract.Matrix{deskMatrix()},
		Runs: recorded(t, nil), Workload: true}
	return s
}

func experimentOf(name string, fails error) *experiment.Experiment {
	return &experiment.Experiment{
		Name:       name,
		Hypothesis: &experiment.Hypothesis{Probes: []experiment.Activity{{Name: "answers", Run: func(context.Context) (any, error) { return true, nil }}}},
		Method:     []experiment.Activity{{Name: "act", Run: func(context.Context) (any, error) { return nil, fails }}},
		Rollbacks:  []experiment.Activity{{Name: "undo", Run: func(context.Context) (any, error) { return nil, nil }}},
	}
}

func panics() *experiment.Experiment {
	e := experimentOf("panics", nil)
	e.Method[0].Run = func(context.Context) (any, error) { panic("no such table") }
	return e
}

// deskMatrix asks an agent that says that the order was found even where its
// tool failed.
func deskMatrix() *contract.Matrix {
	return &contract.Matrix{
		Name: "desk", Seed: 42, Prompts: []string{"Where is order 1042?"}, SkipStateProbe: true,
		NewWorld: func(context.Context) (*contract.World, error) {
			tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "orders.get", Effect: chaos.EffectNone},
				func(_ context.Context, in struct{ Order string }) (string, error) { return "shipped", nil }))
			return &contract.World{Tools: tools, Agent: func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
				if _, err := tools.CallTool(ctx, "orders.get", json.RawMessage(`{"order":"1042"}`)); err != nil {
					return "I could not find your order.", nil
				}
				return "Order 1042 is shipped.", nil
			}}, err
		},
		Invariants: []contract.Invariant{
			invariant.Contains("names-the-order", contract.Critical, "1042"),
			invariant.NotEmpty("answers", contract.Low),
		},
		Scenarios: []contract.Scenario{contract.Calm(),
			{Name: "orders-down", Rules: []chaos.Rule{{Name: "down", Target: "orders.*", Fault: fault.Fail(fault.ErrUnavailable)}}}},
	}
}

// epoch is when the recorded run begins.
func epoch() time.Time { return time.Date(2026, 5, 4, 3, 2, 0, 0, time.UTC) }

// recorded is a store with one run: a call of orders.get each second, which
// fails from second 20 to 30.
func recorded(t testing.TB, work func(context.Context, *trace.Conditions) error) *trace.Runs {
	t.Helper()
	if work == nil {
		work = func(ctx context.Context, c *trace.Conditions) error {
			c.Limit(4)
			call := chaos.Wrap("orders.get", func(context.Context, int) (int, error) { return 0, nil })
			_, err := call(ctx, 1)
			return err
		}
	}
	runs, err := trace.NewRuns(&trace.RunsOptions{Workload: &trace.Workload{Run: work}})
	require.NoError(t, err)
	run, err := timeline.NewRun(&timeline.RunOptions{Epoch: epoch()})
	require.NoError(t, err)
	for i := range 60 {
		at := time.Duration(i) * time.Second
		require.NoError(t, run.Add(timeline.Sample{Target: "orders.get", Type: timeline.NodeTool, Class: "checkout", Key: uint64(i),
			Start: at, End: at + 50*time.Millisecond, Failed: i >= 20 && i < 30}))
	}
	_, err = runs.Add(trace.Entry{ID: "monday", Label: "Monday morning", CreatedAt: epoch(), Timeline: run})
	require.NoError(t, err)
	return runs
}

// lines is a writer that a test may read while it is written.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// serverOf serves a host until the test ends.
func serverOf(t testing.TB, h Host, o *Options) *Server {
	t.Helper()
	if o == nil {
		o = &Options{}
	}
	if o.Getenv == nil {
		o.Getenv = writable
	}
	if o.Policy == nil {
		o.Policy = &policy.Options{}
	}
	if o.Policy.Audit == nil {
		o.Policy.Audit = io.Discard
	}
	s, err := NewServer(h, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Shutdown(context.Background())) })
	return s
}

// clientOf is a client over memory. The revision is the newest that the SDK's
// in-memory transport agrees on.
func clientOf(t testing.TB, s *Server, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	return inMemory(t, s, o, nil)
}

func inMemory(t testing.TB, s *Server, o *mcp.ClientOptions, how *mcp.ClientSessionOptions) *mcp.ClientSession {
	t.Helper()
	here, there := mcp.NewInMemoryTransports()
	_, err := s.mcp.Connect(t.Context(), there, nil)
	require.NoError(t, err)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o).Connect(t.Context(), here, how)
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// ask calls a tool with arguments in JSON, and holds what comes back against
// the tool's own output schema, as a client does.
func ask(t testing.TB, session *mcp.ClientSession, tool, args string) *mcp.CallToolResult {
	t.Helper()
	res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(args)})
	require.NoError(t, err, "%s %s", tool, args)
	if schema := outputs()[tool]; schema != nil && res.StructuredContent != nil {
		require.NoError(t, schema.Validate(res.StructuredContent), "%s %s: %v", tool, args, res.StructuredContent)
	}
	return res
}

// outputs are the output schemas of all tools.
var outputs = sync.OnceValue(func() map[string]*jsonschema.Resolved {
	tools, err := table(Host{Injector: new(chaos.Injector), Experiments: new(gameday.Lab), Matrices: make([]*contract.Matrix, 1), Runs: new(trace.Runs), Workload: true})
	all := make(map[string]*jsonschema.Resolved)
	for _, tool := range tools {
		resolved, wrong := tool.Output.Resolve(nil)
		all[tool.Name], err = resolved, errors.Join(err, wrong)
	}
	if err != nil {
		panic(err)
	}
	return all
})

// answer calls a tool that works and reads its answer.
func answer[Out any](t testing.TB, session *mcp.ClientSession, tool, args string) (out Out) {
	t.Helper()
	res := ask(t, session, tool, args)
	require.False(t, res.IsError, "%s %s: %s", tool, args, textIn(t, res))
	require.NoError(t, json.Unmarshal([]byte(textIn(t, res)), &out))
	return out
}

// refusal calls a tool that refuses and reads the problem.
func refusal(t testing.TB, session *mcp.ClientSession, tool, args string) (p policy.Error) {
	t.Helper()
	res := ask(t, session, tool, args)
	require.True(t, res.IsError, "%s %s: %s", tool, args, textIn(t, res))
	require.NoError(t, json.Unmarshal([]byte(textIn(t, res)), &p))
	return p
}

func textIn(t testing.TB, res *mcp.CallToolResult) string {
	t.Helper()
	require.Len(t, res.Content, 1)
	return res.Content[0].(*mcp.TextContent).Text
}

// asServer makes the test binary a server over standard input and output.
const asServer = "SHAKEDOWN_TEST_SERVE_STDIO"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		os.Exit(serveForTest())
	}
	goleak.VerifyTestMain(m)
}

func serveForTest() int {
	s := newShop(new(standIn))
	srv, err := NewServer(s.host, nil)
	if err == nil {
		err = srv.ServeStdio(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// standIn is a testing.TB outside a test.
type standIn struct{ testing.TB }

func (*standIn) Helper()                   {}
func (*standIn) Context() context.Context  { return context.Background() }
func (*standIn) Errorf(f string, a ...any) { fmt.Fprintf(os.Stderr, f+"\n", a...) }
func (*standIn) FailNow()                  { os.Exit(1) }
