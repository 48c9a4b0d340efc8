//lint:file-ignore SA1019 log messages are deprecated, and what the runners that follow faults listen to

package mcpadapter

import (
	"context"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

// A server over standard output ends with its context and by Shutdown, also
// while a client holds the pipe open and reads nothing.
func TestTheEndDoesNotWaitForADeadReader(t *testing.T) {
	for _, byShutdown := range []bool{true, false} {
		s := newShop(t)
		srv, err := NewServer(s.host, &Options{Getenv: writable, Policy: &policy.Options{Audit: new(lines)}})
		require.NoError(t, err)
		in, typed := io.Pipe()
		printed, out := io.Pipe()
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- srv.serveTransport(ctx, srv.stdio(in, out)) }()
		client := &mcp.IOTransport{Reader: printed, Writer: typed}
		conn, err := client.Connect(t.Context())
		require.NoError(t, err)
		dead := wire{conn}
		dead.open(t)
		dead.subscribe(t)
		breakdown(t, s)
		for range 1000 {
			_, err := s.lookup(t.Context(), "1042")
			require.Error(t, err)
		}
		if byShutdown {
			assert.NoError(t, srv.Shutdown(t.Context()))
		} else {
			stop()
		}
		assert.NoError(t, <-ended)
		stop()
		require.NoError(t, srv.Shutdown(t.Context()))
		require.NoError(t, dead.Close()) // and what was being written ends
	}
}

// Sessions begin, subscribe and break while faults are injected.
func TestSessionsThatVanishLeaveNothingBehind(t *testing.T) {
	s := newShop(t)
	srv := serverOf(t, s.host, nil)
	base, client := listen(t, srv)
	breakdown(t, s)
	var striking sync.WaitGroup
	striking.Go(func() {
		for range 3000 {
			callFails(s)
		}
	})
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			var c *mcp.ClientSession
			if i%4 == 0 {
				c = connect(t, eras(base, client)["with sessions"], nil)
			} else {
				c = legacy(t, srv, nil)
			}
			_ = c.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "info"})
			_, _ = c.CallTool(t.Context(), &mcp.CallToolParams{Name: "events_subscribe"})
			_ = c.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uriFaults})
			_ = c.Close()
		})
	}
	wg.Wait()
	striking.Wait()
	last := listenerOf(t, srv)
	assert.Eventually(t, func() bool {
		return answer[listSubscriptionsOutput](t, last.ClientSession, "events_list_subscriptions", `{}`).ServerTotal == 0
	}, 20*time.Second, time.Millisecond, "with the sessions")
}
