package lies_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/lies"
)

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
