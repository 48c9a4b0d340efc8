package fault_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
)

// row is what one fault does to one call.
type row struct {
	name  string
	fault chaos.Fault
	kind  string

	value   string        // that the caller gets
	is      []error       // that its error matches
	panics  bool          //
	calls   int           // that reach the desk
	lo, hi  time.Duration // within which the delay asked for lies
	spent   time.Duration // of a wait that was not asked for in time
	changed string        // the JSON after the change
}

const patience = 3 * time.Second // of every caller in the catalogue

func catalogue() []row {
	slow := func(name string, f chaos.Fault, lo, hi time.Duration) row {
		return row{name: name, fault: f, kind: "latency", value: "shipped", calls: 1, lo: lo, hi: hi}
	}
	fails := func(name string, f chaos.Fault, kind string, is ...error) row {
		return row{name: name, fault: f, kind: kind, is: is}
	}
	slips := func(name string, f chaos.Fault, d time.Duration, is ...error) row {
		return row{name: name, fault: f, kind: "timeout", lo: d, hi: d,
			is: append(is, context.DeadlineExceeded, os.ErrDeadlineExceeded, fault.ErrTimeout)}
	}
	loses := func(r row, d time.Duration) row {
		r.kind, r.calls, r.lo, r.hi = "lost_reply", 1, d, d
		return r
	}
	lie := func(name string, f chaos.Fault, kind, value string) row {
		return row{name: name, fault: f, kind: kind, value: value, calls: 1, changed: fmt.Sprintf("%q", value)}
	}
	again := func(name string, f chaos.Fault, n int) row {
		return row{name: name, fault: f, kind: "duplicate", value: "shipped", calls: n}
	}
	const ms = time.Millisecond
	return []row{
		slow("Delay", fault.Delay(100*ms), 100*ms, 100*ms),
		slow("Uniform", fault.Uniform(50*ms, 150*ms), 50*ms, 150*ms),
		slow("Normal", fault.Normal(100*ms, 30*ms), 1, 400*ms),
		slow("Exponential", fault.Exponential(50*ms), 1, patience),
		fails("Fail", fault.Fail(fault.ErrUnavailable), "error", fault.ErrUnavailable),
		fails("ResourceExhausted", fault.ResourceExhausted(), "resource_exhaustion", fault.ErrResourceExhausted),
		fails("Partition", fault.Partition(), "network_partition", fault.ErrNetworkPartition, syscall.EHOSTUNREACH),
		slips("Timeout", fault.Timeout(2*time.Second), 2*time.Second),
		slips("Timeout at once", fault.Timeout(0), 0),
		slips("TimeoutWith", fault.TimeoutWith(time.Second, errBusy), time.Second, errBusy),
		loses(slips("LoseReply", fault.LoseReply(), 0), time.Second),
		loses(slips("LoseReplyAfter", fault.LoseReplyAfter(2*time.Second), 0), 2*time.Second),
		loses(fails("LoseReplyWith", fault.LoseReplyWith(errBusy), "", errBusy), time.Second),
		{name: "Hang", fault: fault.Hang(), kind: "hang", is: []error{context.DeadlineExceeded}, spent: patience},
		{name: "Panic", fault: fault.Panic("unexpected end of response"), kind: "panic", panics: true},
		lie("Replace", fault.Replace("lost at sea"), "replace", "lost at sea"),
		lie("Mutate", fault.Mutate("shout", strings.ToUpper), "mutate", "SHIPPED"),
		again("Duplicate", fault.Duplicate(), 2),
		again("Repeat", fault.Repeat(5), 5),
	}
}

var errBusy = errors.New("upstream is busy")

// Every fault does at every kind of injection point what the catalogue says,
// to the caller, to the callee, and in the event.
func TestCatalogue(t *testing.T) {
	for _, r := range catalogue() {
		t.Run(r.name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, point string, d *desk, call ask) { r.check(t, point, d, call) })
		})
	}
}

func (r row) check(t *testing.T, point string, d *desk, call ask) {
	ctx, in := withRules(t, chaos.Rule{Fault: r.fault})
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var status string
	var err error
	var panicked any
	spent := took(func() {
		defer func() { panicked = recover() }()
		status, err = call(ctx)
	})
	e := onlyEvent(t, in)

	assert.Equal(t, r.value, status, "what the caller got")
	assert.Equal(t, r.calls, d.calls, "how often the callee was reached")
	assert.Equal(t, r.panics, panicked != nil, "whether it panicked: %v", panicked)
	r.checkError(t, err)
	r.checkTime(t, e, spent)
	assert.True(t, e.Delivered)
	assert.Equal(t, r.kind, e.Fault)
	assert.Equal(t, target+":"+r.kind, e.Rule)
	assert.Equal(t, r.outcome(), e.Outcome)
	assert.Equal(t, r.effectAt(point), e.Effect)
	assert.Empty(t, e.Masked)
	assert.Empty(t, e.Also)
	assert.Empty(t, in.Undelivered())
	if r.changed == "" {
		assert.Empty(t, e.Changes)
	} else {
		want := chaos.Change{Before: json.RawMessage(`"shipped"`), After: json.RawMessage(r.changed)}
		assert.Equal(t, []chaos.Change{want}, e.Changes)
	}
}

func (r row) checkError(t *testing.T, err error) {
	if r.is == nil {
		assert.NoError(t, err)
		return
	}
	assert.ErrorIs(t, err, chaos.ErrInjected)
	for _, want := range r.is {
		assert.ErrorIs(t, err, want)
	}
	var injected *chaos.InjectedError
	require.ErrorAs(t, err, &injected)
	assert.Equal(t, target, injected.Target)
	assert.Equal(t, target+":"+r.kind, injected.Rule)
}

func (r row) checkTime(t *testing.T, e chaos.Event, spent time.Duration) {
	assert.Equal(t, spent, e.Spent, "all of the time is the fault's")
	assert.Equal(t, e.End-e.Start, e.Spent)
	assert.GreaterOrEqual(t, e.Asked, r.lo)
	assert.LessOrEqual(t, e.Asked, r.hi)
	if r.spent == 0 {
		assert.Equal(t, e.Asked, e.Spent, "what was asked for was waited")
	} else {
		assert.Equal(t, r.spent, e.Spent)
	}
}

func (r row) outcome() chaos.Outcome {
	switch {
	case r.panics:
		return chaos.OutcomePanicked
	case r.is != nil:
		return chaos.OutcomeInjected
	}
	return chaos.OutcomeOK
}

// effectAt is what the callee did, as far as its injection point can know: only
// a tool declares what it does.
func (r row) effectAt(point string) chaos.Effect {
	switch {
	case r.calls == 0:
		return chaos.EffectNone
	case point == "WrapRegistry":
		return chaos.EffectDone
	}
	return chaos.EffectUnknown
}

func TestParameters(t *testing.T) {
	for _, c := range []struct {
		fault chaos.Fault
		want  string
	}{
		{fault.Delay(1500 * time.Millisecond), `{"distribution":"fixed","duration":"1.5s"}`},
		{fault.Uniform(0, time.Second), `{"distribution":"uniform","lo":"0s","hi":"1s"}`},
		{fault.Normal(time.Second, time.Millisecond), `{"distribution":"normal","mean":"1s","stddev":"1ms"}`},
		{fault.Exponential(time.Second), `{"distribution":"exponential","mean":"1s"}`},
		{fault.Fail(errBusy), `{"message":"upstream is busy"}`},
		{fault.ResourceExhausted(), ``},
		{fault.Partition(), ``},
		{fault.Timeout(time.Second), `{"duration":"1s"}`},
		{fault.TimeoutWith(time.Second, errBusy), `{"duration":"1s","message":"upstream is busy"}`},
		{fault.LoseReply(), `{"duration":"1s"}`},
		{fault.LoseReplyWith(errBusy), `{"duration":"1s","message":"upstream is busy"}`},
		{fault.LoseReplyAfterWith(time.Minute, errBusy), `{"duration":"1m0s","message":"upstream is busy"}`},
		{fault.Hang(), ``},
		{fault.Panic(nil), ``},
		{fault.Panic(errBusy), `{"message":"upstream is busy"}`},
		{fault.Replace(map[string]int{"n": 1}), `{"value":{"n":1}}`},
		{fault.Replace(nil), `{"value":null}`},
		{fault.Replace(json.RawMessage(`{"n":1}`)), `{"value":{"n":1}}`},
		{fault.Replace(func() {}), `{"value":null}`},
		{fault.Mutate("upper", strings.ToUpper), `{"name":"upper","type":"string"}`},
		{fault.Duplicate(), `{"times":2}`},
	} {
		d := c.fault.(chaos.Described).Describe()
		if c.want == "" {
			assert.Empty(t, d.Params, d.Kind)
			continue
		}
		assert.JSONEq(t, c.want, string(d.Params), d.Kind)
	}
}

// Nothing that a caller, and so a model, reads tells that it was made up.
func TestNothingGivesAFaultAway(t *testing.T) {
	var texts []string
	for _, err := range []error{
		fault.ErrUnavailable, fault.ErrInternal, fault.ErrRateLimited, fault.ErrResourceExhausted,
		fault.ErrTimeout, fault.ErrConnectionRefused, fault.ErrConnectionReset, fault.ErrNetworkPartition,
		fault.ErrTokenExpired, fault.ErrDeclined, io.ErrUnexpectedEOF,
		&fault.BudgetError{Resource: "call", Limit: 3, Used: 3, RetryAfter: time.Second},
		&fault.BudgetError{Resource: "cost", Limit: 0.5, Used: 0.625},
		&fault.BudgetError{Resource: "time", Limit: 1, Used: 1.5},
		&fault.BudgetError{Resource: "rate", Limit: 3, RetryAfter: time.Second},
		&fault.BudgetError{Resource: "concurrency", Limit: 3},
		&fault.BudgetError{Resource: "memory"}, &fault.BudgetError{Resource: "disk"},
	} {
		texts = append(texts, err.Error())
	}
	rows := append(catalogue(), row{name: "Panic(nil)", fault: fault.Panic(nil)})
	for _, r := range rows {
		everywhere(t, func(t *testing.T, _ string, d *desk, call ask) {
			ctx, _ := withRules(t, chaos.Rule{Fault: r.fault})
			ctx, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			defer func() {
				if p := recover(); p != nil {
					texts = append(texts, fmt.Sprint(p))
				}
			}()
			if _, err := call(ctx); err != nil {
				texts = append(texts, err.Error())
			}
		})
	}
	assert.Greater(t, len(texts), 30)
	for _, text := range texts {
		for _, word := range []string{"chaos", "inject", "fault", "test", "shakedown"} {
			assert.NotContains(t, strings.ToLower(text), word)
		}
	}
}

// Network errors match what those of package net would.
func TestNetworkErrors(t *testing.T) {
	for _, c := range []struct {
		err     error
		timeout bool
		is      error
	}{
		{fault.ErrTimeout, true, context.DeadlineExceeded},
		{fault.ErrConnectionRefused, false, syscall.ECONNREFUSED},
		{fault.ErrConnectionReset, false, syscall.ECONNRESET},
		{fault.ErrNetworkPartition, false, syscall.EHOSTUNREACH},
	} {
		everywhere(t, func(t *testing.T, _ string, d *desk, call ask) {
			ctx, _ := withRules(t, chaos.Rule{Fault: fault.Fail(c.err)})
			_, err := call(ctx)
			var n net.Error
			require.ErrorAs(t, err, &n)
			assert.Equal(t, c.timeout, n.Timeout())
			assert.Equal(t, c.timeout, os.IsTimeout(c.err))
			assert.ErrorIs(t, err, c.is)
			assert.ErrorIs(t, err, c.err)
		})
	}
}

// Panic(nil) is the runtime's own panic, which code that tells bugs from
// other panics recognises.
func TestPanicDefault(t *testing.T) {
	everywhere(t, func(t *testing.T, _ string, d *desk, call ask) {
		ctx, in := withRules(t, chaos.Rule{Fault: fault.Panic(nil)})
		defer func() {
			assert.Implements(t, (*runtime.Error)(nil), recover())
			assert.Equal(t, chaos.OutcomePanicked, onlyEvent(t, in).Outcome)
			assert.Zero(t, d.calls)
		}()
		_, _ = call(ctx)
	})
}

func TestBudgetErrors(t *testing.T) {
	assert.EqualError(t, &fault.BudgetError{Resource: "token", Limit: 1000, Used: 1024}, "quota exceeded: 1024 of 1000 tokens used")
	assert.EqualError(t, &fault.BudgetError{Resource: "rate", Limit: 3, RetryAfter: time.Second}, "too many requests: the limit is 3, try again in 1s")
	assert.False(t, errors.Is(&fault.BudgetError{Resource: "call"}, fault.ErrRateLimited))
}
