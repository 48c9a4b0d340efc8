package audit_test

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract/audit"
)

// auditStates audits a tool that answers result(calls), where state(calls) is the state.
func auditStates(t *testing.T, claims audit.Claims, state, result func(calls int) string, takes ...time.Duration) audit.ToolResult {
	return run(t, &audit.Options{Sandbox: true, Claims: map[string]audit.Claims{"t": claims}, NewWorld: func(context.Context) (*audit.World, error) {
		var calls atomic.Int64
		tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "t"}, func(context.Context, struct{}) (json.RawMessage, error) {
			n := int(calls.Add(1))
			if n <= len(takes) {
				time.Sleep(takes[n-1])
			}
			return json.RawMessage(result(n)), nil
		}))
		return &audit.World{Tools: tools, State: func(context.Context) (any, error) {
			return json.RawMessage(state(int(calls.Load()))), nil
		}}, err
	}}).Tools[0]
}

func done(int) string { return `"done"` }

// by returns the text of a number of calls; more calls than there are texts have the last.
func by(texts ...string) func(int) string {
	return func(n int) string { return texts[min(n, len(texts)-1)] }
}

// A claim not to destroy is not confirmed by a state that shows too little, or is of an unusual form.
func TestDestructive(t *testing.T) {
	for _, tc := range []struct {
		reason string
		state  func(int) string
		want   audit.Standing
	}{
		{"an element of a set, which is an empty object, is removed", by(`{"x":{},"y":{}}`, `{"y":{}}`), audit.Contradicted},
		{"an empty list is removed", by(`{"x":[],"y":1}`, `{"y":1}`), audit.Contradicted},
		{"an element of a set is added", by(`{}`, `{"x":{}}`), audit.Confirmed},
		{"an element of a list is added", by(`[]`, `[1]`), audit.Confirmed},
		{"the value of a member that is named as a length is overwritten", by(`{"queue length":3}`, `{"queue length":0}`), audit.NotDecided},
		{"the state does not show what it does", by(`1`), audit.NotDecided},
	} {
		tool := auditStates(t, audit.Claims{Destructive: new(false)}, tc.state, done)
		assert.Equal(t, tc.want, tool.Destructive, tc.reason)
	}
}

// A list that only has another order is no second piece of work, also where an element took the place of an old one.
func TestOrderOfAnOldList(t *testing.T) {
	tool := auditStates(t, audit.Claims{}, by(`[1,2]`, `[1,2,3]`, `[3,2,1]`), done)
	assert.Equal(t, audit.Unknown, tool.Verdict, tool.Why)
	assert.Contains(t, tool.Why, "order of a list")
}
