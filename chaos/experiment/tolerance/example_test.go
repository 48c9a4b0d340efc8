package tolerance_test

import (
	"context"
	"fmt"

	"github.com/shakedown-go/shakedown/chaos/experiment/tolerance"
)

func ExamplePath() {
	pods := tolerance.Path("$.items[?(@.phase=='Running')].name").Expect("a", "c")
	held, err := pods.Holds(context.Background(), `{"items": [
		{"name": "a", "phase": "Running"}, {"name": "b", "phase": "Pending"}, {"name": "c", "phase": "Running"}]}`)
	fmt.Println(held, err)
	// Output: true <nil>
}
