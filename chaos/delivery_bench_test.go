package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"testing"
)

// renumber replaces a number in a result.
type renumber struct {
	phase     Phase
	from, to  string
	unchanged bool
}

func (f renumber) Phase() Phase { return f.phase }

func (f renumber) Inject(ctx context.Context, _ Call, args any, next Next) (any, error) {
	result, err := next(ctx, args)
	if err != nil || f.unchanged {
		return result, err
	}
	Changed(ctx, Change{Path: "$.n"})
	if doc, ok := result.(json.RawMessage); ok {
		return json.RawMessage(bytes.Replace(doc, []byte(f.from), []byte(f.to), 1)), nil
	}
	return result.(int) + 1, nil
}

// BenchmarkInjected measures a call that faults act on. Their results are compared
// with what they were given.
func BenchmarkInjected(b *testing.B) {
	row := func(i int) string { return fmt.Sprintf(`{"id":%d,"name":"Ada","total":19.90}`, i) }
	small := json.RawMessage(`{"id":7,"n":5}`)
	var rows []string
	for i := range 280 {
		rows = append(rows, row(i))
	}
	large := json.RawMessage(`{"n":5,"rows":[` + strings.Join(rows, ",") + `]}`)
	one := []Fault{renumber{phase: PhaseChange, from: `"n":5`, to: `"n":6`}}
	two := append(one, renumber{phase: PhaseChange, from: `"id":7`, to: `"id":8`})
	passes := []Fault{renumber{phase: PhaseBefore, unchanged: true}}
	for _, bm := range []struct {
		name   string
		doc    json.RawMessage
		faults []Fault
	}{
		{"int/passes", nil, passes}, {"int/one", nil, one},
		{"small/passes", small, passes}, {"small/one", small, one}, {"small/two", small, two},
		{"10KB/passes", large, passes}, {"10KB/one", large, one}, {"10KB/two", large, two},
	} {
		b.Run(bm.name, func(b *testing.B) {
			var rules []Rule
			for i, f := range bm.faults {
				rules = append(rules, Rule{Name: fmt.Sprint(i), Target: "work", Fault: f})
			}
			ctx := NewContext(context.Background(), mustPlan(b, rules...).Injector("cell", &InjectorOptions{MaxLog: 64}))
			numbers := Wrap("work", bare)
			docs := Wrap("work", func(_ context.Context, doc json.RawMessage) (json.RawMessage, error) { return doc, nil })
			b.ReportAllocs()
			for b.Loop() {
				if bm.doc == nil {
					_, _ = numbers(ctx, 1)
				} else {
					_, _ = docs(ctx, bm.doc)
				}
			}
		})
	}
	b.Run("stream", func(b *testing.B) {
		const n = 1000
		ctx := NewContext(context.Background(), mustPlan(b, Rule{Target: "work", Fault: renumber{phase: PhaseChange}}).Injector("cell", &InjectorOptions{MaxLog: 64}))
		numbers := WrapStream("work", func(context.Context, int) iter.Seq2[int, error] {
			return func(yield func(int, error) bool) {
				for i := range n {
					if !yield(i, nil) {
						return
					}
				}
			}
		})
		b.ReportAllocs()
		for b.Loop() {
			for range numbers(ctx, 0) {
			}
		}
	})
}
