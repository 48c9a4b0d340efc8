package fault

import (
	"context"
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
	if l, ok := f.(interface{ as(kind string) chaos.Fault }); ok && kind != "" {
		return l.as(kind)
	}
	return misnamed{f, kind}
}

// A label is the kind that a fault got from As; empty: its own. Faults that
// have labels embed it.
type label struct{ kind string }

// of returns the row of the label, or that of the fault itself if it has no
// label or one that does not fit.
func (l label) of(own *catalog.Row) *catalog.Row {
	if l.kind == "" {
		return own
	}
	if r := rowOf(rows(), l.kind); r != nil && r.Base == own.Kind {
		return r
	}
	return own
}

// check checks the label, and the parameters by the row of the label.
func (l label) check(own *catalog.Row, params any) *catalog.Check {
	row := l.of(own)
	c := row.Check(params)
	if l.kind != "" && row == own {
		c.That(false, "kind", l.kind, labelsOf(own.Kind, l.kind))
	}
	return c
}

// labelsOf says which labels a fault of that kind can have, and which of them
// was meant.
func labelsOf(base, meant string) string {
	var kinds []string
	for _, r := range rows() {
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

// rowOf returns the row of a kind, or nil.
func rowOf(rows []*catalog.Row, kind string) *catalog.Row {
	for _, r := range rows {
		if r.Kind == kind {
			return r
		}
	}
	return nil
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
	c.That(m.Fault != nil, "fault", nil, "a fault of this package, such as Hang()")
	if m.Fault != nil {
		c.That(false, "kind", fmt.Sprintf("%q", m.kind), labelsOf(own, m.kind))
		c.Part("fault", m.Fault)
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
