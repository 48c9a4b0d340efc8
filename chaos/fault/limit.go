package fault

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/internal/jsonvalue"
)

// DiskFull makes a call fail with "write: no space left on device", a
// [*BudgetError] that matches [syscall.ENOSPC]. The callee is not reached.
func DiskFull() chaos.Fault { return diskFull.Of(catalog.None{}) }

var diskFull = &catalog.Fail[catalog.None]{
	Row: catalog.Row{
		Kind: "disk_full", Doc: "No space is left on the device.", Go: "fault.DiskFull()",
		Layer: chaos.LayerResource, Class: chaos.ClassCrash, Visibility: chaos.Explicit, Effect: chaos.EffectNone,
	},
	Fail: func(chaos.Call, catalog.None) error { return &BudgetError{Resource: "disk"} },
}

// RateLimit fails a call with a [*BudgetError] if limit calls were let through
// within the last per. Its RetryAfter is the time until one more will be.
// Refused calls do not count. limit is at least 1, per more than 0. The rest is
// as with [CallBudget].
func RateLimit(limit int, per time.Duration) chaos.Fault {
	return rateLimit.Of(rateParams{quota{limit}, per})
}

var rateLimit = &catalog.Remember[rateParams, rate]{
	Row: catalog.Row{
		Kind: "rate_limit", Doc: "Calls beyond a rate are refused.",
		Order: catalog.Deliveries,
		Go:    "fault.RateLimit(limit, per)", Example: `{"limit":3,"per":"10s"}`,
		Layer: chaos.LayerResource, Class: chaos.ClassCrash, Visibility: chaos.Explicit, Effect: chaos.EffectNone,
	},
	Phase: chaos.PhaseBefore,
	Inject: func(s *rate, ctx context.Context, _ chaos.Call, p rateParams, args any, next chaos.Next) (any, error) {
		if err := s.admit(time.Now(), p); err != nil {
			return nil, err
		}
		skip(ctx)
		return next(ctx, args)
	},
}

type rateParams struct {
	quota
	Per time.Duration `json:"per" bounds:"over=0" doc:"time within which so many calls are let through"`
}

type rate struct {
	mu  sync.Mutex
	let []time.Time // the last calls that were let through, oldest first
}

func (r *rate) admit(now time.Time, p rateParams) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.let) > 0 && now.Sub(r.let[0]) >= p.Per {
		r.let = r.let[1:]
	}
	if n := len(r.let); n >= p.Limit {
		return &BudgetError{Resource: "rate", Limit: float64(p.Limit), Used: float64(n),
			RetryAfter: p.Per - now.Sub(r.let[0])}
	}
	r.let = append(r.let, now)
	return nil
}

// ConcurrencyLimit fails a call with a [*BudgetError] if limit other calls are
// in progress, over all targets of the rule. limit is at least 1. The rest is
// as with [CallBudget].
func ConcurrencyLimit(limit int) chaos.Fault { return concurrencyLimit.Of(quota{limit}) }

var concurrencyLimit = &catalog.Remember[quota, concurrency]{
	Row: catalog.Row{
		Kind: "concurrency_limit", Doc: "Calls beyond a number in progress are refused.",
		Order: catalog.Deliveries,
		Go:    "fault.ConcurrencyLimit(limit)", Example: `{"limit":1}`,
		Layer: chaos.LayerResource, Class: chaos.ClassCrash, Visibility: chaos.Explicit, Effect: chaos.EffectNone,
	},
	Phase: chaos.PhaseBefore,
	Inject: func(s *concurrency, ctx context.Context, _ chaos.Call, p quota, args any, next chaos.Next) (any, error) {
		if !s.begin(p.Limit) {
			return nil, &BudgetError{Resource: "concurrency", Limit: float64(p.Limit), Used: float64(p.Limit)}
		}
		defer s.end()
		skip(ctx)
		return next(ctx, args)
	},
}

type concurrency struct {
	mu    sync.Mutex
	under int // calls in progress
}

func (l *concurrency) begin(limit int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.under >= limit {
		return false
	}
	l.under++
	return true
}

func (l *concurrency) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.under--
}

// AuthExpired makes a call fail with [ErrTokenExpired]; the callee is not
// reached. With when.After(n) the credentials are valid for n calls. A retry
// does not help.
func AuthExpired() chaos.Fault { return authExpired.Of(catalog.None{}) }

var authExpired = &catalog.Fail[catalog.None]{
	Row: catalog.Row{
		Kind: "auth_expired", Doc: "The credentials are no longer accepted.", Go: "fault.AuthExpired()",
		Class: chaos.ClassCrash, Visibility: chaos.Explicit, Persistence: chaos.Permanent, Effect: chaos.EffectNone,
	},
	Fail: func(chaos.Call, catalog.None) error { return ErrTokenExpired },
}

// ToolRemoved removes tools from a registry: the listing lacks them, and a call
// to one fails with an error that matches [chaos.ErrUnknownTool]. The rule's
// target must cover the listing and the tools, such as "{tools/list,refund}" or
// "*". With when.Since(d) they disappear in mid-run. At least one name is
// required.
//
// A listing that contains none of them is not changed. Calls to other tools
// pass.
func ToolRemoved(tools ...string) chaos.Fault { return toolRemoved.Of(removed{slices.Clone(tools)}) }

var toolRemoved = &catalog.Inject[removed]{
	Row: catalog.Row{
		Kind: "tool_removed", Doc: "Tools are missing from the listing and unknown.",
		Go: "fault.ToolRemoved(tools...)", Example: `{"tools":["orders.total"]}`,
		Layer: chaos.LayerTool, Class: chaos.ClassCrash, Visibility: chaos.Explicit,
		Persistence: chaos.Permanent, Effect: chaos.EffectNone,
	},
	Phase: chaos.PhaseBefore, // before all others: a tool that is missing cannot fail in another way
	Inject: func(ctx context.Context, c chaos.Call, p removed, args any, next chaos.Next) (any, error) {
		if slices.Contains(p.Tools, c.Target) {
			return nil, &unknownTool{c.Target}
		}
		skip(ctx)
		result, err := next(ctx, args)
		list, ok := result.([]chaos.Tool)
		if err != nil || !ok {
			return result, err
		}
		gone := func(t chaos.Tool) bool { return slices.Contains(p.Tools, t.Name) }
		if !slices.ContainsFunc(list, gone) {
			return result, nil
		}
		for i, t := range list {
			if gone(t) {
				chaos.Changed(ctx, chaos.Change{Path: place(i), Before: jsonvalue.Document(t)})
			}
		}
		return slices.DeleteFunc(slices.Clone(list), gone), nil
	},
}

type removed struct {
	Tools []string `json:"tools" bounds:"min=1" allowed:"at least one name of a tool" doc:"names of the tools"`
}

func (p removed) Check(c *catalog.Check) {
	c.That(!slices.Contains(p.Tools, ""), "tools", fmt.Sprintf("%q", p.Tools), "names that are not empty")
}

// unknownTool reads like a registry's own error for an unknown name.
type unknownTool struct{ name string }

func (e *unknownTool) Error() string        { return fmt.Sprintf("unknown tool %q", e.name) }
func (e *unknownTool) Is(target error) bool { return target == chaos.ErrUnknownTool }
