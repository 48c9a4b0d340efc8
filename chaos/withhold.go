package chaos

import (
	"context"
	"slices"
	"sync"
)

// Withhold returns a context that keeps what a fault declares by [Changed] from the
// event, and a function that returns what was kept so far. It is for a fault that
// calls another fault and learns only later whether the caller sees what that fault
// did. It then declares the changes itself.
//
// [Note] and [Sleep] act at once. Outside a fault it returns ctx and keeps nothing.
// It is safe for concurrent use.
func Withhold(ctx context.Context) (held context.Context, changes func() []Change) {
	f := frameOf(ctx)
	if f == nil || f.injection == nil {
		return ctx, func() []Change { return nil }
	}
	w := &withheld{of: f.injection}
	return context.WithValue(ctx, withheldKey{}, w), w.list
}

type withheldKey struct{}

// withheld are the changes of one fault on one call that were kept from the event.
type withheld struct {
	of *injection
	mu sync.Mutex
	ch []Change
}

// keeps reports whether ctx withholds the changes of an injection, and if so keeps
// them.
func keeps(ctx context.Context, x *injection, ch []Change) bool {
	w, ok := ctx.Value(withheldKey{}).(*withheld)
	if !ok || w.of != x {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ch = append(w.ch, ch...)
	return true
}

func (w *withheld) list() []Change {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.ch)
}
