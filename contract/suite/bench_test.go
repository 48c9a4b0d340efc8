package suite_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/shakedown-go/shakedown/contract/suite"
)

// lines is a file of about so many lines: half invariants, half scenarios.
func lines(n int) string {
	var invariants, scenarios strings.Builder
	for i := range n / 2 {
		fmt.Fprintf(&invariants, "{id: i%d, type: contains, value: x%d, severity: low}\n", i, i)
		fmt.Fprintf(&scenarios, "{name: s%d, tool_faults: [{tool: t%d, mode: error, probability: 0.5}]}\n", i, i)
	}
	return contractOf(invariants.String(), scenarios.String())
}

// A file of 1,000 lines is to be read within 20 ms, and time is linear in the lines: the
// ratio of the times per line is near 1. YAML is what the library alone takes for its tree.
func BenchmarkLoad(b *testing.B) {
	perLine := map[int]float64{}
	for _, n := range []int{1_000, 10_000, 100_000} {
		path := written(b, "s.yaml", lines(n))
		b.Run(fmt.Sprintf("lines=%d", n), func(b *testing.B) {
			begin := time.Now()
			for b.Loop() {
				_, err := suite.Load(path, nil)
				require.NoError(b, err)
			}
			elapsed := time.Since(begin)
			data, err := os.ReadFile(path)
			require.NoError(b, err)
			begin = time.Now()
			var doc yaml.Node
			require.NoError(b, yaml.Unmarshal(data, &doc))
			tree := time.Since(begin)
			b.ReportMetric(float64(elapsed)/float64(b.N)/float64(tree), "times-YAML")
			perLine[n] = float64(elapsed) / float64(b.N) / float64(n)
			b.ReportMetric(perLine[n], "ns/line")
			b.ReportMetric(perLine[n]/perLine[1_000], "per-line/1000")
		})
	}
}
