package experiment

import (
	"context"
	"sync"
)

// A Scope gives an activity, tolerance or guard access to its run. It is
// safe for concurrent use.
type Scope struct {
	config  map[string]any
	secrets map[string]string
	mu      sync.Mutex
	outputs map[string]any
}

type scopeKey struct{}

// ScopeOf returns the scope of the run that the context belongs to; outside of a
// run, an empty one.
func ScopeOf(ctx context.Context) *Scope {
	if s, ok := ctx.Value(scopeKey{}).(*Scope); ok {
		return s
	}
	return &Scope{}
}

// Config returns a configuration value by its name.
func (s *Scope) Config(name string) (value any, ok bool) {
	value, ok = s.config[name]
	return value, ok
}

// Secret returns a secret by its name.
func (s *Scope) Secret(name string) (value string, ok bool) {
	value, ok = s.secrets[name]
	return value, ok
}

// Output returns the latest output of the activity with that name. An activity that
// failed, was skipped or is still running has none.
func (s *Scope) Output(name string) (output any, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	output, ok = s.outputs[name]
	return output, ok
}

func (s *Scope) setOutput(name string, output any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.outputs == nil {
		s.outputs = make(map[string]any)
	}
	s.outputs[name] = output
}

func (r *run) scoped(ctx context.Context) context.Context {
	return context.WithValue(ctx, scopeKey{}, r.scope)
}
