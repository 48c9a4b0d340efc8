package fault

import (
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
	return callBudget.Of(budget{quota{limit}, refillParam{refill}})
}

var callBudget = &catalog.Remember[budget, spent]{
	Row: catalog.Row{Kind: "call_budget", Doc: "Calls beyond a number are refused.", Order: catalog.Deliveries,
		Go: "fault.CallBudget(limit, refill)", Example: `{"limit":3,"refill":"1h0m0s"}`, Layer: chaos.LayerResource,
		Class: chaos.ClassCrash, Visibility: chaos.Explicit, Persistence: chaos.Permanent, Effect: chaos.EffectNone},
	Phase: chaos.PhaseBefore,
	Inject: func(s *spent, ctx context.Context, _ chaos.Call, p budget, args any, next chaos.Next) (any, error) {
		return s.call(ctx, args, next, terms{"call", float64(p.Limit), p.Refill, nil})
	},
}

// quota are the parameters of a fault with a limit.
type quota struct {
	Limit int `json:"limit" bounds:"min=1" doc:"number of calls, bytes or what the kind counts"`
}

type refillParam struct {
	Refill time.Duration `json:"refill,omitempty" bounds:"min=0" doc:"time after which the whole budget is there again; left out: never"`
}

// Coordinates calls a budget transient that is filled again.
func (p refillParam) Coordinates(d *chaos.Description) {
	if p.Refill > 0 {
		d.Persistence = chaos.Transient
	}
}

type budget struct {
	quota
	refillParam
}

// TokenBudget fails calls once the calls before have used limit tokens in
// total, input and output, according to their results. The call that uses up
// the budget is not ended. limit is at least 1. The rest is as with
// [CallBudget].
//
// A result without usage, such as a response that is a stream of events, costs
// nothing, and the event has a note.
func TokenBudget(limit int, usage Usage, refill time.Duration) chaos.Fault {
	return tokenBudget.Of(tokenParams{quota{limit}, usageParam{string(usage)}, refillParam{refill}})
}

var tokenBudget = &catalog.Remember[tokenParams, spent]{
	Row: catalog.Row{Kind: "token_budget", Doc: "Calls are refused once the tokens are used up.",
		Order: catalog.Deliveries, Go: "fault.TokenBudget(limit, usage, refill)",
		Example: `{"limit":30,"usage":"openai"}`, Layer: chaos.LayerResource, Class: chaos.ClassCrash,
		Visibility: chaos.Explicit, Persistence: chaos.Permanent, Effect: chaos.EffectNone},
	Phase: chaos.PhaseBefore,
	Inject: func(s *spent, ctx context.Context, _ chaos.Call, p tokenParams, args any, next chaos.Next) (any, error) {
		return s.call(ctx, args, next, terms{"token", float64(p.Limit), p.Refill, p.measure(1, 1)})
	},
}

type tokenParams struct {
	quota
	usageParam
	refillParam
}

// CostBudget is [TokenBudget] in money. limit is an amount in any currency,
// more than 0. The prices are those of a million tokens in the same currency,
// at least 0 and not both 0.
func CostBudget(limit, inputPrice, outputPrice float64, usage Usage, refill time.Duration) chaos.Fault {
	return costBudget.Of(costParams{limit, inputPrice, outputPrice, usageParam{string(usage)}, refillParam{refill}})
}

var costBudget = &catalog.Remember[costParams, spent]{
	Row: catalog.Row{Kind: "cost_budget", Doc: "Calls are refused once the money is spent.", Order: catalog.Deliveries,
		Go:      "fault.CostBudget(limit, inputPrice, outputPrice, usage, refill)",
		Example: `{"limit":0.0001,"inputPrice":2.5,"outputPrice":10,"usage":"openai"}`, Layer: chaos.LayerResource,
		Class: chaos.ClassCrash, Visibility: chaos.Explicit, Persistence: chaos.Permanent, Effect: chaos.EffectNone},
	Phase: chaos.PhaseBefore,
	Inject: func(s *spent, ctx context.Context, _ chaos.Call, p costParams, args any, next chaos.Next) (any, error) {
		return s.call(ctx, args, next, terms{"cost", p.Limit, p.Refill, p.measure(p.InputPrice/million, p.OutputPrice/million)})
	},
}

// costParams bounds prices so that none is infinite, which has no JSON.
type costParams struct {
	Limit       float64 `json:"limit" bounds:"over=0" doc:"amount of money"`
	InputPrice  float64 `json:"inputPrice,omitempty" bounds:"min=0,max=1e15" allowed:"a price of a million tokens, 0 or more" doc:"of a million tokens"`
	OutputPrice float64 `json:"outputPrice,omitempty" bounds:"min=0,max=1e15" allowed:"a price of a million tokens, 0 or more" doc:"of a million tokens"`
	usageParam
	refillParam
}

const million = 1e6 // tokens, for which prices are

func (p costParams) Check(c *catalog.Check) {
	c.That(!math.IsInf(p.Limit, 1), "limit", p.Limit, "a number of more than 0 that is finite")
	c.That(p.InputPrice != 0 || p.OutputPrice != 0, "outputPrice", p.OutputPrice,
		"a price of a million tokens, 0 or more, and more than 0 if inputPrice is not")
}

// TimeBudget fails calls once the calls before have taken limit in total,
// concurrent or not. A call in progress is not ended. limit is more than 0. The
// rest is as with [CallBudget].
func TimeBudget(limit, refill time.Duration) chaos.Fault {
	return timeBudget.Of(timeParams{limit, refillParam{refill}})
}

var timeBudget = &catalog.Remember[timeParams, spent]{
	Row: catalog.Row{Kind: "time_budget", Doc: "Calls are refused once earlier calls took too long.",
		Order: catalog.Deliveries, Go: "fault.TimeBudget(limit, refill)", Example: `{"limit":"10s"}`,
		Layer: chaos.LayerResource, Class: chaos.ClassCrash, Visibility: chaos.Explicit, Persistence: chaos.Permanent,
		Effect: chaos.EffectNone},
	Phase: chaos.PhaseBefore,
	Inject: func(s *spent, ctx context.Context, _ chaos.Call, p timeParams, args any, next chaos.Next) (any, error) {
		return s.call(ctx, args, next, terms{"time", p.Limit.Seconds(), p.Refill, timeOf})
	},
}

type timeParams struct {
	Limit time.Duration `json:"limit" bounds:"over=0" doc:"time that all calls may take together"`
	refillParam
}

func timeOf(u use) (amount float64, known bool) { return u.took.Seconds(), true }

// MemoryBudget fails calls as a process without free memory does, once the
// results of the calls before have limit bytes in total, as JSON or as text.
// limit is at least 1. The rest is as with [CallBudget].
//
// Of an HTTP response, the bytes count that the client read of the body, up to
// 4 MiB. Items of a stream are not measured: a stream counts as a dozen bytes.
func MemoryBudget(limit int, refill time.Duration) chaos.Fault {
	return memoryBudget.Of(budget{quota{limit}, refillParam{refill}})
}

var memoryBudget = &catalog.Remember[budget, spent]{
	Row: catalog.Row{Kind: "memory_budget", Doc: "Calls fail once the results of earlier calls fill the memory.",
		Order: catalog.Deliveries, Go: "fault.MemoryBudget(limit, refill)", Example: `{"limit":500}`,
		Layer: chaos.LayerResource, Class: chaos.ClassCrash, Visibility: chaos.Explicit, Persistence: chaos.Permanent,
		Effect: chaos.EffectNone},
	Phase: chaos.PhaseBefore,
	Inject: func(s *spent, ctx context.Context, _ chaos.Call, p budget, args any, next chaos.Next) (any, error) {
		return s.call(ctx, args, next, terms{"memory", float64(p.Limit), p.Refill, memoryOf})
	},
}

func memoryOf(u use) (amount float64, known bool) {
	if u.err != nil {
		return 0, true
	}
	return size(u.result)
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

// spent counts what calls use. All targets of a rule share it within one injector.
type spent struct {
	mu    sync.Mutex
	used  float64
	since time.Time // of the first use after it was filled
}

type terms struct {
	resource string // as in BudgetError
	limit    float64
	refill   time.Duration                          // 0: never
	measure  func(use) (amount float64, known bool) // what a call used; nil: each is 1, charged before it is made
}

type use struct {
	result any
	err    error
	took   time.Duration
}

// call makes a call if the budget is not used up.
func (s *spent) call(ctx context.Context, args any, next chaos.Next, t terms) (any, error) {
	if err := s.take(t); err != nil {
		return nil, err
	}
	skip(ctx)
	if t.measure == nil {
		return next(ctx, args)
	}
	u, start := use{err: errPanicked}, time.Now()
	defer func() {
		if u.err == errPanicked { // that took time, and gave nothing
			u.took = time.Since(start)
			amount, _ := t.measure(u)
			s.charge(ctx, t, amount, true)
		}
	}()
	result, err := next(ctx, args)
	u = use{result, err, time.Since(start)}
	amount, known := t.measure(u)
	if later, ok := result.(readLater); ok && !known {
		return s.await(ctx, t, u, later)
	}
	s.charge(ctx, t, amount, known)
	return result, err
}

// readLater is a result whose document the caller reads after the call, such as
// an HTTP response. OnRead returns the result to give to the caller instead,
// and calls done when that was read.
type readLater interface {
	OnRead(ctx context.Context, done func(doc []byte, err error)) (result any, ok bool)
}

// await charges the budget once the caller has read the document.
func (s *spent) await(ctx context.Context, t terms, u use, r readLater) (any, error) {
	late, end := chaos.KeepOpen(ctx)
	result, ok := r.OnRead(ctx, func(doc []byte, err error) {
		u.result = json.RawMessage(doc)
		amount, known := t.measure(u)
		s.charge(late, t, amount, known)
		_ = end(err, false) // the caller has it from the body
	})
	if !ok {
		s.charge(ctx, t, 0, false)
		_ = end(nil, false)
		return u.result, nil
	}
	return result, nil
}

var errPanicked = errors.New("the callee panicked")

func (s *spent) charge(ctx context.Context, t terms, amount float64, known bool) {
	if !known {
		chaos.Note(ctx, "the result does not say what it used of the "+t.resource+" budget")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if amount > 0 { // neither a negative usage nor NaN
		s.used += amount
	}
}

func (s *spent) take(t terms) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if t.refill > 0 && now.Sub(s.since) >= t.refill {
		s.used, s.since = 0, now
	}
	if s.used >= t.limit {
		err := &BudgetError{Resource: t.resource, Limit: t.limit, Used: s.used}
		if t.refill > 0 {
			err.RetryAfter = t.refill - now.Sub(s.since)
		}
		return err
	}
	if t.measure == nil {
		s.used++
	}
	return nil
}

// RateLimit fails a call with a [*BudgetError] if limit calls were let through
// within the last per. Its RetryAfter is the time until one more will be.
// Refused calls do not count. limit is at least 1, per more than 0. The rest is
// as with [CallBudget].
func RateLimit(limit int, per time.Duration) chaos.Fault {
	return rateLimit.Of(rateParams{quota{limit}, per})
}

var rateLimit = &catalog.Remember[rateParams, rate]{
	Row: catalog.Row{Kind: "rate_limit", Doc: "Calls beyond a rate are refused.", Order: catalog.Deliveries,
		Go: "fault.RateLimit(limit, per)", Example: `{"limit":3,"per":"10s"}`, Layer: chaos.LayerResource,
		Class: chaos.ClassCrash, Visibility: chaos.Explicit, Effect: chaos.EffectNone},
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
	Row: catalog.Row{Kind: "concurrency_limit", Doc: "Calls beyond a number in progress are refused.",
		Order: catalog.Deliveries, Go: "fault.ConcurrencyLimit(limit)", Example: `{"limit":1}`,
		Layer: chaos.LayerResource, Class: chaos.ClassCrash, Visibility: chaos.Explicit, Effect: chaos.EffectNone},
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

// A Usage says how the result of a call tells how many tokens it used. The result
// is a JSON document, or a Go value that encodes to it. Of an HTTP response it is the
// body, which counts once the client has read or closed it.
type Usage string

// The ways to read a usage.
const (
	// OpenAIUsage reads the usage member of OpenAI's answers, chat completions and
	// responses, and of compatible services.
	OpenAIUsage Usage = "openai"
	// AnthropicUsage reads that of Anthropic's messages. Tokens written to and read
	// from the cache count as input.
	AnthropicUsage Usage = "anthropic"
)

// usageParam is a usage as a parameter.
type usageParam struct {
	Usage string `json:"usage" bounds:"enum=openai|anthropic" doc:"provider whose answers hold the usage"`
}

// measure computes what a call used, at these prices of a token.
func (p usageParam) measure(input, output float64) func(use) (amount float64, known bool) {
	return func(call use) (float64, bool) {
		if call.err != nil {
			return 0, true
		}
		u, known := usageOf(call.result)
		if Usage(p.Usage) == AnthropicUsage {
			return (u.Input+u.CacheWrite+u.CacheRead)*input + u.Output*output, known
		}
		return (u.Prompt+u.Input)*input + (u.Completion+u.Output)*output, known
	}
}

type usageJSON struct {
	Prompt     float64 `json:"prompt_tokens"`
	Completion float64 `json:"completion_tokens"`
	Input      float64 `json:"input_tokens"`
	Output     float64 `json:"output_tokens"`
	CacheWrite float64 `json:"cache_creation_input_tokens"`
	CacheRead  float64 `json:"cache_read_input_tokens"`
}

func usageOf(result any) (u usageJSON, known bool) {
	doc, ok := jsonvalue.Text(result)
	if !ok {
		var err error
		if doc, err = jsonvalue.Encode(result); err != nil {
			return u, false
		}
	}
	answer, err := jsonvalue.Decode[struct{ Usage *usageJSON }](doc)
	if err != nil || answer.Usage == nil {
		return u, false
	}
	return *answer.Usage, true
}
