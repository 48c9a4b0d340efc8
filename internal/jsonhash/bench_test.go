package jsonhash_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/shakedown-go/shakedown/internal/jsonhash"
)

// corpus has one document for each shape of arguments that tools get.
func corpus() map[string]string {
	prose := "She said: \\\"the parcel, n\\u00ba 7, never came\\\".\\nAsk München, 東京 or the depot again. "
	plain := "The customer asks for a refund of the second order and for a new invoice. "
	record := `{"id":1042,"name":"Ada Lovelace","price":19.90,"tags":["new","paid"],"gift":false,"note":null},`
	return map[string]string{
		"args60":    `{"order_id":1042,"reason":"damaged","notify":true,"sum":19.9}`,
		"records1k": "[" + strings.TrimSuffix(strings.Repeat(record, 10), ",") + "]",
		"pretty1k":  "[" + strings.TrimSuffix(strings.Repeat("\n    {\n        \"id\": 7,\n        \"ok\": true\n    },", 22), ",") + "\n]",
		"plain10k":  `{"text":"` + strings.Repeat(plain, 140) + `"}`,
		"prose10k":  `{"text":"` + strings.Repeat(prose, 110) + `"}`,
		"escapes1k": `"` + strings.Repeat(`\n\t\u0041`, 100) + `"`,
		"numbers":   "[" + strings.Repeat("1,22.5,-333000,4.25e3,0.000123456,", 60) + "0]",
		"longnums":  "[" + strings.Repeat("3.141592653589793238462643383279,1e-400,", 60) + "0]",
		"nested8":   strings.Repeat(`{"filter":[`, 4) + `{"field":"state","in":["new","paid"]}` + strings.Repeat("]}", 4),
		"nested200": strings.Repeat(`{"a":[`, 100) + "1" + strings.Repeat("]}", 100),
	}
}

// BenchmarkSum checks the claim of the package comment: for each document, sum takes no more time than valid (nested200: about as much).
func BenchmarkSum(b *testing.B) {
	for name, doc := range corpus() {
		doc := []byte(doc)
		b.Run(fmt.Sprintf("%s/sum", name), func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			b.ReportAllocs()
			var h uint64
			for b.Loop() {
				h ^= jsonhash.Sum(doc)
			}
			_ = h
		})
		b.Run(fmt.Sprintf("%s/valid", name), func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			for b.Loop() {
				if !json.Valid(doc) {
					b.Fatal("the document is not JSON")
				}
			}
		})
	}
}
