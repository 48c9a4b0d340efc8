package chaosio_test

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaosio"
	"github.com/shakedown-go/shakedown/chaos/fault"
)

// A download breaks off after two chunks of eight bytes.
func Example() {
	plan, err := chaos.NewPlan(1, chaos.Rule{Target: "download", Fault: fault.CutAfter(2)})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := chaos.NewContext(context.Background(), plan.Injector("example", nil))
	r := chaosio.NewReader(ctx, "download", strings.NewReader("one two three four five"), &chaosio.Options{Chunk: 8})
	got, err := io.ReadAll(r)
	fmt.Printf("%q %v\n", got, err)
	fmt.Println(r.Close())
	// Output:
	// "one two three fo" unexpected EOF
	// <nil>
}
