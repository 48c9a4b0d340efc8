package chaoshttp

import (
	"context"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
)

// Rows returns the rows of this package's faults, in the order of the
// documentation. The caller may keep and change the list
// and the rows: they are copies.
func Rows() []*catalog.Row {
	return catalog.Copies(slices.Concat(connectionRows(), statusRows(), lateRows(), encodingRows(), formatRows(),
		completionRows(), spoilRows(), eventRows()))
}

// kind is a row and what its faults, which have parameters P, do to an answer. The
// constructors make their faults of it, and so do plans in JSON.
type kind[P any] struct {
	*catalog.Row
	inject func(ctx context.Context, c chaos.Call, p P, args any, next chaos.Next) (any, error)
}

func newKind[P any](r catalog.Row,
	inject func(ctx context.Context, c chaos.Call, p P, args any, next chaos.Next) (any, error)) *kind[P] {
	k := &kind[P]{inject: inject}
	k.Row = catalog.Fault(r, func(p P) chaos.Fault { return k.of(p) })
	return k
}

// of makes a fault of the kind.
func (k *kind[P]) of(p P) chaos.Fault { return made[P]{kind: k, params: p} }

// made is a fault of a kind. Its parameters may have two methods of their own: check
// adds what bounds cannot say, and class is the class where that depends on them.
type made[P any] struct {
	changes
	kind   *kind[P]
	params P
}

func (f made[P]) Check() error {
	c := f.kind.Check(f.params)
	if p, ok := any(f.params).(interface{ check(*catalog.Check) }); ok {
		p.check(c)
	}
	return c.Err()
}

func (f made[P]) Describe() chaos.Description {
	d := f.kind.Describe(f.params)
	if p, ok := any(f.params).(interface{ class() chaos.Class }); ok {
		d.Class = p.class()
	}
	return d
}

func (f made[P]) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	return f.kind.inject(ctx, c, f.params, args, next)
}
