package fault

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/form"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
)

// GuardrailDown makes a guardrail's callable fail with err, which is required:
// a check of inputs or outputs, a policy engine, a request for a human's
// approval. The guardrail is not reached. What is to stay true then, that the
// agent fails closed, is an invariant's affair.
func GuardrailDown(err error) chaos.Fault {
	return failure{err: err, asked: true, label: label{kind: "guardrail_down", layer: chaos.LayerControl}}
}

// GuardrailHang is [Hang] on a guardrail's callable.
func GuardrailHang() chaos.Fault {
	return hang{label{kind: "guardrail_hang", layer: chaos.LayerControl}}
}

// ForceVerdict is [Replace] on a guardrail's callable: it is asked, and its
// caller gets the verdict v whatever it says. A verdict that was v anyway is
// not delivered.
func ForceVerdict(v any) chaos.Fault {
	return replace{kept(v), label{kind: "forced_verdict", layer: chaos.LayerControl}}
}

// StaleApproval lets an approval stand for a request that it was not given for:
// a guardrail whose verdict on a request is not the approval gives its caller
// the approval all the same, if it has given it before to a request with other
// arguments. approval is the verdict that approves, a value as with [Replace];
// it is required.
//
// It knows the calls that it was drawn on, over all targets of the rule.
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
	request := form.Document(args) // now: the guardrail may change them
	verdict, err := next(ctx, args)
	if err != nil {
		return verdict, err
	}
	stale, ok := s.judge(request, verdict)
	if !ok {
		return verdict, nil
	}
	chaos.Changed(ctx, chaos.Change{Before: form.Document(verdict), After: form.Document(stale)})
	return stale, nil
}

// judge remembers an approval, and finds one for what was not approved.
func (s *staleApproval) judge(request json.RawMessage, verdict any) (stale any, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if equal(verdict, inForm(s.approval, verdict)) {
		s.approved, s.request, s.verdict = true, request, kept(verdict)
		return nil, false
	}
	return kept(s.verdict), s.approved && !bytes.Equal(request, s.request)
}

// Phase puts the fault behind the guardrail.
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
	}, valueParams{orNull(form.Document(s.approval))})
}
