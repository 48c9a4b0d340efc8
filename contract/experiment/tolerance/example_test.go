package tolerance_test

import (
	"context"
	"fmt"

	"github.com/shakedown-go/shakedown/contract/experiment/tolerance"
)

func ExamplePath() {
	pods := tolerance.Path("$.items[?(@.phase=='Running')]").Count(2)
	held, err := pods.Holds(context.Background(), `{"items": [{"phase": "Running"}, {"phase": "Pending"}, {"phase": "Running"}]}`)
	fmt.Println(held, err)
	// Output: true <nil>
}

func ExampleDistribution() {
	canary := tolerance.Distribution(map[string]float64{"200": 0.9, "201": 0.1}, 0.05)
	answers := []int{200, 200, 200, 200, 201, 200, 200, 200, 200, 200}
	held, err := canary.Holds(context.Background(), answers)
	fmt.Println(held, err)
	// Output: true <nil>
}
