package chaosgrpc_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/status"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/chaos/chaosgrpc"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/planjson"
)

// methods are the four kinds, in the order of seen.
var methods = []string{unary, output, input, duplex}

// seen is what callers see of two calls in a row, by kind of method: the code of each, with a + if the fault was delivered.
type seen [4]string

func at(all string) seen { return seen{all, all, all, all} }

const (
	calmly  = "OK OK"
	changed = "OK+ OK+"
)

// faultsOf are the kinds whose example does nothing here, with parameters that do.
var faultsOf = map[string]chaos.Fault{
	"replace":            fault.Replace(json.RawMessage(`{"payload":{"body":"eA=="}}`)),
	"forced_verdict":     fault.As("forced_verdict", fault.Replace(json.RawMessage(`{"payload":{"body":"eA=="}}`))),
	"handoff_corrupt":    fault.CorruptHandoff(json.RawMessage(`{"payload":{"body":"eA=="}}`)),
	"silent_no_op":       fault.SilentNoOp(),
	"late_result":        fault.LateResult("*", 5*time.Second, 10*time.Second),
	"call_budget":        fault.CallBudget(1, 0),
	"rate_limit":         fault.RateLimit(1, time.Hour),
	"delayed_visibility": fault.DelayedVisibility("nothing", time.Minute, nil),
}

// Every fault of package fault and of this one, at the client and at the server: the status that the caller sees, and
// whether it was delivered. Delivered is held to an oracle: the caller or the handler had something else than on a calm
// day, or the caller waited.
func TestEveryFault(t *testing.T) {
	unavailable, deadline := at("Unavailable+ Unavailable+"), at("DeadlineExceeded+ DeadlineExceeded+")
	exhausted := at("ResourceExhausted+ ResourceExhausted+")
	streams := func(all string) seen { return seen{calmly, all, calmly, all} } // of several messages
	want := map[string]seen{
		"error": unavailable, "network_partition": unavailable, "guardrail_down": unavailable,
		"lost_reply": unavailable, "grpc_status": unavailable, "grpc_go_away": unavailable,
		"timeout": deadline, "hang": deadline, "lost_request": deadline, "guardrail_hang": deadline,
		"resource_exhaustion": exhausted, "disk_full": exhausted,
		"call_budget": at("OK ResourceExhausted+"), "rate_limit": at("OK ResourceExhausted+"),
		"auth_expired": at("Unauthenticated+ Unauthenticated+"), "delegation_rejected": at("FailedPrecondition+ FailedPrecondition+"),
		"latency": at(changed), "handoff_delayed": at(changed), "reordered_calls": at(changed), "late_result": at("DeadlineExceeded+ OK"),
		"duplicate": at(changed), "delivered_twice": at(changed), "message_storm": at(changed),
		// Where a client waits for the one reply of a server, none is an error of gRPC.
		"silent_no_op": {"OK OK+", "OK OK+", "OK Internal+", "OK OK+"}, "missing_terminator": {calmly, changed, "Internal+ Internal+", changed},
		"slow_first_item": {calmly, changed, changed, changed}, "slow_items": {calmly, changed, changed, changed},
		"stream_cut": streams("Unavailable+ Unavailable+"), "stream_hang": streams("DeadlineExceeded+ DeadlineExceeded+"),
		"duplicate_item": streams(changed), "early_end": streams(changed), "reordered_items": streams(changed),
		// Of a stream of requests they are the arguments, and the reply of StreamingInputCall has another type.
		"replace": {changed, changed, calmly, changed}, "forced_verdict": {changed, changed, calmly, changed},
		"handoff_corrupt": {changed, changed, calmly, calmly},
	}
	// Those whose example does not fit these messages, or that need more than two calls: they change nothing.
	for _, kind := range []string{"malformed_item", "misroute", "handoff_dropped", "handoff_cycle", "stale_approval", "tool_removed",
		"ignored_cancellation", "delayed_visibility", "token_budget", "cost_budget", "time_budget", "memory_budget", "concurrency_limit"} {
		want[kind] = at(calmly)
	}
	// A server cannot have the requests of a stream again.
	wantServer := maps.Clone(want)
	for _, kind := range []string{"duplicate", "delivered_twice", "message_storm"} {
		wantServer[kind] = seen{changed, changed, calmly, calmly}
	}
	for _, r := range slices.Concat(fault.Rows(), chaosgrpc.Rows()) {
		if r.Kind == "panic" || r.HoldsCode() && faultsOf[r.Kind] == nil { // they have tests of their own
			continue
		}
		t.Run(r.Kind, func(t *testing.T) {
			f := exampleOf(t, r)
			for i, method := range methods {
				assert.Equal(t, want[r.Kind][i], twoCalls(t, r.Kind, f, client, method), "client of %s", method)
				assert.Equal(t, wantServer[r.Kind][i], twoCalls(t, r.Kind, f, server, method), "server of %s", method)
			}
		})
	}
}

func exampleOf(t *testing.T, r *catalog.Row) chaos.Fault {
	if f := faultsOf[r.Kind]; f != nil {
		return f
	}
	doc := fmt.Sprintf(`{"seed":"1","rules":[{"target":"*","fault":{"kind":%q,"params":%s}}]}`, r.Kind, r.Example)
	plan, err := planjson.Decode([]byte(doc), &planjson.Options{Rows: chaosgrpc.Rows()})
	require.NoError(t, err)
	return plan.Rules()[0].Fault
}

// twoCalls makes two calls under a fault, and holds what their events say of delivery against two calls without.
func twoCalls(t *testing.T, kind string, f chaos.Fault, at side, method string) string {
	t.Helper()
	var codes []string
	synctest.Test(t, func(t *testing.T) {
		s := &shop{}
		in := injector(t, chaos.Rule{Name: "r", Target: "*", Fault: f})
		c := wrapped(t, s, at, in)
		for n := range 2 {
			before, began := len(s.seen()), time.Now()
			got, err := ask(t.Context(), c, method, "a")
			took := time.Since(began)
			synctest.Wait() // until the server's side has ended
			events := in.Events()
			require.Len(t, events, n+1)
			e := events[n]
			differs := err != nil || took > 0 || !slices.Equal(got, calm[method]) || !slices.Equal(s.seen()[before:], reached[method])
			if kind != "late_result" { // its second call brings the first, whose event is written
				assert.Equal(t, differs, e.Delivered, "%s at the %s of %s, call %d: %v %v %v", kind, at, method, n, got, err, e)
			}
			code := status.Code(err).String()
			if e.Delivered {
				code += "+"
			}
			codes = append(codes, code)
		}
	})
	return strings.Join(codes, " ")
}

// calm is what callers get of ask on a calm day, reached what handlers get.
var (
	calm    = map[string][]string{unary: {"re: a"}, output: {"0", "1", "2"}, input: {"3"}, duplex: {"a0", "a1", "a2"}}
	reached = map[string][]string{unary: {"unary a"}, output: {"output a"}, input: {"input aaa"}, duplex: {"duplex a0", "duplex a1", "duplex a2"}}
)
