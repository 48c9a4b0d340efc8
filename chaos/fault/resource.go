package fault

import (
	"context"
	"sync"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
	"github.com/shakedown-go/shakedown/internal/jsonvalue"
)

// CallBudget lets limit calls through and fails the rest with a [*BudgetError];
// their callees are not reached. refill is the time after which the whole
// budget is available again, counted from its first use; 0: never. limit is at
// least 1.
//
// The following holds for all budgets. The targets of a rule share one budget
// within an injector. Calls that fail use it up like others; calls that the
// rule does not match cost nothing. Which call finds it used up depends on the
// order of the calls over all lanes.
func CallBudget(limit int, refill time.Duration) chaos.Fault {
	return &budget{terms: terms{
		resource: "call", limit: float64(limit), refill: refill, before: true,
		measure: func(use) (float64, bool) { return 1, true },
		params:  budgetParams{Limit: limit, Refill: optional(refill)},
	}}
}

// TimeBudget fails calls once the calls before have taken limit in total,
// concurrent or not. A call in progress is not ended. limit is more than 0. The
// rest is as with [CallBudget].
func TimeBudget(limit, refill time.Duration) chaos.Fault {
	return &budget{terms: terms{
		resource: "time", limit: limit.Seconds(), refill: refill,
		measure: func(u use) (float64, bool) { return u.took.Seconds(), true },
		params:  budgetParams{Limit: limit.String(), Refill: optional(refill)},
	}}
}

// MemoryBudget fails calls as a process without free memory does, once the
// results of the calls before have limit bytes in total, as JSON or as text.
// limit is at least 1. The rest is as with [CallBudget].
//
// Of an HTTP response, the bytes count that the client read of the body, up to
// 4 MiB. Items of a stream are not measured: a stream counts as a dozen bytes.
func MemoryBudget(limit int, refill time.Duration) chaos.Fault {
	return &budget{terms: terms{
		resource: "memory", limit: float64(limit), refill: refill,
		measure: func(u use) (float64, bool) {
			if u.err != nil {
				return 0, true
			}
			return size(u.result)
		},
		params: budgetParams{Limit: limit, Refill: optional(refill)},
	}}
}

// DiskBudget fails a call if its arguments and those of the calls before have
// more than limit bytes in total, as JSON or as text. limit is at least 1. The
// error is that of [DiskFull]. The rest is as with [CallBudget].
func DiskBudget(limit int, refill time.Duration) chaos.Fault {
	return &budget{terms: terms{
		resource: "disk", limit: float64(limit), refill: refill, before: true,
		measure: func(u use) (float64, bool) { return size(u.args) },
		params:  budgetParams{Limit: limit, Refill: optional(refill)},
	}}
}

// size is the length of a value in bytes, as JSON or text.
func size(v any) (n float64, known bool) {
	if _, ok := v.(readLater); ok { // its JSON is not its content
		return 0, false
	}
	if doc, ok := jsonvalue.Text(v); ok {
		return float64(len(doc)), true
	}
	doc, err := jsonvalue.Encode(v)
	return float64(len(doc)), err == nil
}

// DiskFull makes a call fail with "write: no space left on device", a
// [*BudgetError] that matches [syscall.ENOSPC]. The callee is not reached.
func DiskFull() chaos.Fault {
	return failure{err: &BudgetError{Resource: "disk"}, label: &label{kind: "disk_full", layer: chaos.LayerResource}}
}

// ConcurrencyLimit fails a call with a [*BudgetError] if limit other calls are
// in progress, over all targets of the rule. limit is at least 1. The rest is
// as with [CallBudget].
func ConcurrencyLimit(limit int) chaos.Fault { return &concurrency{limit: limit} }

type concurrency struct {
	limit int
	mu    sync.Mutex
	under int // calls in progress
}

func (l *concurrency) Fresh() chaos.Fault { return &concurrency{limit: l.limit} }

func (l *concurrency) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	if !l.begin() {
		return nil, &BudgetError{Resource: "concurrency", Limit: float64(l.limit), Used: float64(l.limit)}
	}
	defer l.end()
	skip(ctx)
	return next(ctx, args)
}

func (l *concurrency) begin() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.under >= l.limit {
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

func (l *concurrency) Check() error {
	c := param.Check{Kind: "concurrency_limit"}
	c.That(l.limit >= 1, "limit", l.limit, "a number of calls, at least 1")
	return c.Err()
}

func (l *concurrency) Describe() chaos.Description {
	return param.With(describeResource("concurrency_limit", true), budgetParams{Limit: l.limit})
}

// RateLimit fails a call with a [*BudgetError] if limit calls were let through
// within the last per. Its RetryAfter is the time until one more will be.
// Refused calls do not count. limit is at least 1, per more than 0. The rest is
// as with [CallBudget].
func RateLimit(limit int, per time.Duration) chaos.Fault { return &rate{limit: limit, per: per} }

type rate struct {
	limit int
	per   time.Duration
	mu    sync.Mutex
	let   []time.Time // the last calls that were let through, oldest first
}

func (r *rate) Fresh() chaos.Fault { return &rate{limit: r.limit, per: r.per} }

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
	for len(r.let) > 0 && now.Sub(r.let[0]) >= r.per {
		r.let = r.let[1:]
	}
	if n := len(r.let); n >= r.limit {
		return &BudgetError{Resource: "rate", Limit: float64(r.limit), Used: float64(n), RetryAfter: r.per - now.Sub(r.let[0])}
	}
	r.let = append(r.let, now)
	return nil
}

// Phase puts the limit before the callee.
func (r *rate) Phase() chaos.Phase { return chaos.PhaseBefore }

func (r *rate) Check() error {
	c := param.Check{Kind: "rate_limit"}
	c.That(r.limit >= 1, "limit", r.limit, "a number of calls, at least 1")
	c.That(r.per > 0, "per", r.per, "a duration of more than 0")
	return c.Err()
}

func (r *rate) Describe() chaos.Description {
	return param.With(describeResource("rate_limit", true), struct {
		Limit int    `json:"limit"`
		Per   string `json:"per"`
	}{r.limit, r.per.String()})
}
