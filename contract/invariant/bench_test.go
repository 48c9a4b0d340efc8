package invariant

import (
	"testing"
)

// BenchmarkOneLine judges a megabyte in one line; docs/reference/invariants.md has the bound, 2 s.
func BenchmarkOneLine(b *testing.B) {
	texts := oneLine(1 << 20)
	for _, inv := range allReaders() {
		for name, o := range texts {
			b.Run(inv.Name+"/"+name, func(b *testing.B) {
				for b.Loop() {
					_ = inv.Check(b.Context(), &o)
				}
			})
		}
	}
}
