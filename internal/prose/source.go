package prose

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/shakedown-go/shakedown/internal/spelling"
)

const (
	maxOperands = 64  // numbers of the sources that others are computed from
	tripled     = 24  // of these, also what three make
	wholeValue  = 100 // the most bytes of a value that may be an identifier as a whole
)

// A source is what an answer may say.
type source struct {
	keys     map[string]bool // of facts: "kind:key"
	ids      map[string]bool // identifiers and short values, squeezed
	long     []string        // identifiers by whose beginning an answer may name them, sorted
	words    map[string]bool
	text     strings.Builder // folded, single spaces between words
	operands []float64
	made     map[int64]bool // what two operands make, in hundredths
}

func newSource() *source {
	return &source{keys: make(map[string]bool), ids: make(map[string]bool), words: make(map[string]bool)}
}

// add adds a text: a prompt, an error, a value of a result.
func (s *source) add(text string) {
	for _, f := range facts(text) {
		s.know(f)
	}
	if len(text) <= wholeValue {
		s.ids[spelling.Squeeze(text)] = true
	}
	for word := range words(text) {
		s.words[word] = true
	}
	s.text.WriteString(strings.Join(strings.Fields(spelling.Flat(text)), " ") + "\n")
}

// know adds a fact, and the facts within it.
func (s *source) know(f fact) {
	group := f.kind
	if group == small {
		group = amount
	}
	for _, key := range f.keys {
		s.keys[strconv.Itoa(int(group))+":"+key] = true
		switch f.kind {
		case amount, small:
			if v, err := strconv.ParseFloat(key, 64); err == nil && len(s.operands) < maxOperands {
				s.operands = append(s.operands, v)
			}
		case date:
			s.keys[strconv.Itoa(int(date))+":-"+key[len(key)-6:]] = true // the day without its year
		case identifier:
			s.ids[key] = true
			s.long = append(s.long, key)
		}
	}
	if f.kind == quotation {
		for _, inner := range facts(strings.Trim(f.text, `"«»`)) {
			s.know(inner)
		}
	}
	if f.kind != identifier && f.kind != address || len(f.text) == 36 && strings.Count(f.text, "-") == 4 {
		return // of a UUID no part counts
	}
	for part := range strings.FieldsFuncSeq(f.text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		s.ids[part] = true
		if number := word(strings.TrimFunc(part, unicode.IsLetter)); len(number.text) >= 3 && number.kind != identifier {
			s.know(number)
		}
	}
}

// has reports whether the source has a fact.
func (s *source) has(f fact) bool {
	group := f.kind
	if group == small {
		group = amount
	}
	for _, key := range f.keys {
		switch {
		case s.keys[strconv.Itoa(int(group))+":"+key]:
			return true
		case f.kind == date && s.keys[strconv.Itoa(int(date))+":-"+key[len(key)-6:]] && key[0] == '-':
			return true
		case f.kind == identifier && (s.ids[key] || s.begins(key)):
			return true
		case f.kind == quotation && strings.Contains(s.text.String(), key):
			return true
		}
	}
	return f.kind == identifier && s.parts(f.text)
}

// begins reports whether an identifier begins so: people shorten hashes.
func (s *source) begins(key string) bool {
	i, _ := slices.BinarySearch(s.long, key)
	return len(key) >= 7 && i < len(s.long) && strings.HasPrefix(s.long[i], key)
}

// parts reports whether each part of an identifier is there.
func (s *source) parts(text string) bool {
	list := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return len(list) > 1 && !slices.ContainsFunc(list, func(part string) bool {
		return !s.words[part] && !s.ids[part] && !s.has(word(part))
	})
}

// seal prepares what is asked of a source once all is added.
func (s *source) seal() {
	slices.Sort(s.long)
	s.made = make(map[int64]bool)
	for i, a := range s.operands {
		for j, b := range append(slices.Clone(s.operands), constants()...) {
			for _, v := range []float64{a, a + b, a - b, b - a, a * b, a / b, 100 * a / b, 100 * (a - b) / b, a * b / 100} {
				for unit := 0.01; unit <= 1000; unit *= 10 { // as it is, and rounded
					if near := math.Round(v/unit) * unit; math.Abs(near) < 1e12 && math.Abs(near-v) <= math.Abs(v)/20 {
						s.made[cents(near)] = true
					}
				}
			}
			for _, c := range s.operands[:min(len(s.operands), tripled)] {
				if i < tripled && j < len(s.operands) {
					s.made[cents(a+b+c)], s.made[cents(a+b-c)], s.made[cents(a*b+c)], s.made[cents(a*b-c)] = true, true, true, true
				}
			}
		}
	}
}

// constants are the numbers of units: days, months, hours, pounds, miles, inches.
func constants() []float64 {
	return []float64{7, 12, 24, 30, 52, 60, 100, 365, 1000, 2.2046, 1.6093, 2.54}
}

func cents(v float64) int64 { return int64(math.Round(math.Abs(v) * 100)) }

// makes reports whether two numbers of the source make a number, or one rounded, or a time of
// day that may be that of another zone or the time between two.
func (s *source) makes(f fact) bool {
	for _, key := range f.keys {
		v, err := strconv.ParseFloat(key, 64)
		switch {
		case err != nil:
		case f.kind == amount || f.kind == small:
			if s.made[cents(v)] {
				return true
			}
		case f.kind == clock:
			var known []int
			for key := range s.keys {
				if minutes, is := strings.CutPrefix(key, strconv.Itoa(int(clock))+":"); is {
					n, _ := strconv.Atoi(minutes) // as clocks wrote it
					known = append(known, n)
				}
			}
			for _, a := range known {
				if (a-int(v))%60 == 0 || slices.ContainsFunc(known, func(b int) bool { return a-b == int(v) }) {
					return true
				}
			}
		}
	}
	return false
}

// result adds the values of a result, the numbers of their items, and the totals of their
// columns and products.
func (s *source) result(doc []byte) {
	decoder := json.NewDecoder(bytes.NewReader(doc))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		s.add(string(doc))
		return
	}
	s.value(value)
}

// value adds a JSON value, and returns the numbers in it: a number itself, those of an object
// by member.
func (s *source) value(value any) map[string]float64 {
	switch v := value.(type) {
	case string:
		s.add(v)
	case json.Number:
		f, err := v.Float64()
		if err == nil {
			s.add(key(f))
			return map[string]float64{"": f}
		}
	case map[string]any:
		row := make(map[string]float64)
		for name, member := range v {
			s.add(name)
			if n, is := s.value(member)[""]; is {
				row[name] = n
			}
		}
		return row
	case []any:
		s.add(strconv.Itoa(len(v)))
		totals := make(map[string]float64)
		for _, item := range v {
			row := s.value(item)
			for name, n := range row {
				totals[name] += n
				for other, m := range row {
					if name < other {
						totals[name+"*"+other] += n * m
					}
				}
			}
		}
		for _, total := range totals {
			if len(s.operands) < maxOperands {
				s.operands = append(s.operands, math.Round(total*100)/100)
			}
		}
	}
	return nil
}
