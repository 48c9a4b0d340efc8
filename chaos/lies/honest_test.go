package lies_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"reflect"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/lies"
)

// A lie that finds nothing to lie about leaves every byte, is not delivered,
// and says why.
func TestNotDelivered(t *testing.T) {
	plain := lies.Messages{}
	for _, c := range []struct {
		why   string
		fault chaos.Fault
		doc   string
		note  string
	}{
		{"it is empty already", lies.Empty(), `{ }`, "no value"},
		{"it is null already", lies.Null("$.a"), `{"a": null}`, "no value"},
		{"the path leads nowhere", lies.Null("$.b"), `{"a":1}`, "no value"},
		{"a list has no members", lies.Missing(), `[1,2]`, "no member"},
		{"there is no text", lies.CutText(0.5), `{"a":1}`, "no text"},
		{"one page is all", lies.MissingPage(3), `[1,2,3]`, "more than one page"},
		{"a text cannot be malformed", lies.Malformed(), `shipped`, "no JSON"},
		{"ASCII looks the same", lies.Mojibake(), `"plain"`, "beyond ASCII"},
		{"it is longer already", lies.Oversized(3), `["abcdef"]`, "could grow"},
		{"around 3 there is no other integer within a tenth", lies.WrongNumber(0.1), `[3]`, "no number"},
		{"nothing but an identifier", lies.WrongNumber(0.5), `{"id":1042}`, "no number"},
		{"more digits than are computed with", lies.WrongNumber(0.5), "[" + strings.Repeat("9", 5000) + "]", "no number"},
		{"ten times nothing", lies.Scale(1), `{"n":0.00}`, "no number"},
		{"zero has no sign", lies.FlipSign(), `[0, -0.0]`, "no number"},
		{"equal digits", lies.SwapDigits(), `[11, 5, 10]`, "no number"},
		{"half a thing is not counted", lies.OffByOne(), `[1.5]`, "no number"},
		{"versions and words are no numbers", lies.Scale(1), `"v1.2.3 on 2026-01-01, ORD-7, 10.0.0.1"`, "no number"},
		{"no such day", lies.ShiftDate(1), `"2026-02-31"`, "no date"},
		{"letters behind it, if escaped", lies.ShiftDate(1), `"2026-01-01\u0041"`, "no date"},
		{"after the year 9999 there is none", lies.ShiftDate(1), `"9999-12-31"`, "no date"},
		{"words are no units", lies.SwapUnit(), `{"a":"in 3 easy steps","b":"room 7"}`, "no unit"},
		{"null has no type to flip", lies.FlipType(), `[null]`, "no number"},
		{"one of two places is not there", lies.SwapFields("$.a", "$.b"), `{"a":1}`, "two values"},
		{"the records have no identity", lies.SwapEntity(), `[{"x":1},{"x":2}]`, "two records"},
		{"nothing refers to anything", lies.DanglingReference(), `{"total":1}`, "no identifier"},
		{"equal rows", lies.ReorderRows(), `[1,1]`, "two elements"},
		{"equal rows in another spelling", lies.ReorderRows(), `[1,1.0]`, "two elements"},
		{"the name is taken", lies.RenameKey("b", "$.a"), `{"a":1,"b":2}`, "no member"},
		{"the member is there", lies.AddKey("a", 1), `{"a":2}`, "no object"},
		{"no word like an enum", lies.UnknownEnum(), `{"status":"On hold"}`, "no word"},
		{"no list of messages", lies.TruncateMessages(0, plain), `[{"content":"a"}]`, "list of messages"},
		{"more is kept than there is", lies.TruncateMessages(math.MaxInt, plain), `[{"role":"user","content":"a"}]`, "list of messages"},
		{"nothing but a system message", lies.StaleMessages(1, plain), `[{"role":"system","content":"a"}]`, "list of messages"},
		{"equal messages", lies.ReorderMessages(plain), `[{"role":"user"},{"role":"user"}]`, "list of messages"},
		{"no place for a text", lies.Inject(lies.Attack{}), `[1,2]`, "text or object"},
		{"no JSON in the text", lies.InText(lies.Null()), `["null","7","{x}"]`, "text with JSON"},
		{"nothing to lie about in it", lies.InText(lies.FlipSign()), `["{}"]`, "text with JSON"},
		{"no tools", lies.ChurnTools(), `[{"name":"a"}]`, "list of two tools"},
		{"the first answer", lies.Stale(1), `1`, "no earlier answer"},
		{"the first answer", lies.Frozen(), `1`, "no first answer"},
		{"no other request", lies.Crossed(), `1`, "another request"},
		{"nothing to replay", lies.Replayed(), `1`, "no old answer"},
		{"no other target returned it", lies.Contradict(), `{"total":1}`, "another target"},
	} {
		t.Run(c.why, func(t *testing.T) {
			got, e := once(t, c.fault, c.doc)
			assert.Equal(t, c.doc, got)
			assert.False(t, e.Delivered)
			assert.Empty(t, e.Changes)
			assert.Contains(t, e.Note, c.note)
		})
	}
}

// An error of the callee passes through: there is nothing to lie about.
func TestErrorsPass(t *testing.T) {
	for _, r := range catalogue() {
		p, err := chaos.NewPlan(1, chaos.Rule{Target: "*", Fault: r.fault})
		require.NoError(t, err)
		ctx := chaos.NewContext(t.Context(), p.Injector("cell", nil))
		fn := chaos.Wrap("get", func(context.Context, int) (json.RawMessage, error) { return nil, context.Canceled })
		_, err = fn(ctx, 1)
		assert.Equal(t, context.Canceled, err, r.call)
	}
}

// document draws a document with something in it for most lies.
func document(t *rapid.T) string {
	var value func(depth int) *rapid.Generator[string]
	value = func(depth int) *rapid.Generator[string] {
		scalar := rapid.OneOf(
			rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,3})?([eE][+-]?[0-9])?`),
			rapid.SampledFrom([]string{`true`, `false`, `null`, `"open"`, `"EUR"`, `"2026-03-01T10:00:00Z"`, `"Zürich 12 km"`, `"C-77"`,
				`""`, `"a\nb\u00e9\ud83d\ude00"`, `"19.90"`, "\"\xff\"", `"say \"hi\""`}),
		)
		if depth == 0 {
			return scalar
		}
		return rapid.Custom(func(t *rapid.T) string {
			space := rapid.SampledFrom([]string{"", " ", "\n\t"}).Draw(t, "space")
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				return scalar.Draw(t, "scalar")
			case 1:
				parts := rapid.SliceOfN(value(depth-1), 0, 4).Draw(t, "list")
				return "[" + space + strings.Join(parts, ","+space) + "]"
			}
			names := []string{`"id"`, `"order_id"`, `"total"`, `"status"`, `"role"`, `"name"`, `"due date"`, `"\u0061"`, `""`}
			var parts []string
			for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 4, rapid.ID).Draw(t, "names") {
				parts = append(parts, name+space+":"+value(depth-1).Draw(t, "value"))
			}
			return "{" + space + strings.Join(parts, ","+space) + "}"
		})
	}
	return value(3).Draw(t, "document")
}

// For any document and lie: the result differs exactly when the event says so;
// it is JSON unless the lie is one that breaks it; the same coordinates tell the
// same lie; and what was not named as changed is what it was.
func TestLaws(t *testing.T) {
	rows := catalogue()
	rapid.Check(t, func(rt *rapid.T) {
		doc := document(rt)
		r := rapid.SampledFrom(rows).Draw(rt, "lie")
		seed := rapid.Uint64().Draw(rt, "seed")
		got, e := under(t, seed, r.fault, doc)
		again, _ := under(t, seed, r.fault, doc)
		switch {
		case !json.Valid([]byte(doc)):
			rt.Fatalf("the generator made %q", doc)
		case got != again:
			rt.Fatalf("%s says %q, and again %q", r.call, got, again)
		case (got != doc) != e.Delivered || e.Delivered != (len(e.Changes) > 0) || e.Delivered != (e.Note == ""):
			rt.Fatalf("%s of %q says %q; delivered %v, changes %v, note %q", r.call, doc, got, e.Delivered, e.Changes, e.Note)
		case !json.Valid([]byte(got)) && !breaksJSON(r.kind):
			rt.Fatalf("%s of %q is no JSON: %q", r.call, doc, got)
		}
		if e.Delivered && json.Valid([]byte(got)) && reflect.DeepEqual(decoded(rt, doc), decoded(rt, got)) {
			rt.Fatalf("%s of %q says %q, which a decoder does not tell apart", r.call, doc, got)
		}
		for _, ch := range e.Changes {
			if ch.Path != "" && bytes.Equal(ch.Before, ch.After) {
				rt.Fatalf("%s changed %s from %s to the same", r.call, ch.Path, ch.Before)
			}
		}
	})
}

// decoded is a document as callers see it.
func decoded(t *rapid.T, doc string) (v any) {
	dec := json.NewDecoder(strings.NewReader(doc))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%q: %v", doc, err)
	}
	return v
}

// Of several members of one name decoders read either, so no lie is told about them.
func TestMembersOfOneName(t *testing.T) {
	for _, c := range []struct {
		fault chaos.Fault
		doc   string
	}{
		{lies.Missing("$.a"), `{"a":1,"b":2,"\u0061":3}`},
		{lies.RenameKey("b", "$.a"), `[{"a":1,"c":3,"a":2}]`},
		{lies.Scale(1), `{"x":{"a":100,"b":[1,2]},"x":[7]}`},
	} {
		got, e := once(t, c.fault, c.doc)
		assert.Equal(t, c.doc, got)
		assert.False(t, e.Delivered)
		assert.Contains(t, e.Note, "two members of one name")
	}
	const inner = `{"t":"{\"a\":1,\"a\":2}"}`
	got, e := once(t, lies.InText(lies.Null("$.a")), inner)
	assert.Equal(t, inner, got)
	assert.False(t, e.Delivered)
}

func under(t testing.TB, seed uint64, f chaos.Fault, doc string) (string, chaos.Event) {
	tools, in := seededInjectorOf(t, seed, &desk{docs: []string{doc}}, f)
	got, err := tools.CallTool(context.Background(), "get", nil)
	require.NoError(t, err)
	return string(got), in.Events()[0]
}

// A lie at one place leaves the bytes around it.
func TestTheRestStays(t *testing.T) {
	const head, tail = "{ \"a\" :1.50, \"b\\u0062\":[ 2 ,{}],\n\"x\":", " , \"z\": 10000000000000000000000.10 }"
	for _, f := range []chaos.Fault{lies.Null("$.x"), lies.Empty("$.x"), lies.OffByOne("$.x"), lies.Scale(3, "$.x"), lies.FlipType("$.x"),
		lies.WrongNumber(0.5, "$.x"), lies.FlipSign("$.x"), lies.SwapDigits("$.x"), lies.Overflow("$.x"), lies.Retype("$.x"),
		lies.Envelope("e", "$.x"), lies.DanglingReference("$.x")} {
		got, e := once(t, f, head+"1042"+tail)
		assert.True(t, e.Delivered)
		assert.True(t, strings.HasPrefix(got, head) && strings.HasSuffix(got, tail), got)
		assert.Equal(t, "$['x']", e.Changes[0].Path)
		assert.Equal(t, "1042", string(e.Changes[0].Before))
		assert.Equal(t, strings.TrimSuffix(strings.TrimPrefix(got, head), tail), string(e.Changes[0].After))
	}
}

// Another seed, cell or occurrence tells another lie; adding a call elsewhere does not.
func TestDrawsSpread(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(40) {
		got, _ := under(t, seed, lies.Missing(), `{"a":1,"b":2,"c":3,"d":4}`)
		seen[got] = true
	}
	assert.Len(t, seen, 4, "each member goes under some seed")
}

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
	text, _ = via(t, lies.CutText(0.5), "a\xffb cdefgh")
	assert.Equal(t, "a\xffb c", text, "what stays of it too")
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

// addressed are lies at a path that was found by chance.
func addressed(path string) []chaos.Fault {
	return []chaos.Fault{
		lies.Empty(path), lies.Null(path), lies.Missing(path), lies.CutText(0.3, path), lies.CutList(0.3, path), lies.MissingPage(1, path),
		lies.PartialBatch(0.3, path), lies.Mojibake(path), lies.Oversized(50, path), lies.WrongNumber(0.2, path),
		lies.Scale(-2, path), lies.FlipSign(path), lies.SwapDigits(path), lies.OffByOne(path), lies.Overflow(path), lies.ShiftDate(40, path),
		lies.SwapUnit(path), lies.FlipType(path), lies.SwapFields(path, "$"), lies.SwapEntity(path), lies.FabricateRecord(path),
		lies.DanglingReference(path), lies.DuplicateRows(path), lies.ReorderRows(path), lies.RenameKey("", path), lies.RemoveKey(path),
		lies.AddKey("v", 2, path), lies.Retype(path), lies.Envelope("", path), lies.UnknownEnum(path),
		lies.TruncateMessages(1, lies.Messages{Path: path}), lies.Inject(lies.Attack{Paths: []string{path}}),
	}
}

// Any bytes, any path: no lie panics, each is honest, and what was JSON stays
// JSON under those that say so.
func FuzzLies(f *testing.F) {
	f.Add([]byte(`{"a":[{"id":1,"role":"user"},{"id":20.5e3,"role":"x y"}],"b":"2026-01-01 5 km, €3"}`), "$..id", uint64(1))
	f.Add([]byte("plain text \xff 12.50 EUR"), "$", uint64(2))
	f.Add([]byte(`[[],{},"",0,-0.0,1e999,null,true]`), "$.*", uint64(3))
	f.Add([]byte(`[{"name":"a","inputSchema":{}},{"name":"b"}]`), "$[*].name", uint64(4))
	f.Fuzz(func(t *testing.T, doc []byte, path string, seed uint64) {
		if len(doc) > 2000 {
			return
		}
		faults := all()
		if _, err := chaos.NewPlan(1, chaos.Rule{Target: "*", Fault: lies.Null(path)}); err == nil {
			faults = append(faults, addressed(path)...)
		}
		for _, fault := range faults {
			p, err := chaos.NewPlan(seed, chaos.Rule{Name: "lie", Target: "*", Fault: fault})
			require.NoError(t, err)
			in := p.Injector("cell", &chaos.InjectorOptions{RecordAll: true})
			got, err := chaos.WrapRegistry(&desk{docs: []string{string(doc)}}, in).CallTool(context.Background(), "get", nil)
			require.NoError(t, err)
			e := in.Events()[0]
			d := fault.(chaos.Described).Describe()
			if d.Kind == "changed_arguments" || d.Kind == "changed_call" {
				continue
			}
			require.Equal(t, !bytes.Equal(got, doc), e.Delivered, "%s: %q of %q", d.Kind, got, doc)
			if json.Valid(doc) && !breaksJSON(d.Kind) {
				require.True(t, json.Valid(got), "%s: %q of %q", d.Kind, got, doc)
			}
			line, err := json.Marshal(e)
			require.NoError(t, err)
			require.True(t, utf8.Valid(line))
		}
	})
}

// Lies are used by many goroutines at once, those that remember too.
func TestConcurrentUse(t *testing.T) {
	for _, f := range all() {
		tools, in := injectorOf(t, &desk{docs: []string{chat, orders, `"a text of 5 km"`}}, f)
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() {
				for i := range 8 {
					_, err := tools.CallTool(t.Context(), "get", fmt.Appendf(nil, `{"b":1,"i":%d}`, (w+i)%3))
					assert.NoError(t, err)
				}
			})
		}
		wg.Wait()
		assert.Len(t, in.Events(), 32)
	}
}
