// Package spared marks contexts for what a run calls for itself, such as the state of a
// world or a judge: chaos.NewContext with a nil injector then spares also calls that are
// bound to an injector.
package spared

import "context"

type key struct{}

// NewContext returns a marked context.
func NewContext(ctx context.Context) context.Context {
	return context.WithValue(ctx, key{}, true)
}

// Is reports whether a context is marked.
func Is(ctx context.Context) bool { return ctx != nil && ctx.Value(key{}) != nil }
