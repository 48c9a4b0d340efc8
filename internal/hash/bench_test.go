package hash

import (
	"strconv"
	"strings"
	"testing"
)

// sink keeps the compiler from dropping what is measured.
var sink uint64

func BenchmarkString(b *testing.B) {
	for _, n := range []int{0, 3, 10, 30, 100, 1000, 64 << 10} {
		s := strings.Repeat("x", n)
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			b.SetBytes(int64(n))
			b.ReportAllocs()
			var h uint64
			for b.Loop() {
				h ^= String(s)
			}
			sink = h
		})
	}
}

func BenchmarkCombine(b *testing.B) {
	var h uint64
	for b.Loop() {
		h = Combine(h, 7)
	}
	sink = h
}
