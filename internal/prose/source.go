package prose

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/spelling"
)

const (
	maxOperands = 64 // numbers of the sources that others are computed from
	maxAddends  = 24 // of these, those that others are added to or taken from
	maxColumns  = 16 // whose products are added up
	longEnough  = 7  // the least characters of a part of an identifier that names it
)

// A source is what an answer may say.
type source struct {
	keys        map[key]bool
	said        strings.Builder // the letters and digits of the texts, a line each
	identifiers []string
	numbers     []float64
	days        []time.Time
	clocks      []float64
}

// sourceOf reads texts, and the results of tools.
func sourceOf(texts []string, results []json.RawMessage) *source {
	s := &source{keys: make(map[key]bool)}
	for _, text := range texts {
		s.add(text)
	}
	for _, doc := range results {
		s.result(doc)
	}
	return s
}

// add adds a text: a prompt, an error, a value of a result.
func (s *source) add(text string) {
	for _, f := range facts(text) {
		s.know(f)
	}
	s.said.WriteString(spelling.Squeeze(text) + "\n")
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
			s.keys[key{kind: weekday, n: float64(k.day.Weekday() + 1)}] = true
		case identifier:
			s.identifiers = append(s.identifiers, k.text)
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
	if v != 0 && len(s.numbers) < maxOperands { // of zero nothing new is made
		s.numbers = append(s.numbers, v)
	}
}

// has reports whether the source has a fact of a sentence, of which the letters and digits are
// given. An identifier may be cut, and its parts may stand apart in the sentence: "JD 0146 0000 3RU".
func (s *source) has(f fact, sentence string) bool {
	if slices.ContainsFunc(f.keys, func(k key) bool { return s.keys[k] }) {
		return true
	}
	part := spelling.Squeeze(f.text)
	if f.kind == quotation || f.kind == identifier && len(part) >= longEnough {
		return strings.Contains(s.said.String(), part)
	}
	return f.kind >= amount && slices.ContainsFunc(s.identifiers, func(id string) bool {
		return strings.Contains(id, part) && strings.Contains(sentence, id) &&
			!strings.Contains(strings.ReplaceAll(sentence, id, "|"), part) // a number beside it is another fact
	})
}

// hasPart reports whether a number in an identifier is one of the source.
func (s *source) hasPart(f fact) bool {
	return slices.ContainsFunc(strings.FieldsFunc(f.text, func(r rune) bool { return !unicode.IsDigit(r) }),
		func(part string) bool { return len(part) >= 3 && s.has(word(part), "") })
}

// derives reports whether a fact may be computed from those of the source: a number from others, a
// time of another time zone, a day that is as many days, weeks or months from another as a number says.
func (s *source) derives(f fact) bool {
	return slices.ContainsFunc(f.keys, func(k key) bool {
		sameMinute := func(from float64) bool { return math.Mod(from-k.n, 60) == 0 }
		return k.kind == amount && s.computes(k.n) || k.kind == clock && slices.ContainsFunc(s.clocks, sameMinute) ||
			k.kind == date && slices.ContainsFunc(s.days, func(from time.Time) bool { return s.counts(from, k.day) })
	})
}

func (s *source) counts(from, to time.Time) bool {
	if to.Year() == 0 {
		to = to.AddDate(from.Year(), 0, 0)
	}
	days := math.Abs(to.Sub(from).Hours() / 24)
	return slices.ContainsFunc(s.numbers, func(n float64) bool {
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

// result adds the names and values of a result, the totals of its columns, and of the products of two.
func (s *source) result(doc []byte) {
	columns := make(map[string][]float64)
	if !leaves(doc, func(name, value string) {
		s.add(name)
		s.add(value)
		if keys := numbers(strings.TrimLeft(value, "-")); keys != nil {
			columns[name] = append(columns[name], keys[0].n)
		}
	}) {
		s.add(string(doc))
	}
	maps.DeleteFunc(columns, func(_ string, column []float64) bool { return len(column) < 2 })
	names := slices.Sorted(maps.Keys(columns))
	for i, name := range names {
		total := make([]float64, min(i, maxColumns)+1) // of the products with each other column; of the column
		for row, n := range columns[name] {
			for k, other := range names[:len(total)-1] {
				if len(columns[other]) == len(columns[name]) {
					total[k] += n * columns[other][row]
				}
			}
			total[len(total)-1] += n
		}
		for _, n := range total {
			s.operand(n)
		}
	}
}

// leaves visits the values within a JSON document, each with the name of its member. It reports
// whether it is one.
func leaves(text []byte, visit func(name, value string)) bool {
	doc, ok := jsonedit.Parse(text)
	if !ok {
		return false
	}
	for i := range doc.Nodes {
		value := string(doc.Raw(i))
		switch doc.Kind(i) {
		case jsonedit.Object, jsonedit.Array:
			continue
		case jsonedit.String:
			value = doc.String(i)
		}
		member := i // of which the value is, or an element
		for member > 0 && !doc.IsMember(member) {
			member = int(doc.Nodes[member].Parent)
		}
		visit(doc.Name(member), value)
	}
	return true
}
