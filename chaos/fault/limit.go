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

func limitRows() []*catalog.Row {
	return []*catalog.Row{diskFullRow, rateLimitRow, concurrencyLimitRow, authExpiredRow, toolRemovedRow}
}

// DiskFull makes a call fail with "write: no space left on device", a
// [*BudgetError] that matches [syscall.ENOSPC]. The callee is not reached.
func DiskFull() chaos.Fault { return ownFailure{"disk_full", &BudgetError{Resource: "disk"}} }

var diskFullRow = catalog.Fault(catalog.Row{
	Kind: "disk_full", Doc: "No space is left on the device.", Go: "fault.DiskFull()",
	Layer: chaos.LayerResource, Class: chaos.ClassCrash, Visibility: chaos.Explicit,
	Persistence: chaos.Transient, Effect: chaos.EffectNone,
}, func(catalog.None) chaos.Fault { return DiskFull() })

// RateLimit fails a call with a [*BudgetError] if limit calls were let through
// within the last per. Its RetryAfter is the time until one more will be.
// Refused calls do not count. limit is at least 1, per more than 0. The rest is
// as with [CallBudget].
func RateLimit(limit int, per time.Duration) chaos.Fault {
	return &rate{rateParams: rateParams{quota{limit}, per}}
}

var rateLimitRow = catalog.Fault(catalog.Row{
	Kind: "rate_limit", Doc: "Calls beyond a rate are refused.",
	Order: catalog.Deliveries,
	Go:    "fault.RateLimit(limit, per)", Example: `{"limit":3,"per":"10s"}`,
	Layer: chaos.LayerResource, Class: chaos.ClassCrash, Visibility: chaos.Explicit,
	Persistence: chaos.Transient, Effect: chaos.EffectNone,
}, func(p rateParams) chaos.Fault { return RateLimit(p.Limit, p.Per) })

type rateParams struct {
	quota
	Per time.Duration `json:"per" bounds:"over=0" doc:"time within which so many calls are let through"`
}

type rate struct {
	rateParams
	mu  sync.Mutex
	let []time.Time // the last calls that were let through, oldest first
}

func (r *rate) Fresh() chaos.Fault          { return &rate{rateParams: r.rateParams} }
func (r *rate) Check() error                { return rateLimitRow.Check(r.rateParams).Err() }
func (r *rate) Describe() chaos.Description { return rateLimitRow.Describe(r.rateParams) }

func (r *rate) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	if err := r.admit(time.Now()); err != nil {
		return nil, err
	}
	skip(ctx)
	return next(ctx, args)
}

func (r *rate) admit(now time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.let) > 0 && now.Sub(r.let[0]) >= r.Per {
		r.let = r.let[1:]
	}
	if n := len(r.let); n >= r.Limit {
		return &BudgetError{Resource: "rate", Limit: float64(r.Limit), Used: float64(n),
			RetryAfter: r.Per - now.Sub(r.let[0])}
	}
	r.let = append(r.let, now)
	return nil
}

// Phase puts the limit before the callee.
func (r *rate) Phase() chaos.Phase { return chaos.PhaseBefore }

// ConcurrencyLimit fails a call with a [*BudgetError] if limit other calls are
// in progress, over all targets of the rule. limit is at least 1. The rest is
// as with [CallBudget].
func ConcurrencyLimit(limit int) chaos.Fault { return &concurrency{quota: quota{limit}} }

var concurrencyLimitRow = catalog.Fault(catalog.Row{
	Kind: "concurrency_limit", Doc: "Calls beyond a number in progress are refused.",
	Order: catalog.Deliveries,
	Go:    "fault.ConcurrencyLimit(limit)", Example: `{"limit":1}`,
	Layer: chaos.LayerResource, Class: chaos.ClassCrash, Visibility: chaos.Explicit,
	Persistence: chaos.Transient, Effect: chaos.EffectNone,
}, func(p quota) chaos.Fault { return ConcurrencyLimit(p.Limit) })

type concurrency struct {
	quota
	mu    sync.Mutex
	under int // calls in progress
}

func (l *concurrency) Fresh() chaos.Fault          { return &concurrency{quota: l.quota} }
func (l *concurrency) Check() error                { return concurrencyLimitRow.Check(l.quota).Err() }
func (l *concurrency) Describe() chaos.Description { return concurrencyLimitRow.Describe(l.quota) }

func (l *concurrency) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	if !l.begin() {
		return nil, &BudgetError{Resource: "concurrency", Limit: float64(l.Limit), Used: float64(l.Limit)}
	}
	defer l.end()
	skip(ctx)
	return next(ctx, args)
}

func (l *concurrency) begin() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.under >= l.Limit {
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

// Phase puts the limit before the callee.
func (l *concurrency) Phase() chaos.Phase { return chaos.PhaseBefore }

// AuthExpired makes a call fail with [ErrTokenExpired]; the callee is not
// reached. With when.After(n) the credentials are valid for n calls. A retry
// does not help.
func AuthExpired() chaos.Fault { return ownFailure{"auth_expired", ErrTokenExpired} }

var authExpiredRow = catalog.Fault(catalog.Row{
	Kind: "auth_expired", Doc: "The credentials are no longer accepted.", Go: "fault.AuthExpired()",
	Class: chaos.ClassCrash, Visibility: chaos.Explicit, Persistence: chaos.Permanent, Effect: chaos.EffectNone,
}, func(catalog.None) chaos.Fault { return AuthExpired() })

// ToolRemoved removes tools from a registry: the listing lacks them, and a call
// to one fails with an error that matches [chaos.ErrUnknownTool]. The rule's
// target must cover the listing and the tools, such as "{tools/list,refund}" or
// "*". With when.Since(d) they disappear in mid-run. At least one name is
// required.
//
// A listing that contains none of them is not changed. Calls to other tools
// pass.
func ToolRemoved(tools ...string) chaos.Fault { return toolRemoved{removed{slices.Clone(tools)}} }

var toolRemovedRow = catalog.Fault(catalog.Row{
	Kind: "tool_removed", Doc: "Tools are missing from the listing and unknown.",
	Go: "fault.ToolRemoved(tools...)", Example: `{"tools":["orders.total"]}`,
	Layer: chaos.LayerTool, Class: chaos.ClassCrash, Visibility: chaos.Explicit,
	Persistence: chaos.Permanent, Effect: chaos.EffectNone,
}, func(p removed) chaos.Fault { return ToolRemoved(p.Tools...) })

type removed struct {
	Tools []string `json:"tools" bounds:"min=1" allowed:"at least one name of a tool" doc:"names of the tools"`
}

type toolRemoved struct{ removed }

func (r toolRemoved) Check() error {
	c := toolRemovedRow.Check(r.removed)
	c.That(!slices.Contains(r.Tools, ""), "tools", fmt.Sprintf("%q", r.Tools), "names that are not empty")
	return c.Err()
}

func (r toolRemoved) Describe() chaos.Description { return toolRemovedRow.Describe(r.removed) }

// Phase puts the fault before all others: a tool that is missing cannot fail in
// another way.
func (r toolRemoved) Phase() chaos.Phase { return chaos.PhaseBefore }

func (r toolRemoved) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	if slices.Contains(r.Tools, c.Target) {
		return nil, &unknownTool{c.Target}
	}
	skip(ctx)
	result, err := next(ctx, args)
	list, ok := result.([]chaos.Tool)
	if err != nil || !ok {
		return result, err
	}
	gone := func(t chaos.Tool) bool { return slices.Contains(r.Tools, t.Name) }
	if !slices.ContainsFunc(list, gone) {
		return result, nil
	}
	for i, t := range list {
		if gone(t) {
			chaos.Changed(ctx, chaos.Change{Path: place(i), Before: jsonvalue.Document(t)})
		}
	}
	return slices.DeleteFunc(slices.Clone(list), gone), nil
}

// unknownTool reads like a registry's own error for an unknown name.
type unknownTool struct{ name string }

func (e *unknownTool) Error() string        { return fmt.Sprintf("unknown tool %q", e.name) }
func (e *unknownTool) Is(target error) bool { return target == chaos.ErrUnknownTool }
