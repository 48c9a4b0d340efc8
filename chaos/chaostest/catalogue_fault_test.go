package chaostest_test

import (
	"context"
	"encoding/json"
	"strings"
	"syscall"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaostest"
	"github.com/shakedown-go/shakedown/chaos/fault"
)

func built(f chaos.Fault, is []error, bad ...chaos.Fault) builtFault {
	return builtFault{f, chaostest.FaultOptions{Is: is, Bad: bad}}
}

// streamFaults are not delivered on a call that is no stream.
func streamFaults() map[string]builtFault {
	return map[string]builtFault{
		"CutAfter": built(fault.CutAfter(2), nil, fault.CutAfter(-1)), "CutAfterWith": built(fault.CutAfterWith(2, errBusy), nil, fault.CutAfterWith(2, nil)),
		"HangAtItem": built(fault.HangAtItem(2), nil, fault.HangAtItem(-1)), "SlowFirstItem": built(fault.SlowFirstItem(time.Second), nil, fault.SlowFirstItem(0)),
		"SlowItems": built(fault.SlowItems(time.Second), nil, fault.SlowItems(0)), "DuplicateItem": built(fault.DuplicateItem(1), nil, fault.DuplicateItem(-1)),
		"MalformItem": built(fault.MalformItem(1), nil, fault.MalformItem(-1)), "MutateItem": built(fault.MutateItem(1, "shout", strings.ToUpper), nil, fault.MutateItem[string](1, "", nil)),
		"EndAfter": built(fault.EndAfter(1), nil, fault.EndAfter(-1)), "DropLastItem": built(fault.DropLastItem(), nil),
		"ReorderItems": built(fault.ReorderItems(3), nil, fault.ReorderItems(1)),
	}
}

func deliveryFaults() map[string]builtFault {
	const ms = time.Millisecond
	twice := built(fault.DeliverTwice(), nil)
	twice.o.LosesErrors = true
	deaf := built(fault.IgnoreCancel(), nil)
	deaf.o.IgnoresContext = true
	return map[string]builtFault{
		"DeliverTwice": twice, "IgnoreCancel": deaf, "ReplayRequest": built(fault.ReplayRequest(), nil),
		"Spike":  built(fault.Spike(10*ms, 20*ms, 0.5), nil, fault.Spike(2, 1, 0.5)),
		"RampUp": built(fault.RampUp(10*ms, 20*ms), nil, fault.RampUp(0, 0)), "RampUpWith": built(fault.RampUpWith(10*ms, 1000*time.Hour), nil, fault.RampUpWith(0, 0)),
		"LoseRequest": built(fault.LoseRequest(10*ms), []error{context.DeadlineExceeded}, fault.LoseRequest(-1)),
		"SilentNoOp":  built(fault.SilentNoOp(), nil), "SilentNoOpWith": built(fault.SilentNoOpWith(map[string]any{"id": 7}), nil),
		"LateResult":        built(fault.LateResult("*", 10*ms, 20*ms), []error{context.DeadlineExceeded}, fault.LateResult("[", 10*ms, 20*ms), fault.LateResult("*", 2, 1)),
		"DelayedVisibility": built(fault.DelayedVisibility("write", time.Second, nil), nil, fault.DelayedVisibility("write", 0, nil)),
		"ReorderCalls":      built(fault.ReorderCalls(10*ms), nil, fault.ReorderCalls(0)),
	}
}

func limitFaults() map[string]builtFault {
	return map[string]builtFault{
		"AuthExpired": built(fault.AuthExpired(), []error{fault.ErrTokenExpired}), "ToolRemoved": built(fault.ToolRemoved("refund"), nil, fault.ToolRemoved()),
		"CallBudget": built(fault.CallBudget(1, 0), nil, fault.CallBudget(0, 0)), "RateLimit": built(fault.RateLimit(100, time.Minute), nil, // more: a refusal tells a time
			fault.RateLimit(0, 0)),
		"TokenBudget": built(fault.TokenBudget(9, fault.OpenAIUsage(), 0), nil, fault.TokenBudget(9, fault.Usage{}, 0)),
		"CostBudget":  built(fault.CostBudget(9, 1, 1, fault.OpenAIUsage(), 0), nil, fault.CostBudget(9, 0, 0, fault.OpenAIUsage(), 0)),
		"TimeBudget":  built(fault.TimeBudget(time.Second, 0), nil, fault.TimeBudget(0, 0)), "MemoryBudget": built(fault.MemoryBudget(9, 0), nil, fault.MemoryBudget(0, 0)),
		"DiskBudget": built(fault.DiskBudget(1<<20, 0), nil, fault.DiskBudget(0, 0)), "DiskFull": built(fault.DiskFull(), []error{syscall.ENOSPC}),
		"ConcurrencyLimit": built(fault.ConcurrencyLimit(1), nil, fault.ConcurrencyLimit(0)),
	}
}

func agentFaults() map[string]builtFault {
	storm := built(fault.As("message_storm", fault.Repeat(3)), nil, fault.As("message_storm", fault.Repeat(1)))
	patch := func(s string) chaos.Fault { return fault.CorruptHandoff(json.RawMessage(s)) }
	shipping := func(context.Context, json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage(`{"by":"shipping"}`), nil
	}
	return map[string]builtFault{
		"As guardrail_down": built(fault.As("guardrail_down", fault.Fail(errBusy)), []error{errBusy}, fault.As("guardrail_down", fault.Fail(nil))), "As guardrail_hang": built(fault.As("guardrail_hang", fault.Hang()), nil),
		"As forced_verdict": built(fault.As("forced_verdict", fault.Replace(map[string]any{"allowed": true})), nil), "StaleApproval": built(fault.StaleApproval(true), nil, fault.StaleApproval(nil)),
		"CorruptHandoff":     built(patch(`{"order":"A9"}`), nil, patch(`[]`)),
		"CorruptHandoffWith": built(fault.CorruptHandoffWith("none", func(map[string]any) map[string]any { return map[string]any{} }), nil, fault.CorruptHandoffWith[int]("", nil)),
		"Misroute":           built(fault.Misroute("agent", "shipping"), nil, fault.Misroute("", "shipping")),
		"MisrouteWith":       built(fault.MisrouteWith("shipping", shipping), nil, fault.MisrouteWith[int, int]("", nil)),
		"As handoff_dropped": built(fault.As("handoff_dropped", fault.SilentNoOpWith(map[string]any{"job": 1})), nil), "CycleHandoff": built(fault.CycleHandoff(map[string]any{"to": "you"}), nil),
		"As handoff_delayed": built(fault.As("handoff_delayed", fault.Delay(10*time.Millisecond)), nil, fault.As("handoff_delayed", fault.Delay(0))), "As message_storm": storm,
		"As delegation_rejected": built(fault.As("delegation_rejected", fault.Fail(fault.ErrDeclined)), []error{fault.ErrDeclined}, fault.As("delegation_rejected", fault.Fail(nil))),
	}
}
