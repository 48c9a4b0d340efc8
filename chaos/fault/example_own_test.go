package fault_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
)

// cut gives the caller the first n bytes of a text result.
type cut struct{ n int }

func (f cut) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	result, err := next(ctx, args)
	text, ok := result.(string)
	if err != nil || !ok || len(text) <= f.n {
		return result, err // nothing is changed, so nothing is declared
	}
	chaos.Changed(ctx, chaos.Change{Before: quote(text), After: quote(text[:f.n])})
	return text[:f.n], nil
}

func quote(s string) json.RawMessage {
	doc, _ := json.Marshal(s) // a string always has JSON
	return doc
}

// Phase puts the fault behind the callee.
func (f cut) Phase() chaos.Phase { return chaos.PhaseChange }

// Check is asked when a plan is made of the rule.
func (f cut) Check() error {
	if f.n < 0 {
		return fmt.Errorf("shop: cut: n is %d; allowed: 0 or more", f.n)
	}
	return nil
}

// Describe places the fault in reports.
func (f cut) Describe() chaos.Description {
	return chaos.Description{
		Kind: "cut_text", Params: fmt.Appendf(nil, `{"n":%d}`, f.n),
		Class: chaos.ClassOmission, Visibility: chaos.Implicit,
		Persistence: chaos.Transient, Effect: chaos.EffectDone,
	}
}

// quotaError is the error of the shop's own client library.
type quotaError struct{ wait time.Duration }

func (e quotaError) Error() string { return fmt.Sprintf("quota exceeded, try again in %v", e.wait) }

// quota fails as the shop's payment service does, with a wait of 1 to 30 s.
type quota struct{}

// drawWait is the salt of the draw: any number but 0, which triggers use.
const drawWait = 0x77616974

func (quota) Fail(c chaos.Call) error {
	return quotaError{time.Duration(1+c.Draw(drawWait)*30) * time.Second}
}

func (f quota) Inject(_ context.Context, c chaos.Call, _ any, _ chaos.Next) (any, error) {
	return nil, f.Fail(c)
}

// stutter hands over every n-th item of a stream twice.
type stutter struct{ n int }

func (f stutter) Stream(ctx context.Context, c chaos.Call, items iter.Seq2[any, error]) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		i := 0
		for item, err := range items {
			if !yield(item, err) {
				return // the consumer wants no more
			}
			if i++; err != nil || i%f.n != 0 || chaos.Sleep(ctx, 0) != nil {
				continue
			}
			chaos.Changed(ctx)
			if !yield(item, nil) {
				return
			}
		}
	}
}

// Inject is asked where there is no stream.
func (f stutter) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	chaos.Note(ctx, "not a stream")
	return next(ctx, args)
}

// Phase is that of all faults of streams.
func (f stutter) Phase() chaos.Phase { return chaos.PhaseChange }

// again matches the calls with arguments that the lane has sent before.
type again struct{}

func (again) Match(c chaos.Call) bool { return c.Occurrence > 0 }

func Example_yourOwn() {
	plan, err := chaos.NewPlan(1,
		chaos.Rule{Target: "describe", Fault: cut{n: 12}},
		chaos.Rule{Target: "pay", When: again{}, Fault: quota{}},
		chaos.Rule{Target: "parcels", Fault: stutter{n: 2}},
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	in := plan.Injector("example", nil)
	ctx := chaos.NewContext(context.Background(), in)
	describe := chaos.Wrap("describe", func(_ context.Context, item string) (string, error) {
		return "a " + item + " of good make", nil
	})
	pay := chaos.WrapWith("pay", func(_ context.Context, order uint64) (string, error) {
		return "paid", nil
	}, &chaos.WrapOptions[uint64]{Key: func(order uint64) uint64 { return order }})

	fmt.Println(describe(ctx, "table"))
	for _, order := range []uint64{1041, 1042, 1041} {
		fmt.Println(pay(ctx, order))
	}
	parcels := chaos.WrapStream("parcels", func(context.Context, struct{}) iter.Seq2[string, error] {
		return func(yield func(string, error) bool) { _ = yield("A1", nil) && yield("A2", nil) && yield("A3", nil) }
	})
	for parcel := range parcels(ctx, struct{}{}) {
		fmt.Print(parcel, ";")
	}
	fmt.Println()
	for _, e := range in.Events() {
		fmt.Println(e.Target, e.Fault, e.Delivered, len(e.Changes))
	}
	// Output:
	// a table of g <nil>
	// paid <nil>
	// paid <nil>
	//  quota exceeded, try again in 11s
	// A1;A2;A2;A3;
	// describe cut_text true 1
	// pay fault_test.quota true 0
	// parcels fault_test.stutter true 0
}
