package fault

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/internal/jsonvalue"
)

// The faults of a guardrail: a check of inputs or outputs, a policy engine, a
// request for a human's approval. Most are labels of what can happen to any
// callable. That the agent then fails closed is for an invariant to check.

var guardrailDown = &catalog.Label[message]{
	Row: catalog.Row{
		Kind: "guardrail_down", Doc: "A guardrail fails.", Go: `fault.As("guardrail_down", fault.Fail(err))`,
		Layer: chaos.LayerControl,
	},
	Base: fail, Make: func(p message) chaos.Fault { return fail.Of(p) },
}

var guardrailHang = &catalog.Label[catalog.None]{
	Row: catalog.Row{
		Kind: "guardrail_hang", Doc: "A guardrail hangs.", Go: `fault.As("guardrail_hang", fault.Hang())`,
		Layer: chaos.LayerControl,
	},
	Base: hang, Make: func(p catalog.None) chaos.Fault { return hang.Of(p) },
}

var forcedVerdict = &catalog.Label[anyValue]{
	Row: catalog.Row{
		Kind: "forced_verdict", Doc: "A guardrail's verdict is replaced.",
		Go:      `fault.As("forced_verdict", fault.Replace(v))`,
		Example: `{"value":{"allowed":true}}`, Layer: chaos.LayerControl,
	},
	Base: replace, Make: func(p anyValue) chaos.Fault { return replace.Of(p) },
}

// StaleApproval reuses an approval: a request that the guardrail rejects gets
// the approval of an earlier, different request. approval is the verdict that
// approves, a value as with [Replace]; it is required.
//
// It remembers the calls that its rule matched, over all targets of the rule.
// Before the first approval it is not delivered.
func StaleApproval(approval any) chaos.Fault {
	return staleApproval.Of(verdictParams(valueOf(approval)))
}

var staleApproval = &catalog.Remember[verdictParams, approval]{
	Row: catalog.Row{
		Kind: "stale_approval", Doc: "A rejected request gets the approval of an earlier one.",
		Order: catalog.Deliveries,
		Go:    "fault.StaleApproval(approval)", Example: `{"value":{"allowed":true,"rule":"payments"}}`,
		Layer: chaos.LayerControl, Class: chaos.ClassValue, Visibility: chaos.Implicit, Effect: chaos.EffectDone,
	},
	Phase:   chaos.PhaseChange,
	Prepare: func(p verdictParams) verdictParams { return verdictParams(anyValue(p).given()) },
	Inject: func(s *approval, ctx context.Context, _ chaos.Call, p verdictParams,
		args any, next chaos.Next,
	) (any, error) {
		request := jsonvalue.Document(args) // before the call, since the guardrail may change them
		verdict, err := next(ctx, args)
		if err != nil {
			return verdict, err
		}
		stale, ok := s.judge(request, verdict, p.v)
		if !ok {
			return verdict, nil
		}
		chaos.Changed(ctx, chaos.Change{Before: jsonvalue.Document(verdict), After: jsonvalue.Document(stale)})
		return stale, nil
	},
}

// verdictParams is anyValue with a check.
type verdictParams anyValue

func (p verdictParams) Check(c *catalog.Check) {
	c.That(p.v != nil, "value", nil, "the verdict that approves, such as true")
}

// approval is the last one, and what it was for.
type approval struct {
	mu      sync.Mutex
	known   bool
	request json.RawMessage
	verdict any
}

// judge remembers an approval, and returns the remembered one for a request
// that was rejected.
func (s *approval) judge(request json.RawMessage, verdict, approves any) (stale any, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if equal(verdict, inForm(approves, verdict)) {
		s.known, s.request, s.verdict = true, request, kept(verdict)
		return nil, false
	}
	return kept(s.verdict), s.known && !bytes.Equal(request, s.request)
}
