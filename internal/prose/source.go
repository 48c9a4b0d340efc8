package prose

import (
	"bytes"
	"encoding/json"
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
	s.text.WriteString(oneLine(text) + "\n")
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
	uuid := len(f.text) == 36 && strings.Count(f.text, "-") == 4
	if f.kind != identifier && f.kind != address || uuid || !strings.ContainsFunc(f.text, unicode.IsLetter) {
		return // of a UUID or a telephone number no part counts
	}
	for part := range strings.FieldsFuncSeq(f.text, noWord) {
		s.ids[part] = true
		number := word(strings.TrimFunc(part, unicode.IsLetter))
		if len(number.text) >= 3 && number.kind != identifier {
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
	list := strings.FieldsFunc(text, noWord)
	return len(list) > 1 && !slices.ContainsFunc(list, func(part string) bool {
		return !s.words[part] && !s.ids[part] && !s.has(word(part))
	})
}

// seal prepares what is asked of a source once all is added.
func (s *source) seal() {
	slices.Sort(s.long)
	s.made = make(map[int64]bool)
	for i, a := range s.operands {
		for unit := 0.01; unit <= 1000; unit *= 10 { // rounded
			if near := math.Round(a/unit) * unit; math.Abs(near-a) <= math.Abs(a)/20 {
				s.make(near)
			}
		}
		for _, c := range []float64{2, 3, 4, 5, 7, 10, 12, 24, 30, 52, 60, 100, 365, 1000} { // units
			s.made[cents(a*c)], s.made[cents(a/c)] = true, true
		}
		for _, c := range []float64{2.2046, 1.6093, 2.54} { // pounds, miles, inches
			s.make(math.Round(a*c*10)/10, math.Round(a/c*10)/10)
		}
		for j, b := range s.operands {
			s.make(a+b, a-b, a*b, a/b, 100*a/b, 100*(a-b)/b, a*b/100)
			for _, c := range s.operands[:min(len(s.operands), tripled)] {
				if i < tripled && j < tripled {
					s.make(a+b+c, a+b-c, a*b+c, a*b-c)
				}
			}
		}
	}
}

// make notes that numbers can be computed, to the cent, and their whole part.
func (s *source) make(list ...float64) {
	for _, v := range list {
		if math.Abs(v) < 1e12 {
			s.made[cents(v)], s.made[cents(math.Round(v))] = true, true
		}
	}
}

func cents(v float64) int64 { return int64(math.Round(math.Abs(v) * 100)) }

// makes reports whether two numbers of the source make a number, or one rounded, or a time of
// day that may be that of another zone or the time between two.
func (s *source) makes(f fact) bool {
	for _, key := range f.keys {
		v, err := strconv.ParseFloat(key, 64)
		switch {
		case f.kind == date:
			if s.counted(key) {
				return true
			}
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

// counted reports whether a date is so many days, weeks or months from one of the source as a
// number of it says, or the day beside one, where there are times of day: it may be of another
// zone.
func (s *source) counted(key string) bool {
	times := false
	for known := range s.keys {
		times = times || strings.HasPrefix(known, strconv.Itoa(int(clock))+":")
	}
	for known := range s.keys {
		day, is := strings.CutPrefix(known, strconv.Itoa(int(date))+":")
		from, err := time.Parse(time.DateOnly, day)
		if !is || err != nil {
			continue
		}
		if strings.HasPrefix(key, "--") {
			key = strconv.Itoa(from.Year()) + key[1:]
		}
		to, err := time.Parse(time.DateOnly, key)
		if err != nil {
			continue
		}
		days := math.Abs(to.Sub(from).Hours() / 24)
		if times && days == 1 || slices.ContainsFunc(s.operands, func(n float64) bool {
			return n == days || 7*n == days || n < 120 && from.AddDate(0, int(n), 0).Equal(to)
		}) {
			return true
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
		if keys := numbers(strings.TrimLeft(v, "-")); keys != nil {
			f, _ := strconv.ParseFloat(keys[0], 64) // as numbers wrote it
			return map[string]float64{"": f}
		}
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
		s.keys[strconv.Itoa(int(amount))+":"+strconv.Itoa(len(v))] = true
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
