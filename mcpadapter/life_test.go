package mcpadapter

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/mcpadapter/internal/faulthub"

	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

// waiting is a shop with an experiment that begins, and ends with its context.
func waiting(t *testing.T) (s *shop, begun, ended chan struct{}) {
	t.Helper()
	s = newShop(t)
	begun, ended = make(chan struct{}, 8), make(chan struct{}, 8)
	e := experimentOf("waits", nil)
	e.Method[0].Run = func(ctx context.Context) (any, error) {
		begun <- struct{}{}
		<-ctx.Done()
		ended <- struct{}{}
		return nil, context.Cause(ctx)
	}
	require.NoError(t, s.host.Experiments.Register(e))
	return s, begun, ended
}

var waits = mcp.CallToolParams{Name: "chaos_run_experiment", Arguments: map[string]any{"experiment_name": "waits"}}

// A client that cancels its call ends what the call does, in every era, and the
// rollback still runs.
func TestCancelledCalls(t *testing.T) {
	for name := range eras("", nil) {
		t.Run(name, func(t *testing.T) {
			s, begun, ended := waiting(t)
			base, client := listen(t, serverOf(t, s.host, nil))
			era := eras(base, client)[name]
			c := connect(t, era, nil)
			ctx, cancel := context.WithCancel(t.Context())
			failed := make(chan error, 1)
			go func() {
				_, err := c.CallTool(ctx, &waits)
				failed <- err
			}()
			<-begun
			cancel()
			assert.ErrorIs(t, <-failed, context.Canceled)
			<-ended
			answer[statusOutput](t, connect(t, era, nil), "chaos_status", `{}`)
		})
	}
}

func TestAPanicInAToolIsItsError(t *testing.T) {
	s := newShop(t)
	in := s.host.Injector
	require.NoError(t, in.Register(chaos.Rule{Name: "explode", Target: "never", Fault: panicking{}}))
	require.NoError(t, in.Register(chaos.Rule{Name: "leave", Target: "never", Fault: leaving{}}))
	var audit lines
	srv := serverOf(t, s.host, &Options{Policy: &policy.Options{Audit: &audit}})
	c := clientOf(t, srv, nil)
	p := refusal(t, c, "chaos_inject_fault", `{"fault_name":"explode","action":"inject"}`)
	assert.Equal(t, *problem(500, "panic", "chaos_inject_fault panicked: out of luck", p.Hint), p)
	p = refusal(t, c, "chaos_inject_fault", `{"fault_name":"leave","action":"inject"}`)
	assert.Contains(t, p.Detail, "ended its goroutine")
	answer[statusOutput](t, c, "chaos_status", `{}`)
	assert.Equal(t, 3, strings.Count(audit.String(), `"event":"mcp.tool_call.completed"`), "one line a call, panics included")
	assert.Contains(t, audit.String(), "out of luck")
}

type panicking struct{}

func (panicking) Inject(context.Context, chaos.Call, any, chaos.Next) (any, error) {
	panic("out of luck")
}

type leaving struct{}

func (leaving) Inject(context.Context, chaos.Call, any, chaos.Next) (any, error) {
	runtime.Goexit()
	return nil, nil
}

// A tool that ignores the end of its context does not keep its client waiting.
func TestAToolThatDoesNotEndIsLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, err := NewServer(Host{Name: "h", Injector: chaos.NewInjector(1, nil)}, &Options{Getenv: writable, Limits: Limits{CallTime: time.Minute}})
		require.NoError(t, err)
		end := make(chan struct{})
		stubborn, err := define(tool{Name: "stubborn"}, func(context.Context, *call, struct{}) (struct{}, error) {
			<-end
			return struct{}{}, nil
		})
		require.NoError(t, err)
		began := time.Now()
		request, answered := context.WithCancel(t.Context())
		res, err := stubborn.serve(srv)(request, &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "stubborn"}})
		require.NoError(t, err)
		answered()
		assert.Equal(t, time.Minute+patience, time.Since(began))
		assert.Equal(t, 504, res.StructuredContent.(*policy.Error).Status)

		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		assert.ErrorIs(t, srv.Shutdown(ctx), context.DeadlineExceeded, "Shutdown waits for it")
		close(end)
		assert.NoError(t, srv.Shutdown(t.Context()))
	})
}

func TestShutdownLetsCallsFinish(t *testing.T) {
	s := newShop(t)
	begun, end := make(chan struct{}), make(chan struct{})
	e := experimentOf("long", nil)
	e.Method[0].Run = func(context.Context) (any, error) {
		close(begun)
		<-end
		return nil, nil
	}
	require.NoError(t, s.host.Experiments.Register(e))
	srv := serverOf(t, s.host, nil)
	c, other := clientOf(t, srv, nil), clientOf(t, srv, nil)
	done := make(chan *mcp.CallToolResult, 1)
	go func() {
		res, _ := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "chaos_run_experiment", Arguments: map[string]any{"experiment_name": "long"}})
		done <- res
	}()
	<-begun
	over := make(chan error, 1)
	go func() { over <- srv.Shutdown(t.Context()) }()
	for !srv.active.closing() {
		runtime.Gosched()
	}
	assert.Equal(t, "shutting_down", refusal(t, other, "chaos_status", `{}`).Code)
	close(end)
	assert.NoError(t, <-over)
	res := <-done
	require.NotNil(t, res, "the answer came before the session was closed")
	assert.False(t, res.IsError)
	assert.ErrorContains(t, srv.ServeStdio(t.Context()), "shutting down")
}

func TestProgressOfAContract(t *testing.T) {
	srv := serverOf(t, newShop(t).host, nil)
	base, client := listen(t, srv)
	for name, era := range eras(base, client) {
		t.Run(name, func(t *testing.T) {
			notes := make(chan *mcp.ProgressNotificationParams, 64)
			c := connect(t, era, &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
				notes <- r.Params
			}})
			params := &mcp.CallToolParams{Name: "contract_run", Arguments: map[string]any{"trials": 5, "scenarios": []string{"calm"}}}
			params.SetProgressToken("p1")
			res, err := c.CallTool(t.Context(), params)
			require.NoError(t, err)
			require.False(t, res.IsError)
			var last *mcp.ProgressNotificationParams
			for last == nil || last.Progress < 10 { // those that came too quickly are left out, the last one is not
				next := <-notes
				assert.Greater(t, next.Progress, cmp.Or(last, &mcp.ProgressNotificationParams{}).Progress)
				last = next
			}
			assert.Equal(t, 10.0, last.Total)
			assert.Contains(t, last.Message, "calm/answers/5: held")
		})
	}
}

// Every delivered fault leaves a line, from a client or the host; a slow audit log delays no
// call, and a line says how many did not fit the queue.
func TestFaultsAreAudited(t *testing.T) {
	s := newShop(t)
	log := &gated{open: make(chan struct{})}
	srv := serverOf(t, s.host, &Options{Policy: &policy.Options{Audit: log}})
	require.NoError(t, s.host.Injector.Register(chaos.Rule{Name: "from code", Target: "orders.*", Fault: panicLess{}}))
	for range 3 * faulthub.Queued {
		_, err := s.lookup(t.Context(), "7")
		require.Error(t, err)
	}
	assert.Greater(t, srv.hub.Dropped(), uint64(faulthub.Queued), "what did not fit was counted")
	close(log.open)
	require.NoError(t, srv.Shutdown(t.Context()))
	written, lost := 0, 0.0
	for _, line := range auditOf(t, log.String()) {
		switch line["event"] {
		case "chaos.fault.delivered":
			written++
			assert.Equal(t, []any{"orders.get", "from code"}, []any{line["target"], line["rule"]})
		case "chaos.fault.lost":
			lost += line["faults"].(float64)
		}
	}
	assert.Equal(t, 3*faulthub.Queued, written+int(lost), "%d written, %v lost", written, lost)
}

// gated is a log that accepts lines once it is open.
type gated struct {
	open chan struct{}
	lines
}

func (g *gated) Write(p []byte) (int, error) {
	<-g.open
	return g.lines.Write(p)
}

type panicLess struct{}

func (panicLess) Inject(context.Context, chaos.Call, any, chaos.Next) (any, error) {
	return nil, errors.New("unavailable")
}
