package mcpadapter

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
)

// A thousand calls at once, over three sessions, while faults are injected: each has
// an answer and a line of audit.
func TestAThousandCallsAtOnce(t *testing.T) {
	s := newShop(t)
	var audit lines
	srv := serverOf(t, s.host, &Options{Audit: &audit})
	base, client := listen(t, srv)
	sessions := []*mcp.ClientSession{clientOf(t, srv, nil), connect(t, eras(base, client)["with sessions"], nil), connect(t, eras(base, client)["without sessions"], nil)}
	answer[injectOutput](t, sessions[0], "chaos_inject_fault", `{"fault_name":"f","action":"register","fault_type":"error","probability":0.5,"target":"*"}`)
	var wg sync.WaitGroup
	var answered atomic.Int64
	for i := range 1000 {
		wg.Go(func() {
			callFails(s)
			session := sessions[0]
			if i%10 == 0 { // each of these takes a connection, or its place in line for one
				session = sessions[1+i/10%2]
			}
			res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "chaos_status"})
			if err == nil && !res.IsError {
				answered.Add(1)
			}
		})
	}
	wg.Wait()
	assert.EqualValues(t, 1000, answered.Load())
	assert.Equal(t, 1001, strings.Count(audit.String(), `"event":"mcp.tool_call.completed"`))
	client.CloseIdleConnections()
}

// Sessions that nobody uses end by themselves, and none that is used.
func TestIdleSessionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := serverOf(t, newShop(t).host, &Options{Limits: Limits{SessionTime: time.Minute}})
		web := chaoshttp.InProcess(srv.Handler())
		t.Cleanup(func() { require.NoError(t, web.Close()) })
		transport := &mcp.StreamableClientTransport{Endpoint: "http://localhost/mcp", DisableStandaloneSSE: true,
			HTTPClient: &http.Client{Transport: bearer{token, web}}}
		c := connect(t, func() (mcp.Transport, string) { return transport, "2025-11-25" }, nil)
		for range 3 {
			time.Sleep(59 * time.Second)
			answer[statusOutput](t, c, "chaos_status", `{}`)
		}
		time.Sleep(61 * time.Second)
		assert.Empty(t, collect(srv))
		_, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "chaos_status"})
		assert.Error(t, err, "the session is gone")
	})
}
