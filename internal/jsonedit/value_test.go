package jsonedit_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

func parseValue(t require.TestingT, doc string) *jsonedit.Value {
	v, ok := jsonedit.ParseValue([]byte(doc))
	require.True(t, ok)
	return v
}

func TestChangesKeepTheRest(t *testing.T) {
	const doc = ` { "a" : 1.50e+2, "b": [1, {"c" : "x"},true ], "é\"": null, "z": {} } `
	for name, tc := range map[string]struct {
		change func(v *jsonedit.Value)
		want   string
	}{
		"nothing": {func(*jsonedit.Value) {}, `{ "a" : 1.50e+2, "b": [1, {"c" : "x"},true ], "é\"": null, "z": {} }`},
		"looking": {func(v *jsonedit.Value) { v.Get("b").At(1).Get("c").Text() }, `{ "a" : 1.50e+2, "b": [1, {"c" : "x"},true ], "é\"": null, "z": {} }`},
		"a text deep down": {func(v *jsonedit.Value) { v.Get("b").At(1).SetText("c", "<y>") },
			`{ "a" : 1.50e+2, "b": [1, {"c" : "<y>"},true ], "é\"": null, "z": {} }`},
		"a new member":      {func(v *jsonedit.Value) { v.Get("z").SetText("n", "") }, `{ "a" : 1.50e+2, "b": [1, {"c" : "x"},true ], "é\"": null, "z": {"n":""} }`},
		"twice":             {func(v *jsonedit.Value) { v.SetText("a", "p"); v.Bytes(); v.SetText("z", "q") }, `{ "a" : "p", "b": [1, {"c" : "x"},true ], "é\"": null, "z": "q" }`},
		"a member less":     {func(v *jsonedit.Value) { v.Delete("é\""); v.Delete("b"); v.Delete("none") }, `{ "a" : 1.50e+2, "z": {} }`},
		"an element less":   {func(v *jsonedit.Value) { v.Get("b").Remove(0); v.Get("b").Remove(7) }, `{ "a" : 1.50e+2, "b": [{"c" : "x"},true ], "é\"": null, "z": {} }`},
		"an element more":   {func(v *jsonedit.Value) { v.Get("b").Add(jsonedit.Of(2)); v.Add(jsonedit.Of(3)) }, `{ "a" : 1.50e+2, "b": [1, {"c" : "x"},true,2 ], "é\"": null, "z": {} }`},
		"another name":      {func(v *jsonedit.Value) { v.Rename(0, "A") }, `{ "A" : 1.50e+2, "b": [1, {"c" : "x"},true ], "é\"": null, "z": {} }`},
		"all parts are out": {func(v *jsonedit.Value) { v.Get("b").Remove(0); v.Get("b").Remove(0); v.Get("b").Remove(0) }, `{ "a" : 1.50e+2, "b": [ ], "é\"": null, "z": {} }`},
		"a place that is not there": {func(v *jsonedit.Value) { v.Get("x").At(1).SetText("a", "b"); v.Get("a").SetText("a", "b") },
			`{ "a" : 1.50e+2, "b": [1, {"c" : "x"},true ], "é\"": null, "z": {} }`},
	} {
		t.Run(name, func(t *testing.T) {
			v := parseValue(t, doc)
			tc.change(v)
			assert.Equal(t, tc.want, string(v.Bytes()))
		})
	}
}

func TestReading(t *testing.T) {
	v := parseValue(t, `{"s":"a\nb","n":7,"f":7.5,"z":null,"l":[1,2],"s2":1,"s2":2}`)
	text, ok := v.Get("s").Text()
	assert.True(t, ok)
	assert.Equal(t, "a\nb", text)
	_, ok = v.Get("n").Text()
	assert.False(t, ok)
	assert.Equal(t, 7, v.Get("n").Int(-1))
	assert.Equal(t, -1, v.Get("f").Int(-1))
	assert.Equal(t, -1, v.Get("z").Int(-1))
	assert.Equal(t, -1, v.Get("none").Int(-1))
	assert.Equal(t, 2, v.Get("s2").Int(-1), "the last counts, as with encoding/json")
	assert.Equal(t, 2, v.Get("l").Len())
	assert.Zero(t, v.Get("s").Len())
	assert.Equal(t, "n", v.Keys()[1])
	assert.Nil(t, v.Get("none").Bytes())
	_, ok = jsonedit.ParseValue([]byte(`{`))
	assert.False(t, ok)
	assert.Equal(t, "null", string(jsonedit.Of(func() {}).Bytes()))
}

// values draws any JSON value.
func values() *rapid.Generator[any] {
	leaf := rapid.OneOf(rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.Int().AsAny(), rapid.Float64Range(-1e9, 1e9).AsAny(), rapid.String().AsAny())
	list := rapid.SliceOfN(leaf, 0, 3).AsAny()
	object := rapid.MapOfN(rapid.String(), rapid.OneOf(leaf, list), 0, 4).AsAny()
	return rapid.OneOf(leaf, list, object, rapid.SliceOfN(object, 0, 3).AsAny())
}

func TestEveryPlaceIsFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw, err := json.MarshalIndent(values().Draw(t, "value"), "", rapid.SampledFrom([]string{"", " "}).Draw(t, "indent"))
		require.NoError(t, err)
		v := parseValue(t, string(raw))
		rewrite(t, v)
		require.JSONEq(t, string(raw), string(v.Bytes()))
	})
}

// A change of a Value writes what the same edit of a Doc does.
func TestChangesAreEdits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw, err := json.MarshalIndent(values().Draw(t, "value"), "", rapid.SampledFrom([]string{"", " "}).Draw(t, "indent"))
		require.NoError(t, err)
		d, ok := jsonedit.Parse(raw)
		require.True(t, ok)
		root, at := parseValue(t, string(raw)), rapid.IntRange(0, len(d.Nodes)-1).Draw(t, "node")
		v, children := find(root, d, at), d.Children(at)
		var edits []jsonedit.Edit
		switch change := rapid.SampledFrom([]string{"put", "remove", "rename", "insert"}).Draw(t, "change"); {
		case change == "put" || len(children) == 0:
			v.Put([]byte(` [ 0 ] `))
			edits = append(edits, d.Replace(at, []byte(`[ 0 ]`)))
		case change == "remove" && len(children) > 1:
			i := rapid.IntRange(0, len(children)-1).Draw(t, "which")
			v.Remove(i)
			edits = d.Remove(children[i])
		case change == "rename" && v.Kind() == jsonedit.Object:
			i := rapid.IntRange(0, len(children)-1).Draw(t, "which")
			v.Rename(i, "\n")
			edits = append(edits, d.Rename(children[i], "\n"))
		default:
			v.Add(jsonedit.Of("x"))
			v.SetText("a name that no other member has", "x")
			edits = append(edits, d.Insert(at, "a name that no other member has", []byte(`"x"`)))
		}
		require.Equal(t, string(d.Apply(edits...)), string(root.Bytes()))
	})
}

// find is node i of a document as a Value.
func find(root *jsonedit.Value, d *jsonedit.Doc, i int) *jsonedit.Value {
	n := d.Nodes[i]
	if n.Parent < 0 {
		return root
	}
	return find(root, d, int(n.Parent)).At(int(n.Index))
}

// rewrite sets every leaf to itself.
func rewrite(t *rapid.T, v *jsonedit.Value) {
	require.True(t, json.Valid(v.Bytes()))
	for i := range v.Len() {
		rewrite(t, v.At(i))
	}
	if v.Len() == 0 {
		v.Put(v.Bytes())
	}
}

func FuzzValue(f *testing.F) {
	for _, seed := range []string{`{}`, ` [1 , {"a":"\\\""}]`, `"x"`, `-0.5e3`, `{"a":{"b":[[]]}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		v, ok := jsonedit.ParseValue(doc)
		if !ok {
			return
		}
		want := decode(t, doc)
		v.Add(jsonedit.Of(1))
		v.SetText("\x00", "a")
		got := decode(t, v.Bytes())
		switch w := want.(type) {
		case []any:
			want = append(w, json.Number("1"))
		case map[string]any:
			w["\x00"] = "a"
		}
		assert.Equal(t, want, got)
	})
}

// decode keeps numbers that have no float64.
func decode(t *testing.T, doc []byte) (v any) {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	require.NoError(t, d.Decode(&v))
	return v
}

// BenchmarkChange changes one text of a document of 10 KB, beside what it
// costs to decode and encode it.
func BenchmarkChange(b *testing.B) {
	var items []string
	for i := range 100 {
		items = append(items, fmt.Sprintf(`{"id":%d,"name":"an item of the list","tags":["a","b"],"price":%d.50,"note":"%s"}`, i, i, strings.Repeat("x", 20)))
	}
	doc := []byte(`{"items":[` + strings.Join(items, ",") + `]}`)
	b.Run("value", func(b *testing.B) {
		b.SetBytes(int64(len(doc)))
		b.ReportAllocs()
		for b.Loop() {
			v, _ := jsonedit.ParseValue(doc)
			v.Get("items").At(50).SetText("name", "another")
			v.Bytes()
		}
	})
	b.Run("decode and encode", func(b *testing.B) {
		b.SetBytes(int64(len(doc)))
		b.ReportAllocs()
		for b.Loop() {
			var v any
			_ = json.Unmarshal(doc, &v)
			_, _ = json.Marshal(v)
		}
	})
}

// A text goes where the pointer says, and nowhere if the document is of another shape; it is then given, and gone without.
func TestWithText(t *testing.T) {
	for _, tt := range []struct{ pointer, doc, want string }{
		{"/key", ``, `{"key":"k"}`},
		{"/key", `null`, `{"key":"k"}`},
		{"/key", `{"key":""}`, `{"key":"k"}`},
		{"/key", `{"a":1.50,"key":null}`, `{"a":1.50,"key":"k"}`},
		{"/meta/key", `{"a":1}`, `{"a":1,"meta":{"key":"k"}}`},
		{"/meta/key", `{"meta":{"b":2}}`, `{"meta":{"b":2,"key":"k"}}`},
		{"/meta/key", `{"meta":null}`, `{"meta":{"key":"k"}}`},
		{"/a~1b", `{}`, `{"a/b":"k"}`},
		{"", `{}`, ``},
		{"/meta/key", `{"meta":[1]}`, ``},
		{"/0", `[1]`, ``},
		{"/key", `[1]`, ``},
		{"/key", `not JSON`, ``},
	} {
		require.False(t, jsonedit.Given([]byte(tt.doc), tt.pointer), "%s in %s", tt.pointer, tt.doc)
		got, ok := jsonedit.WithText([]byte(tt.doc), tt.pointer, "k")
		require.Equal(t, tt.want, string(got), "%s in %s", tt.pointer, tt.doc)
		require.Equal(t, ok, jsonedit.Given(got, tt.pointer), "%s in %s", tt.pointer, tt.doc)
		_, _, found := jsonedit.MemberAt(jsonedit.Without(got, tt.pointer), tt.pointer)
		require.False(t, found, "%s in %s", tt.pointer, got)
	}
}

func TestWithout(t *testing.T) {
	for _, tt := range []struct{ pointer, doc, want string }{
		{"/key", `{"a": 1.50, "key":"k"}`, `{"a": 1.50}`},
		{"/meta/key", `{"meta":{"key":null}}`, `{"meta":{}}`},
		{"/meta/key", `{"a": 1}`, `{"a": 1}`},
		{"/meta/0", `{"meta": [1]}`, `{"meta": [1]}`},
		{"", `{"": 1}`, `{"": 1}`},
		{"/key", `not JSON`, `not JSON`},
	} {
		require.Equal(t, tt.want, string(jsonedit.Without([]byte(tt.doc), tt.pointer)), "%s in %s", tt.pointer, tt.doc)
	}
}
