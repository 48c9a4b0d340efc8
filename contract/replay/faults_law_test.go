package replay_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/planjson"
	"github.com/shakedown-go/shakedown/contract/findings"
	"github.com/shakedown-go/shakedown/contract/replay"
	"github.com/shakedown-go/shakedown/internal/fielderror"
)

// A failure is a recorded error, and what its like is known by.
type failure struct {
	error   findings.CallError
	class   string
	reaches bool // with AfterWork
}

// classOf tells what an agent can tell of an error.
func classOf(err error) string {
	var timeout interface{ Timeout() bool }
	var status *chaoshttp.HTTPError
	var dns *net.DNSError
	var certificate *tls.CertificateVerificationError
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &status):
		return fmt.Sprintf("status %d, wait %s", status.StatusCode, status.Header.Get("Retry-After"))
	case errors.As(err, &dns) && dns.IsNotFound:
		return "no host"
	case errors.As(err, &certificate):
		return "certificate"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused"
	case errors.Is(err, syscall.ECONNRESET):
		return "reset"
	case errors.Is(err, io.EOF):
		return "EOF"
	case errors.As(err, &timeout) && timeout.Timeout() && errors.Is(err, context.DeadlineExceeded):
		return "time-out"
	}
	return "text " + err.Error()
}

func drawFailure(t *rapid.T) failure {
	texts := map[string][]string{
		"time-out": {"i/o timeout", "context deadline exceeded", "Request timed out.", "connect ETIMEDOUT 10.0.0.7:443",
			"rpc error: code = DeadlineExceeded desc = context deadline exceeded", "ReadTimeoutError: no answer"},
		"refused":     {"dial tcp 10.0.0.7:443: connect: connection refused", "connect ECONNREFUSED 127.0.0.1:80"},
		"reset":       {"read: connection reset by peer", "write tcp 10.0.0.7: broken pipe", "read ECONNRESET"},
		"EOF":         {"EOF", `Post "https://pay.example": EOF`, "socket hang up"},
		"no host":     {"dial tcp: lookup pay.example: no such host", "getaddrinfo ENOTFOUND pay.example"},
		"certificate": {"tls: failed to verify certificate: x509: certificate signed by unknown authority"},
	}
	switch rapid.IntRange(0, 2).Draw(t, "form") {
	case 0:
		class := rapid.SampledFrom([]string{"time-out", "refused", "reset", "EOF", "no host", "certificate"}).Draw(t, "class")
		text := rapid.SampledFrom(texts[class]).Draw(t, "text")
		return failure{findings.CallError{Text: text}, class, class == "time-out"}
	case 1:
		code := rapid.IntRange(400, 599).Draw(t, "code")
		wait := time.Duration(rapid.IntRange(0, 5000).Draw(t, "wait")) * time.Millisecond
		e := findings.CallError{Text: "connection refused", Status: code, RetryAfter: wait}
		if code == 408 || code == 504 {
			return failure{e, "time-out", true}
		}
		header := ""
		if wait > 0 {
			header = strconv.Itoa(int((wait + time.Second - 1) / time.Second))
		}
		return failure{e, fmt.Sprintf("status %d, wait %s", code, header), false}
	}
	text := rapid.SampledFrom([]string{"order 1042 is closed", "no funds", "timeout must be at most 30", "unexpected EOF",
		"no route to host", "the gift certificate is used up", "ö\n{}[]*", "service unavailable"}).Draw(t, "text")
	return failure{findings.CallError{Text: text, Status: rapid.SampledFrom([]int{0, 200, -32000}).Draw(t, "code")},
		"text " + text, false}
}

// spellings are arguments, each in several spellings of the same value.
var spellings = [][]string{{"", "{}", "null"}, {`{"id":1}`, `{ "id" : 1.0 }`}, {`{"id":2}`}}

// A lawCase is a session and what it was made of.
type lawCase struct {
	session  *replay.Session
	options  replay.FaultOptions
	failures []*failure // by call; nil: it did not fail
	args     []int      // by call: which of spellings
}

func drawCase(t *rapid.T) (l lawCase) {
	l.session = &replay.Session{Name: "law"}
	l.options.Exact, l.options.AfterWork = rapid.Bool().Draw(t, "exact"), rapid.Bool().Draw(t, "after work")
	var at time.Duration
	for range rapid.IntRange(1, 14).Draw(t, "calls") {
		c := findings.Call{Tool: rapid.SampledFrom([]string{"pay", "pay*", "a{b,c}"}).Draw(t, "tool"), At: at,
			Lane: rapid.SampledFrom([]string{"", "w/1", "w/*"}).Draw(t, "lane"),
			Took: rapid.SampledFrom([]time.Duration{0, time.Second, 3 * time.Second}).Draw(t, "took")}
		at += rapid.SampledFrom([]time.Duration{0, time.Second, 5 * time.Second}).Draw(t, "pause")
		args := rapid.IntRange(0, len(spellings)-1).Draw(t, "args")
		c.Args = spelled(t, args)
		var f *failure
		if rapid.Bool().Draw(t, "fails") {
			f = new(drawFailure(t))
			c.Error = &f.error
		}
		l.session.Calls = append(l.session.Calls, c)
		l.failures, l.args = append(l.failures, f), append(l.args, args)
	}
	return l
}

func spelled(t *rapid.T, args int) json.RawMessage {
	return json.RawMessage(rapid.SampledFrom(spellings[args]).Draw(t, "spelling"))
}

// ordered reports whether call i must come before call j for a rule to tell them apart.
func (l *lawCase) ordered(i, j int) bool {
	calls := l.session.Calls
	if calls[i].Tool != calls[j].Tool || calls[i].Lane != calls[j].Lane {
		return false
	}
	return l.args[i] == l.args[j] || !l.options.Exact && !l.overlapping(calls[i].Tool, calls[i].Lane)
}

// overlapping reports whether any two calls of a tool and lane were under way at once.
func (l *lawCase) overlapping(tool, lane string) bool {
	for i, a := range l.session.Calls {
		for _, b := range l.session.Calls[:i] {
			if a.Tool == tool && b.Tool == tool && a.Lane == lane && b.Lane == lane && b.At+b.Took > a.At {
				return true
			}
		}
	}
	return false
}

// order draws one of the orders in which an agent may make the calls.
func (l *lawCase) order(t *rapid.T) (order []int) {
	left := make([]int, len(l.session.Calls))
	for i := range left {
		left[i] = i
	}
	for len(left) > 0 {
		ready := slices.DeleteFunc(slices.Clone(left), func(j int) bool {
			return slices.ContainsFunc(left, func(i int) bool { return i < j && l.ordered(i, j) })
		})
		next := rapid.SampledFrom(ready).Draw(t, "next")
		order = append(order, next)
		left = slices.DeleteFunc(left, func(i int) bool { return i == next })
	}
	return order
}

// always are tools that succeed, and the calls that reached them.
type always struct {
	mu      sync.Mutex
	reached int
}

func (*always) Tools(context.Context) ([]chaos.Tool, error) { return nil, nil }

func (a *always) CallTool(context.Context, string, json.RawMessage) (json.RawMessage, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reached++
	return json.RawMessage(`"done"`), nil
}

// throughJSON writes rules as a plan and reads it back.
func throughJSON(t require.TestingT, rules []chaos.Rule) *chaos.Plan {
	plan, err := chaos.NewPlan(1, rules...)
	require.NoError(t, err)
	doc, err := planjson.Encode(plan, nil)
	require.NoError(t, err)
	plan, err = planjson.Decode(doc, nil)
	require.NoError(t, err)
	return plan
}

// Rules made of a session, written, read back and injected into tools that always
// succeed, fail the same calls in the same way, and no others: whatever the order of the
// calls that they promise not to depend on, the lanes running at the same time.
func TestFaultsFailTheSameCallsInTheSameWay(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := drawCase(rt)
		rules, err := l.session.Faults(&l.options)
		require.NoError(rt, err)
		in := throughJSON(rt, rules).Injector("law/1", &chaos.InjectorOptions{RecordAll: true})
		byLane := map[string][]int{}
		var args []json.RawMessage
		for i := range l.args {
			args = append(args, spelled(rt, l.args[i]))
		}
		for _, i := range l.order(rt) {
			lane := l.session.Calls[i].Lane
			byLane[lane] = append(byLane[lane], i)
		}
		got, tools := make([]string, len(l.args)), &always{}
		synctest.Test(t, func(t *testing.T) {
			registry := chaos.WrapRegistry(tools, in)
			var lanes sync.WaitGroup
			for lane, calls := range byLane {
				ctx := chaos.WithLane(t.Context(), lane)
				lanes.Go(func() {
					for _, i := range calls {
						result, err := registry.CallTool(ctx, l.session.Calls[i].Tool, args[i])
						if got[i] = classOf(err); err == nil {
							got[i] = string(result)
						}
					}
				})
			}
			lanes.Wait()
		})
		reached := len(l.args)
		for i, f := range l.failures {
			want := `"done"`
			if f != nil {
				want = f.class
				if !f.reaches || !l.options.AfterWork {
					reached--
				}
			}
			require.Equal(rt, want, got[i], "call %d of %+v", i, l.session.Calls)
		}
		require.Equal(rt, reached, tools.reached)
	})
}

// Whatever a session holds, also one that no file could have: each rule is valid, all
// are one plan, and the plan is written and read back. A call without a rule is named.
func TestFaultsOfAnySession(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &replay.Session{Source: replay.Origin{Dialect: rapid.SampledFrom([]string{"", "otlp"}).Draw(t, "dialect")}}
		duration := rapid.Custom(func(t *rapid.T) time.Duration { return time.Duration(rapid.Int64().Draw(t, "ns")) })
		docs := []string{"", "null", "{", `"Error: no"`, `{"stop_reason":"max_tokens","content":[{"text":"\ud800"}]}`, `[[{"finish_reason":["length"]}]]`}
		doc := rapid.Custom(func(t *rapid.T) json.RawMessage { return json.RawMessage(rapid.SampledFrom(docs).Draw(t, "doc")) })
		for range rapid.IntRange(0, 9).Draw(t, "calls") {
			c := findings.Call{Type: rapid.SampledFrom([]findings.Type{"", findings.Tool, findings.Model, "human"}).Draw(t, "type"),
				Tool: rapid.SampledFrom([]string{"", "pay", "a{b", "gpt-5", "gpt-5-mini", "claude-x", "\xff", strings.Repeat("n", 2000)}).Draw(t, "tool"),
				Lane: rapid.SampledFrom([]string{"", "[", "\xff"}).Draw(t, "lane"), Parent: rapid.IntRange(-2, 12).Draw(t, "parent"),
				Args: doc.Draw(t, "args"), Result: doc.Draw(t, "result"), At: duration.Draw(t, "at"), Took: duration.Draw(t, "took"),
				Truncated: rapid.Bool().Draw(t, "truncated"), Suspected: rapid.Bool().Draw(t, "suspected"),
				Effect: rapid.SampledFrom([]findings.Effect{"", findings.Done, findings.NotDone, findings.Unknown, "x"}).Draw(t, "effect")}
			if rapid.Bool().Draw(t, "failed") {
				c.Error = &findings.CallError{Text: rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "\xff", "timed out"})).Draw(t, "text"),
					Status: rapid.IntRange(-1, 700).Draw(t, "status"), RetryAfter: duration.Draw(t, "wait")}
			}
			s.Calls = append(s.Calls, c)
		}
		rules, err := s.Faults(&replay.FaultOptions{AfterWork: rapid.Bool().Draw(t, "after work"), Exact: rapid.Bool().Draw(t, "exact"),
			Suspected: rapid.Bool().Draw(t, "suspected ones"), SlowerThan: duration.Draw(t, "slower than")})
		for _, problem := range fielderror.Apart(err) {
			var field *replay.FieldError
			require.ErrorAs(t, problem, &field)
		}
		throughJSON(t, rules)
	})
}
