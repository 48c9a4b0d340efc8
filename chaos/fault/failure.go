package fault

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/internal/jsonvalue"
)

// Fail makes a call fail with err, which is required; the callee is not
// reached. The caller's error matches err and [chaos.ErrInjected] and has
// err's text.
func Fail(err error) chaos.Fault { return fail.Of(message{err}) }

var fail = &catalog.Fail[message]{
	Row: catalog.Row{Kind: "error", Doc: "The call fails.", Go: "fault.Fail(err)",
		Example: `{"message":"service unavailable"}`, Class: chaos.ClassCrash},
	Fail: func(_ chaos.Call, p message) error { return p.Err },
}

type message struct {
	Err error `json:"message" doc:"text of the error; the text of a ready-made error gives that error"`
}

func (p message) Check(c *catalog.Check) {
	c.That(p.Err != nil, "err", nil, "an error, such as ErrUnavailable")
}

// ResourceExhausted makes a call fail with [ErrResourceExhausted]; the callee
// is not reached. With when.After(n) it is a quota of n calls.
func ResourceExhausted() chaos.Fault { return resourceExhausted.Of(catalog.None{}) }

var resourceExhausted = &catalog.Fail[catalog.None]{
	Row: catalog.Row{Kind: "resource_exhaustion", Doc: "The call fails with \"resource exhausted\".",
		Go: "fault.ResourceExhausted()", Class: chaos.ClassCrash},
	Fail: func(chaos.Call, catalog.None) error { return ErrResourceExhausted },
}

// Partition makes a call fail with [ErrNetworkPartition]; the callee is not
// reached. A rule whose target matches several injection points and that has a
// group cuts them off together and restores them together: see the example and
// [chaos.Rule.Group].
func Partition() chaos.Fault { return partition.Of(catalog.None{}) }

var partition = &catalog.Fail[catalog.None]{
	Row: catalog.Row{Kind: "network_partition", Doc: "The call fails with \"no route to host\".",
		Go: "fault.Partition()", Class: chaos.ClassCrash},
	Fail: func(chaos.Call, catalog.None) error { return ErrNetworkPartition },
}

// Panic makes a call panic with v in the caller's goroutine; the callee is not
// reached. If v is nil, the call panics with a [runtime.Error], an index out of
// range.
func Panic(v any) chaos.Fault {
	if v == nil {
		return panicking.Of(panicParams{})
	}
	return panicking.Of(panicParams{new(fmt.Sprint(v)), v})
}

var panicking = &catalog.Inject[panicParams]{
	Row: catalog.Row{Kind: "panic", Doc: "The call panics.", Go: "fault.Panic(v)",
		Example: `{"message":"index out of bounds"}`, AsText: true, Class: chaos.ClassCrash, Visibility: chaos.Explicit,
		Effect: chaos.EffectNone},
	Prepare: func(p panicParams) panicParams {
		if p.v == nil && p.Message != nil {
			p.v = *p.Message
		}
		return p
	},
	Inject: func(_ context.Context, _ chaos.Call, p panicParams, _ any, _ chaos.Next) (any, error) {
		if p.v == nil {
			return firstOf(nil), nil
		}
		panic(p.v)
	},
}

type panicParams struct {
	Message *string `json:"message,omitempty" doc:"the value of the panic; left out: an index out of range"`
	v       any
}

// firstOf makes the runtime panic: a type outside of it cannot imitate its
// errors, which have a method of their own.
func firstOf(none []any) any { return none[0] }

// DiskFull makes a call fail with "write: no space left on device", a
// [*BudgetError] that matches [syscall.ENOSPC]. The callee is not reached.
func DiskFull() chaos.Fault { return diskFull.Of(catalog.None{}) }

var diskFull = &catalog.Fail[catalog.None]{
	Row: catalog.Row{Kind: "disk_full", Doc: "No space is left on the device.", Go: "fault.DiskFull()",
		Layer: chaos.LayerResource, Class: chaos.ClassCrash},
	Fail: func(chaos.Call, catalog.None) error { return &BudgetError{Resource: "disk"} },
}

// AuthExpired makes a call fail with [ErrTokenExpired]; the callee is not
// reached. With when.After(n) the credentials are valid for n calls. A retry
// does not help.
func AuthExpired() chaos.Fault { return authExpired.Of(catalog.None{}) }

var authExpired = &catalog.Fail[catalog.None]{
	Row: catalog.Row{Kind: "auth_expired", Doc: "The credentials are no longer accepted.", Go: "fault.AuthExpired()",
		Class: chaos.ClassCrash, Persistence: chaos.Permanent},
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
	Row: catalog.Row{Kind: "tool_removed", Doc: "Tools are missing from the listing and unknown.",
		Go: "fault.ToolRemoved(tools...)", Example: `{"tools":["orders.total"]}`, Layer: chaos.LayerTool,
		Class: chaos.ClassCrash, Visibility: chaos.Explicit, Persistence: chaos.Permanent, Effect: chaos.EffectNone},
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

// Errors that read like those of a real dependency. [Fail] takes any of them,
// or any other error. Their texts name neither this package nor its purpose.
var (
	// ErrUnavailable is the answer of an overloaded or restarting service.
	ErrUnavailable = errors.New("service unavailable")
	// ErrInternal is the answer of a service that failed inside.
	ErrInternal = errors.New("internal server error")
	// ErrRateLimited is the answer of a service to too many requests.
	ErrRateLimited = errors.New("too many requests")
	// ErrTokenExpired is the error of [AuthExpired]: the answer to credentials that
	// are no longer valid.
	ErrTokenExpired = errors.New("401 Unauthorized: the access token expired")
	// ErrDeclined is the answer of an agent that does not take a task, for [Fail]
	// As "delegation_rejected".
	ErrDeclined = errors.New("the agent declined the task")
	// ErrResourceExhausted is the error of [ResourceExhausted].
	ErrResourceExhausted = errors.New("resource exhausted")

	// ErrTimeout is the error of [Timeout] and [LoseReply]. It matches
	// [context.DeadlineExceeded] and [os.ErrDeadlineExceeded], and is a
	// net.Error whose Timeout method reports true.
	ErrTimeout error = &netError{text: "i/o timeout", timeout: true,
		like: []error{context.DeadlineExceeded, os.ErrDeadlineExceeded}}
	// ErrConnectionRefused matches [syscall.ECONNREFUSED]; it is a net.Error.
	ErrConnectionRefused error = &netError{text: "connect: connection refused", like: []error{syscall.ECONNREFUSED}}
	// ErrConnectionReset matches [syscall.ECONNRESET]; it is a net.Error.
	ErrConnectionReset error = &netError{text: "read: connection reset by peer", like: []error{syscall.ECONNRESET}}
	// ErrNetworkPartition is the error of [Partition]. It matches
	// [syscall.EHOSTUNREACH]; it is a net.Error.
	ErrNetworkPartition error = &netError{text: "connect: no route to host", like: []error{syscall.EHOSTUNREACH}}
)

// netError has the methods of a net.Error without importing package net.
type netError struct {
	text    string
	timeout bool
	like    []error // what a real one would match
}

func (e *netError) Error() string { return e.text }

// Timeout reports whether the error is that of a time-out.
func (e *netError) Timeout() bool { return e.timeout }

// Temporary completes the net.Error interface; as in package net, a time-out is temporary.
func (e *netError) Temporary() bool { return e.timeout }

// Unwrap makes errors.Is find what a real error would match.
func (e *netError) Unwrap() []error { return e.like }

// A BudgetError says that a budget is used up. It matches
// [ErrResourceExhausted]. For rate and concurrency it also matches
// [ErrRateLimited], for memory [syscall.ENOMEM], and for disk space
// [syscall.ENOSPC].
type BudgetError struct {
	Resource string  // "call", "rate", "token", "cost", "time", "memory", "disk" or "concurrency"
	Limit    float64 // of the budget: calls, tokens, bytes, seconds, or the currency of the cost
	Used     float64 // of it; the last call may have used more than was left
	// RetryAfter is the time until the budget is refilled; 0: never, or unknown.
	RetryAfter time.Duration
}

// Error returns the text that a dependency with such a budget would send.
func (e *BudgetError) Error() string {
	switch e.Resource {
	case "rate":
		return "too many requests: the limit is " + amount(e.Limit) + e.again()
	case "concurrency":
		return "too many concurrent requests: the limit is " + amount(e.Limit)
	case "memory":
		return "cannot allocate memory"
	case "disk":
		return "write: no space left on device"
	}
	unit := map[string]string{"call": " calls", "token": " tokens", "time": " seconds"}[e.Resource]
	return fmt.Sprintf("quota exceeded: %s of %s%s used", amount(e.Used), amount(e.Limit), unit) + e.again()
}

func (e *BudgetError) again() string {
	if e.RetryAfter <= 0 {
		return ""
	}
	return ", try again in " + e.RetryAfter.String()
}

func amount(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// Is reports whether target is one of the errors that [BudgetError] lists for
// the resource.
func (e *BudgetError) Is(target error) bool {
	switch target {
	case ErrResourceExhausted:
		return true
	case ErrRateLimited:
		return e.Resource == "rate" || e.Resource == "concurrency"
	}
	switch e.Resource {
	case "memory":
		return errors.Is(syscall.ENOMEM, target)
	case "disk":
		return errors.Is(syscall.ENOSPC, target)
	}
	return false
}
