package audit_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
		{"the first member of an object that was null is added", by(`{"x":null}`, `{"x":{"y":1}}`), audit.Confirmed},
		{"the whole state was null", by(`null`, `[1]`), audit.Confirmed},
		{"a list is overwritten by null", by(`{"x":[1]}`, `{"x":null}`), audit.Contradicted},
		{"a null beside a list that is filled is removed", by(`{"x":null,"y":null}`, `{"x":[1]}`), audit.Contradicted},
		{"the first member of a map, which PHP wrote as an empty list, is added", by(`{"x":[]}`, `{"x":{"y":1}}`), audit.Confirmed},
		{"a list that was not empty becomes an object", by(`{"x":[1]}`, `{"x":{"y":1}}`), audit.Contradicted},
		{"a list gets another order", by(`["x","y"]`, `["y","x"]`), audit.NotDecided},
		{"the value of a member that is named as a length is overwritten", by(`{"queue length":3}`, `{"queue length":0}`), audit.NotDecided},
		{"the state does not show what it does", by(`1`), audit.NotDecided},
	} {
		tool := auditStates(t, audit.Claims{Destructive: new(false)}, tc.state, done)
		assert.Equal(t, tc.want, tool.Destructive, tc.reason)
	}
}

// A list in another order neither confirms nor contradicts that a tool only reads.
func TestReadsInAnyOrder(t *testing.T) {
	for want, state := range map[audit.Standing]func(int) string{audit.Confirmed: by(`["a","b"]`), audit.NotDecided: by(`["a","b"]`, `["b","a"]`),
		audit.Contradicted: by(`["a","b"]`, `["b","a","c"]`)} {
		tool := auditStates(t, audit.Claims{ReadOnly: new(true)}, state, done, slices.Repeat([]time.Duration{time.Second}, 16)...)
		assert.Equal(t, want, tool.ReadOnly, "%s: %s", tool.Verdict, tool.Why)
	}
}

// A claim is about all calls of a tool: also those that are cancelled, made at once, or made after a restart.
func TestClaimsOfUnusualCalls(t *testing.T) {
	pay := func(l *ledger) {
		if l.add("paid", 1) > 0 {
			l.add("paid", -1)
		}
	}
	sleep := func(ctx context.Context) error {
		select {
		case <-time.After(time.Second):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for _, tc := range []struct {
		reason                string
		tool                  func(ctx context.Context, l *ledger) error
		restart               func(l *ledger)
		readOnly, destructive audit.Standing
	}{
		{"it adds", func(ctx context.Context, l *ledger) error { defer pay(l); return sleep(ctx) }, nil, audit.Contradicted, audit.Confirmed},
		{"a cancelled call clears all that was there", func(ctx context.Context, l *ledger) error {
			err := sleep(ctx)
			if err != nil && l.add("old", -1) < 1 {
				l.add("old", 1)
			} else if err == nil {
				pay(l)
			}
			return err
		}, nil, audit.Contradicted, audit.Contradicted},
		{"a cancelled call leaves a lock, which the next one takes away", func(ctx context.Context, l *ledger) error {
			l.add("lock", 1)
			err := sleep(ctx)
			l.mu.Lock()
			defer l.mu.Unlock()
			if err == nil {
				delete(l.n, "lock")
			}
			return err
		}, nil, audit.Contradicted, audit.Confirmed},
		{"the state shows that it is called, and it goes on when it is cancelled", func(_ context.Context, l *ledger) error {
			l.add("under way", 1)
			time.Sleep(time.Second)
			l.add("under way", -1)
			return nil
		}, nil, audit.Confirmed, audit.Confirmed},
		{"calls at once take away what was there", func(ctx context.Context, l *ledger) error {
			if l.add("under way", 1) == 1 && l.add("old", -1) < 1 {
				l.add("old", 1)
			}
			err := sleep(ctx)
			pay(l)
			l.add("under way", -1)
			return err
		}, nil, audit.Contradicted, audit.Contradicted},
		{"a restart takes away what the first call did, and no call does", func(ctx context.Context, l *ledger) error { pay(l); return sleep(ctx) },
			func(l *ledger) { l.add("paid", -1) }, audit.Contradicted, audit.Confirmed},
		{"what was there expires by itself while a repeated call is refused", func(_ context.Context, l *ledger) error {
			time.Sleep(10 * time.Millisecond)
			if l.add("paid", 1) > 0 {
				l.add("paid", -1)
				return errors.New("it is paid")
			}
			time.AfterFunc(2*time.Second, func() { l.add("old", -1) })
			return nil
		}, nil, audit.Contradicted, audit.Confirmed},
		{"a call after a restart does", func(ctx context.Context, l *ledger) error {
			if l.add("restarted", 0) == 1 && l.add("old", -1) < 1 {
				l.add("old", 1)
			}
			return sleep(ctx)
		}, func(l *ledger) { l.add("restarted", 1) }, audit.Contradicted, audit.Contradicted},
	} {
		o := &audit.Options{Sandbox: true, Claims: map[string]audit.Claims{"t": {ReadOnly: new(true), Destructive: new(false)}}}
		o.NewWorld = func(context.Context) (*audit.World, error) {
			l := &ledger{n: map[string]int{"old": 1}}
			return &audit.World{Tools: bare{func(ctx context.Context, _ json.RawMessage) error { return tc.tool(ctx, l) }},
				Restart: func(context.Context) error {
					if tc.restart != nil {
						tc.restart(l)
					}
					return nil
				},
				State: func(ctx context.Context) (any, error) {
					doc, err := l.state(ctx)
					return json.RawMessage(doc.([]byte)), err
				}}, nil
		}
		tool := run(t, o).Tools[0]
		assert.Equal(t, tc.readOnly, tool.ReadOnly, "%s: %s", tc.reason, tool.Why)
		assert.Equal(t, tc.destructive, tool.Destructive, "%s: %s", tc.reason, tool.Why)
	}
}

// A list in another order may be the same to the program, or not, also where an element took the place of an old one.
func TestOrderOfAList(t *testing.T) {
	for _, state := range []func(int) string{by(`[]`, `["a","b"]`, `["b","a"]`), by(`[1,2]`, `[1,2,3]`, `[3,2,1]`)} {
		tool := auditStates(t, audit.Claims{}, state, done)
		assert.Equal(t, audit.Unknown, tool.Verdict, tool.Why)
		assert.Contains(t, tool.Why, "order of a list")
	}
}

// A result of MCP that is an error is no answer.
func TestIsError(t *testing.T) {
	const refused = `{"isError":true,"content":[]}`
	tool := auditStates(t, audit.Claims{Idempotent: new(true)}, by(`0`, `1`), by("", `{"isError":false}`, refused))
	assert.Equal(t, audit.Wedged, tool.Verdict, tool.Why)
	assert.Equal(t, audit.NotDecided, tool.Idempotent)
	tool = auditStates(t, audit.Claims{ReadOnly: new(true)}, by(`0`), by(refused))
	assert.Equal(t, audit.Unknown, tool.Verdict, tool.Why)
	assert.Contains(t, tool.Why, "the example call fails")

	tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "list"}, func(context.Context, struct{}) (json.RawMessage, error) {
		return json.RawMessage(refused), nil
	}), chaos.Func(chaos.Tool{Name: "read", Effect: chaos.EffectNone}, func(context.Context, struct{}) (string, error) { return "read", nil }))
	require.NoError(t, err)
	r := run(t, &audit.Options{Sandbox: true, StateTool: "list", NewWorld: func(context.Context) (*audit.World, error) {
		return &audit.World{Tools: tools}, nil
	}})
	assert.Equal(t, audit.Unknown, r.Tools[1].Verdict)
	assert.Contains(t, r.Tools[1].Why, "the state could not be read")
}

// A treatment that could not be made leaves it unknown whether a tool is safe.
func TestNotTried(t *testing.T) {
	tool := auditStates(t, audit.Claims{Idempotent: new(true)}, by(`0`, `1`), done)
	assert.Equal(t, audit.Unknown, tool.Verdict)
	assert.Equal(t, audit.NotDecided, tool.Idempotent)
	assert.Len(t, tool.NotTried, 4, "a tool that takes no time and no arguments: restarted, at-once, cancelled and other-spelling")
	assert.Contains(t, tool.NotTried["at-once"], "a call takes 0s")
	assert.Contains(t, tool.NotTried["cancelled"], "no time")

	tool = auditStates(t, audit.Claims{}, by(`0`, `1`), done, slices.Repeat([]time.Duration{time.Second}, 16)...)
	assert.Equal(t, audit.Safe, tool.Verdict, tool.Why)
	assert.Len(t, tool.NotTried, 2, "a tool that takes time: restarted and other-spelling")

	for _, tc := range []struct {
		reason, treatment, why string
		takes                  func(ctx context.Context, call int) time.Duration
		want                   audit.Verdict
	}{
		{"a tool that takes no time, and took some when it was measured", "cancelled", "ended before",
			func(ctx context.Context, _ int) time.Duration {
				if chaos.FromContext(ctx) == nil {
					return time.Second
				}
				return 0
			}, audit.Unknown},
		{"one that is faster than it was when it was measured is cancelled sooner", "restarted", "nothing restarts it",
			func(ctx context.Context, _ int) time.Duration {
				if chaos.FromContext(ctx) == nil {
					return time.Second
				}
				return time.Millisecond
			}, audit.Safe},
		{"one of the calls at once takes time", "at-once", "too few", func(_ context.Context, call int) time.Duration {
			if call == 1 {
				return time.Second
			}
			return 0
		}, audit.Unknown},
	} {
		tool = run(t, &audit.Options{Sandbox: true, NewWorld: func(context.Context) (*audit.World, error) {
			var calls atomic.Int64
			tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "t"}, func(ctx context.Context, _ struct{}) (string, error) {
				time.Sleep(tc.takes(ctx, int(calls.Add(1))))
				return "paid", nil
			}))
			return &audit.World{Tools: tools, State: func(context.Context) (any, error) { return calls.Load() > 0, nil }}, err
		}}).Tools[0]
		assert.Contains(t, tool.NotTried[tc.treatment], tc.why, tc.reason)
		assert.Equal(t, tc.want, tool.Verdict, "%s: %s", tc.reason, tool.Why)
	}
}

// A tool that doubles only at once is never safe, however short its work is.
func TestShortTools(t *testing.T) {
	for _, tc := range []struct {
		is    string
		steps time.Duration // each
		want  audit.Verdict
	}{
		{"doubles-at-once", 2 * time.Microsecond, audit.Doubles}, {"doubles-at-once", 60 * time.Microsecond, audit.Doubles},
		{"safe", 2 * time.Microsecond, audit.Unknown}, {"safe", 60 * time.Microsecond, audit.Safe},
	} {
		tool := run(t, &audit.Options{Sandbox: true, NewWorld: func(context.Context) (*audit.World, error) {
			return planted{is: tc.is, steps: [3]time.Duration{tc.steps, tc.steps, tc.steps}}.world()
		}}).Tools[0]
		assert.Equal(t, tc.want, tool.Verdict, "%+v: %s", tc, tool.Why)
	}
	tool := run(t, &audit.Options{Sandbox: true, NewWorld: func(context.Context) (*audit.World, error) {
		return planted{is: "doubles-at-once"}.world()
	}}).Tools[0]
	assert.NotEqual(t, audit.Safe, tool.Verdict, "no time at all: which calls meet is for the scheduler to say")
}
