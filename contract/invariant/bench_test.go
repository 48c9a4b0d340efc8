package invariant

import (
	"strings"
	"testing"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
)

// BenchmarkCheck judges an answer of four kilobytes that holds.
func BenchmarkCheck(b *testing.B) {
	text := strings.Repeat("Order 1042 of 4 March 2026 was refunded: $59.90. ", 80)
	o := contract.Observation{Response: text, Prompt: "Refund order 1042", Events: []chaos.Event{
		result("orders.get", `{"id":1042,"total":59.9,"due":"2026-03-04"}`),
	}}
	for _, inv := range []contract.Invariant{
		Contains("contains", contract.High, "1042"),
		NoPII("pii", contract.High, nil),
		NoLeak("leak", contract.High, nil, strings.Repeat(systemPrompt, 10)),
		Grounded("grounded", contract.High, nil),
		Refuses("refuses", contract.High, nil),
	} {
		b.Run(inv.Name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				_ = inv.Check(b.Context(), &o)
			}
		})
	}
}

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
