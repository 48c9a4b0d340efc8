package chaostest_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaostest"
)

// gone is a fault with two flaws: it swallows the error of the callee, and it
// does not declare what it changes.
type gone struct{}

func (gone) Phase() chaos.Phase { return chaos.PhaseChange }

func (gone) Inject(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
	_, _ = next(ctx, args)
	return nil, nil
}

// In a test this runs in a bubble of testing/synctest.
func ExampleFault() {
	fmt.Println(chaostest.Fault(gone{}, nil))
	// Output:
	// chaostest: honest: the caller got null where the callee gave {"id":1042,"status":"shipped","total":17.5,"paid":true,"note":null,"items":["kettle","cup"],"custome…, and Changed was not called
	// chaostest: passes-errors: the callee failed with "no such order", and the caller got <nil>
}

// forgetful is a trigger that counts calls itself, so that its answer changes when it
// is asked again.
type forgetful struct{ asked int }

func (w *forgetful) Match(chaos.Call) bool {
	w.asked++
	return w.asked%2 == 0
}

func ExampleWhen() {
	var v *chaostest.Violation
	if errors.As(chaostest.When(&forgetful{}, nil), &v) {
		fmt.Println(v.Check)
	}
	// Output: pure
}
