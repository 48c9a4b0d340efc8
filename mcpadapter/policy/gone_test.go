package policy_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

// waiting is a desk with a tool that waits until its call is cancelled.
func waiting() *desk {
	d := newDesk("look")
	d.tool("wait", func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	return d
}

func TestACancelledCallIs408(t *testing.T) {
	each(t, func(t *testing.T, era string) {
		synctest.Test(t, func(t *testing.T) {
			d := waiting()
			_, j := d.behind(t, everything("wait", "look"))
			cs := d.connect(t, era, nil)
			ctx, cancel := context.WithCancel(t.Context())
			failed := make(chan error, 1)
			go func() {
				_, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "wait"})
				failed <- err
			}()
			synctest.Wait()
			cancel()
			assert.ErrorIs(t, <-failed, context.Canceled)
			synctest.Wait()
			line := j.only(t)
			assert.Equal(t, []any{"wait", "error", "cancelled: context canceled"}, []any{line["tool"], line["result"], line["error_detail"]})
			assert.False(t, call(t, cs, "look", `{}`).IsError, "the server goes on")
		})
	})
}

func TestAClientThatDisappearsLeavesALine(t *testing.T) {
	each(t, func(t *testing.T, era string) {
		synctest.Test(t, func(t *testing.T) {
			d := waiting()
			_, j := d.behind(t, everything("wait", "look"))
			here, there := mcp.NewInMemoryTransports()
			ss, err := d.server.Connect(t.Context(), there, nil)
			require.NoError(t, err)
			gone := &hangUp{Transport: here}
			cs, err := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil).Connect(t.Context(), gone, &mcp.ClientSessionOptions{ProtocolVersion: era})
			require.NoError(t, err)
			go cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "wait"})
			synctest.Wait()
			gone.conn.Close() // the wire is cut in mid-call
			synctest.Wait()
			ss.Wait()
			cs.Close()
			assert.Equal(t, []any{"wait", "error"}, []any{j.only(t)["tool"], j.only(t)["result"]})
			assert.False(t, call(t, d.connect(t, era, nil), "look", `{}`).IsError, "the server goes on")
		})
	})
}

// hangUp lets a test close the wire under a session.
type hangUp struct {
	mcp.Transport
	conn mcp.Connection
}

func (h *hangUp) Connect(ctx context.Context) (_ mcp.Connection, err error) {
	h.conn, err = h.Transport.Connect(ctx)
	return h.conn, err
}

func TestTheTargetIsWhatTheCallSays(t *testing.T) {
	for args, want := range map[string]string{
		`{"id":"x0c0"}`: "x0c0", `{"ID":"x0c0"}`: "x0c0", `{"id":12345678901234567890}`: "12345678901234567890", `{"id":["a","b"]}`: `["a","b"]`,
		`{"id":null}`: "null", `{}`: "", `{"id":"ghp_0123456789abcdef0123"}`: "[redacted]",
	} {
		d := newDesk("look")
		_, j := d.behind(t, policy.Options{Tools: []policy.Tool{{Name: "look", Capability: policy.Read, Target: "id"}}})
		call(t, d.connect(t, newEra, nil), "look", args)
		assert.Equal(t, want, j.only(t)["target"], args)
	}
}
