package replay_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/findings"
	"github.com/shakedown-go/shakedown/contract/invariant"
	"github.com/shakedown-go/shakedown/contract/replay"
)

// with is a call with a recorded effect.
func with(e findings.Effect, c findings.Call) findings.Call {
	c.Effect = e
	return c
}

func TestEffects(t *testing.T) {
	pay := chaos.Tool{Name: "pay", Effect: chaos.EffectDone, IdempotencyKey: "/meta/key"}
	post := chaos.Tool{Name: "post", Effect: chaos.EffectDone}
	look := chaos.Tool{Name: "look", Effect: chaos.EffectNone}
	send := chaos.Tool{Name: "send", Effect: chaos.EffectDone, IdempotencyKey: "/client_token"}
	redacted := []findings.Call{with(findings.Done, failing("send", `{"client_token":"[redacted]"}`, "i/o timeout")),
		call("send", `{"client_token":"[redacted]"}`, `1`)}
	const undecided = "undecided"
	for _, row := range []struct {
		reason string
		calls  []findings.Call
		asked  []string // empty: the calls as they were recorded
		o      *replay.PlayOptions
		want   []string // names; undecided if State is an error
	}{
		{reason: "what succeeded at a tool that declares an effect",
			calls: []findings.Call{call("post", `{"b":1,"a":2}`, `1`), call("look", `1`, `1`), call("other", `1`, `1`)},
			want:  []string{`post {"a":2,"b":1}`}},
		{reason: "what was done although the call failed, and the repetition",
			calls: []findings.Call{with(findings.Done, failing("post", `{"a":2}`, "i/o timeout")), call("post", `{"a":2.0}`, `1`)},
			want:  []string{`post {"a":2}`, `post {"a":2}`}},
		{reason: "not what was not done",
			calls: []findings.Call{with(findings.NotDone, failing("post", `1`, "refused")), with(findings.NotDone, call("post", `1`, `"dry run"`))}},
		{reason: "what is recorded as done counts without a declaration",
			calls: []findings.Call{with(findings.Done, call("other", ``, `1`))}, want: []string{"other"}},
		{reason: "once for each key",
			calls: []findings.Call{with(findings.Done, failing("pay", `{"to":"a","meta":{"key":"k"}}`, "i/o timeout")),
				call("pay", `{"to":"a","meta":{"key":"k"}}`, `1`), call("pay", `{"to":"a","meta":{"key":"l"}}`, `1`)},
			asked: []string{`pay {"to":"a","meta":{"key":"k"}}`, `pay {"meta":{"key":"k"},"to":"a"}`, `pay {"to":"a","meta":{"key":"l"}}`},
			want:  []string{`pay {"meta":{},"to":"a"}`, `pay {"meta":{},"to":"a"}`}},
		{reason: "a key that was redacted: those that the agent sends now, of which two differ",
			calls: redacted, asked: []string{`send {"client_token":"a"}`, `send {"client_token":"b"}`}, want: []string{`send {}`, `send {}`}},
		{reason: "and two are equal",
			calls: redacted, asked: []string{`send {"client_token":"a"}`, `send {"client_token":"a"}`}, want: []string{`send {}`}},
		{reason: "calls without a key count each, and an empty key is none",
			calls: []findings.Call{call("pay", `{"to":"a"}`, `1`), call("pay", `{"to":"a","meta":{"key":""}}`, `1`), call("pay", `{"to":"a","meta":{"key":null}}`, `1`)},
			want:  []string{`pay {"to":"a"}`, `pay {"meta":{},"to":"a"}`, `pay {"meta":{},"to":"a"}`}},
		{reason: "by order it is what this agent asked for, under its key",
			calls: []findings.Call{with(findings.Done, failing("pay", `{"to":"a"}`, "i/o timeout")), call("pay", `{"to":"a"}`, `1`)},
			asked: []string{`pay {"to":"b","meta":{"key":"k"}}`, `pay {"to":"b","meta":{"key":"k"}}`}, o: &replay.PlayOptions{ByOrder: true},
			want: []string{`pay {"meta":{},"to":"b"}`}},
		{reason: "a failure of which nobody knows leaves it open",
			calls: []findings.Call{failing("post", `1`, "i/o timeout")}, want: []string{undecided}},
		{reason: "a call with the same key settles it",
			calls: []findings.Call{failing("pay", `{"meta":{"key":"k"}}`, "i/o timeout"), call("pay", `{"meta":{"key":"k"}}`, `1`)},
			want:  []string{`pay {"meta":{}}`}},
		{reason: "a lookup that failed did nothing",
			calls: []findings.Call{with(findings.Unknown, failing("look", `1`, "i/o timeout"))}},
		{reason: "an effect that the record calls unknown leaves it open, without a declaration too",
			calls: []findings.Call{with(findings.Unknown, failing("other", `1`, "i/o timeout"))}, want: []string{undecided}},
		{reason: "the last again is done again",
			calls: []findings.Call{call("post", `1`, `1`)}, asked: []string{"post 1", "post 1"}, want: []string{"post 1", "post 1"}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			s := &replay.Session{Name: "effects", Tools: []chaos.Tool{pay, post, look, send}, Calls: row.calls}
			p, err := s.Player(row.o)
			require.NoError(t, err)
			for _, asked := range row.asked {
				ask(t, p, "", asked)
			}
			for i := range row.calls {
				if row.asked == nil {
					_, _ = p.CallTool(t.Context(), row.calls[i].Tool, row.calls[i].Args)
				}
			}
			require.NoError(t, p.Err())
			state, err := p.State(t.Context())
			if len(row.want) == 1 && row.want[0] == undecided {
				assert.EqualError(t, err, fmt.Sprintf(
					`replay: session effects: nobody knows whether call 1 (%s) did its work; allowed: an effect "done" or "none"`, row.calls[0].Tool))
				return
			}
			require.NoError(t, err)
			assert.Equal(t, row.want, emptyAsNil(state.(replay.Effects).Names()))
			assert.Equal(t, p.Effects(), state)
		})
	}
}

func emptyAsNil(names []string) []string {
	if len(names) == 0 {
		return nil
	}
	return names
}

// A session that says of no tool and of no call which effect it has, such as a trace that was imported without
// ImportOptions.Tools, does not show that nothing was done.
func TestASessionWithoutDeclarationsHasNoState(t *testing.T) {
	for _, row := range []struct {
		reason  string
		tools   []chaos.Tool
		call    findings.Call
		decided bool
	}{
		{"nothing is declared", nil, call("pay", `1`, `1`), false},
		{"a tool that says it does not know declares nothing", []chaos.Tool{{Name: "pay", Effect: chaos.EffectUnknown}}, call("pay", `1`, `1`), false},
		{"any tool that declares what it does", []chaos.Tool{{Name: "look", Effect: chaos.EffectNone}}, call("pay", `1`, `1`), true},
		{"any call of which it is known", nil, with(findings.NotDone, call("pay", `1`, `1`)), true},
	} {
		p, err := (&replay.Session{Name: "trace", Tools: row.tools, Calls: []findings.Call{row.call}}).Player(nil)
		require.NoError(t, err, row.reason)
		_, err = p.State(t.Context())
		require.NoError(t, err, "%s: no call was played, so nothing was done", row.reason)
		assert.Equal(t, "1", ask(t, p, "", "pay 1"))
		_, err = p.State(t.Context())
		assert.Equal(t, row.decided, err == nil, "%s: %v", row.reason, err)
	}
}

// What Else did is not in the session, so the session's state is not that of the world.
func TestEffectsElsewhereAreNotKnown(t *testing.T) {
	live, err := chaos.NewRegistry(
		chaos.Func(chaos.Tool{Name: "look", Effect: chaos.EffectNone}, func(context.Context, struct{}) (int, error) { return 1, nil }),
		chaos.Func(chaos.Tool{Name: "pay", Effect: chaos.EffectDone}, func(context.Context, struct{}) (int, error) { return 2, nil }))
	require.NoError(t, err)
	s := &replay.Session{Name: "part", Tools: []chaos.Tool{{Name: "post", Effect: chaos.EffectDone}}, Calls: []findings.Call{call("post", `1`, `1`)}}
	p, err := s.Player(&replay.PlayOptions{Else: live})
	require.NoError(t, err)
	ask(t, p, "", "post 1")
	assert.Equal(t, "1", ask(t, p, "", "look {}"))
	_, err = p.State(t.Context())
	require.NoError(t, err, "a look-up changes nothing")
	assert.Equal(t, "2", ask(t, p, "", "pay {}"))
	_, err = p.State(t.Context())
	require.EqualError(t, err,
		"replay: session part: PlayOptions.Else answered a call of pay, and what that did is not among the effects of the session")
	p.Rewind()
	_, err = p.State(t.Context())
	assert.NoError(t, err)
}

// The effects are a world's state, and AtMostOnce judges them.
func TestEffectsServeAtMostOnce(t *testing.T) {
	s := &replay.Session{Name: "twice", Prompts: []string{"pay"}, Tools: []chaos.Tool{{Name: "pay", Effect: chaos.EffectDone}},
		Calls: []findings.Call{with(findings.Done, failing("pay", `1`, "i/o timeout")), call("pay", `1`, `1`)}}
	for tries, want := range map[int]contract.CellState{1: contract.Held, 2: contract.Broken} {
		scenarios, err := replay.Scenarios([]*replay.Session{s},
			func(_ context.Context, _ *replay.Session, tools chaos.ToolRegistry) (*contract.World, error) {
				return &contract.World{Tools: tools, State: tools.(*replay.Player).State,
					Agent: func(ctx context.Context, _ string, tools chaos.ToolRegistry) (answer string, err error) {
						for range tries {
							_, err = tools.CallTool(ctx, "pay", json.RawMessage(`1`))
						}
						return "", err
					}}, nil
			}, nil)
		require.NoError(t, err)
		m := &contract.Matrix{Scenarios: scenarios,
			Invariants: []contract.Invariant{invariant.AtMostOnce("once", contract.Critical, replay.Effects.Names)}}
		r, err := m.Run(t.Context(), nil)
		require.NoError(t, err)
		assert.Equal(t, want, r.Cells[0].State, r.Cells[0].Why)
	}
}

// A failure comes back as an error that code can tell apart as it could the real one.
func TestPlayedErrors(t *testing.T) {
	timesOut := func(err error) bool {
		var e interface{ Timeout() bool }
		return errors.As(err, &e) && e.Timeout()
	}
	answers := func(status int, retryAfter string) func(error) bool {
		return func(err error) bool {
			var e *chaoshttp.HTTPError
			return errors.As(err, &e) && e.StatusCode == status && e.Header.Get("Retry-After") == retryAfter
		}
	}
	is := func(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }
	notFound := func(err error) bool {
		var e *net.DNSError
		return errors.As(err, &e) && e.IsNotFound
	}
	for _, row := range []struct {
		e    findings.CallError
		like []func(error) bool
	}{
		{findings.CallError{Text: "i/o timeout"}, []func(error) bool{timesOut, is(context.DeadlineExceeded), is(os.ErrDeadlineExceeded), is(fault.ErrTimeout)}},
		{findings.CallError{Text: "slow", Status: 504}, []func(error) bool{timesOut, answers(504, "")}},
		{findings.CallError{Text: "busy", Status: 429, RetryAfter: 1500 * time.Millisecond}, []func(error) bool{answers(429, "2")}},
		{findings.CallError{Text: "503 Service Unavailable"}, []func(error) bool{answers(503, "")}},
		{findings.CallError{Text: "dial tcp: connect: connection refused"}, []func(error) bool{is(syscall.ECONNREFUSED)}},
		{findings.CallError{Text: "read: connection reset by peer"}, []func(error) bool{is(syscall.ECONNRESET)}},
		{findings.CallError{Text: "lookup x: no such host"}, []func(error) bool{notFound}},
		{findings.CallError{Text: `Post "https://x": EOF`}, []func(error) bool{is(io.EOF)}},
		{findings.CallError{Text: "refund: too many requests"}, []func(error) bool{is(fault.ErrRateLimited)}},
		{findings.CallError{Text: "service unavailable"}, []func(error) bool{is(fault.ErrUnavailable)}},
		{findings.CallError{Text: "401 Unauthorized: the access token expired"}, []func(error) bool{answers(401, "")}},
		{findings.CallError{Text: `unknown tool "x"`}, []func(error) bool{is(chaos.ErrUnknownTool)}},
		{findings.CallError{Text: "there is no order 7"}, nil},
	} {
		c := findings.Call{Tool: "a", Error: &row.e}
		_, err := player(t, nil, c).CallTool(t.Context(), "a", nil)
		require.EqualError(t, err, row.e.Text)
		for i, like := range row.like {
			assert.True(t, like(err), "%s: %d", row.e.Text, i)
		}
		var e *replay.PlayedError
		require.ErrorAs(t, err, &e)
		assert.Equal(t, row.e.RetryAfter, e.RetryAfter)
		assert.Equal(t, timesOut(e.Unwrap()), e.Timeout())
		assert.NotErrorIs(t, err, chaos.ErrInjected, "nothing was injected in this run")
	}
}
