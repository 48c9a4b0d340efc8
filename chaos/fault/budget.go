package fault

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
)

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
	return fmt.Sprintf("quota exceeded: %s of %s%s used", amount(e.Used), amount(e.Limit), e.unit()) + e.again()
}

func (e *BudgetError) unit() string {
	switch e.Resource {
	case "call", "token":
		return " " + e.Resource + "s"
	case "time":
		return " seconds"
	}
	return ""
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

// budget counts what its calls use and fails them once the limit is reached.
// All targets of a rule share it within one injector.
type budget struct {
	terms

	mu    sync.Mutex
	used  float64
	since time.Time // of the first use after it was filled
}

// terms are the settings of a budget.
type terms struct {
	resource string
	limit    float64
	refill   time.Duration // 0: never
	measure  func(u use) (amount float64, known bool)
	before   bool // what a call uses is known before it is made
	params   any
	check    func(c *param.Check)
}

// use is what a budget measures of a call.
type use struct {
	args, result any
	err          error
	took         time.Duration
}

func (b *budget) Fresh() chaos.Fault { return &budget{terms: b.terms} }

func (b *budget) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	if b.before {
		amount, _ := b.measure(use{args: args})
		if err := b.take(amount, amount); err != nil {
			return nil, err
		}
		skip(ctx)
		return next(ctx, args)
	}
	if err := b.take(0, 0); err != nil {
		return nil, err
	}
	skip(ctx)
	start, returned := time.Now(), false
	defer func() {
		if !returned { // the callee panicked: that took time, and gave nothing
			amount, _ := b.measure(use{args: args, err: errPanicked, took: time.Since(start)})
			b.add(amount)
		}
	}()
	result, err := next(ctx, args)
	returned = true
	u := use{args, result, err, time.Since(start)}
	amount, known := b.measure(u)
	if later, ok := result.(readLater); ok && !known {
		return b.await(ctx, u, later)
	}
	b.charge(ctx, amount, known)
	return result, err
}

// readLater is a result whose document the caller reads after the call, such as
// an HTTP response. OnRead returns the result to give to the caller instead,
// and calls done when that was read.
type readLater interface {
	OnRead(ctx context.Context, done func(doc []byte, err error)) (result any, ok bool)
}

// await charges the budget once the caller has read the document.
func (b *budget) await(ctx context.Context, u use, r readLater) (any, error) {
	late, end := chaos.KeepOpen(ctx)
	result, ok := r.OnRead(ctx, func(doc []byte, err error) {
		u.result = json.RawMessage(doc)
		amount, known := b.measure(u)
		b.charge(late, amount, known)
		_ = end(err, false) // the caller has it from the body
	})
	if !ok {
		b.charge(ctx, 0, false)
		_ = end(nil, false)
		return u.result, nil
	}
	return result, nil
}

func (b *budget) charge(ctx context.Context, amount float64, known bool) {
	if !known {
		chaos.Note(ctx, "the result does not say what it used of the "+b.resource+" budget")
	}
	b.add(amount)
}

var errPanicked = errors.New("the callee panicked")

// take charges amount if need is left, and if anything is left at all.
func (b *budget) take(amount, need float64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if b.refill > 0 && now.Sub(b.since) >= b.refill {
		b.used, b.since = 0, now
	}
	if b.used >= b.limit || b.used+need > b.limit {
		err := &BudgetError{Resource: b.resource, Limit: b.limit, Used: b.used}
		if b.refill > 0 {
			err.RetryAfter = b.refill - now.Sub(b.since)
		}
		return err
	}
	b.used += amount
	return nil
}

func (b *budget) add(amount float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if amount > 0 { // neither a negative usage nor NaN
		b.used += amount
	}
}

// Phase puts the budget before the callee, together with the delays.
func (b *budget) Phase() chaos.Phase { return chaos.PhaseBefore }

func (b *budget) kind() string { return b.resource + "_budget" }

func (b *budget) Check() error {
	c := param.Check{Kind: b.kind()}
	c.That(b.limit > 0 && !math.IsInf(b.limit, 0), "limit", b.limit, "a number of more than 0")
	if b.check != nil {
		b.check(&c)
	}
	c.Wait("refill", b.refill)
	return c.Err()
}

func (b *budget) Describe() chaos.Description {
	return param.With(describeResource(b.kind(), b.refill > 0), b.params)
}

func describeResource(kind string, again bool) chaos.Description {
	d := chaos.Description{
		Kind: kind, Layer: chaos.LayerResource, Class: chaos.ClassCrash, Visibility: chaos.Explicit,
		Persistence: chaos.Permanent, Effect: chaos.EffectNone,
	}
	if again {
		d.Persistence = chaos.Transient
	}
	return d
}

// budgetParams are the parameters of most budgets.
type budgetParams struct {
	Limit       any     `json:"limit"`
	InputPrice  float64 `json:"inputPrice,omitempty"`
	OutputPrice float64 `json:"outputPrice,omitempty"`
	Usage       string  `json:"usage,omitempty"`
	Refill      string  `json:"refill,omitempty"`
}

func optional(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}
