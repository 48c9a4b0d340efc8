package strictjson_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/internal/strictjson"
)

type order struct {
	ID     uint64          `json:"id"`
	Item   string          `json:"item"`
	Size   string          `json:"size,omitempty" bounds:"enum=|small|large"`
	Count  int             `json:"count,omitempty" bounds:"min=1,max=9"`
	Price  float64         `json:"price,omitempty" bounds:"over=0"`
	Wait   time.Duration   `json:"wait,omitempty" bounds:"min=1s,max=1h"`
	Gift   bool            `json:"gift,omitempty"`
	Lines  []line          `json:"lines,omitempty" bounds:"max=2"`
	Marks  []int           `json:"marks,omitempty" bounds:"over=0"`
	Labels map[string]int  `json:"labels,omitempty"`
	Note   *string         `json:"note,omitempty"`
	Rest   json.RawMessage `json:"rest,omitempty"`
}

type line struct {
	Text string `json:"text"`
}

func decode(text string) (order, []string) {
	var o order
	err := strictjson.Decode([]byte(text), &o, nil)
	if err == nil {
		return o, nil
	}
	return o, strings.Split(err.Error(), "\n")
}

func TestDecodeReadsEveryType(t *testing.T) {
	o, problems := decode(`{"id":"18446744073709551615","item":"cup","size":"small","count":3,"price":2.5,"wait":"90s","gift":true,
		"lines":[{"text":"a"}],"marks":[1],"labels":{"x":1},"note":"n","rest":{"b":1, "a":[2]}}`)
	require.Empty(t, problems)
	note := "n"
	assert.Equal(t, order{ID: math.MaxUint64, Item: "cup", Size: "small", Count: 3, Price: 2.5, Wait: 90 * time.Second, Gift: true,
		Lines: []line{{"a"}}, Marks: []int{1}, Labels: map[string]int{"x": 1}, Note: &note, Rest: json.RawMessage(`{"b":1,"a":[2]}`)}, o)
}

func TestDecodeNamesEveryProblem(t *testing.T) {
	for _, row := range []struct{ why, doc, want string }{
		{"no JSON", `{"id":`, "line 1, column 6: the text is not JSON: unexpected end of JSON input"},
		{"more than one document", `{} {}`, "line 1, column 4: the text is not JSON: invalid character '{' after top-level value"},
		{"no UTF-8", "{\"id\":1,\"item\":\"\xff\"}", "line 1, column 17: the text is not JSON: the document is not UTF-8"},
		{"a member is missing", `{"item":"cup"}`, "line 1, column 1: /id is missing; allowed: a decimal string"},
		{"a member twice", `{"id":1,"item":"cup","item":"cap"}`, "line 1, column 22: /item is there twice; allowed: each member of an object once"},
		{"a name in another case", `{"id":1,"Item":"cup","item":"cup"}`, "line 1, column 16: /Item is unknown; allowed: one of id, item, size, count, price, wait, gift, lines, marks, labels, note, rest; did you mean item?"},
		{"a wrong type", `{"id":1,"item":7}`, "line 1, column 16: /item is a number; allowed: a string"},
		{"a wrong type for 64 bits", `{"id":true,"item":"cup"}`, "line 1, column 7: /id is a boolean; allowed: a decimal string of at most 64 bits, or an integer below 9007199254740992"},
		{"a wrong type for a time", `{"id":1,"item":"cup","wait":10}`, `line 1, column 29: /wait is a number; allowed: a duration such as "1.5s" or "200ms"`},
		{"null is no string", `{"id":1,"item":null}`, "line 1, column 16: /item is null; allowed: a string"},
		{"an integer that some readers round", `{"id":9007199254740992,"item":"cup"}`, "line 1, column 7: /id is 9007199254740992; allowed: a decimal string of at most 64 bits, or an integer below 9007199254740992"},
		{"a word that is not allowed", `{"id":1,"item":"cup","size":"smal"}`, `line 1, column 29: /size is "smal"; allowed: one of small, large; did you mean small?`},
		{"too few", `{"id":1,"item":"cup","count":-1}`, "line 1, column 30: /count is -1; allowed: an integer from 1 to 9"},
		{"an exclusive bound", `{"id":1,"item":"cup","price":-0.5}`, "line 1, column 30: /price is -0.5; allowed: a number of more than 0"},
		{"too short a time", `{"id":1,"item":"cup","wait":"10ms"}`, `line 1, column 29: /wait is "10ms"; allowed: a duration from 1s to 1h`},
		{"a time without a unit", `{"id":1,"item":"cup","wait":"10"}`, `line 1, column 29: /wait is "10"; allowed: a duration such as "1.5s" or "200ms"`},
		{"a list that is too long", `{"id":1,"item":"cup","lines":[{"text":""},{"text":""},{"text":""}]}`, `line 1, column 30: /lines is [{"text":""},{"text":""},{"text":""}]; allowed: a list of at most 2`},
		{"within a list", `{"id":1,"item":"cup","lines":[{"text":""},{"txt":""}]}`, "line 1, column 43: /lines/1/text is missing; allowed: a string"},
		{"an element out of bounds", `{"id":1,"item":"cup","marks":[1,0]}`, "line 1, column 30: /marks is [1,0]; allowed: a list, each more than 0"},
		{"a member whose name needs an escape", `{"id":1,"item":"cup","labels":{"a/b~":"x"}}`, "line 1, column 39: /labels/a~1b~0 is a string; allowed: an integer"},
	} {
		t.Run(row.why, func(t *testing.T) {
			_, problems := decode(row.doc)
			require.NotEmpty(t, problems)
			assert.Equal(t, row.want, problems[0])
		})
	}
}

// Problems have the line and column of the value, counted from 1.
func TestProblemsHaveLinesAndColumns(t *testing.T) {
	var o order
	err := strictjson.Decode([]byte("{\n  \"id\": 1,\n  \"item\" :  7,\n  \"count\": \"x\",\n  \"odd\": [1]\n}"), &o, nil)
	assert.Equal(t, []string{"line 3, column 13", "line 4, column 12", "line 5, column 10"},
		regexp.MustCompile(`line \d, column \d+`).FindAllString(err.Error(), -1))
}

// However many problems there are, a hundred are shown and the others counted.
func TestProblemsAreBounded(t *testing.T) {
	doc := `{"id":1,"item":"cup","labels":{`
	for i := range 150 {
		doc += `"` + strings.Repeat("k", i+1) + `":"x",`
	}
	var o order
	err := strictjson.Decode([]byte(strings.TrimSuffix(doc, ",")+"}}"), &o, nil)
	assert.ErrorContains(t, err, "and 50 more problems")
	assert.Equal(t, 100, strings.Count(err.Error(), "\n"))
}

func TestDepthIsBounded(t *testing.T) {
	var p strictjson.Problems
	assert.Nil(t, strictjson.Parse([]byte(strings.Repeat("[", 70)+strings.Repeat("]", 70)), 1000, &p))
	assert.ErrorContains(t, p.Err(), " is depth; allowed: at most 64 levels")
	p = strictjson.Problems{}
	assert.Nil(t, strictjson.Parse(make([]byte, 11), 10, &p))
	assert.ErrorContains(t, p.Err(), "the document is 11 bytes; allowed: at most 10")
}

func TestBindableNamesWhatCannotBeRead(t *testing.T) {
	type loop struct {
		Next *loop `json:"next"`
	}
	r := &strictjson.Reader{}
	assert.NoError(t, r.Bindable(reflect.TypeFor[order]()))
	assert.EqualError(t, r.Bindable(reflect.TypeFor[int]()), "int is not a struct")
	assert.EqualError(t, r.Bindable(reflect.TypeFor[struct {
		C chan int `json:"c"`
	}]()), "c: chan int has no JSON form here")
	assert.EqualError(t, r.Bindable(reflect.TypeFor[struct {
		M map[int]string `json:"m"`
	}]()), "m: map[int]string has keys that are no strings")
	assert.ErrorContains(t, r.Bindable(reflect.TypeFor[loop]()), "contains itself")
}

// What Encode writes, Decode reads back as the same value.
func TestEncodeIsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := order{
			ID: rapid.Uint64().Draw(t, "id"), Item: strings.ToValidUTF8(rapid.String().Draw(t, "item"), "?"),
			Size:  rapid.SampledFrom([]string{"", "small", "large"}).Draw(t, "size"),
			Count: rapid.IntRange(0, 9).Draw(t, "count"), Price: rapid.Float64Range(0, 1e9).Draw(t, "price"),
			Wait: time.Duration(rapid.SampledFrom([]int64{0, 1e9, 5e9, 36e11}).Draw(t, "wait")), Gift: rapid.Bool().Draw(t, "gift"),
		}
		for _, text := range rapid.SliceOfN(rapid.StringMatching(`[a-z<&/~"]*`), 0, 2).Draw(t, "lines") {
			o.Lines = append(o.Lines, line{text})
		}
		doc, err := strictjson.Encode(o, nil)
		require.NoError(t, err)
		var back order
		require.NoError(t, strictjson.Decode(doc, &back, nil), "%s", doc)
		assert.Equal(t, o, back)
	})
}

func TestEncodeRefusesWhatHasNoJSON(t *testing.T) {
	_, err := strictjson.Encode(order{Price: math.NaN()}, nil)
	var unsupported *json.UnsupportedValueError
	assert.True(t, errors.As(err, &unsupported), "%v", err)
}

// The reader takes exactly the documents that encoding/json takes as JSON, and
// writes them back with the same content.
func FuzzParse(f *testing.F) {
	for _, doc := range []string{`{"a":[1,2.50,"x\n",null,true],"b":{}}`, `[`, `{"a":1,"a":2}`, "\"\xff\"", ` 7 `, `[[[[]]]]`, `{"":-0.0e-5}`,
		`{"b\n\u00e9": "\ud83d\ude00\\\"", "": {}}`, "[{\"a\":[{}]},\r\n\t\"\\ud800\"]"} {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		var p strictjson.Problems
		n := strictjson.Parse(doc, 1<<20, &p)
		if n == nil {
			if p.Err() == nil {
				t.Fatal("no document and no problem")
			}
			return
		}
		if !json.Valid(doc) {
			t.Fatal("that is no JSON")
		}
		if p.Err() == nil {
			assert.Equal(t, values(t, doc), values(t, n.JSON()))
		}
		assert.True(t, json.Valid(n.Pretty()))
	})
}

// values is a document as encoding/json has it, with numbers as they are written.
func values(t *testing.T, doc []byte) (v any) {
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	require.NoError(t, dec.Decode(&v))
	return v
}

// What is written in a map is written as anywhere else, and a map without members as
// the object that the reader takes.
func TestMapsThereAndBack(t *testing.T) {
	type maps struct {
		Waits map[string]time.Duration `json:"waits"`
		Bits  map[string]uint64        `json:"bits"`
		Lists map[string][]string      `json:"lists"`
		Lines map[string]line          `json:"lines"`
	}
	for _, m := range []maps{{}, {
		Waits: map[string]time.Duration{"b": time.Second, "a": 0}, Bits: map[string]uint64{"<": math.MaxUint64},
		Lists: map[string][]string{"a": nil}, Lines: map[string]line{"a": {"t"}},
	}} {
		text, err := strictjson.Encode(m, nil)
		require.NoError(t, err)
		var back maps
		require.NoError(t, strictjson.Decode(text, &back, nil), "%s", text)
		again, err := strictjson.Encode(back, nil)
		require.NoError(t, err)
		assert.Equal(t, string(text), string(again))
		assert.Equal(t, len(m.Waits), len(back.Waits))
	}
	text, _ := strictjson.Encode(maps{Waits: map[string]time.Duration{"b": time.Second, "a": 0}}, nil)
	assert.Equal(t, `{"waits":{"a":"0s","b":"1s"},"bits":{},"lists":{},"lines":{}}`, string(text))
}
