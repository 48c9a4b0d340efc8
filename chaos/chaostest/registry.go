package chaostest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/shakedown-go/shakedown/chaos"
)

// RegistryOptions state which tools may be called. With the zero value they are only
// listed.
type RegistryOptions struct {
	_ struct{}
	// Args are the tools that may be called, by name, with the arguments of a good
	// call. Each is called some twenty times, and the effects are real.
	Args map[string]json.RawMessage
}

// Registry checks a registry of tools and returns all violations, joined, each
// a [*Violation]; nil: there are none. o may be nil. Calls are made with ctx or
// contexts derived from it; when it ends, the check ends with its error.
func Registry(ctx context.Context, r chaos.ToolRegistry, o *RegistryOptions) error {
	a := &registryCheck{registry: r, clock: read(), ctx: ctx}
	if o != nil {
		a.RegistryOptions = *o
	}
	if r == nil {
		a.add(Present, "the registry is nil")
		return a.err()
	}
	label := a.next()
	o2 := start(label, func() (any, error) { a.listing(); a.unknown(); return nil, nil }).ended(a.slow())
	a.outcome("the registry", o2)
	for _, name := range slices.Sorted(maps.Keys(a.Args)) {
		if !a.listed[name] {
			a.add(Present, "there are arguments for tool %q, and no such tool is listed", name)
			continue
		}
		a.tool(name, label)
	}
	if left(label, a.clock) {
		a.add(Goroutines, "a goroutine was still there after all calls had returned")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return a.err()
}

// registryCheck is the check of one registry.
type registryCheck struct {
	RegistryOptions
	report
	clock
	labels
	registry chaos.ToolRegistry
	ctx      context.Context // of the check: it is one call from beginning to end
	listed   map[string]bool
}

// slow returns a clock for calls that may be slow.
func (a *registryCheck) slow() clock {
	c := a.clock
	c.guard = max(c.guard, 60*c.prompt)
	return c
}

func (a *registryCheck) outcome(what string, o outcome) {
	switch {
	case o.stuck:
		a.add(Cancelled, "%s did not return", what)
	case o.panicked != nil:
		a.add(Panics, "%s panicked: %v", what, o.panicked)
	}
}

func (a *registryCheck) listing() {
	tools, err := a.registry.Tools(a.ctx)
	if err != nil {
		a.add(Listing, "Tools failed: %v", err)
		return
	}
	a.listed = make(map[string]bool, len(tools))
	for i, t := range tools {
		if t.Name == "" || a.listed[t.Name] {
			a.add(Listing, "tool #%d has the name %q; allowed: a name of its own", i, t.Name)
		}
		a.listed[t.Name] = true
		a.declaration(t)
	}
	before := slices.Clone(tools)
	clear(tools)
	again, err := a.registry.Tools(a.ctx)
	if err != nil || !reflect.DeepEqual(before, again) && len(before)+len(again) > 0 {
		a.add(Listing, "listed again, after the caller had changed the first list, the tools are others (%v)", err)
	}
}

func (a *registryCheck) declaration(t chaos.Tool) {
	if problem := schemaProblem(t.InputSchema); problem != "" {
		a.add(Listing, "tool %q: InputSchema %s", t.Name, problem)
	}
	if !slices.Contains([]chaos.Effect{"", chaos.EffectUnknown, chaos.EffectNone, chaos.EffectDone}, t.Effect) {
		a.add(Listing, "tool %q: Effect is %q", t.Name, t.Effect)
	}
	if p := t.IdempotencyKey; p != "" && !strings.HasPrefix(p, "/") {
		a.add(Listing, "tool %q: IdempotencyKey is %q; allowed: a JSON pointer", t.Name, p)
	}
}

// schemaProblem returns why a schema cannot describe arguments; empty: it can.
func schemaProblem(schema json.RawMessage) string {
	if len(schema) == 0 {
		return ""
	}
	var s *struct {
		Type       any                        `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	if err := json.Unmarshal(schema, &s); err != nil {
		return fmt.Sprintf("is no JSON Schema: %v", err)
	}
	if s == nil {
		return "is null"
	}
	if s.Type != nil && s.Type != "object" {
		return fmt.Sprintf("describes %v, and arguments are an object", s.Type)
	}
	for name, property := range s.Properties {
		if property = bytes.TrimSpace(property); !strings.ContainsRune("{tf", rune(property[0])) {
			return fmt.Sprintf("gives %q no schema: %s", name, property)
		}
	}
	return ""
}

func (a *registryCheck) unknown() {
	name := "no-such-tool"
	for a.listed[name] {
		name += "-either"
	}
	if result, err := a.registry.CallTool(a.ctx, name, json.RawMessage(`{}`)); err == nil {
		a.add(UnknownTool, "a call of %q, which is not listed, returned %s", name, result)
	}
}

// tool calls one tool: alone, with a context that has ended, with arguments
// that are not JSON, and from several goroutines.
func (a *registryCheck) tool(name, label string) {
	alone := start(label, func() (any, error) { return nil, a.one(a.ctx, name) }).ended(a.slow())
	a.outcome("a call of "+name, alone)
	if alone.stuck || alone.panicked != nil {
		return
	}
	if alone.err != nil {
		a.add(Results, "a call of %q with the arguments given failed: %v", name, alone.err)
	}
	a.cancelled(name, label)
	broken := start(label,
		func() (any, error) { return a.registry.CallTool(a.ctx, name, json.RawMessage(`{"`)) }).ended(a.slow())
	a.outcome("a call of "+name+" with arguments that are not JSON", broken)
	if !broken.stuck && broken.panicked == nil && broken.err == nil {
		a.add(Malformed, "a call of %q with arguments that are not JSON returned %s", name, broken.result)
	}
	a.concurrent(name, label, alone.err == nil)
}

// one makes a call and checks its result.
func (a *registryCheck) one(ctx context.Context, name string) error {
	args := json.RawMessage(bytes.Clone(a.Args[name]))
	result, err := a.registry.CallTool(ctx, name, args)
	if !bytes.Equal(args, a.Args[name]) {
		a.add(Arguments, "tool %q changed its arguments to %s", name, args)
	}
	if err == nil && !json.Valid(result) {
		a.add(Results, "tool %q returned %q, which is no JSON value", name, result)
	}
	return err
}

func (a *registryCheck) cancelled(name, label string) {
	ctx, cancel := context.WithCancel(a.ctx)
	cancel()
	o := start(label, func() (any, error) { return nil, a.one(ctx, name) }).ended(a.slow())
	if o.stuck || o.after > a.prompt {
		a.add(Cancelled, "a call of %q went on although its context had ended", name)
	}
}

// concurrent calls a tool from several goroutines.
func (a *registryCheck) concurrent(name, label string, well bool) {
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			o := start(label, func() (any, error) { return nil, a.one(a.ctx, name) }).ended(a.slow())
			a.outcome("one of several calls of "+name+" at once", o)
			if well && o.err != nil {
				a.add(Concurrent, "called alone, %q succeeds; called several times at once it failed: %v", name, o.err)
			}
		})
	}
	all.Wait()
}
