package chaoshttp

import (
	"context"
	"sync"

	"github.com/shakedown-go/shakedown/chaos"
)

// LogicalCall marks a context as that of one call of a program, however often a
// client library sends it. The attempts under it are numbered from 1 in
// [chaos.Event.Attempt], for each target apart. Without it an attempt's number
// follows from the failures directly before it, as at every injection point,
// and a program that repeats a request after it gave up goes on counting.
func LogicalCall(ctx context.Context) context.Context {
	return context.WithValue(ctx, logicalKey{}, &logical{sent: make(map[string]int)})
}

type logicalKey struct{}

type logical struct {
	mu   sync.Mutex
	sent map[string]int // by target; a call has few
}

// numbered is the context of the next attempt at a target.
func numbered(ctx context.Context, target string) context.Context {
	l, ok := ctx.Value(logicalKey{}).(*logical)
	if !ok {
		return ctx
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent[target]++
	return chaos.WithAttempt(ctx, l.sent[target])
}
