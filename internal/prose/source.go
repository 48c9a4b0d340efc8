package prose

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
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
	keys    map[string]bool // of facts; identifiers and short values are squeezed
	words   map[string]bool
	long    []string        // identifiers by whose beginning an answer may name them, sorted
	text    strings.Builder // folded, single spaces between words
	numbers []float64
	days    []time.Time
	minutes []int // times of day
}

func newSource() *source {
	return &source{keys: make(map[string]bool), words: make(map[string]bool)}
}

// add adds a text: a prompt, an error, a value of a result.
func (s *source) add(text string) {
	for _, f := range facts(text) {
		s.know(f)
	}
	if len(text) <= wholeValue {
		s.keys[spelling.Squeeze(text)] = true
	}
	for word := range words(text) {
		s.words[word] = true
	}
	s.text.WriteString(oneLine(text) + "\n")
}

// know adds a fact, and the facts within it.
func (s *source) know(f fact) {
	for _, key := range f.keys {
		s.keys[key] = true
		if v, is := numberOf(key); is {
			s.operand(v)
		} else if minute, is := strings.CutPrefix(key, "time "); is {
			n, _ := strconv.Atoi(minute) // as clocks wrote it
			s.minutes = append(s.minutes, n)
		} else if day, is := strings.CutPrefix(key, "date "); is {
			s.keys["date "+day[len(day)-6:]] = true // the day without its year
			if t, err := time.Parse(time.DateOnly, day); err == nil {
				s.days = append(s.days, t)
			}
		}
	}
	if f.kind == quotation {
		for _, inner := range facts(f.text) {
			s.know(inner)
		}
	}
	if f.kind != identifier && f.kind != address {
		return
	}
	s.long = append(s.long, f.keys...)
	if !strings.ContainsFunc(f.text, unicode.IsLetter) {
		return // of a telephone number no part counts
	}
	for part := range strings.FieldsFuncSeq(f.text, noWord) {
		s.keys[part] = true
		number := word(strings.TrimFunc(part, unicode.IsLetter))
		if len(number.text) >= 3 && number.kind != identifier {
			s.know(number)
		}
	}
}

func numberOf(key string) (v float64, is bool) {
	digits, is := strings.CutPrefix(key, "number ")
	v, _ = strconv.ParseFloat(digits, 64) // as numberKey wrote it
	return v, is
}

func (s *source) operand(v float64) {
	if len(s.numbers) < maxOperands {
		s.numbers = append(s.numbers, v)
	}
}

// has reports whether the source has a fact. An identifier may be cut, or have its parts
// elsewhere.
func (s *source) has(f fact) bool {
	if slices.ContainsFunc(f.keys, func(key string) bool {
		return s.keys[key] || f.kind == quotation && strings.Contains(s.text.String(), key)
	}) {
		return true
	}
	if f.kind != identifier {
		return false
	}
	if i, _ := slices.BinarySearch(s.long, f.keys[0]); len(f.keys[0]) >= 7 && i < len(s.long) &&
		strings.HasPrefix(s.long[i], f.keys[0]) {
		return true
	}
	parts := strings.FieldsFunc(f.text, noWord)
	return len(parts) > 1 && !slices.ContainsFunc(parts, func(part string) bool {
		return !s.words[part] && !s.keys[part] && !s.has(word(part))
	})
}

// numbered reports whether a number in an identifier is one of the source.
func (s *source) numbered(text string) bool {
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsDigit(r) }) {
		if len(part) >= 3 && s.has(word(part)) {
			return true
		}
	}
	return false
}

// derives reports whether a fact may be computed from those of the source: a number from two,
// a day that is so many days, weeks or months from another, a time of another time zone or between
// two others.
func (s *source) derives(f fact) bool {
	return slices.ContainsFunc(f.keys, func(key string) bool {
		if v, is := numberOf(key); is {
			return s.computes(v)
		}
		if minute, is := strings.CutPrefix(key, "time "); is {
			n, _ := strconv.Atoi(minute) // as clocks wrote it
			return slices.ContainsFunc(s.minutes, func(m int) bool {
				return (m-n)%60 == 0 || slices.Contains(s.minutes, m-n)
			})
		}
		day, is := strings.CutPrefix(key, "date ")
		return is && slices.ContainsFunc(s.days, func(from time.Time) bool { return s.counts(from, day) })
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

// counts reports whether a day is so many days, weeks or months from another one as a number
// of the source says, or beside it, where there are times of day.
func (s *source) counts(from time.Time, day string) bool {
	if day[0] == '-' {
		day = strconv.Itoa(from.Year()) + day
	}
	to, err := time.Parse(time.DateOnly, day)
	days := math.Abs(to.Sub(from).Hours() / 24)
	return err == nil && (s.minutes != nil && days == 1 || slices.ContainsFunc(s.numbers, func(n float64) bool {
		return n == days || 7*n == days || n < 120 && from.AddDate(0, int(n), 0).Equal(to)
	}))
}

// result adds the names and values of a result, the lengths and totals of its columns, and the
// totals of the products of two columns.
func (s *source) result(doc []byte) {
	decoder := json.NewDecoder(bytes.NewReader(doc))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		s.add(string(doc))
		return
	}
	columns, lengths := make(map[string][]float64), make(map[string]int)
	leaves("", value, func(name string, v any) {
		text := strings.TrimLeft(fmt.Sprint(v), "-")
		s.add(name)
		s.add(text)
		lengths[name]++
		if keys := numbers(text); keys != nil {
			n, _ := numberOf(keys[0])
			columns[name] = append(columns[name], n)
		}
	})
	for _, n := range lengths {
		s.keys[numberKey(float64(n))] = true
	}
	maps.DeleteFunc(columns, func(_ string, column []float64) bool { return len(column) < 2 })
	names := slices.Sorted(maps.Keys(columns))
	for i, name := range names {
		s.operand(sumOf(columns[name], nil))
		for _, other := range names[:min(i, maxColumns)] {
			if len(columns[other]) == len(columns[name]) {
				s.operand(sumOf(columns[name], columns[other]))
			}
		}
	}
}

// sumOf adds numbers up, each times its factor, if there are factors.
func sumOf(list, factors []float64) (sum float64) {
	for i, n := range list {
		if factors != nil {
			n *= factors[i]
		}
		sum += n
	}
	return sum
}
