package nearest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/internal/jsonhash"
	"github.com/shakedown-go/shakedown/internal/nearest"
)

func doc(body string) nearest.Document { return nearest.Document{Body: []byte(body)} }

func find(t *testing.T, asked nearest.Document, tape ...nearest.Document) nearest.Match {
	t.Helper()
	m, ok := nearest.New(len(tape), func(i int) nearest.Document { return tape[i] }).Find(asked, nil)
	require.True(t, ok)
	return m
}

// Two documents that agree are compared without a pointer to each of their values.
func TestDeepDocumentsAreComparedInOneWalk(t *testing.T) {
	deep := doc(strings.Repeat(`[`, 9000) + "1" + strings.Repeat("]", 9000))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	d := nearest.Compare(deep, deep)
	runtime.ReadMemStats(&after)
	assert.Empty(t, d.Places)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(2000*9000))
}

func TestFind(t *testing.T) {
	named := func(name, body string) nearest.Document {
		return nearest.Document{Names: []nearest.Name{{Label: "tool", Text: name}}, Body: []byte(body)}
	}
	for _, row := range []struct {
		why   string
		asked nearest.Document
		tape  []nearest.Document
		want  nearest.Match
	}{
		{"equal by value", doc(`{"a":1.0,"b":"x"}`), []nearest.Document{doc(`{"a":2}`), doc(`{ "b":"\u0078", "a":1 }`)}, nearest.Match{At: 1, Share: 1}},
		{"half of the leaves", doc(`{"a":1,"b":2}`), []nearest.Document{doc(`{"a":1,"b":3}`)}, nearest.Match{Share: 0.5}},
		{"ties go to the earlier", doc(`{"a":1,"b":2}`), []nearest.Document{doc(`{"c":1}`), doc(`{"a":1,"b":9}`), doc(`{"a":8,"b":2}`)}, nearest.Match{At: 1, Share: 0.5}},
		{"the pointer counts", doc(`{"a":1}`), []nearest.Document{doc(`{"b":1}`), doc(`[1]`), doc(`1`)}, nearest.Match{}},
		{"null, {} and [] differ", doc(`{"a":{}}`), []nearest.Document{doc(`{"a":null}`), doc(`{"a":[]}`), doc(`{"a":{}}`)}, nearest.Match{At: 2, Share: 1}},
		{"a longer document is less like", doc(`{"a":1}`), []nearest.Document{doc(`{"a":1,"b":2,"c":3}`), doc(`{"a":1,"b":2}`)}, nearest.Match{At: 1, Share: 2.0 / 3}},
		{"a repeated member counts once", doc(`{"a":1}`), []nearest.Document{doc(`{"a":1,"a":1,"a":1}`)}, nearest.Match{Share: 0.5}},
		{"text that is not JSON is one leaf", doc(`a=1`), []nearest.Document{doc(`a=2`), doc(`a=1`)}, nearest.Match{At: 1, Share: 1}},
		{"names are leaves", named("refund", `{"id":1}`), []nearest.Document{named("lookup", `{"id":1}`), named("refund", `{"id":2}`), named("refund", `{"id":1}`)}, nearest.Match{At: 2, Share: 1}},
		{"nothing at all", doc(``), []nearest.Document{doc(``)}, nearest.Match{Share: 1}},
	} {
		assert.Equal(t, row.want, find(t, row.asked, row.tape...), row.why)
	}
	_, ok := nearest.New(0, nil).Find(doc(`1`), nil)
	assert.False(t, ok, "no documents")
	x := nearest.New(2, func(i int) nearest.Document { return doc(`{"a":1}`) })
	m, ok := x.Find(doc(`{"a":1}`), func(i int) bool { return i == 1 })
	assert.True(t, ok && m.At == 1, "the first is not among those to use")
}

// leaves is the oracle: pointer and value of each leaf, by encoding/json.
func leaves(body []byte) map[string]bool {
	found := map[string]bool{}
	var walk func(at string, v any)
	walk = func(at string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, child := range v {
				walk(at+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(name), child)
			}
			if len(v) > 0 {
				return
			}
		case []any:
			for i, child := range v {
				walk(fmt.Sprintf("%s/%d", at, i), child)
			}
			if len(v) > 0 {
				return
			}
		}
		found[fmt.Sprintf("%s = %T %v", at, v, v)] = true
	}
	var v any
	if json.Unmarshal(body, &v) != nil {
		v = string(body)
	}
	walk("", v)
	return found
}

func oracleShare(a, b []byte) float64 {
	x, y := leaves(a), leaves(b)
	equal := 0
	for leaf := range x {
		if y[leaf] {
			equal++
		}
	}
	return float64(2*equal) / float64(len(x)+len(y))
}

// documents draws small documents that have much in common. An index and a name never make one pointer.
func documents() *rapid.Generator[string] {
	value := rapid.OneOf(rapid.SampledFrom([]string{"1", "2", `"x y"`, `"x z"`, "null", "true", "{}", "[]", `"a/b~"`, `"\n"`}))
	name := rapid.SampledFrom([]string{"a", "b", "c/d", "e~", ""})
	for range 3 {
		inner := value
		list := rapid.Map(rapid.SliceOfN(inner, 0, 3), func(s []string) string { return "[" + strings.Join(s, ", ") + "]" })
		object := rapid.Map(rapid.MapOfN(name, inner, 0, 3), func(m map[string]string) string {
			var b []string
			for k, v := range m {
				b = append(b, fmt.Sprintf("%q: %s", k, v))
			}
			return "{" + strings.Join(b, ", ") + "}"
		})
		value = rapid.OneOf(inner, list, object)
	}
	return value
}

func TestFindAgreesWithAnOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		asked := documents().Draw(t, "asked")
		tape := rapid.SliceOfN(documents(), 1, 6).Draw(t, "tape")
		want := nearest.Match{Share: -1}
		for i, d := range tape {
			if s := oracleShare([]byte(asked), []byte(d)); s > want.Share {
				want = nearest.Match{At: i, Share: s}
			}
		}
		got, ok := nearest.New(len(tape), func(i int) nearest.Document { return doc(tape[i]) }).Find(doc(asked), nil)
		require.True(t, ok)
		assert.Equal(t, want, got)
	})
}

func TestCompare(t *testing.T) {
	long := strings.Repeat("many words of which none differs ", 40)
	key := strings.Repeat("QUJD", 200)
	for _, row := range []struct{ why, asked, recorded, want string }{
		{"equal by value", `{"a":1.0}`, `{ "a":1 }`, ""},
		{"a word", `{"messages":[{"content":"error: i/o timeout"}]}`, `{"messages":[{"content":"R-1"}]}`,
			"  /messages/0/content  [-R-1-]{+error: i/o timeout+}"},
		{"a word among others", `{"a":"refund order 1043 today, please"}`, `{"a":"refund order 1042 today, please"}`,
			"  /a  [-refund order 1042 today, please-]{+refund order 1043 today, please+}"},
		{"far into a text", `{"a":"` + long + `1043 ` + long + `"}`, `{"a":"` + long + `1042 ` + long + `"}`,
			"  /a  [-… differs 1042 many words of which none differs many words of which none…-]{+… differs 1043 " +
				"many words of which none differs many words of which none…+}"},
		{"a long word is shown where it differs", `"` + key + `x"`, `"` + key + `y"`,
			"  (whole)  [-…QUJDQUJDQUJDy-]{+…QUJDQUJDQUJDx+}"},
		{"types differ", `{"a":"7"}`, `{"a":7}`, `  /a  [-7-]{+"7"+}`},
		{"members in the order of what was asked, then the others", `{"z":1,"a":{"x": 1}}`, `{"m":[ 1, 2 ]}`,
			"  /z  only asked: 1\n  /a  only asked: {\"x\":1}\n  /m  only on the tape: [1,2]"},
		{"elements", `[1,2,3]`, `[1,5]`, "  /1  [-5-]{+2+}\n  /2  only asked: 3"},
		{"pointers are escaped", `{"a/b":{"c~":1}}`, `{"a/b":{"c~":2}}`, "  /a~1b/c~0  [-2-]{+1+}"},
		{"texts that are not JSON", `id=1&b=2`, `id=2&b=2`, "  (whole)  [-id=2&b=2-]{+id=1&b=2+}"},
		{"no body", ``, `{"a": 1}`, `  (whole)  only on the tape: {"a":1}`},
		{"the last of repeated members counts", `{"a":1,"a":2,"b":1}`, `{"a":2,"b":2}`, "  /b  [-2-]{+1+}"},
		{"they are all that differs", `{"a":1,"a":2}`, `{"a":2}`, `  (whole)  [-{"a":2}-]{+{"a":1,"a":2}+}`},
		{"a text, and the same in JSON", `abc`, `"abc"`, `  (whole)  [-"abc"-]{+abc+}`},
		{"bytes that are no text", "\xff", "\xfe", `  (whole)  [-\xfe-]{+\xff+}`},
		{"control characters", `{"a\u001b[2J":"x\u0007\u202e","b":"\u0085"}`, `{"a\u001b[2J":"y"}`,
			"  /a\\x1b[2J  [-y-]{+x\\a\\u202e+}\n  /b         only asked: \"\\u0085\""},
	} {
		got := nearest.Compare(doc(row.asked), doc(row.recorded))
		assert.Equal(t, row.want, got.String(), row.why)
	}
}

func TestFirst(t *testing.T) {
	for _, row := range []struct{ a, b, at, first, second string }{
		{`{"a":[1,{"b":2}]}`, `{"a":[1,{"b":"2"}]}`, "/a/1/b", "2", `"2"`},
		{`{"a/b":1}`, `{}`, "/a~1b", "1", "nothing"},
		{`[]`, `[null]`, "/0", "nothing", "null"},
		{`1`, `2`, "", "1", "2"},
	} {
		at, first, second, differ := nearest.First([]byte(row.a), []byte(row.b))
		assert.True(t, differ)
		assert.Equal(t, []string{row.at, row.first, row.second}, []string{at, first, second})
	}
	_, _, _, differ := nearest.First([]byte(`{"a":1}`), []byte(`{ "a": 1.0 }`))
	assert.False(t, differ, "equal by value")
}

func TestCompareNames(t *testing.T) {
	asked := nearest.Document{Names: []nearest.Name{{Label: "method", Text: "GET"}, {Label: "query/page", Text: "2"}}}
	recorded := nearest.Document{Names: []nearest.Name{{Label: "method", Text: "POST"}, {Label: "query/limit", Text: ""}}}
	assert.Equal(t, "  method       [-POST-]{+GET+}\n  query/page   only asked: 2\n  query/limit  only on the tape: ",
		nearest.Compare(asked, recorded).String())
}

func TestCompareShowsTwelvePlacesOfOneHundredAndSixtyColumns(t *testing.T) {
	var asked, recorded []string
	for i := range 30 {
		name := strings.Repeat("n", 10*i)
		asked = append(asked, fmt.Sprintf(`%q:"%s"`, name, strings.Repeat("ä ö ", 200+i)))
		recorded = append(recorded, fmt.Sprintf(`%q:"%s"`, name, strings.Repeat("ü é ", 100)))
	}
	d := nearest.Compare(doc("{"+strings.Join(asked, ",")+"}"), doc("{"+strings.Join(recorded, ",")+"}"))
	assert.Len(t, d.Places, 12)
	assert.Equal(t, 18, d.More)
	for line := range strings.Lines(d.String()) {
		assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), 160, line)
	}
	assert.Contains(t, d.String(), "\n  and 18 more")
}

// Whatever two documents are: there is a place exactly where they differ, and nothing that a terminal would obey.
func TestCompareLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := documents().Draw(t, "a"), documents().Draw(t, "b")
		d := nearest.Compare(doc(a), doc(b))
		assert.Equal(t, jsonhash.Same([]byte(a), []byte(b)), len(d.Places) == 0)
		back := nearest.Compare(doc(b), doc(a))
		assert.Equal(t, len(d.Places)+d.More, len(back.Places)+back.More, "the same places the other way")
	})
}

func FuzzCompare(f *testing.F) {
	f.Add([]byte(`{"a":[1,"x y"]}`), []byte(`{"a":[2,"x z"]}`))
	f.Add([]byte("not \xff JSON"), []byte(`[`+strings.Repeat("[", 100)))
	f.Add([]byte(`{"a":1,"a":2,"":{}}`), []byte(`{"":null}`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		asked, recorded := nearest.Document{Body: a}, nearest.Document{Body: b}
		m, _ := nearest.New(1, func(int) nearest.Document { return recorded }).Find(asked, nil)
		if m.Share < 0 || m.Share > 1 {
			t.Errorf("a share of %v", m.Share)
		}
		d := nearest.Compare(asked, recorded)
		for line := range strings.Lines(d.String()) {
			line = strings.TrimSuffix(line, "\n")
			if utf8.RuneCountInString(line) > 160 || strings.ContainsFunc(line, unicode.IsControl) || !utf8.ValidString(line) {
				t.Errorf("line %q", line)
			}
		}
		if len(d.Places) == 0 && !jsonhash.Same(a, b) {
			t.Errorf("documents that are not equal differ nowhere")
		}
		if bytes.Equal(a, b) && (len(d.Places) > 0 || m.Share != 1) {
			t.Errorf("equal documents differ: %v, %v", m, d)
		}
	})
}
