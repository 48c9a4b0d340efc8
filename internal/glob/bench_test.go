package glob_test

import (
	"strings"
	"testing"

	"github.com/shakedown-go/shakedown/internal/glob"
)

// BenchmarkMatch shows the usual patterns and the worst one: all states alive at every character.
func BenchmarkMatch(b *testing.B) {
	for _, bench := range []struct{ name, pattern, target string }{
		{"literal", "orders.get", "orders.get"},
		{"prefix", "orders.*", "orders.list_open"},
		{"suffix", "*.get", "orders.archive.get"},
		{"alternatives", "{orders,refunds}.{get,list*}", "refunds.list_open"},
		{"other", "orders.*", "refunds.get"},
		{"worst", strings.Repeat("{a*,*b}", 100), strings.Repeat("ab", 100) + "c"},
	} {
		b.Run(bench.name, func(b *testing.B) {
			g, err := glob.Compile(bench.pattern)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				g.Match(bench.target)
			}
		})
	}
}
