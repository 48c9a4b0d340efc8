package planjson

import (
	"encoding/json"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/chaos/fault"
)

type (
	maybeValue struct {
		Value json.RawMessage `json:"value,omitempty" doc:"what the caller gets; left out: what an earlier call gave"`
	}
	lateCalls struct {
		Calls string        `json:"calls" doc:"glob over the targets whose calls are late"`
		Wait  time.Duration `json:"wait" doc:"time until their callers give up"`
		After time.Duration `json:"after" doc:"time after which they may arrive, more than wait"`
	}
	hold struct {
		Wait time.Duration `json:"wait" doc:"longest time that a call is held"`
	}
	visibility struct {
		Writes   string          `json:"writes" doc:"glob over the targets that write; the others read"`
		Duration time.Duration   `json:"duration" doc:"time for which reads do not see a write"`
		Before   json.RawMessage `json:"before,omitempty" doc:"what a read returns that was not made before"`
	}
)

// deliveryKinds are the faults of whether, when and how often a request arrives.
func deliveryKinds() []*catalog.Row {
	return []*catalog.Row{
		faultRow("lost_request", "fault.LoseRequest(d)", "The request is lost on its way, and the caller sees a time-out.", `{"duration":"1s"}`,
			func(p wait) chaos.Fault { return fault.LoseRequest(p.Duration) }),
		faultRow("delivered_twice", "fault.DeliverTwice()", "The request arrives twice, and the caller sees the second reply.", `{}`,
			func(none) chaos.Fault { return fault.DeliverTwice() }),
		faultRow("replayed_request", "fault.ReplayRequest()", "The previous request arrives again after this one.", `{}`,
			func(none) chaos.Fault { return fault.ReplayRequest() }),
		faultRow("silent_no_op", "fault.SilentNoOp(), fault.SilentNoOpWith(v)", "The call succeeds, and nothing was done.", `{"value":{"ok":true}}`, maybeValue.noOp),
		faultRow("reordered_calls", "fault.ReorderCalls(wait)", "Concurrent calls overtake each other.", `{"wait":"2s"}`,
			func(p hold) chaos.Fault { return fault.ReorderCalls(p.Wait) }),
		faultRow("late_result", "fault.LateResult(calls, wait, after)", "The request arrives after its caller gave up.",
			`{"calls":"refund","wait":"5s","after":"20s"}`,
			func(p lateCalls) chaos.Fault { return fault.LateResult(p.Calls, p.Wait, p.After) }),
		faultRow("ignored_cancellation", "fault.IgnoreCancel()", "The callee does not notice that its caller gave up.", `{}`,
			func(none) chaos.Fault { return fault.IgnoreCancel() }),
		faultRow("delayed_visibility", "fault.DelayedVisibility(writes, d, before)", "Reads do not see a write yet.",
			`{"writes":"orders.set*","duration":"10s"}`, visibility.fault),
	}
}

func (p maybeValue) noOp() chaos.Fault {
	if p.Value == nil {
		return fault.SilentNoOp()
	}
	return fault.SilentNoOpWith(p.Value)
}

func (p visibility) fault() chaos.Fault {
	var before any
	if p.Before != nil && string(p.Before) != "null" {
		before = p.Before
	}
	return fault.DelayedVisibility(p.Writes, p.Duration, before)
}
