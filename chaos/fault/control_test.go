package fault_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// request is what a guardrail is asked about.
type request struct {
	Order  string
	Amount int
}

// guard approves amounts up to a hundred.
func guard(asked *int) func(context.Context, request) (bool, error) {
	return chaos.Wrap("guard", func(_ context.Context, r request) (bool, error) {
		*asked++
		return r.Amount <= 100, nil
	})
}

func TestGuardrails(t *testing.T) {
	small, large, same := request{"7", 50}, request{"8", 5000}, request{"7", 50}
	for _, c := range []struct {
		why       string
		fault     chaos.Fault
		requests  []request
		verdicts  string // true, false, error
		delivered string
		asked     int
	}{
		{"calm", fault.As("forced_verdict", fault.Replace(true)), []request{small}, "t", ".", 1},
		{"forced to approve", fault.As("forced_verdict", fault.Replace(true)), []request{large, small}, "tt", "x.", 2},
		{"forced to refuse", fault.As("forced_verdict", fault.Replace(false)), []request{large, small}, "ff", ".x", 2},
		{"down", fault.As("guardrail_down", fault.Fail(fault.ErrUnavailable)), []request{large, small}, "ee", "xx", 0},
		{"hanging", fault.As("guardrail_hang", fault.Hang()), []request{large}, "e", "x", 0},
		{"an approval of another request", fault.StaleApproval(true), []request{small, large}, "tt", ".x", 2},
		{"no approval yet", fault.StaleApproval(true), []request{large, small, same}, "ftt", "...", 3},
		{"a stale refusal is no approval", fault.StaleApproval(false), []request{large, small}, "ff", ".x", 2},
	} {
		t.Run(c.why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				check := guard(&asked)
				ctx, in := withRules(t, chaos.Rule{Target: "guard", Fault: c.fault})
				ctx, cancel := context.WithTimeout(ctx, patience)
				defer cancel()
				verdicts, delivered := "", ""
				for _, r := range c.requests {
					ok, err := check(ctx, r)
					switch {
					case err != nil:
						assert.ErrorIs(t, err, chaos.ErrInjected)
						verdicts += "e"
					default:
						verdicts += fmt.Sprint(ok)[:1]
					}
				}
				for _, e := range in.Events() {
					delivered += map[bool]string{true: "x", false: "."}[e.Delivered]
				}
				assert.Equal(t, c.verdicts, verdicts)
				assert.Equal(t, c.delivered, delivered)
				assert.Equal(t, c.asked, asked)
			})
		})
	}
}

// A guardrail that refuses what it approved before has changed its mind; that
// is no stale approval, which is one of another request.
func TestStaleApprovalOfTheSameRequest(t *testing.T) {
	verdicts := []bool{true, false}
	check := chaos.Wrap("guard", func(context.Context, request) (bool, error) {
		v := verdicts[0]
		verdicts = verdicts[1:]
		return v, nil
	})
	ctx, in := withRules(t, chaos.Rule{Target: "guard", Fault: fault.StaleApproval(true)})
	_, _ = check(ctx, request{"7", 1})
	ok, err := check(ctx, request{"7", 1})
	assert.NoError(t, err)
	assert.False(t, ok)
	assert.Len(t, in.Undelivered(), 1)
}

// A removed tool is neither listed nor callable; the others are both.
func TestToolRemoved(t *testing.T) {
	tool := func(name string) chaos.ToolFunc {
		return chaos.Func(chaos.Tool{Name: name}, func(context.Context, struct{}) (string, error) { return name, nil })
	}
	r, err := chaos.NewRegistry(tool("refund"), tool("status"))
	require.NoError(t, err)
	tools := chaos.WrapRegistry(r, nil)
	synctest.Test(t, func(t *testing.T) {
		ctx, in := withRules(t, chaos.Rule{Target: "*", When: when.Since(time.Second), Fault: fault.ToolRemoved("refund")})
		names := func() (names []string) {
			list, err := tools.Tools(ctx)
			require.NoError(t, err)
			for _, tool := range list {
				names = append(names, tool.Name)
			}
			return names
		}
		assert.Equal(t, []string{"refund", "status"}, names())
		_, err := tools.CallTool(ctx, "refund", nil)
		assert.NoError(t, err)
		time.Sleep(time.Second)
		assert.Equal(t, []string{"status"}, names())
		_, err = tools.CallTool(ctx, "refund", nil)
		assert.ErrorIs(t, err, chaos.ErrUnknownTool)
		assert.ErrorIs(t, err, chaos.ErrInjected)
		_, unknown := tools.CallTool(ctx, "nonesuch", nil)
		assert.EqualError(t, err, `unknown tool "refund"`)
		assert.EqualError(t, unknown, `unknown tool "nonesuch"`, "as a registry says it")
		doc, err := tools.CallTool(ctx, "status", nil)
		assert.NoError(t, err)
		assert.Equal(t, json.RawMessage(`"status"`), doc)
		var delivered []string
		for _, e := range in.Events() {
			if e.Delivered {
				delivered = append(delivered, e.Target)
			}
		}
		assert.Equal(t, []string{"tools/list", "refund"}, delivered)
	})
}

// Credentials expire after a number of calls, and do not come back.
func TestAuthExpired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{}
		ctx, _ := withRules(t, chaos.Rule{When: when.After(3), Fault: fault.AuthExpired()})
		var last error
		assert.Equal(t, "...xxx", outcomes(6, func() error { _, last = wrapped(t, d)(ctx); return last }))
		assert.ErrorIs(t, last, fault.ErrTokenExpired)
		assert.EqualError(t, last, "401 Unauthorized: the access token expired")
	})
}
