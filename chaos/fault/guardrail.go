package fault

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
	"github.com/shakedown-go/shakedown/internal/jsonvalue"
)

// GuardrailDown is [Fail] on the callable of a guardrail: a check of inputs or
// outputs, a policy engine, a request for a human's approval. err is required.
// The guardrail is not reached. That the agent then fails closed is for an
// invariant to check.
func GuardrailDown(err error) chaos.Fault {
	return failure{err: err, asked: true, label: &label{kind: "guardrail_down", layer: chaos.LayerControl}}
}

// GuardrailHang is [Hang] on the callable of a guardrail.
func GuardrailHang() chaos.Fault {
	return hang{&label{kind: "guardrail_hang", layer: chaos.LayerControl}}
}

// ForceVerdict is [Replace] on the callable of a guardrail: the guardrail is
// asked, and its caller gets the verdict v instead. If the real verdict equals
// v, the fault is not delivered.
func ForceVerdict(v any) chaos.Fault {
	return replace{kept(v), &label{kind: "forced_verdict", layer: chaos.LayerControl}}
}

// StaleApproval reuses an approval: a request that the guardrail rejects gets
// the approval of an earlier, different request. approval is the verdict that
// approves, a value as with [Replace]; it is required.
//
// It remembers the calls that its rule matched, over all targets of the rule.
// Before the first approval it is not delivered.
func StaleApproval(approval any) chaos.Fault { return &staleApproval{approval: approval} }

type staleApproval struct {
	approval any

	mu       sync.Mutex
	approved bool
	request  json.RawMessage // the last that was approved
	verdict  any
}

func (s *staleApproval) Fresh() chaos.Fault { return &staleApproval{approval: s.approval} }

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

// Phase puts the fault after the guardrail.
func (s *staleApproval) Phase() chaos.Phase { return chaos.PhaseChange }

func (s *staleApproval) Check() error {
	c := param.Check{Kind: "stale_approval"}
	c.That(s.approval != nil, "value", nil, "the verdict that approves, such as true")
	return c.Err()
}

func (s *staleApproval) Describe() chaos.Description {
	return param.With(chaos.Description{
		Kind: "stale_approval", Layer: chaos.LayerControl, Class: chaos.ClassValue, Visibility: chaos.Implicit,
		Persistence: chaos.Transient, Effect: chaos.EffectDone,
	}, valueParams{orNull(jsonvalue.Document(s.approval))})
}
