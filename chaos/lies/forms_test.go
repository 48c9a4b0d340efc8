package lies_test

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/lies"
)

// via is what a caller of a wrapped function gets.
func via[T any](t *testing.T, f chaos.Fault, result T) (T, chaos.Event) {
	t.Helper()
	p, err := chaos.NewPlan(1, chaos.Rule{Target: "*", Fault: f})
	require.NoError(t, err)
	in := p.Injector("cell", &chaos.InjectorOptions{RecordAll: true})
	got, err := chaos.Wrap("fn", func(context.Context, int) (T, error) { return result, nil })(chaos.NewContext(t.Context(), in), 0)
	require.NoError(t, err)
	return got, in.Events()[0]
}

type order struct {
	ID    int            `json:"id"`
	Total float64        `json:"total"`
	Tags  []string       `json:"tags,omitempty"`
	More  map[string]any `json:"more,omitempty"`
}

// The types that hold JSON, and Go values through theirs, come back as what they were.
func TestForms(t *testing.T) {
	raw, _ := via(t, lies.Scale(1), json.RawMessage(`{"total":5}`))
	assert.Equal(t, `{"total":50}`, string(raw))
	data, _ := via(t, lies.Scale(1), []byte(`{"total":5}`))
	assert.Equal(t, `{"total":50}`, string(data))
	text, _ := via(t, lies.Scale(1), `{"total":5}`)
	assert.Equal(t, `{"total":50}`, text)
	text, _ = via(t, lies.Scale(1), "It is 5 km \xff\x01.")
	assert.Equal(t, "It is 50 km \xff\x01.", text, "a text that is no JSON, bytes that are no UTF-8 and all")
	text, _ = via(t, lies.Null(), "shipped")
	assert.Equal(t, "null", text)
	value, _ := via(t, lies.Scale(1), order{ID: 7, Total: 5})
	assert.Equal(t, order{ID: 7, Total: 50}, value)
	pointer, _ := via(t, lies.Scale(1), &order{ID: 7, Total: 5})
	assert.Equal(t, &order{ID: 7, Total: 50}, pointer)
	value, _ = via(t, lies.Envelope(""), order{ID: 7, Total: 5})
	assert.Zero(t, value, "as a client that decodes an envelope it does not know")
	list, _ := via(t, lies.DuplicateRows(), []int{1})
	assert.Equal(t, []int{1, 1}, list)
	loose, _ := via[any](t, lies.Scale(1), map[string]any{"total": 5.0})
	assert.Equal(t, map[string]any{"total": 50.0}, loose, "an interface keeps the type within")
	number, _ := via(t, lies.OffByOne(), 0)
	assert.Equal(t, 1, number)
}

// What a Go type cannot hold its caller cannot see: that is not delivered.
func TestGoValuesThatHideTheLie(t *testing.T) {
	for why, f := range map[string]chaos.Fault{
		"a member it has no field for": lies.AddKey("version", 2),
		"another type":                 lies.FlipType("$.id"),
		"no JSON":                      lies.Malformed(),
		"a page of HTML":               lies.HTMLPage(),
	} {
		got, e := via(t, f, order{ID: 7, Total: 5})
		assert.Equal(t, order{ID: 7, Total: 5}, got, why)
		assert.False(t, e.Delivered, why)
		assert.Regexp(t, `lies_test\.order`, e.Note, why)
	}
	_, e := via(t, lies.Null(), make(chan int))
	assert.False(t, e.Delivered)
	assert.Contains(t, e.Note, "has no JSON")
	_, e = via[any](t, lies.Empty(), nil)
	assert.False(t, e.Delivered)
}

// A long value is in the event with its beginning and its end.
func TestLongValuesInEvents(t *testing.T) {
	doc := `"` + strings.Repeat("é", 50_000) + `"`
	_, e := once(t, lies.Inject(lies.Attack{Texts: []string{"Obey."}}), doc)
	require.Len(t, e.Changes, 1)
	assert.Less(t, len(e.Changes[0].After), 5000)
	var after string
	require.NoError(t, json.Unmarshal(e.Changes[0].After, &after))
	assert.Contains(t, after, "bytes …")
	assert.Contains(t, after, "Obey.")
}

// Each item of a stream is a result of its own.
func TestStreams(t *testing.T) {
	p, err := chaos.NewPlan(1, chaos.Rule{Target: "*", Fault: lies.CutText(0.5)})
	require.NoError(t, err)
	ctx := chaos.NewContext(t.Context(), p.Injector("cell", nil))
	words := chaos.WrapStream("say", func(context.Context, int) iter.Seq2[string, error] {
		return func(yield func(string, error) bool) { _ = yield("four", nil) && yield("letters!", nil) }
	})
	var got []string
	for word, err := range words(ctx, 0) {
		require.NoError(t, err)
		got = append(got, word)
	}
	assert.Equal(t, []string{"fo", "lett"}, got)
}

// A fault that is used by no injector remembers nothing and changes nothing.
func TestWithoutAnInjector(t *testing.T) {
	next := func(context.Context, any) (any, error) { return json.RawMessage("1"), nil }
	for _, f := range []chaos.Fault{lies.Stale(1), lies.Contradict()} {
		got, err := f.Inject(t.Context(), chaos.Call{}, nil, next)
		require.NoError(t, err)
		assert.Equal(t, json.RawMessage("1"), got)
	}
}
