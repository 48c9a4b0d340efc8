package chaos

import (
	"bytes"
	"encoding/json"
	"math"
	"math/big"
	"reflect"
	"strings"
	"testing"
)

// opaque is a value with a comparison of its own, whose result may be unknown.
type opaque struct {
	n     int
	known bool
}

func (o opaque) SameAs(other any) (same, known bool) {
	if o.n < 0 {
		panic("closed")
	}
	return o.n == other.(opaque).n, o.known
}

func TestCompare(t *testing.T) {
	type order struct {
		ID   int
		Tags []string
		then func()
	}
	doc := func(s string) json.RawMessage { return json.RawMessage(s) }
	for _, tt := range []struct {
		why  string
		a, b any
		want likeness
	}{
		{"nothing", nil, nil, alike},
		{"nothing and something", nil, 1, unlike},
		{"documents by value", doc(`{"a":1,"b":[2]}`), doc(` {"b":[2.0],"a":1e0}`), alike},
		{"another number", doc(`{"a":1}`), doc(`{"a":-1}`), unlike},
		{"another text", doc(`{"a":"1"}`), doc(`{"a":"2"}`), unlike},
		{"an escape is no difference", doc(`"\u0041"`), doc(`"A"`), alike},
		{"an empty object is not null, though it is as arguments", doc(`{}`), doc(`null`), unlike},
		{"nothing is not null either", doc(``), doc(`null`), unlike},
		{"an empty list", doc(`[]`), doc(`null`), unlike},
		{"text to the byte", `{"a":1}`, `{"a": 1}`, unlike},
		{"bytes to the byte", []byte(`1`), []byte(`1`), alike},
		{"another type", 1, int64(1), unlike},
		{"structs", order{1, []string{"a"}, nil}, order{1, []string{"a"}, nil}, alike},
		{"structs that differ", order{1, []string{"a"}, nil}, order{1, []string{"b"}, nil}, unlike},
		{"what pointers point to", &order{ID: 1}, &order{ID: 1}, alike},
		{"functions are not compared", order{then: func() {}}, order{then: func() {}}, unknowable},
		{"NaN equals nothing", math.NaN(), math.NaN(), unknowable},
		{"a value of its own mind", opaque{1, true}, opaque{1, true}, alike},
		{"and another", opaque{1, true}, opaque{2, true}, unlike},
		{"one that does not know", opaque{1, false}, opaque{1, false}, unknowable},
		{"one that panics", opaque{-1, true}, opaque{1, true}, unknowable},
	} {
		if got := compare(tt.a, tt.b); got != tt.want {
			t.Errorf("%s: compare(%v, %v) is %v, want %v", tt.why, tt.a, tt.b, got, tt.want)
		}
	}
}

// A long document is compared without allocations.
func TestComparingAllocatesNothing(t *testing.T) {
	a := json.RawMessage(`{"n":5,"rows":[` + strings.Repeat(`{"id":7},`, 1000) + `{}]}`)
	for _, b := range []json.RawMessage{bytes.Replace(a, []byte(`5`), []byte(`6`), 1), bytes.Clone(a), append(bytes.Clone(a), ' ')} {
		var x, y any = a, b
		if n := testing.AllocsPerRun(10, func() { compare(x, y) }); n > 0 {
			t.Errorf("%v allocations", n)
		}
	}
}

// canonical is a document as values: numbers exactly, however they are spelled.
func canonical(doc []byte) (v any, ok bool) {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	if !json.Valid(doc) || d.Decode(&v) != nil {
		return nil, false
	}
	ok = true
	var walk func(v any) any
	walk = func(v any) any {
		switch v := v.(type) {
		case json.Number:
			if _, exp, _ := strings.Cut(strings.ToLower(v.String()), "e"); len(exp) > 3 {
				ok = false
				return v
			}
			r, _ := new(big.Rat).SetString(v.String())
			return r.RatString()
		case []any:
			for i := range v {
				v[i] = walk(v[i])
			}
		case map[string]any:
			for name := range v {
				v[name] = walk(v[name])
			}
		case string:
			return "s" + v
		}
		return v
	}
	v = walk(v)
	return v, ok
}

// repeats reports whether an object of the document has two members of one name.
// Decoders differ in which of them they choose.
func repeats(doc []byte, v any) bool {
	short, _ := json.Marshal(v)
	var compact bytes.Buffer
	_ = json.Compact(&compact, doc)
	return strings.Count(compact.String(), ":") > strings.Count(string(short), ":")
}

// FuzzSameDocument checks the comparison against decoding both documents.
func FuzzSameDocument(f *testing.F) {
	for _, s := range [][2]string{
		{`{"a":1,"b":2}`, `{"b":2,"a":1.0}`}, {`[1,2]`, `[1,3]`}, {`{"a":"x\"1"}`, `{"a":"x\"2"}`}, {`{}`, `null`}, {`[1]`, `[1,1]`},
		{`"\u00e9"`, `"é"`}, {`{"a":true}`, `{"a":null}`}, {`[1e2]`, `[100]`}, {`{"a":12}`, `{"a":1}`}, {`["\\",1]`, `["\\",2]`},
	} {
		f.Add([]byte(s[0]), []byte(s[1]))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		x, ok := canonical(a)
		y, also := canonical(b)
		if !ok || !also || repeats(a, x) || repeats(b, y) {
			_ = sameDocument(a, b) // whatever it is, it ends
			return
		}
		if got, want := sameDocument(a, b), reflect.DeepEqual(x, y); got != want {
			t.Errorf("%q and %q: %v, want %v", a, b, got, want)
		}
	})
}
