package jsonedit_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// BenchmarkChange changes one text of a document of 10 KB, beside what it
// costs to decode and encode it.
func BenchmarkChange(b *testing.B) {
	var items []string
	for i := range 100 {
		items = append(items, fmt.Sprintf(`{"id":%d,"name":"an item of the list","tags":["a","b"],"price":%d.50,"note":"%s"}`, i, i, strings.Repeat("x", 20)))
	}
	doc := []byte(`{"items":[` + strings.Join(items, ",") + `]}`)
	b.Run("value", func(b *testing.B) {
		b.SetBytes(int64(len(doc)))
		b.ReportAllocs()
		for b.Loop() {
			v, _ := jsonedit.ParseValue(doc)
			v.Get("items").At(50).SetText("name", "another")
			v.Bytes()
		}
	})
	b.Run("decode and encode", func(b *testing.B) {
		b.SetBytes(int64(len(doc)))
		b.ReportAllocs()
		for b.Loop() {
			var v any
			_ = json.Unmarshal(doc, &v)
			_, _ = json.Marshal(v)
		}
	})
}
