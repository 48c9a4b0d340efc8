package contracttest_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract/audit"
	"github.com/shakedown-go/shakedown/contract/contracttest"
)

// refunds has a tool that takes an hour, and may know what it has done.
func refunds(remembers bool) *audit.Options {
	return &audit.Options{Sandbox: true, Timeout: 2 * time.Hour, Claims: map[string]audit.Claims{"refund": {Idempotent: new(true)}},
		NewWorld: func(context.Context) (*audit.World, error) {
			var mu sync.Mutex
			var made []string
			busy := make(chan struct{}, 1)
			tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "refund", InputSchema: json.RawMessage(
				`{"properties":{"order":{"type":"string"}},"required":["order"]}`)},
				func(ctx context.Context, in struct{ Order string }) (string, error) {
					busy <- struct{}{}
					defer func() { <-busy }()
					if remembers && len(made) > 0 {
						return "refunded", nil
					}
					select {
					case <-time.After(time.Hour):
					case <-ctx.Done():
						return "", ctx.Err()
					}
					mu.Lock()
					defer mu.Unlock()
					made = append(made, in.Order)
					return "refunded", nil
				}))
			return &audit.World{Tools: tools, State: func(context.Context) (any, error) {
				mu.Lock()
				defer mu.Unlock()
				return append([]string{}, made...), nil
			}}, err
		}}
}

func TestAuditRetries(t *testing.T) {
	r := contracttest.AuditRetries(t, refunds(true), nil)
	require.Len(t, r.Tools, 1)
	assert.Equal(t, audit.Safe, r.Tools[0].Verdict)
	assert.Equal(t, audit.Confirmed, r.Tools[0].Idempotent)
	assert.Contains(t, r.Tools[0].NotTried, "restarted")
}

func TestChildAuditRetries(t *testing.T) {
	onlyInChild(t)
	contracttest.AuditRetries(t, refunds(false), nil)
}

func TestChildAuditOfNothing(t *testing.T) {
	onlyInChild(t)
	o := refunds(false)
	o.Sandbox = false
	contracttest.AuditRetries(t, o, nil)
}

func TestAuditRetriesFails(t *testing.T) {
	out, failed := child(t, "^TestChildAuditRetries$")
	assert.True(t, failed)
	for _, want := range []string{"--- FAIL: TestChildAuditRetries/refund.reply-lost/done-once/1", "--- PASS: TestChildAuditRetries/refund.once/done-once/1",
		"contracttest: refund: doubles: ", "contracttest: refund: idempotentHint is contradicted"} {
		assert.Contains(t, out, want)
	}
	out, failed = child(t, "^TestChildAuditOfNothing$")
	assert.True(t, failed)
	assert.Contains(t, out, "refund: it is not allowed by its name")
}
