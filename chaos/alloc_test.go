package chaos

import (
	"context"
	"encoding/json"
	"testing"
)

// The promises on allocation are part of the documentation. The tests are
// serial: AllocsPerRun counts the whole process.
func TestAllocations(t *testing.T) {
	background := context.Background()
	work := Wrap("work", bare)
	keyed := WrapWith("work", bare, WrapOptions[int]{Key: func(n int) uint64 { return uint64(n) + 1 }})
	tools := WrapRegistry(echo{}, nil)
	_, _ = tools.Tools(background)
	args := json.RawMessage(`{"order":1042,"reason":"damaged"}`)
	under := func(o *InjectorOptions, rules ...Rule) context.Context {
		return NewContext(background, mustPlan(t, rules...).Injector("cell", o))
	}
	record := &InjectorOptions{Record: true, MaxLog: 64} // full at once: what is counted is a call, not the growth of the log
	keep := &InjectorOptions{Record: true, KeepValues: true, MaxLog: 64}
	rails := &Rails{Kill: make(chan struct{}), Budget: 1 << 30, Share: 1, Rate: 1e9, Concurrent: 8, Targets: []string{"w*"}}
	custom := Rule{Target: "work", When: customWhen{1e-12}, Fault: failFault{errDown}}
	grouped := Rule{Target: "work", Group: "g", When: customWhen{1e-12}, Fault: failFault{errDown}}
	fires := Rule{Target: "work", Fault: failFault{errDown}}
	for _, tt := range []struct {
		name string
		most float64
		ctx  context.Context
		call func(ctx context.Context)
	}{
		{"no injector", 0, background, func(ctx context.Context) { _, _ = work(ctx, 1) }},
		{"no injector, in a handler", 0, handlerContext(t), func(ctx context.Context) { _, _ = work(ctx, 1) }},
		{"no injector, tool", 0, background, func(ctx context.Context) { _, _ = tools.CallTool(ctx, "work", args) }},
		{"no injector, point", 0, background, func(ctx context.Context) { _ = Point(ctx, "work") }},
		{"no rule for the target", 0, under(nil, others(100)...), func(ctx context.Context) { _, _ = work(ctx, 1) }},
		{"no rule for the target, tool", 0, under(nil, others(100)...), func(ctx context.Context) { _, _ = tools.CallTool(ctx, "work", args) }},
		{"no rule for the target, point", 0, under(nil, others(100)...), func(ctx context.Context) { _ = Point(ctx, "work") }},
		{"drawn, not fired", 0, under(nil, neverFires()), func(ctx context.Context) { _, _ = work(ctx, 1) }},
		{"drawn, not fired, own trigger", 0, under(nil, custom), func(ctx context.Context) { _, _ = work(ctx, 1) }},
		{"drawn, not fired, group", 0, under(nil, grouped), func(ctx context.Context) { _, _ = work(ctx, 1) }},
		{"drawn, not fired, in a lane", 0, Lane(under(nil, neverFires()), "a"), func(ctx context.Context) { _, _ = work(ctx, 1) }},
		{"drawn, not fired, keyed", 0, under(nil, neverFires()), func(ctx context.Context) { _, _ = keyed(ctx, 1) }},
		{"drawn, not fired, tool", 0, under(nil, neverFires()), func(ctx context.Context) { _, _ = tools.CallTool(ctx, "work", args) }},
		{"drawn, not fired, with rails", 0, under(&InjectorOptions{Rails: rails}, neverFires()), func(ctx context.Context) { _, _ = work(ctx, 1) }},
		{"fired, with rails", 1, under(&InjectorOptions{MaxLog: 64, Rails: rails}, fires), func(ctx context.Context) { _, _ = work(ctx, 1) }},
		{"fired", 1, under(&InjectorOptions{MaxLog: 64}, fires), func(ctx context.Context) { _, _ = work(ctx, 1) }},
		{"recorded", 2, under(record), func(ctx context.Context) { _, _ = work(ctx, 1) }},
		{"recorded with values", 4, under(keep), func(ctx context.Context) { _, _ = work(ctx, 1) }},
		{"recorded with values, tool", 4, under(keep), func(ctx context.Context) { _, _ = tools.CallTool(ctx, "work", args) }},
	} {
		for range 100 {
			tt.call(tt.ctx)
		}
		if got := testing.AllocsPerRun(200, func() { tt.call(tt.ctx) }); got > tt.most {
			t.Errorf("%s: %v allocations, want at most %v", tt.name, got, tt.most)
		}
	}
}
