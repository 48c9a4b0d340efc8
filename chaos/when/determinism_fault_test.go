package when_test

import (
	"context"
	"fmt"
	"iter"
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
	ordered := func(row string, f chaos.Fault) { add(deliveries, row, f, nil, shape{}) }
	length := fault.UsageFunc("length", func(s string) (int, int) { return len(s), 0 })

	drawn("Spike", fault.Spike(0, 20*ms, 0.5))
	add(sequential, "RampUp", fault.RampUp(ms, 50*ms), half, shape{})
	add(timed, "RampUpWith", fault.RampUpWith(50*ms, time.Minute), half, shape{})
	drawn("ToolRemoved", fault.ToolRemoved("orders"))

	ordered("SilentNoOp", fault.SilentNoOp())
	drawn("SilentNoOpWith", fault.SilentNoOpWith("done"))
	ordered("LateResult", fault.LateResult("orders", ms, 3*ms))
	ordered("DelayedVisibility", fault.DelayedVisibility("orders", 300*ms, "nothing"))

	ordered("TokenBudget", fault.TokenBudget(100, length, 0))
	ordered("CostBudget", fault.CostBudget(0.001, 10, 10, length, 0))

	drawn("As", fault.As("guardrail_down", fault.Fail(fault.ErrUnavailable)))
	ordered("StaleApproval", fault.StaleApproval("item 3"))

	return rows
}
