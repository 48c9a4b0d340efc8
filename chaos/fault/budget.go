package fault

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/internal/jsonvalue"
)

func budgetRows() []*catalog.Row {
	return []*catalog.Row{callBudgetRow, tokenBudgetRow, costBudgetRow, timeBudgetRow, memoryBudgetRow, diskBudgetRow}
}

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
	return countBudget("call", limit, refill, true, func(use) (float64, bool) { return 1, true })
}

var callBudgetRow = catalog.Fault(catalog.Row{
	Kind: "call_budget", Doc: "Calls beyond a number are refused.",
	Order: catalog.Deliveries,
	Go:    "fault.CallBudget(limit, refill)", Example: `{"limit":3,"refill":"1h0m0s"}`,
	Layer: chaos.LayerResource, Class: chaos.ClassCrash, Visibility: chaos.Explicit,
	Persistence: chaos.Permanent, Effect: chaos.EffectNone,
}, func(p budgetParams) chaos.Fault { return CallBudget(p.Limit, p.Refill) })

// quota are the parameters of a fault with a limit.
type quota struct {
	Limit int `json:"limit" bounds:"min=1" doc:"number of calls, bytes or what the kind counts"`
}

type refillParam struct {
	Refill time.Duration `json:"refill,omitempty" bounds:"min=0" doc:"time after which the whole budget is there again; left out: never"`
}

type budgetParams struct {
	quota
	refillParam
}

// countBudget is a budget of a number of something.
func countBudget(resource string, limit int, refill time.Duration, before bool,
	measure func(use) (float64, bool)) chaos.Fault {
	return &budget{terms: terms{resource: resource, limit: float64(limit), refill: refill, before: before,
		measure: measure,
		params:  budgetParams{quota{limit}, refillParam{refill}}}}
}

// TokenBudget fails calls once the calls before have used limit tokens in
// total, input and output, according to their results. The call that uses up
// the budget is not ended. limit is at least 1. The rest is as with
// [CallBudget].
//
// A result without usage, such as a response that is a stream of events, costs
// nothing, and the event has a note.
func TokenBudget(limit int, usage Usage, refill time.Duration) chaos.Fault {
	p := tokenParams{quota{limit}, usageParam{usage.name}, refillParam{refill}}
	bounded := p
	bounded.usageParam = anyUsage
	return &budget{terms: terms{
		resource: "token", limit: float64(limit), refill: refill, measure: usage.measure(1, 1),
		params: p, bounded: bounded, check: usage.check,
	}}
}

var tokenBudgetRow = catalog.Fault(catalog.Row{
	Kind: "token_budget", Doc: "Calls are refused once the tokens are used up.",
	Order: catalog.Deliveries,
	Go:    "fault.TokenBudget(limit, usage, refill)", Example: `{"limit":30,"usage":"openai"}`,
	Layer: chaos.LayerResource, Class: chaos.ClassCrash, Visibility: chaos.Explicit,
	Persistence: chaos.Permanent, Effect: chaos.EffectNone,
}, func(p tokenParams) chaos.Fault { return TokenBudget(p.Limit, p.usage(), p.Refill) })

type tokenParams struct {
	quota
	usageParam
	refillParam
}

// CostBudget is [TokenBudget] in money. limit is an amount in any currency,
// more than 0. The prices are those of a million tokens in the same currency,
// at least 0 and not both 0.
func CostBudget(limit, inputPrice, outputPrice float64, usage Usage, refill time.Duration) chaos.Fault {
	const million = 1e6
	p := costParams{limit, inputPrice, outputPrice, usageParam{usage.name}, refillParam{refill}}
	bounded := p
	bounded.usageParam = anyUsage
	return &budget{terms: terms{
		resource: "cost", limit: limit, refill: refill, measure: usage.measure(inputPrice/million, outputPrice/million),
		params: p, bounded: bounded, check: func(c *catalog.Check) {
			c.That(!math.IsInf(limit, 1), "limit", limit, "a number of more than 0 that is finite")
			c.That(inputPrice != 0 || outputPrice != 0, "outputPrice", outputPrice,
				"a price of a million tokens, 0 or more, and more than 0 if inputPrice is not")
			usage.check(c)
		},
	}}
}

var costBudgetRow = catalog.Fault(catalog.Row{
	Kind: "cost_budget", Doc: "Calls are refused once the money is spent.",
	Order:   catalog.Deliveries,
	Go:      "fault.CostBudget(limit, inputPrice, outputPrice, usage, refill)",
	Example: `{"limit":0.0001,"inputPrice":2.5,"outputPrice":10,"usage":"openai"}`,
	Layer:   chaos.LayerResource, Class: chaos.ClassCrash, Visibility: chaos.Explicit,
	Persistence: chaos.Permanent, Effect: chaos.EffectNone,
}, func(p costParams) chaos.Fault {
	return CostBudget(p.Limit, p.InputPrice, p.OutputPrice, p.usage(), p.Refill)
})

// costParams bounds prices so that none is infinite, which has no JSON.
type costParams struct {
	Limit       float64 `json:"limit" bounds:"over=0" doc:"amount of money"`
	InputPrice  float64 `json:"inputPrice,omitempty" bounds:"min=0,max=1e15" allowed:"a price of a million tokens, 0 or more" doc:"of a million tokens"`
	OutputPrice float64 `json:"outputPrice,omitempty" bounds:"min=0,max=1e15" allowed:"a price of a million tokens, 0 or more" doc:"of a million tokens"`
	usageParam
	refillParam
}

// TimeBudget fails calls once the calls before have taken limit in total,
// concurrent or not. A call in progress is not ended. limit is more than 0. The
// rest is as with [CallBudget].
func TimeBudget(limit, refill time.Duration) chaos.Fault {
	return &budget{terms: terms{
		resource: "time", limit: limit.Seconds(), refill: refill, params: timeParams{limit, refillParam{refill}},
		measure: func(u use) (float64, bool) { return u.took.Seconds(), true },
	}}
}

var timeBudgetRow = catalog.Fault(catalog.Row{
	Kind: "time_budget", Doc: "Calls are refused once earlier calls took too long.",
	Order: catalog.Deliveries,
	Go:    "fault.TimeBudget(limit, refill)", Example: `{"limit":"10s"}`,
	Layer: chaos.LayerResource, Class: chaos.ClassCrash, Visibility: chaos.Explicit,
	Persistence: chaos.Permanent, Effect: chaos.EffectNone,
}, func(p timeParams) chaos.Fault { return TimeBudget(p.Limit, p.Refill) })

type timeParams struct {
	Limit time.Duration `json:"limit" bounds:"over=0" doc:"time that all calls may take together"`
	refillParam
}

// MemoryBudget fails calls as a process without free memory does, once the
// results of the calls before have limit bytes in total, as JSON or as text.
// limit is at least 1. The rest is as with [CallBudget].
//
// Of an HTTP response, the bytes count that the client read of the body, up to
// 4 MiB. Items of a stream are not measured: a stream counts as a dozen bytes.
func MemoryBudget(limit int, refill time.Duration) chaos.Fault {
	return countBudget("memory", limit, refill, false, func(u use) (float64, bool) {
		if u.err != nil {
			return 0, true
		}
		return size(u.result)
	})
}

var memoryBudgetRow = catalog.Fault(catalog.Row{
	Kind: "memory_budget", Doc: "Calls fail once the results of earlier calls fill the memory.",
	Order: catalog.Deliveries,
	Go:    "fault.MemoryBudget(limit, refill)", Example: `{"limit":500}`,
	Layer: chaos.LayerResource, Class: chaos.ClassCrash, Visibility: chaos.Explicit,
	Persistence: chaos.Permanent, Effect: chaos.EffectNone,
}, func(p budgetParams) chaos.Fault { return MemoryBudget(p.Limit, p.Refill) })

// DiskBudget fails a call if its arguments and those of the calls before have
// more than limit bytes in total, as JSON or as text. limit is at least 1. The
// error is that of [DiskFull]. The rest is as with [CallBudget].
func DiskBudget(limit int, refill time.Duration) chaos.Fault {
	return countBudget("disk", limit, refill, true, func(u use) (float64, bool) { return size(u.args) })
}

var diskBudgetRow = catalog.Fault(catalog.Row{
	Kind: "disk_budget", Doc: "Calls fail once the arguments of earlier calls fill the disk.",
	Order: catalog.Deliveries,
	Go:    "fault.DiskBudget(limit, refill)", Example: `{"limit":30}`,
	Layer: chaos.LayerResource, Class: chaos.ClassCrash, Visibility: chaos.Explicit,
	Persistence: chaos.Permanent, Effect: chaos.EffectNone,
}, func(p budgetParams) chaos.Fault { return DiskBudget(p.Limit, p.Refill) })

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
	resource string // as in BudgetError
	limit    float64
	refill   time.Duration // 0: never
	measure  func(u use) (amount float64, known bool)
	before   bool                 // what a call uses is known before it is made
	params   any                  // as the row has them
	bounded  any                  // params as their bounds apply; nil: params
	check    func(*catalog.Check) // what bounds cannot say; nil: nothing
}

// row is the row of the budget, which its resource names.
func (t *terms) row() *catalog.Row { return rowOf(budgetRows(), t.resource+"_budget") }

// use is what a budget measures of a call.
type use struct {
	args, result any
	err          error
	took         time.Duration
}

func (b *budget) Fresh() chaos.Fault { return &budget{terms: b.terms} }

func (b *budget) Check() error {
	c := b.row().Check(cmp.Or(b.bounded, b.params))
	if b.check != nil {
		b.check(c)
	}
	return c.Err()
}

// Describe calls a budget transient that is filled again.
func (b *budget) Describe() chaos.Description {
	d := b.row().Describe(b.params)
	if b.refill > 0 {
		d.Persistence = chaos.Transient
	}
	return d
}

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
