package lies_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/lies"
)

// tenKB is a document as a tool returns it.
func tenKB() json.RawMessage {
	var rows []string
	for i := range 62 {
		rows = append(rows, fmt.Sprintf(`{"id":%d,"customer_id":"C-%d","name":"Customer %d","total":%d.90,"currency":"EUR","status":"open","created":"2026-03-01T10:00:00Z","tags":["a","b"],"gift":false}`, 1000+i, i, i, i))
	}
	return json.RawMessage(`{"orders":[` + strings.Join(rows, ",") + `],"next":null}`)
}

func BenchmarkDecodeEncode10KB(b *testing.B) {
	doc := tenKB()
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		var v any
		if err := json.Unmarshal(doc, &v); err != nil {
			b.Fatal(err)
		}
		if _, err := json.Marshal(v); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLie10KB(b *testing.B) {
	doc := tenKB()
	next := func(context.Context, any) (any, error) { return doc, nil }
	for _, c := range []struct {
		name  string
		fault chaos.Fault
	}{
		{"drawn", lies.WrongNumber(0.1)},
		{"path", lies.Null("$.orders[7].total")},
		{"wildcard", lies.Scale(-2, "$.orders[*].total")},
		{"deep", lies.OffByOne("$..id")},
		{"drift", lies.SchemaDrift()},
		{"rows", lies.ReorderRows("$.orders")},
		{"rename", lies.RenameKey("")},
		{"instruct", lies.Inject(lies.Attack{})},
		{"stale", lies.Stale(1).(chaos.Stateful).Fresh()},
		{"contradict", lies.Contradict().(chaos.Stateful).Fresh()},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.fault.Inject(context.Background(), chaos.Call{}, nil, next); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
