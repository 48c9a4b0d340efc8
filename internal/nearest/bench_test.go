package nearest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/shakedown-go/shakedown/internal/nearest"
)

// conversation is a request of about 10 KB to a model: 30 messages.
func conversation(n int) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, `{"model":"gpt-5.2","temperature":0.2,"user":"user-%d","messages":[`, n)
	for i := range 30 {
		fmt.Fprintf(&b, `{"role":"tool","tool_call_id":"call_%d_%d","content":"%s%d"},`, n, i, strings.Repeat("The parcel left the depot in Lyon. ", 7), n*i)
	}
	return []byte(strings.TrimSuffix(b.String(), ",") + "]}")
}

// A first miss reads the whole tape, a later one only the leaves of its index.
func BenchmarkMiss(b *testing.B) {
	tape := make([][]byte, 1000)
	bytes := 0
	for i := range tape {
		tape[i] = conversation(i)
		bytes += len(tape[i])
	}
	at := func(i int) nearest.Document { return nearest.Document{Body: tape[i]} }
	asked := nearest.Document{Body: []byte(strings.Replace(string(conversation(500)), "Lyon", "Paris", 8))}
	explain := func(x *nearest.Index) {
		m, _ := x.Find(asked, nil)
		if m.At != 500 || nearest.Compare(asked, at(m.At)).More == 0 && len(nearest.Compare(asked, at(m.At)).Places) == 0 {
			b.Fatal("not the nearest")
		}
	}
	b.Run("valid", func(b *testing.B) {
		b.SetBytes(int64(bytes))
		for b.Loop() {
			for _, doc := range tape {
				if !json.Valid(doc) {
					b.Fatal("not JSON")
				}
			}
		}
	})
	b.Run("first", func(b *testing.B) {
		b.SetBytes(int64(bytes))
		for b.Loop() {
			explain(nearest.New(len(tape), at))
		}
	})
	b.Run("later", func(b *testing.B) {
		x := nearest.New(len(tape), at)
		for b.Loop() {
			explain(x)
		}
	})
}
