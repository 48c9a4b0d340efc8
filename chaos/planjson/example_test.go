package planjson_test

import (
	"context"
	"fmt"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/planjson"
	"github.com/shakedown-go/shakedown/chaos/when"
)

func ExampleDecode() {
	plan, err := planjson.Decode([]byte(`{
		"seed": "7",
		"rules": [
			{"target": "refund", "when": {"kind": "nth", "params": {"n": [2]}}, "fault": {"kind": "error", "params": {"message": "service unavailable"}}}
		]
	}`), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	refund := chaos.Wrap("refund", func(context.Context, string) (string, error) { return "refunded", nil })
	ctx := chaos.NewContext(context.Background(), plan.Injector("example", nil))
	for range 3 {
		fmt.Println(refund(ctx, "A-1041"))
	}
	// Output:
	// refunded <nil>
	//  service unavailable
	// refunded <nil>
}

// All that is wrong is said at once, each with its place.
func ExampleDecode_mistakes() {
	_, err := planjson.Decode([]byte(`{
		"seed": "7",
		"rules": [
			{"target": "refund", "cooldown": "10s", "when": {"kind": "probability", "params": {"p": 0.3}}, "fault": {"kind": "hang"}},
			{"target": "search", "fault": {"kind": "latency", "params": {"distribution": "fixed", "duration": "-2s"}}}
		]
	}`), nil)
	fmt.Println(err)
	// Output:
	// planjson: /rules/0/when/kind: unknown kind "probability"; allowed: did you mean prob? One of after, all, always, any, args, between, burst, early, every, exactly, first, flapping, gilbert_elliott, intermittent, lane, late, markov, mid, not, nth, prob, since, stages, turn, turn_between
	// planjson: /rules/0/cooldown: unknown field; allowed: one of name, target, when, fault, limit, coolDown, group, layer; did you mean coolDown?
	// planjson: /rules/1/fault/params/duration: bad value "-2s"; allowed: a duration of more than 0: a delay of nothing is no fault
}

func ExampleEncode() {
	plan, err := chaos.NewPlan(7, chaos.Rule{
		Name: "refunds are lost", Target: "refund", Limit: 2,
		When: when.All(when.After(3), when.Prob(0.5)), Fault: fault.LoseReply(),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	data, err := planjson.Encode(plan, nil)
	fmt.Print(string(data), err)
	// Output:
	// {
	//   "seed": "7",
	//   "rules": [
	//     {
	//       "name": "refunds are lost",
	//       "target": "refund",
	//       "when": {
	//         "kind": "all",
	//         "params": {"parts": [{"kind": "after", "params": {"n": 3}}, {"kind": "prob", "params": {"p": 0.5}}]}
	//       },
	//       "fault": {"kind": "lost_reply", "params": {"duration": "1s"}},
	//       "limit": 2
	//     }
	//   ]
	// }
	// <nil>
}

// hours are the parameters of a fault of the user's own.
type hours struct {
	Until int `json:"until" bounds:"min=0,max=23" doc:"hour at which the shop opens"`
}

// closed is a shop that is closed until an hour.
var closed = &catalog.Fail[hours]{
	Row: catalog.Row{Kind: "shop_closed", Doc: "The shop is closed.", Class: chaos.ClassCrash,
		Visibility: chaos.Explicit, Persistence: chaos.Transient, Effect: chaos.EffectNone},
	Fail: func(_ chaos.Call, p hours) error { return fmt.Errorf("closed until %d:00", p.Until) },
}

// A fault of one's own is read and written like any other.
func ExampleOptions() {
	o := &planjson.Options{Rows: catalog.List(closed)}
	plan, err := planjson.Decode([]byte(`{"seed": "1", "rules": [{"target": "order", "fault": {"kind": "shop_closed", "params": {"until": 9}}}]}`), o)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := chaos.NewContext(context.Background(), plan.Injector("example", nil))
	fmt.Println(chaos.Point(ctx, "order"))
	data, err := planjson.Encode(plan, o)
	fmt.Print(string(data), err)
	// Output:
	// closed until 9:00
	// {
	//   "seed": "1",
	//   "rules": [{"name": "order:shop_closed", "target": "order", "fault": {"kind": "shop_closed", "params": {"until": 9}}}]
	// }
	// <nil>
}
