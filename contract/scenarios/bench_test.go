package scenarios_test

import (
	"fmt"
	"testing"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract/scenarios"
)

// BenchmarkCombine has the scenarios of n choices of three rules beside the full product.
func BenchmarkCombine(b *testing.B) {
	for _, n := range []int{5, 10, 20} {
		b.Run(fmt.Sprintf("choices=%d", n), func(b *testing.B) {
			var choices [][]chaos.Rule
			product := 1.
			for i := range n {
				choices = append(choices, []chaos.Rule{rule(i, 0), rule(i, 1), rule(i, 2)})
				product *= 4
			}
			made := 0
			for b.Loop() {
				all, err := scenarios.Combine(2, choices...)
				if err != nil {
					b.Fatal(err)
				}
				made = len(all)
			}
			b.ReportMetric(float64(made), "scenarios")
			b.ReportMetric(product, "combinations")
		})
	}
}
