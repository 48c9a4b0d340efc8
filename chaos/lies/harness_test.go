package lies_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/lies"
)

// desk is a registry whose tool "get" answers with documents: one after the
// other, the last for ever.
type desk struct {
	mu    sync.Mutex
	docs  []string
	tools []chaos.Tool
	calls int
	args  []string // of each call that reached it
}

func (d *desk) Tools(context.Context) ([]chaos.Tool, error) { return d.tools, nil }

func (d *desk) CallTool(_ context.Context, _ string, args json.RawMessage) (json.RawMessage, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls++
	d.args = append(d.args, string(args))
	return json.RawMessage(d.docs[min(d.calls, len(d.docs))-1]), nil
}

// injectorOf makes an injector of one rule over everything, and what it wraps.
func injectorOf(t testing.TB, d *desk, f chaos.Fault) (chaos.ToolRegistry, *chaos.Injector) {
	t.Helper()
	return seededInjectorOf(t, 1, d, f)
}

func seededInjectorOf(t testing.TB, seed uint64, d *desk, f chaos.Fault) (chaos.ToolRegistry, *chaos.Injector) {
	t.Helper()
	p, err := chaos.NewPlan(seed, chaos.Rule{Name: "lie", Target: "*", Fault: f})
	require.NoError(t, err)
	in := p.Injector("cell", &chaos.InjectorOptions{RecordAll: true, KeepValues: true})
	return chaos.WrapRegistry(d, in), in
}

// answers returns what the caller gets of the documents, in turn, asked with the keys.
func answers(t testing.TB, f chaos.Fault, docs []string, keys ...string) (got []string, events []chaos.Event) {
	t.Helper()
	tools, in := injectorOf(t, &desk{docs: docs}, f)
	for i := range docs {
		args := json.RawMessage(`{}`)
		if i < len(keys) {
			args = json.RawMessage(keys[i])
		}
		doc, err := tools.CallTool(context.Background(), "get", args)
		require.NoError(t, err)
		got = append(got, string(doc))
	}
	return got, in.Events()
}

// once is what the caller gets of one document.
func once(t testing.TB, f chaos.Fault, doc string) (string, chaos.Event) {
	t.Helper()
	got, events := answers(t, f, []string{doc})
	require.Len(t, events, 1)
	return got[0], events[0]
}

func TestLiesThatRemember(t *testing.T) {
	const a, b = `{"id":1}`, `{"id":2}`
	for _, c := range []struct {
		why   string
		fault chaos.Fault
		keys  string // of the calls: a or b
		docs  []string
		want  []string
	}{
		{"one call behind", lies.Stale(1), "aaaa", []string{"1", "2", "3", "3"}, []string{"1", "1", "2", "3"}},
		{"two calls behind, at first the oldest", lies.Stale(2), "aaaa", []string{"1", "2", "3", "4"}, []string{"1", "1", "1", "2"}},
		{"of each request its own", lies.Stale(1), "abab", []string{"1", "2", "3", "4"}, []string{"1", "2", "1", "2"}},
		{"the first for ever", lies.Frozen(), "aabaa", []string{"1", "2", "3", "4", "1"}, []string{"1", "1", "3", "1", "1"}},
		{"the last answer to another request", lies.Crossed(), "aabbab", []string{"1", "2", "3", "4", "5", "6"}, []string{"1", "2", "2", "2", "4", "5"}},
		{"an old answer", lies.Replayed(), "aba", []string{"1", "2", "2"}, []string{"1", "1", "1"}},
		{"a memory as it was", lies.RollBack(2), "aaa", []string{`["x"]`, `["x","y"]`, `["x","y","z"]`}, []string{`["x"]`, `["x"]`, `["x"]`}},
		{"a text", lies.Stale(1), "aa", []string{"shipped", "lost"}, []string{"shipped", "shipped"}},
	} {
		t.Run(c.why, func(t *testing.T) {
			var keys []string
			for _, k := range c.keys {
				keys = append(keys, map[rune]string{'a': a, 'b': b}[k])
			}
			got, events := answers(t, c.fault, c.docs, keys...)
			assert.Equal(t, c.want, got)
			for i, e := range events {
				assert.Equal(t, c.docs[i] != c.want[i], e.Delivered, "call %d", i)
				assert.Equal(t, !e.Delivered, e.Note != "", "call %d: %s", i, e.Note)
				if e.Delivered {
					require.Len(t, e.Changes, 1)
					assert.NotEqual(t, e.Changes[0].Before, e.Changes[0].After)
				}
			}
		})
	}
}

// Two injectors of one plan do not share what they remember.
func TestMemoryIsTheInjectors(t *testing.T) {
	p, err := chaos.NewPlan(1, chaos.Rule{Target: "*", Fault: lies.Frozen()}, chaos.Rule{Name: "other", Target: "*", Fault: lies.Contradict()})
	require.NoError(t, err)
	for _, cell := range []string{"a", "b"} {
		tools := chaos.WrapRegistry(&desk{docs: []string{`"` + cell + `"`, "0"}}, p.Injector(cell, nil))
		for range 2 {
			got, err := tools.CallTool(t.Context(), "get", nil)
			require.NoError(t, err)
			assert.Equal(t, `"`+cell+`"`, string(got))
		}
	}
}

// What a caller does to its answer does not reach the memory.
func TestAnswersAreCopies(t *testing.T) {
	tools, _ := injectorOf(t, &desk{docs: []string{"11", "22", "33"}}, lies.Frozen())
	for range 3 {
		got, err := tools.CallTool(t.Context(), "get", nil)
		require.NoError(t, err)
		assert.Equal(t, "11", string(got))
		got[0] = 'x'
	}
}

// Memory is bounded: by the answer, by the number of requests, and in sum.
func TestMemoryIsBounded(t *testing.T) {
	huge := `"` + strings.Repeat("x", 1<<20) + `"`
	got, events := answers(t, lies.Frozen(), []string{huge, "2"})
	assert.Equal(t, "2", got[1], "what is too long is not remembered")
	assert.Contains(t, events[0].Note, "1 MiB")

	p, err := chaos.NewPlan(1, chaos.Rule{Target: "*", Fault: lies.Frozen()})
	require.NoError(t, err)
	d := &desk{docs: []string{`"` + strings.Repeat("x", 1<<19) + `"`, "0"}}
	tools, frozen := chaos.WrapRegistry(d, p.Injector("cell", nil)), 0
	for pass := range 2 {
		for i := range 20 {
			d.calls = pass // the long answer first, the short one in the second pass
			got, err := tools.CallTool(t.Context(), "get", fmt.Appendf(nil, `{"i":%d}`, i))
			require.NoError(t, err)
			if pass == 1 && len(got) > 1 {
				frozen++
			}
		}
	}
	assert.Equal(t, 15, frozen, "8 MiB are 15 answers of half a MiB and a few bytes; the others were not kept")
}

// An answer that is too large to be remembered still was one: the next is not
// taken for the first, nor the one before it for the last.
func TestWhatDidNotFitWasThere(t *testing.T) {
	large := `"` + strings.Repeat("x", 1<<20) + `"`
	for _, c := range []struct {
		fault      chaos.Fault
		docs, want []string
	}{
		{lies.Frozen(), []string{large, "1", "2"}, []string{large, "1", "2"}},
		{lies.Stale(1), []string{"1", large, "2", "3"}, []string{"1", large, "2", "2"}},
		{lies.Stale(2), []string{"1", large, "2", "3"}, []string{"1", large, "1", "3"}},
	} {
		got, events := answers(t, c.fault, c.docs)
		for i := range got {
			assert.True(t, c.want[i] == got[i], "call %d: %.20s", i, got[i])
			assert.Equal(t, c.want[i] != c.docs[i], events[i].Delivered)
		}
		assert.Contains(t, events[slices.Index(c.docs, large)].Note, "1 MiB")
	}
}

type price struct {
	Total float64 `json:"total"`
	note  string
}

// Go values are remembered through their JSON.
func TestStaleGoValues(t *testing.T) {
	p, err := chaos.NewPlan(1, chaos.Rule{Target: "*", Fault: lies.Stale(1)})
	require.NoError(t, err)
	ctx := chaos.NewContext(t.Context(), p.Injector("cell", nil))
	n := 0.0
	fn := chaos.Wrap("price", func(context.Context, int) (*price, error) { n++; return &price{n, "now"}, nil })
	for _, want := range []price{{1, "now"}, {1, ""}, {2, ""}} {
		got, err := fn(ctx, 0)
		require.NoError(t, err)
		assert.Equal(t, &want, got, "what has no JSON is lost")
	}
}

// Two tools tell the same, and the second is made to differ.
func TestContradict(t *testing.T) {
	ask := func(seed uint64, facts ...string) (got []string, events []chaos.Event) {
		p, err := chaos.NewPlan(seed, chaos.Rule{Target: "{orders,invoices}.get", Fault: lies.Contradict()})
		require.NoError(t, err)
		in := p.Injector("cell", nil)
		tools := chaos.WrapRegistry(&desk{docs: facts}, in)
		for i := range facts {
			doc, err := tools.CallTool(t.Context(), []string{"orders.get", "invoices.get"}[i%2], nil)
			require.NoError(t, err)
			got = append(got, string(doc))
		}
		return got, in.Events()
	}
	got, events := ask(1, `{"id":7,"total":200,"open":true}`, `{"order_id":7,"total":200}`)
	assert.Equal(t, `{"id":7,"total":200,"open":true}`, got[0], "the first one tells the truth")
	assert.Equal(t, `{"order_id":7,"total":236}`, got[1], "off by up to a fifth")
	assert.Equal(t, []bool{false, true}, []bool{events[0].Delivered, events[1].Delivered})
	assert.Equal(t, "contradiction", events[1].Fault)

	got, _ = ask(1, `{"open":true}`, `{"open":true}`)
	assert.Equal(t, `{"open":false}`, got[1])
	got, _ = ask(1, `{"due":"2026-02-28T09:00:00Z"}`, `{"due":"2026-02-28T09:00:00Z"}`)
	assert.Equal(t, `{"due":"2026-03-01T09:00:00Z"}`, got[1])
	got, _ = ask(1, `{"n":1}`, `{"n":2}`, `{"n":1}`)
	assert.Equal(t, `{"n":1}`, got[2], "the same tool may repeat itself, and the other said something else")
}

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

// A lie about one place costs that place, however long the result is; one about each order costs them.
func TestAllocationsOfALie(t *testing.T) {
	doc := tenKB()
	next := func(context.Context, any) (any, error) { return doc, nil }
	// 37 and 1,284 by themselves; the race detector adds some.
	for path, most := range map[string]float64{"$.orders[7].total": 60, "$.orders[*].total": 1600} {
		lie := lies.Scale(-2, path)
		assert.LessOrEqual(t, testing.AllocsPerRun(20, func() { _, _ = lie.Inject(t.Context(), chaos.Call{}, nil, next) }), most, path)
	}
}

// What one target answered does not crowd out what another one did, for good.
func TestTheMemoryOfOneTargetLeavesRoomForAnother(t *testing.T) {
	p, err := chaos.NewPlan(1, chaos.Rule{Target: "{big,small}", Fault: lies.Crossed()})
	require.NoError(t, err)
	in := p.Injector("cell", nil)
	answer := func(size int) func(context.Context, int) (string, error) {
		return func(_ context.Context, n int) (string, error) { return fmt.Sprint(n) + strings.Repeat("x", size), nil }
	}
	options := &chaos.WrapOptions[int]{Injector: in, Key: func(n int) uint64 { return uint64(n) }}
	big, small := chaos.WrapWith("big", answer(1<<20-9), options), chaos.WrapWith("small", answer(1000), options)
	for n := range 9 {
		_, _ = big(t.Context(), n)
	}
	for n := range 4 {
		_, _ = small(t.Context(), n)
	}
	delivered := 0
	for _, e := range in.Events() {
		if e.Target == "small" && e.Delivered {
			delivered++
		}
	}
	assert.Equal(t, 3, delivered, "the first has no other answer to be taken for")
}
