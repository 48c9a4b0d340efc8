package tolerance_test

import (
	"context"
	"fmt"

	"github.com/shakedown-go/shakedown/chaos/experiment/tolerance"
)

func ExamplePath() {
	pods := tolerance.Path("$.items[?(@.phase=='Running')]").Count(2)
	held, err := pods.Holds(context.Background(), `{"items": [{"phase": "Running"}, {"phase": "Pending"}, {"phase": "Running"}]}`)
	fmt.Println(held, err)
	// Output: true <nil>
}
