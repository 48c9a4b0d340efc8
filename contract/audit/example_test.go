package audit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract/audit"
)

// A refund that looks whether it was made, and is made a moment later: two calls at once are two refunds.
func Example() {
	type order struct {
		Order string `json:"order"`
	}
	newWorld := func(context.Context) (*audit.World, error) {
		var mu sync.Mutex
		refunds := map[string]int{}
		refund := chaos.Func(chaos.Tool{Name: "refund"}, func(_ context.Context, in order) (string, error) {
			mu.Lock()
			done := refunds[in.Order] > 0
			mu.Unlock()
			if done {
				return "refunded", nil
			}
			time.Sleep(20 * time.Millisecond) // the payment provider
			mu.Lock()
			defer mu.Unlock()
			refunds[in.Order]++
			return "refunded", nil
		})
		tools, err := chaos.NewRegistry(refund)
		return &audit.World{Tools: tools, State: func(context.Context) (any, error) {
			mu.Lock()
			defer mu.Unlock()
			return maps.Clone(refunds), nil
		}}, err
	}
	r, err := audit.Run(context.Background(), &audit.Options{
		NewWorld: newWorld,
		Claims:   map[string]audit.Claims{"refund": {Idempotent: new(true)}},
		Example:  map[string]json.RawMessage{"refund": json.RawMessage(`{"order":"1042"}`)},
		Allow:    []string{"refund"},
	}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range r.Tools {
		fmt.Printf("%s: %s; idempotentHint is %s\n%s\n", t.Tool, t.Verdict, t.Idempotent, t.Why)
	}
	// Output:
	// refund: doubles; idempotentHint is contradicted
	// at-once: the work is done more than once: "/1042" is 2, and after one call 1
}
