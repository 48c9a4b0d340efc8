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

// guardrailRows are the faults of a guardrail: a check of inputs or outputs, a
// policy engine, a request for a human's approval. Most are labels of what can
// happen to any callable. That the agent then fails closed is for an invariant to
// check.
func guardrailRows() []*catalog.Row {
	return []*catalog.Row{guardrailDownRow, guardrailHangRow, forcedVerdictRow, staleApprovalRow}
}

var guardrailDownRow = catalog.Label(failRow, catalog.Row{
	Kind: "guardrail_down", Doc: "A guardrail fails.", Go: `fault.As("guardrail_down", fault.Fail(err))`,
	Layer: chaos.LayerControl,
}, As)

var guardrailHangRow = catalog.Label(hangRow, catalog.Row{
	Kind: "guardrail_hang", Doc: "A guardrail hangs.", Go: `fault.As("guardrail_hang", fault.Hang())`,
	Layer: chaos.LayerControl,
}, As)

var forcedVerdictRow = catalog.Label(replaceRow, catalog.Row{
	Kind: "forced_verdict", Doc: "A guardrail's verdict is replaced.",
	Go:      `fault.As("forced_verdict", fault.Replace(v))`,
	Example: `{"value":{"allowed":true}}`, Layer: chaos.LayerControl,
}, As)

// StaleApproval reuses an approval: a request that the guardrail rejects gets
// the approval of an earlier, different request. approval is the verdict that
// approves, a value as with [Replace]; it is required.
//
// It remembers the calls that its rule matched, over all targets of the rule.
// Before the first approval it is not delivered.
func StaleApproval(approval any) chaos.Fault { return &staleApproval{approval: approval} }

var staleApprovalRow = catalog.Fault(catalog.Row{
	Kind: "stale_approval", Doc: "A rejected request gets the approval of an earlier one.",
	Order: catalog.Deliveries,
	Go:    "fault.StaleApproval(approval)", Example: `{"value":{"allowed":true,"rule":"payments"}}`,
	Layer: chaos.LayerControl, Class: chaos.ClassValue, Visibility: chaos.Implicit,
	Persistence: chaos.Transient, Effect: chaos.EffectDone,
}, func(p anyValue) chaos.Fault { return StaleApproval(p.Value) })

type staleApproval struct {
	approval any

	mu       sync.Mutex
	approved bool
	request  json.RawMessage // the last that was approved
	verdict  any
}

func (s *staleApproval) Fresh() chaos.Fault { return &staleApproval{approval: s.approval} }

func (s *staleApproval) Check() error {
	c := staleApprovalRow.Check(s.params())
	c.That(s.approval != nil, "value", nil, "the verdict that approves, such as true")
	return c.Err()
}

func (s *staleApproval) Describe() chaos.Description { return staleApprovalRow.Describe(s.params()) }
func (s *staleApproval) params() anyValue            { return anyValue{jsonvalue.Document(s.approval)} }

// Phase puts the fault after the guardrail.
func (s *staleApproval) Phase() chaos.Phase { return chaos.PhaseChange }

func (s *staleApproval) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	request := jsonvalue.Document(args) // before the call, since the guardrail may change them
	verdict, err := next(ctx, args)
	if err != nil {
		return verdict, err
	}
	stale, ok := s.judge(request, verdict)
	if !ok {
		return verdict, nil
	}
	chaos.Changed(ctx, chaos.Change{Before: jsonvalue.Document(verdict), After: jsonvalue.Document(stale)})
	return stale, nil
}

// judge remembers an approval, and returns the remembered one for a request
// that was rejected.
func (s *staleApproval) judge(request json.RawMessage, verdict any) (stale any, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if equal(verdict, inForm(s.approval, verdict)) {
		s.approved, s.request, s.verdict = true, request, kept(verdict)
		return nil, false
	}
	return kept(s.verdict), s.approved && !bytes.Equal(request, s.request)
}
