package when_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// shape is what the injection points of a site are like; the zero value is a
// function that takes no time.
type shape struct {
	stream  bool          // they return streams of three items
	object  bool          // their arguments are JSON objects
	takes   time.Duration // their callee's time
	workers int           // that call by the clock, where calls must meet; 0: one
}

// point is a function on numbers in front of an injection point of that shape.
func (s shape) point(target string, o *chaos.WrapOptions[int]) func(context.Context, int) (string, error) {
	answer := func(_ context.Context, n int) (string, error) {
		time.Sleep(s.takes)
		return fmt.Sprint("item ", n), nil
	}
	switch {
	case s.stream:
		words := chaos.WrapStreamWith(target, func(_ context.Context, n int) iter.Seq2[string, error] {
			return func(yield func(string, error) bool) {
				_ = yield("item", nil) && yield(fmt.Sprint(n), nil) && yield("end", nil)
			}
		}, o)
		return func(ctx context.Context, n int) (all string, err error) {
			for word, err := range words(ctx, n) {
				if all += word; err != nil {
					return all, err
				}
			}
			return all, nil
		}
	case s.object:
		type args struct {
			N, More int
			Agent   string
		}
		fn := chaos.WrapWith(target, func(ctx context.Context, a args) (string, error) { return answer(ctx, a.N) },
			&chaos.WrapOptions[args]{Key: func(a args) uint64 { return o.Key(a.N) }})
		return func(ctx context.Context, n int) (string, error) { return fn(ctx, args{N: n}) }
	}
	return chaos.WrapWith(target, answer, o)
}

// faultClaims has the rows of the families of faults.
func faultClaims() (rows []claimed) {
	half := when.Prob(0.5)
	const ms = time.Millisecond
	add := func(claim catalog.Order, row string, f chaos.Fault, w chaos.When, s shape) {
		rows = append(rows, claimed{row: "fault." + row, claim: claim, rule: chaos.Rule{When: w, Fault: f}, site: s})
	}
	drawn := func(row string, f chaos.Fault) { add(independent, row, f, half, shape{}) }
	stream := func(row string, f chaos.Fault) { add(independent, row, f, half, shape{stream: true}) }
	ordered := func(row string, f chaos.Fault) { add(deliveries, row, f, nil, shape{}) }
	length := fault.UsageFunc("length", func(s string) (int, int) { return len(s), 0 })
	tell := func(_ context.Context, n int) (string, error) { return fmt.Sprint("other ", n), nil }

	drawn("Spike", fault.Spike(0, 20*ms, 0.5))
	add(sequential, "RampUp", fault.RampUp(ms, 50*ms), half, shape{})
	add(timed, "RampUpWith", fault.RampUpWith(50*ms, time.Minute), half, shape{})
	drawn("AuthExpired", fault.AuthExpired())
	drawn("ToolRemoved", fault.ToolRemoved("orders"))

	drawn("LoseRequest", fault.LoseRequest(10*ms))
	drawn("DeliverTwice", fault.DeliverTwice())
	ordered("ReplayRequest", fault.ReplayRequest())
	ordered("SilentNoOp", fault.SilentNoOp())
	drawn("SilentNoOpWith", fault.SilentNoOpWith("done"))
	ordered("LateResult", fault.LateResult("orders", ms, 3*ms))
	add(independent, "IgnoreCancel", fault.IgnoreCancel(), half, shape{takes: time.Hour + time.Minute})
	ordered("DelayedVisibility", fault.DelayedVisibility("orders", 300*ms, "nothing"))
	add(deliveries, "ReorderCalls", fault.ReorderCalls(time.Second), nil, shape{takes: 250 * ms, workers: 8})

	stream("CutAfter", fault.CutAfter(1))
	stream("CutAfterWith", fault.CutAfterWith(1, io.ErrClosedPipe))
	stream("HangAtItem", fault.HangAtItem(1))
	stream("SlowFirstItem", fault.SlowFirstItem(20*ms))
	stream("SlowItems", fault.SlowItems(20*ms))
	stream("DuplicateItem", fault.DuplicateItem(1))
	stream("MalformItem", fault.MalformItem(1))
	stream("MutateItem", fault.MutateItem(0, "shout", strings.ToUpper))
	stream("EndAfter", fault.EndAfter(1))
	stream("DropLastItem", fault.DropLastItem())
	stream("ReorderItems", fault.ReorderItems(3))

	ordered("CallBudget", fault.CallBudget(20, 0))
	ordered("RateLimit", fault.RateLimit(2, 300*ms))
	ordered("TokenBudget", fault.TokenBudget(100, length, 0))
	ordered("CostBudget", fault.CostBudget(0.001, 10, 10, length, 0))
	add(deliveries, "TimeBudget", fault.TimeBudget(3*time.Second, 0), nil, shape{takes: 100 * ms})
	ordered("MemoryBudget", fault.MemoryBudget(100, 0))
	ordered("DiskBudget", fault.DiskBudget(40, 0))
	drawn("DiskFull", fault.DiskFull())
	add(deliveries, "ConcurrencyLimit", fault.ConcurrencyLimit(2), nil, shape{takes: 250 * ms, workers: 8})

	drawn("As", fault.As("guardrail_down", fault.Fail(fault.ErrUnavailable)))
	ordered("StaleApproval", fault.StaleApproval("item 3"))

	add(independent, "CorruptHandoff", fault.CorruptHandoff(json.RawMessage(`{"More":1}`)), half, shape{object: true})
	drawn("CorruptHandoffWith", fault.CorruptHandoffWith("next", func(n int) int { return n + 1 }))
	add(independent, "Misroute", fault.Misroute("Agent", "billing"), half, shape{object: true})
	drawn("MisrouteWith", fault.MisrouteWith("others", tell))
	drawn("CycleHandoff", fault.CycleHandoff("back to you"))
	return rows
}
