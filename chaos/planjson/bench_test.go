package planjson_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/shakedown-go/shakedown/chaos/planjson"
)

// BenchmarkDecode shows what a plan costs, once and per rule.
func BenchmarkDecode(b *testing.B) {
	for _, rules := range []int{1, 100} {
		var list []string
		for i := range rules {
			list = append(list, fmt.Sprintf(`{"name":"r%d","target":"t","when":{"kind":"prob","params":{"p":0.5}},"fault":{"kind":"hang"}}`, i))
		}
		doc := []byte(`{"seed":"1","rules":[` + strings.Join(list, ",") + `]}`)
		b.Run(fmt.Sprint("rules=", rules), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := planjson.Decode(doc, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
