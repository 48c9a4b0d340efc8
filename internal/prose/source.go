package prose

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	maxOperands = 64 // numbers of the sources that others are computed from
	// mixedOperands is the largest number of operands of which sums of two products
	// are computed.
	mixedOperands = 10
	idDigits      = 3 // the least digits in a row of an identifier that an answer may say alone
)

// A Source is what an answer may say: the text of all sources, and the facts in it.
type Source struct {
	reader   *FactReader
	keys     map[factKind]map[string]struct{}
	text     strings.Builder
	words    string              // the text; set by seal
	plain    map[string]struct{} // identifiers and whole values by their letters and digits
	stems    map[string]struct{} // of the long words
	yearless map[string]struct{} // days without a year
	operands []float64
	derived  map[int64]struct{} // what can be computed from the operands, in hundredths; nil: not yet
	sums     sums
	prose    string // the language of the text, "" if unknown; set by seal
	runs     *regexp.Regexp
	whole    bool // all results were kept
	failed   bool // a call failed
}

// NewSource returns an empty source. reader finds facts; nil: the source is only asked for words.
func NewSource(reader *FactReader) *Source {
	return &Source{reader: reader, keys: make(map[factKind]map[string]struct{}), plain: make(map[string]struct{}),
		stems: make(map[string]struct{}), yearless: make(map[string]struct{}), runs: regexp.MustCompile(`[0-9]+`)}
}

// add adds a text: a prompt, an error, a value of a result.
func (s *Source) add(text string) {
	for _, f := range s.reader.read(text) {
		s.know(f)
		switch f.Kind {
		case factQuotation: // an answer may say its facts without the quotation marks
			for _, inner := range s.reader.read(f.text) {
				s.know(inner)
				s.within(inner)
			}
		case factNumber:
			if len(s.operands) < maxOperands {
				for _, key := range f.keys {
					value, err := strconv.ParseFloat(key, 64)
					if err == nil && value != 0 && !slices.Contains(s.operands, value) {
						s.operands = append(s.operands, value)
					}
				}
			}
		default:
			s.within(f)
		}
	}
	s.text.WriteByte(' ')
	words := strings.FieldsFunc(Flat(text, ShapeWords), func(r rune) bool {
		return strings.ContainsRune("_ \n\t\r", r)
	})
	s.text.WriteString(strings.Join(words, " "))
	s.text.WriteByte('\n')
	if len(text) < 100 {
		s.plain[Squeezed(text)] = struct{}{}
	}
}

// Mention adds the words of a text, and no facts.
func (s *Source) Mention(text string) { s.text.WriteString(" " + Flat(text, ShapeWords) + "\n") }

// within adds the facts within a date or an identifier: the year, and the numbers of
// at least three digits. Those of e-mail addresses, telephone numbers and UUIDs are
// not facts.
func (s *Source) within(f fact) {
	switch f.Kind {
	case factDate:
		for _, key := range f.keys {
			if key[0] != '-' {
				s.know(fact{Kind: factNumber, keys: []string{key[:4]}})
			}
		}
	case factIdentifier:
		s.plain[Squeezed(f.text)] = struct{}{}
		letters := strings.Trim(f.text, "0123456789-./:, ")
		if letters == "" || len(f.text) == 36 && strings.Count(f.text, "-") == 4 || strings.Contains(f.text, "@") {
			return // a telephone number, a UUID
		}
		for _, run := range s.runs.FindAllString(f.text, -1) {
			if len(run) >= idDigits {
				s.know(fact{Kind: factNumber, keys: []string{plainNumber(run)}})
			}
		}
	}
}

// know adds a fact with all its readings.
func (s *Source) know(f fact) {
	known := s.keys[f.Kind]
	if known == nil {
		known = make(map[string]struct{})
		s.keys[f.Kind] = known
	}
	for _, key := range f.keys {
		known[key] = struct{}{}
		switch {
		case f.Kind != factDate:
		case key[0] == '-':
			s.yearless[key] = struct{}{}
		default:
			known["-"+key[len("2006"):]] = struct{}{} // the day without its year
		}
	}
	if f.or != nil {
		s.know(*f.or)
	}
}

// lists adds the lengths of the lists in a result: an answer may count their items.
func (s *Source) lists(raw json.RawMessage) {
	var value any
	if json.Unmarshal(raw, &value) != nil {
		return
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			s.know(fact{Kind: factNumber, keys: []string{strconv.Itoa(len(v))}})
			for _, item := range v {
				walk(item)
			}
		case map[string]any:
			for _, member := range v {
				walk(member)
			}
		}
	}
	walk(value)
}

// Seal prepares the text for the search, after the last add.
func (s *Source) Seal() {
	s.words = s.text.String()
	s.prose = LanguageOf(s.words)
	for _, word := range PlainWords(s.words) {
		if letters := []rune(word); len(letters) >= LongWord {
			s.stems[string(letters[:stemLength])] = struct{}{}
		}
	}
}

// has reports whether a source says the fact.
func (s *Source) has(f fact) bool {
	for _, key := range f.keys {
		if _, ok := s.keys[f.Kind][key]; ok {
			return true
		}
		switch f.Kind {
		case factQuotation:
			if strings.Contains(s.words, key) {
				return true
			}
			if _, ok := s.plain[Squeezed(key)]; ok {
				return true
			}
		case factIdentifier:
			if _, ok := s.plain[Squeezed(key)]; ok && key != "" {
				return true
			}
			if s.hasWord(key) || s.hasParts(key) {
				return true
			}
		case factName:
			if s.hasWord(key) {
				return true
			}
		}
	}
	return f.or != nil && s.has(*f.or)
}

// hasParts reports whether each part of an identifier such as "order-1042" occurs.
func (s *Source) hasParts(identifier string) bool {
	parts := identifierParts(identifier)
	if len(parts) < 2 || strings.Contains(identifier, "@") || strings.Contains(identifier, "://") {
		return false
	}
	for _, part := range parts {
		_, number := s.keys[factNumber][plainNumber(part)]
		if !number && !s.hasWord(part) {
			return false
		}
	}
	return true
}

func identifierParts(identifier string) []string {
	return strings.FieldsFunc(identifier, func(r rune) bool { return strings.ContainsRune("-_./:", r) })
}

// hasWord reports whether word occurs in the text and is no part of a longer word.
func (s *Source) hasWord(word string) bool {
	for at := 0; ; {
		i := strings.Index(s.words[at:], word)
		if i < 0 || word == "" {
			return false
		}
		start, end := at+i, at+i+len(word)
		before, _ := utf8.DecodeLastRuneInString(s.words[:start])
		after, _ := utf8.DecodeRuneInString(s.words[end:])
		if !WordRune(before) && !WordRune(after) {
			return true
		}
		at = end
	}
}

// totals reports whether a number is a total of numbers of the sources, or a multiple
// of one, and is hardly so by chance.
func (s *Source) totals(f fact) bool {
	if f.Kind != factNumber {
		return false
	}
	s.sum()
	return slices.ContainsFunc(f.keys, func(key string) bool { return s.sums.has(key, f.text) })
}

func (s *Source) sum() {
	if s.sums.set == nil {
		s.sums.compute(s.operands)
	}
}

// derives reports whether a fact that no source has may follow from facts that they have.
func (s *Source) derives(f fact) bool {
	for _, key := range f.keys {
		switch f.Kind {
		case factNumber:
			if value, err := strconv.ParseFloat(key, 64); err == nil && s.computes(value) {
				return true
			}
			if s.dayOf(key) {
				return true
			}
			if value, err := strconv.ParseFloat(key, 64); err == nil {
				if s.sum(); s.sums.may(value) {
					return true
				}
			}
		case factDate:
			if s.near(key) {
				return true
			}
		case factTime: // of another time zone, which changes the hours
			for known := range s.keys[factTime] {
				if known[3:] == key[3:] || s.apart(known, key) {
					return true
				}
			}
			// A source may have the hour as a number.
			if _, hour := s.keys[factNumber][plainNumber(key[:2])]; hour && key[3:] == "00" {
				return true
			}
		case factIdentifier:
			// It may be a known number under another prefix, or a page of a known site.
			for _, part := range identifierParts(key) {
				_, number := s.keys[factNumber][plainNumber(part)]
				if number && len(part) >= idDigits && !strings.Contains(key, "@") {
					return true
				}
			}
			if _, host, ok := strings.Cut(key, "://"); ok {
				host, _, _ = strings.Cut(host, "/")
				return strings.Contains(s.words, host)
			}
		}
	}
	return f.or != nil && s.derives(*f.or)
}

// dayOf reports whether a number is the day of a known date: "on the 26th".
func (s *Source) dayOf(number string) bool {
	if len(number) > 2 {
		return false
	}
	for known := range s.keys[factDate] {
		if strings.TrimLeft(known[len(known)-2:], "0") == number {
			return true
		}
	}
	return false
}

// apart reports whether a span such as 2:30 is the time between two known times of day,
// of which known is the earlier.
func (s *Source) apart(known, span string) bool {
	minutes := func(clock string) int {
		hour, _ := strconv.Atoi(clock[:2])
		minute, _ := strconv.Atoi(clock[3:])
		return 60*hour + minute
	}
	later := minutes(known) + minutes(span)
	for other := range s.keys[factTime] {
		if (later-minutes(other))%(24*60) == 0 {
			return true
		}
	}
	return false
}

// near reports whether a date may follow from a known one: the same without its year,
// the day before or after it in another time zone, or a known number of days, weeks,
// months or years away.
func (s *Source) near(key string) bool {
	if _, ok := s.yearless["-"+key[len("2006"):]]; ok && key[0] != '-' {
		return true
	}
	least := 0 // the days that another time zone can change, if the sources have times
	if len(s.keys[factTime]) > 0 {
		least = 1
	}
	year := ""
	if key[0] == '-' {
		key, year = "2000"+key[1:], "2000"
	}
	day, err := time.Parse("2006-01-02", key)
	if err != nil {
		return false
	}
	for known := range s.keys[factDate] {
		if known[0] == '-' {
			continue
		}
		if year != "" {
			known = year + known[4:]
		}
		other, err := time.Parse("2006-01-02", known)
		if err != nil {
			continue
		}
		apart := int(math.Abs(day.Sub(other).Hours()) / 24)
		spans := []int{apart}
		if apart%7 == 0 {
			spans = append(spans, apart/7)
		}
		if day.Day() == other.Day() { // whole months and years
			months := 12*(day.Year()-other.Year()) + int(day.Month()-other.Month())
			spans = append(spans, max(months, -months))
			if months%12 == 0 {
				spans = append(spans, max(months, -months)/12)
			}
		}
		for _, span := range spans {
			// A 1 alone is no span of a week or more: it may be the length of a list.
			if _, ok := s.keys[factNumber][strconv.Itoa(span)]; ok && span <= 400 && (span > 1 || apart == 1) {
				return true
			}
		}
		if apart <= least {
			return true
		}
	}
	return false
}
