package jsonhash_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"regexp"
	"testing"

	"github.com/shakedown-go/shakedown/internal/jsonhash"
)

func seeds(f *testing.F) {
	for _, row := range values() {
		for _, s := range row.spellings {
			if len(s) < 2000 {
				f.Add([]byte(s), uint64(len(s)))
			}
		}
	}
	for _, s := range corpus() {
		f.Add([]byte(s), uint64(1))
	}
	for _, s := range []string{"[1,]", `{"a":1,"a":1}`, `"\ud800\u"`, "1e", "{} {}", "\"\xed\xa0\x80\""} {
		f.Add([]byte(s), uint64(2))
	}
}

// longExponent finds an exponent that counts as it is written, or may in another spelling.
var longExponent = regexp.MustCompile(`[eE][+-]?0*[1-9][0-9]{15}`)

// FuzzSpelling writes the document in another way, twice: by encoding/json where it can keep the value, and by respell.
func FuzzSpelling(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, doc []byte, seed uint64) {
		h := jsonhash.Sum(doc)
		if h == 0 {
			t.Fatal("Sum is 0")
		}
		if !json.Valid(doc) || longExponent.Match(doc) {
			return
		}
		n := parse(doc)
		other := []byte(n.respell(rand.New(rand.NewPCG(seed, 0)).IntN))
		if got := jsonhash.Sum(other); got != h {
			t.Errorf("%#x for %q, %#x for %q", h, doc, got, other)
		}
		if n.repeatsKey() {
			return
		}
		d := json.NewDecoder(bytes.NewReader(doc))
		d.UseNumber()
		var v any
		if err := d.Decode(&v); err != nil {
			t.Fatalf("a valid document: %v", err)
		}
		for _, indent := range []string{"", "\t"} {
			again, err := json.MarshalIndent(v, "", indent)
			if err != nil {
				t.Fatalf("a decoded document: %v", err)
			}
			if got := jsonhash.Sum(again); got != h {
				t.Errorf("%#x for %q, %#x for %q", h, doc, got, again)
			}
		}
	})
}

// repeatsKey reports whether decoding into a map would lose a member.
func (n *node) repeatsKey() bool {
	seen := map[string]bool{}
	for _, key := range n.keys {
		if seen[key] {
			return true
		}
		seen[key] = true
	}
	for _, p := range n.parts {
		if p.repeatsKey() {
			return true
		}
	}
	return false
}

// FuzzReference changes a byte of a document and asks the slow reference whether that changed the value.
func FuzzReference(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, doc []byte, seed uint64) {
		if len(doc) == 0 || longExponent.Match(doc) {
			return
		}
		r := rand.New(rand.NewPCG(seed, 1))
		other := bytes.Clone(doc)
		const likely = "0019eE.+-\"\\u/d8{}[],: \xff"
		other[r.IntN(len(other))] = likely[r.IntN(len(likely))]
		same := canonical(doc) == canonical(other)
		if (jsonhash.Sum(doc) == jsonhash.Sum(other)) != same {
			t.Errorf("%q and %q: the reference says equal: %t", doc, other, same)
		}
	})
}
