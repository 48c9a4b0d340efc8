package fault_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/chaos/planjson"
)

// Abridge gives the caller the first n bytes of a text. n is at least 1.
func Abridge(n int) chaos.Fault { return abridge.Of(length{n}) }

var abridge = &catalog.Inject[length]{
	Row: catalog.Row{
		Kind: "abridged_text", Doc: "A text ends early.", Go: "shop.Abridge(n)", Example: `{"bytes":12}`,
		Class: chaos.ClassOmission, Visibility: chaos.Implicit, Persistence: chaos.Transient, Effect: chaos.EffectDone,
	},
	Phase: chaos.PhaseChange,
	Inject: func(ctx context.Context, c chaos.Call, p length, args any, next chaos.Next) (any, error) {
		result, err := next(ctx, args)
		text, ok := result.(string)
		if err != nil || !ok || len(text) <= p.Bytes {
			return result, err // nothing is changed, so nothing is declared
		}
		chaos.Changed(ctx, chaos.Change{Before: quote(text), After: quote(text[:p.Bytes])})
		return text[:p.Bytes], nil
	},
}

type length struct {
	Bytes int `json:"bytes" bounds:"min=1" doc:"length of what is left"`
}

func quote(s string) json.RawMessage {
	doc, _ := json.Marshal(s) // a string always has JSON
	return doc
}

func Example_yourOwn() {
	_, err := chaos.NewPlan(1, chaos.Rule{Name: "short", Target: "describe", Fault: Abridge(0)})
	fmt.Println(err)

	plan, err := planjson.Decode([]byte(`{
		"seed": "1",
		"rules": [{"target": "describe", "fault": {"kind": "abridged_text", "params": {"bytes": 12}}}]
	}`), &planjson.Options{Rows: catalog.List(abridge)})
	if err != nil {
		fmt.Println(err)
		return
	}
	in := plan.Injector("example", nil)
	ctx := chaos.NewContext(context.Background(), in)
	describe := chaos.Wrap("describe", func(_ context.Context, item string) (string, error) {
		return "a " + item + " of good make", nil
	})
	fmt.Println(describe(ctx, "table"))
	for _, e := range in.Events() {
		fmt.Println(e.Target, e.Fault, e.Delivered)
	}
	// Output:
	// chaos: rule "short": Fault: abridged_text: bytes is 0; allowed: an integer of 1 or more
	// a table of g <nil>
	// describe abridged_text true
}
