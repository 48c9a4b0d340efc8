package fault

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/internal/text"
)

// As returns f under another kind of the catalogue, such as
// As("guardrail_hang", Hang()): reports and plans name that kind, and its layer
// and other coordinates. What f does, and the error that callers get, stay the
// same. f is not changed.
//
// The kinds that fit a fault are those whose row has it as
// [catalog.Row.Base]; docs/faults.md shows them as fault.As(…). Any other kind
// is a [*chaos.ParamError] of the result's Check method, so [chaos.NewPlan] and
// [chaos.Injector.Register] refuse it.
func As(kind string, f chaos.Fault) chaos.Fault {
	for _, l := range []interface {
		As(string, chaos.Fault) (chaos.Fault, bool)
	}{guardrailDown, guardrailHang, forcedVerdict, handoffDropped, handoffDelayed, messageStorm, delegationRejected} {
		if as, ok := l.As(kind, f); ok {
			return as
		}
	}
	return misnamed{f, kind}
}

// labelsOf says which labels a fault of that kind can have, and which of them
// was meant.
func labelsOf(base, meant string) string {
	var kinds []string
	for _, r := range Rows() {
		if r.Base == base {
			kinds = append(kinds, r.Kind)
		}
	}
	if kinds == nil {
		return base + " itself, without As: the fault has no other kinds"
	}
	slices.Sort(kinds)
	return "one of " + strings.Join(kinds, ", ") + text.Meant(meant, kinds)
}

// misnamed is a fault that cannot have the kind that it was given. Plans refuse
// it.
type misnamed struct {
	chaos.Fault
	kind string
}

func (m misnamed) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	if m.Fault == nil {
		return next(ctx, args)
	}
	return m.Fault.Inject(ctx, c, args, next)
}

func (m misnamed) Check() error {
	own := m.Describe().Kind
	c := catalog.Check{Kind: own}
	if m.Fault == nil {
		c.That(false, "fault", nil, "a fault of this package, such as Hang()")
		return c.Err()
	}
	c.That(false, "kind", m.kind, labelsOf(own, m.kind))
	if checked, ok := m.Fault.(chaos.Checked); ok {
		return errors.Join(checked.Check(), c.Err())
	}
	return c.Err()
}

// Describe is the description of the fault itself.
func (m misnamed) Describe() chaos.Description {
	if d, ok := m.Fault.(chaos.Described); ok {
		return d.Describe()
	}
	if m.Fault == nil {
		return chaos.Description{Kind: m.kind}
	}
	return chaos.Description{Kind: fmt.Sprintf("%T", m.Fault)}
}
