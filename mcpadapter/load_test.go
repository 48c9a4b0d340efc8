package mcpadapter

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
)

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
