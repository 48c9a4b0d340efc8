package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"testing"
)

// BenchmarkDecide measures a rule at each kind of injection point, on a call that it
// does not match and on one that it is injected into. Compare it with
// BenchmarkCall/byHand of the same run.
func BenchmarkDecide(b *testing.B) {
	background := context.Background()
	args := json.RawMessage(`{"id":1}`)
	under := func(o *InjectorOptions, rules ...Rule) context.Context {
		return NewContext(background, mustPlan(b, rules...).Injector("cell", o))
	}
	dispatch := WrapDispatch(func(_ context.Context, _ string, args json.RawMessage) (json.RawMessage, error) { return args, nil })
	tools, unlisted := WrapRegistry(echo{}, nil), WrapRegistry(echo{}, nil)
	_, _ = tools.Tools(background)
	stream := WrapStream("work", func(context.Context, int) iter.Seq2[int, error] { return nothingToSay })
	work := Wrap("work", bare)
	custom := Rule{Target: "work", When: customWhen{1e-12}, Fault: failFault{errDown}}
	first, second := Rule{Name: "a", Target: "work", Fault: failFault{errDown}}, Rule{Name: "b", Target: "work", Fault: failFault{errDown}}
	for _, c := range []struct {
		name string
		ctx  context.Context
		call func(ctx context.Context)
	}{
		{"point", under(nil, neverFires()), func(ctx context.Context) { _ = Point(ctx, "work") }},
		{"pointCustom", under(nil, custom), func(ctx context.Context) { _ = Point(ctx, "work") }},
		{"dispatch", under(nil, neverFires()), func(ctx context.Context) { _, _ = dispatch(ctx, "work", args) }},
		{"dispatchNoRule", under(nil, others(1)...), func(ctx context.Context) { _, _ = dispatch(ctx, "work", args) }},
		{"registry", under(nil, neverFires()), func(ctx context.Context) { _, _ = tools.CallTool(ctx, "work", args) }},
		{"registryUnlisted", under(nil, neverFires()), func(ctx context.Context) { _, _ = unlisted.CallTool(ctx, "work", args) }},
		{"stream", under(nil, neverFires()), func(ctx context.Context) {
			for range stream(ctx, 1) {
			}
		}},
		{"fired", under(nil, first), func(ctx context.Context) { _, _ = work(ctx, 1) }},
		{"firedKeepValues", under(&InjectorOptions{KeepValues: true}, first), func(ctx context.Context) { _, _ = dispatch(ctx, "work", args) }},
		{"firedKeepValuesInt", under(&InjectorOptions{KeepValues: true}, first), func(ctx context.Context) { _, _ = work(ctx, 1) }},
		{"firedTwo", under(nil, first, second), func(ctx context.Context) { _, _ = work(ctx, 1) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.call(c.ctx)
			}
		})
	}
}

func nothingToSay(func(int, error) bool) {}

// BenchmarkRules shows that making plans and registering rules takes time linear in
// the number of rules.
func BenchmarkRules(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		rules := others(n)
		for i := range rules {
			rules[i].Group = fmt.Sprint("group", i%100)
		}
		b.Run(fmt.Sprintf("NewPlan%d", n), func(b *testing.B) {
			for b.Loop() {
				mustPlan(b, rules...)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/rule")
		})
		b.Run(fmt.Sprintf("Register%d", n), func(b *testing.B) {
			for b.Loop() {
				in := NewInjector(1, nil)
				ctx := NewContext(context.Background(), in)
				for _, r := range rules {
					if err := in.Register(r); err != nil {
						b.Fatal(err)
					}
					_ = Point(ctx, "other.1")
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/rule")
		})
	}
}
