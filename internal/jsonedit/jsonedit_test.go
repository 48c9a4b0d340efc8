package jsonedit_test

import (
	"bytes"
	"encoding/json"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

func parse(t testing.TB, text string) *jsonedit.Doc {
	t.Helper()
	d, ok := jsonedit.Parse([]byte(text))
	require.True(t, ok, text)
	return d
}

func at(t testing.TB, d *jsonedit.Doc, names ...string) int {
	t.Helper()
	i := 0
	for _, name := range names {
		member, ok := d.Member(i, name)
		require.True(t, ok, "%v", names)
		i = member
	}
	return i
}

func TestEdits(t *testing.T) {
	type edits = []jsonedit.Edit
	for _, c := range []struct {
		why, before string
		edit        func(d *jsonedit.Doc) edits
		after       string
	}{
		{"a value, and nothing else", `{ "b":1.50 , "a" : 7 }`,
			func(d *jsonedit.Doc) edits { return edits{d.Replace(at(t, d, "a"), []byte(`"x"`))} }, `{ "b":1.50 , "a" : "x" }`},
		{"the document", ` 1 `, func(d *jsonedit.Doc) edits { return edits{d.Replace(0, []byte("2"))} }, ` 2 `},
		{"a name", `{"a":1,"a\u0062":2}`, func(d *jsonedit.Doc) edits { return edits{d.Rename(at(t, d, "ab"), `c"`)} }, `{"a":1,"c\"":2}`},
		{"the first member goes with the comma behind it", `{"a":1, "b":2}`,
			func(d *jsonedit.Doc) edits { return d.Remove(at(t, d, "a")) }, `{"b":2}`},
		{"the last goes with the comma before it", `{"a":1, "b":2 }`,
			func(d *jsonedit.Doc) edits { return d.Remove(at(t, d, "b")) }, `{"a":1 }`},
		{"the only one", `{ "a":1 }`, func(d *jsonedit.Doc) edits { return d.Remove(at(t, d, "a")) }, `{  }`},
		{"several, next to each other and apart", `[1, 2, 3, 4, 5]`,
			func(d *jsonedit.Doc) edits { return d.Remove(1, 4, 2) }, `[3, 5]`},
		{"all of them", `[1, 2]`, func(d *jsonedit.Doc) edits { return d.Remove(1, 2) }, `[]`},
		{"the document cannot be removed", `[1]`, func(d *jsonedit.Doc) edits { return d.Remove(0) }, `[1]`},
		{"a new member", `{"a":1}`, func(d *jsonedit.Doc) edits { return edits{d.Insert(0, "b", []byte("2"))} }, `{"a":1,"b":2}`},
		{"in the style of those before it", "{\n \"a\": 1,\n \"b\": 2\n}",
			func(d *jsonedit.Doc) edits { return edits{d.Insert(0, "c", []byte("3"))} }, "{\n \"a\": 1,\n \"b\": 2,\n \"c\":3\n}"},
		{"a first member", `{}`, func(d *jsonedit.Doc) edits { return edits{d.Insert(0, "b", []byte("2"))} }, `{"b":2}`},
		{"a first element", `[ ]`, func(d *jsonedit.Doc) edits { return edits{d.Insert(0, "", []byte("2"))} }, `[ 2]`},
		{"an element", `[1]`, func(d *jsonedit.Doc) edits { return edits{d.Insert(0, "", []byte("2"))} }, `[1,2]`},
		{"the outer of two edits that overlap", `{"a":{"b":1}}`, func(d *jsonedit.Doc) edits {
			return edits{d.Replace(at(t, d, "a", "b"), []byte("2")), d.Replace(at(t, d, "a"), []byte("3"))}
		}, `{"a":3}`},
	} {
		t.Run(c.why, func(t *testing.T) {
			d := parse(t, c.before)
			assert.Equal(t, c.after, string(d.Apply(c.edit(d)...)))
			assert.Equal(t, c.before, string(d.Text), "the document itself stays")
		})
	}
}

func TestArrange(t *testing.T) {
	d := parse(t, "[ 1,\n  2,\n  3\n]")
	e := d.Children(0)
	assert.Equal(t, "[ 3,\n  1,\n  1\n]", string(d.Arrange(0, []int{e[2], e[0], e[0]})))
	assert.Equal(t, "[]", string(d.Arrange(0, nil)))
}

func TestMemberAt(t *testing.T) {
	d := parse(t, `{"a":{"b":2,"b":[3]},"":4}`)
	assert.Equal(t, "[3]", string(d.Raw(at(t, d, "a", "b"))), "of members with one name the last, as encoding/json has it")
	assert.Equal(t, "4", string(d.Raw(at(t, d, ""))), "an empty name is a name")
	assert.Equal(t, "$['a']['b'][0]", d.Path(at(t, d, "a", "b")+1))
	_, member, ok := jsonedit.MemberAt(d.Text, "/a/b")
	assert.True(t, ok)
	assert.Equal(t, at(t, d, "a", "b"), member)
	for _, pointer := range []string{"", "/b", "/a/c", "/a/b/0"} {
		_, _, ok := jsonedit.MemberAt(d.Text, pointer)
		assert.False(t, ok, pointer)
	}
}

// The path of a node takes memory for its length, not for that of each path above it.
func TestPathOfADeepNode(t *testing.T) {
	const depth = 9000
	d := parse(t, strings.Repeat(`[{"a":`, depth/2)+"1"+strings.Repeat("}]", depth/2))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	path := d.Path(depth)
	runtime.ReadMemStats(&after)
	assert.Equal(t, "$"+strings.Repeat("[0]['a']", depth/2), path)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(100*len(path)))
}

// What encoding/json accepts is parsed, and every node is what it decodes.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{"a":[1,-0.5e+9,"x\u00e9\ud83d\ude00\n"],"b":{},"c":null}`, " [ true , false ] ", `"\ud800"`, `01`, `[1,]`,
		"\"\xff\"", `{"a":1,"a":{}}`, strings.Repeat("[", 10001), `-`, `1e`, `"\x"`, ``, `{"a"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, ok := jsonedit.Parse(text)
		require.Equal(t, json.Valid(text), ok, "%q", text)
		if !ok {
			return
		}
		require.Equal(t, string(text), string(d.Apply()))
		for i := range d.Nodes {
			require.True(t, json.Valid(d.Raw(i)))
			if d.Kind(i) == jsonedit.String {
				var want string
				require.NoError(t, json.Unmarshal(d.Raw(i), &want))
				got := d.String(i)
				require.Equal(t, got, jsonedit.Unquote(jsonedit.Quote(got)))
				if utf8.ValidString(got) {
					require.Equal(t, want, got, "%q", d.Raw(i))
				}
			}
			require.True(t, json.Valid(d.Apply(d.Remove(i)...)), "without node %d", i)
			require.True(t, json.Valid(d.Apply(d.Replace(i, []byte("null")))))
		}
	})
}

// A quoted string is the string, for encoding/json too where it is UTF-8.
func TestQuote(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.StringMatching(`[\x00-\x1f"\\/u]{0,6}`)).Draw(t, "s")
		var got string
		if err := json.Unmarshal(jsonedit.Quote(s), &got); err != nil || got != s {
			t.Fatalf("%q is read as %q, %v", s, got, err)
		}
	})
}

// Removing any members leaves what encoding/json has without them.
func TestRemoveMatchesEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.IntRange(0, 99), 0, 8).Draw(t, "list")
		text, _ := json.MarshalIndent(list, "", " ")
		d, _ := jsonedit.Parse(text)
		var gone []int
		kept := []int{}
		for k, i := range d.Children(0) {
			if rapid.Bool().Draw(t, "gone") {
				gone = append(gone, i)
			} else {
				kept = append(kept, list[k])
			}
		}
		want, _ := json.Marshal(kept)
		var got bytes.Buffer
		if err := json.Compact(&got, d.Apply(d.Remove(gone...)...)); err != nil || got.String() != string(want) {
			t.Fatalf("%s without %v is %s, %v; want %s", text, gone, got.String(), err, want)
		}
	})
}

func BenchmarkParse10KB(b *testing.B) {
	var list []map[string]any
	for i := range 100 {
		list = append(list, map[string]any{"id": i, "name": "a thing of some kind", "price": 19.9, "tags": []string{"a", "b"}, "ok": true})
	}
	text, _ := json.Marshal(list)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, ok := jsonedit.Parse(text); !ok {
			b.Fatal("not parsed")
		}
	}
}
