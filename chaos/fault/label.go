package fault

import (
	"fmt"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
)

// As returns f under another kind of the catalogue, such as
// As("guardrail_hang", Hang()): reports and plans name that kind, and its layer
// and other coordinates. What f does, and the error that callers get, stay the
// same. f is not changed.
//
// The kinds that fit a fault are those whose row has it as
// [catalog.Row.Base]; docs/reference/faults.md shows them as fault.As(…). Any other kind
// is a [*chaos.ParamError] of the result's Check method, so [chaos.NewPlan] and
// [chaos.Injector.Register] refuse it.
func As(kind string, f chaos.Fault) chaos.Fault {
	for _, l := range []*catalog.Label{guardrailDown, guardrailHang, forcedVerdict, handoffDropped, handoffDelayed,
		messageStorm, delegationRejected} {
		if as, ok := l.As(kind, f); ok {
			return as
		}
	}
	return misnamed{f, kind}
}

// What happens to guardrails (a check of inputs or outputs, a policy engine, a
// request for a human's approval) and to hand-offs, and can happen to any callable.
var (
	guardrailDown = &catalog.Label{Base: fail, Row: catalog.Row{Kind: "guardrail_down", Doc: "A guardrail fails.",
		Go: `fault.As("guardrail_down", fault.Fail(err))`, Layer: chaos.LayerControl}}
	guardrailHang = &catalog.Label{Base: hang, Row: catalog.Row{Kind: "guardrail_hang", Doc: "A guardrail hangs.",
		Go: `fault.As("guardrail_hang", fault.Hang())`, Layer: chaos.LayerControl}}
	forcedVerdict = &catalog.Label{Base: replace, Row: catalog.Row{Kind: "forced_verdict",
		Doc: "A guardrail's verdict is replaced.", Go: `fault.As("forced_verdict", fault.Replace(v))`,
		Example: `{"value":{"allowed":true}}`, Layer: chaos.LayerControl}}
	handoffDropped = &catalog.Label{Base: silentNoOp, Row: catalog.Row{Kind: "handoff_dropped",
		Doc: "A hand-off is lost, and its caller gets a reply all the same.",
		Go:  `fault.As("handoff_dropped", fault.SilentNoOpWith(reply))`, Example: `{"value":"done"}`,
		Layer: chaos.LayerMultiAgent}}
	handoffDelayed = &catalog.Label{Base: latency, Row: catalog.Row{Kind: "handoff_delayed",
		Doc: "A hand-off takes longer.", Go: `fault.As("handoff_delayed", fault.Delay(d))`,
		Example: `{"distribution":"fixed","duration":"30s"}`, Layer: chaos.LayerMultiAgent}}
	messageStorm = &catalog.Label{Base: repeat, Row: catalog.Row{Kind: "message_storm",
		Doc: "The other agent gets the message many times.", Go: `fault.As("message_storm", fault.Repeat(n))`,
		Example: `{"times":5}`, Layer: chaos.LayerMultiAgent}}
	delegationRejected = &catalog.Label{Base: fail, Row: catalog.Row{Kind: "delegation_rejected",
		Doc: "The other agent does not take the task.", Go: `fault.As("delegation_rejected", fault.Fail(err))`,
		Example: `{"message":"the agent declined the task"}`, Layer: chaos.LayerMultiAgent,
		Persistence: chaos.Permanent}}
)

// misnamed is a fault that cannot have the kind that it was given. Plans refuse
// it.
type misnamed struct {
	chaos.Fault
	kind string
}

func (m misnamed) Check() error {
	var kinds []string
	for _, r := range Rows() {
		if r.Base != "" {
			kinds = append(kinds, r.Kind+" of "+r.Base)
		}
	}
	c := catalog.Check{Kind: "As"}
	c.That(m.Fault != nil, "fault", nil, "a fault of this package, such as Hang()")
	c.Part("fault", m.Fault)
	c.That(false, "kind", fmt.Sprintf("%q", m.kind), "one of these, for a fault of that kind: "+strings.Join(kinds, ", "))
	return c.Err()
}

// Rows returns the rows of this package's faults, in the order of the
// documentation. The caller may keep and change the list and the rows: they are
// copies.
func Rows() []*catalog.Row {
	return catalog.List(
		latency,
		fail, resourceExhausted, partition, panicking,
		timeout, loseReply, hang,
		replace, mutate,
		repeat, loseRequest, deliverTwice, silentNoOp,
		reorderCalls, lateResult, ignoreCancel, delayedVisibility,
		cutAfter, hangAtItem, slowFirstItem, slowItems,
		duplicateItem, malformItem, endAfter, dropLastItem, reorderItems,
		callBudget, tokenBudget, costBudget, timeBudget, memoryBudget,
		diskFull, rateLimit, concurrencyLimit, authExpired, toolRemoved,
		guardrailDown, guardrailHang, forcedVerdict, staleApproval,
		corruptHandoff, misroute, handoffDropped, cycleHandoff, handoffDelayed, messageStorm, delegationRejected)
}
