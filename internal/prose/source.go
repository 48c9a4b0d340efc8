package prose

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/shakedown-go/shakedown/internal/spelling"
)

const (
	maxOperands = 64  // numbers of the sources that others are computed from
	maxAddends  = 24  // of these, those that others are added to or taken from
	maxColumns  = 16  // whose products are added up
	wholeValue  = 100 // the most bytes of a value that may be an identifier as a whole
)

// A source is what an answer may say.
type source struct {
	keys    map[key]bool
	words   map[string]bool
	long    []string        // identifiers by whose beginning an answer may name them, sorted
	text    strings.Builder // folded, single spaces between words
	numbers []float64
	days    []time.Time
	clocks  []float64
}

// sourceOf reads texts, and the results of tools.
func sourceOf(texts []string, results []json.RawMessage) *source {
	s := &source{keys: make(map[key]bool), words: make(map[string]bool)}
	for _, text := range texts {
		s.add(text)
	}
	for _, doc := range results {
		s.result(doc)
	}
	slices.Sort(s.long)
	return s
}

// add adds a text: a prompt, an error, a value of a result.
func (s *source) add(text string) {
	for _, f := range facts(text) {
		s.know(f)
	}
	if len(text) <= wholeValue {
		s.keys[key{kind: identifier, text: spelling.Squeeze(text)}] = true
	}
	for word := range strings.FieldsFuncSeq(spelling.Flat(text), noWord) {
		s.words[word] = true
	}
	s.text.WriteString(oneLine(text) + "\n")
}

// know adds a fact, and the facts within it.
func (s *source) know(f fact) {
	for _, k := range f.keys {
		s.keys[k] = true
		switch k.kind {
		case amount:
			s.operand(k.n)
		case clock:
			s.clocks = append(s.clocks, k.n)
		case date:
			if k.day.Year() == 0 {
				break
			}
			s.days = append(s.days, k.day)
			s.keys[dayKey(k.day.AddDate(-k.day.Year(), 0, 0))] = true
			s.keys[key{kind: weekday, n: float64(k.day.Weekday())}] = true
		case identifier:
			s.long = append(s.long, k.text)
		}
	}
	switch {
	case f.kind == quotation:
		for _, inner := range facts(f.text) {
			s.know(inner)
		}
	case (f.kind == identifier || f.kind == address) && strings.ContainsFunc(f.text, unicode.IsLetter):
		// Of a telephone number no part counts.
		for part := range strings.FieldsFuncSeq(f.text, noWord) {
			s.keys[key{kind: identifier, text: part}] = true
			number := word(strings.TrimFunc(part, unicode.IsLetter))
			if len(number.text) >= 3 && number.kind != identifier {
				s.know(number)
			}
		}
	}
}

func (s *source) operand(v float64) {
	if len(s.numbers) < maxOperands {
		s.numbers = append(s.numbers, v)
	}
}

// has reports whether the source has a fact. An identifier may be cut, or have its parts
// elsewhere.
func (s *source) has(f fact) bool {
	if slices.ContainsFunc(f.keys, func(k key) bool { return s.keys[k] }) {
		return true
	}
	if f.kind == quotation {
		return strings.Contains(s.text.String(), f.keys[0].text)
	}
	if f.kind != identifier {
		return false
	}
	begin := f.keys[0].text
	if i, _ := slices.BinarySearch(s.long, begin); len(begin) >= 7 && i < len(s.long) && strings.HasPrefix(s.long[i], begin) {
		return true
	}
	parts := strings.FieldsFunc(f.text, noWord)
	return len(parts) > 1 && !slices.ContainsFunc(parts, func(part string) bool {
		return !s.words[part] && !s.keys[key{kind: identifier, text: part}] && !s.has(word(part))
	})
}

// joined returns the words of a sentence that make an identifier of the source together:
// "JD 0146 0000 3RU".
func (s *source) joined(sentence string) map[string]bool {
	list := strings.FieldsFunc(spelling.Flat(sentence), noWord)
	known := make(map[string]bool)
	for i := range list {
		for n := 2; n <= windowSize && i+n <= len(list); n++ {
			id := strings.Join(list[i:i+n], "")
			if strings.ContainsAny(id, "0123456789") && s.keys[key{kind: identifier, text: id}] {
				for _, word := range list[i : i+n] {
					known[word] = true
				}
			}
		}
	}
	return known
}

// hasPart reports whether a number in an identifier is one of the source.
func (s *source) hasPart(f fact) bool {
	return slices.ContainsFunc(strings.FieldsFunc(f.text, func(r rune) bool { return !unicode.IsDigit(r) }),
		func(part string) bool { return len(part) >= 3 && s.has(word(part)) })
}

// derives reports whether a fact may be computed from those of the source: a number from others,
// a day that is so many days, weeks or months from another, a time of another time zone or between
// two others.
func (s *source) derives(f fact) bool {
	return slices.ContainsFunc(f.keys, func(k key) bool {
		switch k.kind {
		case amount:
			return s.computes(k.n)
		case clock:
			return slices.ContainsFunc(s.clocks, func(from float64) bool {
				return math.Mod(from-k.n, 60) == 0 || slices.Contains(s.clocks, from-k.n)
			})
		case date:
			return slices.ContainsFunc(s.days, func(from time.Time) bool { return s.counts(from, k.day) })
		}
		return false
	})
}

// counts reports whether a day is so many days, weeks or months from another one as a number
// of the source says, or beside it, where there are times of day.
func (s *source) counts(from, to time.Time) bool {
	if to.Year() == 0 {
		to = to.AddDate(from.Year(), 0, 0)
	}
	days := math.Abs(to.Sub(from).Hours() / 24)
	return s.clocks != nil && days == 1 || slices.ContainsFunc(s.numbers, func(n float64) bool {
		return n == days || 7*n == days || n < 120 && from.AddDate(0, int(n), 0).Equal(to)
	})
}

// computes reports whether two numbers of the source make v, or one and a unit, to the cent or
// rounded, or a sum with three.
func (s *source) computes(v float64) bool {
	is := func(made, rounded float64) bool { return same(made, v) || same(math.Round(made*rounded)/rounded, v) }
	digit := 0.01 // the last of v
	for digit < 1000 && math.Mod(v, 10*digit) == 0 {
		digit *= 10
	}
	for i, a := range s.numbers {
		if math.Abs(a-v) <= min(digit/2, a/20) || i < maxAddends && (s.sums(v-a) || s.sums(v+a)) {
			return true
		}
		for _, unit := range []float64{2, 3, 4, 5, 7, 10, 12, 24, 30, 52, 60, 100, 365, 1000, 2.2046, 1.6093, 2.54} {
			if is(a*unit, 10) || is(a/unit, 10) {
				return true
			}
		}
		for _, b := range s.numbers {
			if is(a-b, 1) || is(a*b, 1) || is(a/b, 1) || is(100*a/b, 1) || is(100*(a-b)/b, 1) || is(a*b/100, 1) {
				return true
			}
		}
	}
	return false
}

// sums reports whether v is the sum, or the product, of two numbers of the source, or one.
func (s *source) sums(v float64) bool {
	for i, a := range s.numbers {
		makes := func(b float64) bool { return same(a+b, v) || same(a*b, v) }
		if same(a, v) || slices.ContainsFunc(s.numbers[:i+1], makes) {
			return true
		}
	}
	return false
}

// same reports whether two amounts are equal to the cent, without their sign.
func same(a, b float64) bool { return math.Abs(math.Abs(a)-math.Abs(b)) < 0.00501 }

// result adds the names and values of a result, the lengths and totals of its columns, and the
// totals of the products of two columns.
func (s *source) result(doc []byte) {
	columns, lengths := make(map[string][]float64), make(map[string]int)
	if !leaves(doc, func(name, value string) {
		text := strings.TrimLeft(value, "-")
		s.add(name)
		s.add(text)
		lengths[name]++
		if keys := numbers(text); keys != nil {
			columns[name] = append(columns[name], keys[0].n)
		}
	}) {
		s.add(string(doc))
	}
	for _, n := range lengths {
		s.keys[key{kind: amount, n: float64(n)}] = true
	}
	maps.DeleteFunc(columns, func(_ string, column []float64) bool { return len(column) < 2 })
	names := slices.Sorted(maps.Keys(columns))
	for i, name := range names {
		total := 0.0
		for _, n := range columns[name] {
			total += n
		}
		s.operand(total)
		for _, other := range names[:min(i, maxColumns)] {
			if len(columns[other]) == len(columns[name]) {
				total = 0
				for k, n := range columns[name] {
					total += n * columns[other][k]
				}
				s.operand(total)
			}
		}
	}
}

// leaves visits the values within a JSON document, each with the name of its member, in a fixed
// order. It reports whether it is one.
func leaves(doc []byte, visit func(name, value string)) bool {
	decoder := json.NewDecoder(strings.NewReader(string(doc)))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil || decoder.More() {
		return false
	}
	var walk func(name string, value any)
	walk = func(name string, value any) {
		switch v := value.(type) {
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				walk(name, v[name])
			}
		case []any:
			for _, item := range v {
				walk(name, item)
			}
		default:
			visit(name, fmt.Sprint(v))
		}
	}
	walk("", value)
	return true
}
