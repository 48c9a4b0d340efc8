package lies_test

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

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
