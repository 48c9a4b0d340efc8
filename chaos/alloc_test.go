package chaos

import (
	"context"
	"encoding/json"
	"iter"
	"testing"
)

type ordinalWhen struct{ from uint64 }

func (w ordinalWhen) Match(c Call) bool                { return w.MatchOrdinal(c.Ordinal) }
func (w ordinalWhen) MatchOrdinal(ordinal uint64) bool { return ordinal >= w.from }

// changeFault needs a callee, a frame and an act of its own.
type changeFault struct{}

func (changeFault) Phase() Phase { return PhaseChange }
func (changeFault) Inject(ctx context.Context, _ Call, args any, next Next) (any, error) {
	result, err := next(ctx, args)
	if n, ok := result.(int); ok {
		result = n + 1
	}
	Changed(ctx)
	return result, err
}

func takesAll(int, error) bool { return true }

// The documented numbers of allocations. The tests are serial: AllocsPerRun counts
// the whole process.
func TestAllocations(t *testing.T) {
	background := context.Background()
	work := Wrap("work", bare)
	keyed := WrapWith("work", bare, &WrapOptions[int]{Key: func(n int) uint64 { return uint64(n) + 1 }})
	tools := WrapRegistry(echo{}, nil)
	_, _ = tools.Tools(background)
	args := json.RawMessage(`{"order":1042,"reason":"damaged"}`)
	under := func(o *InjectorOptions, rules ...Rule) context.Context {
		return NewContext(background, mustPlan(t, rules...).Injector("cell", o))
	}
	record := &InjectorOptions{RecordAll: true, MaxLog: 64} // full at once: what is counted is a call, not the growth of the log
	keep := &InjectorOptions{RecordAll: true, KeepValues: true, MaxLog: 64}
	safeguards := &Safeguards{Kill: make(chan struct{}), Budget: 1 << 30, Targets: []string{"w*"}}
	custom := Rule{Target: "work", When: customWhen{1e-12}, Fault: failFault{errDown}}
	grouped := Rule{Target: "work", Group: "g", When: customWhen{1e-12}, Fault: failFault{errDown}}
	fires := Rule{Target: "work", Fault: failFault{errDown}}
	dispatch := WrapDispatch(func(_ context.Context, _ string, args json.RawMessage) (json.RawMessage, error) { return args, nil })
	texts := WrapDispatch(func(_ context.Context, _, args string) (string, error) { return args, nil })
	unlisted := WrapRegistry(echo{}, nil)
	stream := WrapStream("work", func(context.Context, int) iter.Seq2[int, error] { return nothingToSay })
	counts := Rule{Name: "counts", Target: "work", When: ordinalWhen{1 << 62}, Fault: failFault{errDown}}
	rested := Rule{Target: "work", Limit: 1, Fault: failFault{errDown}}
	restedDelay := Rule{Target: "work", Limit: 1, Fault: changeFault{}}
	two := []Rule{{Name: "a", Target: "work", Fault: failFault{errDown}}, {Name: "b", Target: "work", Fault: failFault{errDown}}}
	values := &InjectorOptions{KeepValues: true, MaxLog: 64}
	for _, tt := range []struct {
		name string
		most float64
		ctx  context.Context
		call func(ctx context.Context)
	}{
		{"no injector", 0, background, func(ctx context.Context) { _, _ = work(ctx, 1) }},
		{"counted, in steps", 0, under(nil, counts), func(ctx context.Context) { _, _ = crossed(ctx, FromContext(ctx), 7, true, bare) }},
		{"asked, not matched, in steps", 0, under(nil, neverFires()), func(ctx context.Context) { _, _ = crossed(ctx, FromContext(ctx), 7, true, bare) }},
		{"asked, not matched, own trigger, in steps", 0, under(nil, custom), func(ctx context.Context) { _, _ = crossed(ctx, FromContext(ctx), 7, true, bare) }},
		{"no injector, in a handler", 0, handlerContext(t), func(ctx context.Context) { _, _ = work(ctx, 1) }},
		{"no injector, tool", 0, background, func(ctx context.Context) { _, _ = tools.CallTool(ctx, "work", args) }},
		{"no injector, point", 0, background, func(ctx context.Context) { _ = Point(ctx, "work") }},
		{"no rule for the target", 0, under(nil, others(100)...), func(ctx context.Context) { _, _ = work(ctx, 1) }},
		{"no rule for the target, tool", 0, under(nil, others(100)...), func(ctx context.Context) { _, _ = tools.CallTool(ctx, "work", args) }},
		{"no rule for the target, point", 0, under(nil, others(100)...), func(ctx context.Context) { _ = Point(ctx, "work") }},
		{"asked, not matched", 0, under(nil, neverFires()), func(ctx context.Context) { _, _ = work(ctx, 1) }},
		{"asked, not matched, own trigger", 0, under(nil, custom), func(ctx context.Context) { _, _ = work(ctx, 1) }},
		{"asked, not matched, group", 0, under(nil, grouped), func(ctx context.Context) { _, _ = work(ctx, 1) }},
		{"asked, not matched, in a lane", 0, WithLane(under(nil, neverFires()), "a"), func(ctx context.Context) { _, _ = work(ctx, 1) }},
		{"asked, not matched, keyed", 0, under(nil, neverFires()), func(ctx context.Context) { _, _ = keyed(ctx, 1) }},
		{"asked, not matched, tool", 0, under(nil, neverFires()), func(ctx context.Context) { _, _ = tools.CallTool(ctx, "work", args) }},
		{"asked, not matched, tool that is not listed", 0, under(nil, neverFires()), func(ctx context.Context) { _, _ = unlisted.CallTool(ctx, "work", args) }},
		{"asked, not matched, own trigger, tool", 0, under(nil, custom), func(ctx context.Context) { _, _ = unlisted.CallTool(ctx, "work", args) }},
		{"asked, not matched, point", 0, under(nil, neverFires()), func(ctx context.Context) { _ = Point(ctx, "work") }},
		{"asked, not matched, own trigger, point", 0, under(nil, custom), func(ctx context.Context) { _ = Point(ctx, "work") }},
		{"asked, not matched, dispatch", 0, under(nil, neverFires()), func(ctx context.Context) { _, _ = dispatch(ctx, "work", args) }},
		{"asked, not matched, dispatch of text", 0, under(nil, neverFires()), func(ctx context.Context) { _, _ = texts(ctx, "work", `{"order":1042,"reason":"damaged, as it seems"}`) }},
		{"asked, not matched, own trigger, dispatch", 0, under(nil, custom), func(ctx context.Context) { _, _ = dispatch(ctx, "work", args) }},
		{"asked, not matched, own trigger, keyed", 0, under(nil, custom), func(ctx context.Context) { _, _ = keyed(ctx, 1) }},
		{"asked, not matched, ordinal trigger", 0, under(nil, counts), func(ctx context.Context) { _, _ = work(ctx, 1) }},
		{"asked, not matched, ordinal trigger, point", 0, under(nil, counts, neverFires()), func(ctx context.Context) { _ = Point(ctx, "work") }},
		{"matched, its limit used up", 0, under(nil, rested), func(ctx context.Context) { _, _ = work(ctx, 1) }},
		{"matched, its limit used up, not an error", 0, under(nil, restedDelay), func(ctx context.Context) { _, _ = work(ctx, 1) }},
		{"the stream itself: its iterator, and one that reads its last error", 3, under(nil, neverFires()), func(ctx context.Context) { stream(ctx, 1)(takesAll) }},
		{"the stream itself, own trigger", 3, under(nil, custom), func(ctx context.Context) { stream(ctx, 1)(takesAll) }},
		{"the stream itself, no rule for the target", 1, under(nil, others(100)...), func(ctx context.Context) { stream(ctx, 1)(takesAll) }},
		{"injected, point", 1, under(values, fires), func(ctx context.Context) { _ = Point(ctx, "work") }},
		{"injected, values kept", 2, under(values, fires), func(ctx context.Context) { _, _ = work(ctx, 1) }},
		{"injected, values kept, tool", 2, under(values, fires), func(ctx context.Context) { _, _ = tools.CallTool(ctx, "work", args) }},
		{"injected, values kept, dispatch", 2, under(values, fires), func(ctx context.Context) { _, _ = dispatch(ctx, "work", args) }},
		{"two errors injected", 4, under(&InjectorOptions{MaxLog: 64}, two...), func(ctx context.Context) { _, _ = work(ctx, 1) }},
		{"asked, not matched, with safeguards", 0, under(&InjectorOptions{Safeguards: safeguards}, neverFires()), func(ctx context.Context) { _, _ = work(ctx, 1) }},
		{"injected, with safeguards", 1, under(&InjectorOptions{MaxLog: 64, Safeguards: safeguards}, fires), func(ctx context.Context) { _, _ = work(ctx, 1) }},
		{"injected", 1, under(&InjectorOptions{MaxLog: 64}, fires), func(ctx context.Context) { _, _ = work(ctx, 1) }},
		{"a delay injected", 4, under(&InjectorOptions{MaxLog: 64}, Rule{Target: "work", Fault: renumber{phase: PhaseBefore, unchanged: true}}), func(ctx context.Context) { _, _ = work(ctx, 1) }},
		{"a change injected", 5, under(&InjectorOptions{MaxLog: 64}, Rule{Target: "work", Fault: renumber{phase: PhaseChange}}), func(ctx context.Context) { _, _ = work(ctx, 1) }},
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
