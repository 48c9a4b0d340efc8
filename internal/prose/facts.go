package prose

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// A factKind is the kind of a fact.
type factKind string

const (
	factNumber     factKind = "number"
	factIdentifier factKind = "identifier"
	factDate       factKind = "date"
	factTime       factKind = "time"
	factQuotation  factKind = "quotation"
	factName       factKind = "name"
)

// A fact is something specific that a text says.
type fact struct {
	Kind  factKind
	text  string   // as in the text, in lower case
	keys  []string // its normalised readings; facts are equal if they share one
	start int      // offset in the folded text
	// soft reports that its absence from the sources proves nothing: it may be no
	// fact, or may be known from elsewhere.
	soft bool
	// attributed reports that it is a quotation of several words with a speaker.
	attributed bool
	// or is another reading, nil if there is none: "14 h" is a time of day or a number.
	or *fact
}

func (f fact) String() string { return string(f.Kind) + " " + Quote(f.text) }

// A FactReader finds facts other than names, in ShapeWords. An invariant makes one
// and uses it for all answers.
type FactReader struct {
	marker      *regexp.Regexp // the number of an item of a list
	firstItem   *regexp.Regexp // the number 1 of a list
	notFacts    *Matcher       // phrases with numbers that are not facts
	quotation   *regexp.Regexp
	says        *regexp.Regexp // before a quotation: it is a specific one
	speaks      *regexp.Regexp // before a quotation: it has a speaker
	address     *regexp.Regexp // an e-mail or web address
	dates       []dateForm
	clocks      []*regexp.Regexp
	clockBegin  []*Matcher     // of each of clocks
	later       *regexp.Regexp // behind a time of day: it is in the afternoon
	grouped     *regexp.Regexp // a number with spaces between thousands
	token       *regexp.Regexp
	elision     *regexp.Regexp // "l'" and the like at the beginning of a token
	money       *regexp.Regexp // before a number
	unit, span  *regexp.Regexp // behind a number
	place       *regexp.Regexp // before a number or an identifier
	word        *regexp.Regexp
	numberWords map[string]string
}

// A dateForm is one way to write a date. read returns the days that a match may mean.
type dateForm struct {
	form  *regexp.Regexp
	begin *Matcher
	read  func(match []string) []string
}

// forms makes the matchers of the beginnings of dates and times of day.
func (r *FactReader) forms() *FactReader {
	for i := range r.dates {
		r.dates[i].begin = NewMatcher(r.dates[i].form.String(), false)
	}
	for _, form := range r.clocks {
		r.clockBegin = append(r.clockBegin, NewMatcher(form.String(), false))
	}
	return r
}

// read returns the facts of a source.
func (r *FactReader) read(original string) []fact { return r.facts(original, false) }

// facts returns the facts of a text. Text that one kind has taken is not read for
// the next. In an answer, the numbers of lists and steps, and phrases such as
// "24/7", are not facts.
func (r *FactReader) facts(original string, answer bool) []fact {
	folded := Flatten(original, ShapeWords)
	text := folded.Text
	rest := []byte(text)
	var facts []fact
	take := func(f fact, start, end int) {
		from, to := folded.Original(start, end)
		f.text, f.start = strings.ToLower(original[from:to]), start
		facts = append(facts, f)
		BlankOut(rest[start:end])
	}
	// "4. März" is a date, unless the lines are numbered.
	numbered := answer && r.firstItem.Match(rest)
	if numbered {
		r.blankLists(rest, true)
	}
	for _, at := range r.quotation.FindAllSubmatchIndex(rest, -1) {
		for group := 2; group < len(at); group += 2 {
			start, end := at[group], at[group+1]
			if start < 0 || group == 6 && strings.ContainsFunc(text[start:end], unicode.IsDigit) {
				continue // code with a digit is read as an identifier
			}
			said := phrase(text[start:end])
			soft := group == 6 || !strings.Contains(said, " ") || !r.says.MatchString(text[max(0, at[0]-40):start])
			attributed := group != 6 && strings.Count(said, " ") >= quotedWords-1 &&
				r.speaks.MatchString(text[max(0, start-60):start])
			take(fact{Kind: factQuotation, keys: []string{said}, soft: soft, attributed: attributed}, start, end)
		}
	}
	for _, at := range r.address.FindAllIndex(rest, -1) {
		end := at[0] + len(strings.TrimRight(text[at[0]:at[1]], ".,;:!?"))
		take(fact{Kind: factIdentifier, keys: []string{text[at[0]:end]}}, at[0], end)
	}
	for i, form := range r.dates {
		for _, at := range form.begin.submatches(form.form, rest) {
			if keys := form.read(groupTexts(text, at)); keys != nil {
				f := fact{Kind: factDate, keys: keys, soft: i == 4}
				if i == 4 { // "rated 4.4." is a number
					f.or = &fact{Kind: factNumber, keys: numberKeys(strings.TrimRight(text[at[0]:at[1]], ". \n"))}
				}
				take(f, at[0], at[1])
			}
		}
	}
	if answer && !numbered {
		r.blankLists(rest, false)
	}
	for i, form := range r.clocks {
		for _, at := range r.clockBegin[i].submatches(form, rest) {
			m := groupTexts(text, at)
			if i > 0 && at[0] > 1 && strings.IndexByte(".,", rest[at[0]-1]) >= 0 &&
				unicode.IsDigit(rune(rest[at[0]-2])) {
				continue // "1,5 h"
			}
			// "24h" is a span.
			if key := clockKey(m[1], m[2], m[3]); key != "" && (i == 0 || m[1] < "24" || len(m[1]) < 2) {
				f := fact{Kind: factTime, keys: []string{key}}
				if m[3] == "" && r.later.MatchString(text[at[1]:min(len(text), at[1]+24)]) {
					f.keys = append(f.keys, clockKey(m[1], m[2], "p"))
				}
				if i > 0 && m[2] == "" {
					f.or = &fact{Kind: factNumber, keys: []string{plainNumber(m[1])}}
					f.soft = i > 2 // "4 heures" is a span as well
				}
				take(f, at[0], at[1])
			}
		}
	}
	for _, at := range r.grouped.FindAllIndex(rest, -1) {
		take(fact{Kind: factNumber, keys: numberKeys(strings.ReplaceAll(text[at[0]:at[1]], " ", ""))}, at[0], at[1])
	}
	for _, at := range r.token.FindAllIndex(rest, -1) {
		if !strings.ContainsFunc(text[at[0]:at[1]], unicode.IsDigit) {
			continue
		}
		at[0] += len(r.elision.FindString(text[at[0]:at[1]])) // "l'AF1784"
		money, after := r.money.MatchString(text[max(0, at[0]-6):at[0]]), text[at[1]:min(len(text), at[1]+24)]
		for _, f := range r.classify(text[at[0]:at[1]], money, after) {
			f.soft = f.soft && !r.place.MatchString(text[max(0, at[0]-30):at[0]])
			start := at[0] + f.start
			take(f, start, start+len(f.keys[0]))
			facts[len(facts)-1].keys = f.keys[1:]
		}
	}
	if answer {
		for _, at := range r.word.FindAllIndex(rest, -1) {
			if key, ok := r.numberWords[string(rest[at[0]:at[1]])]; ok {
				if from, to := folded.Original(at[0], at[1]); to-from > at[1]-at[0] {
					continue // "très" is no number
				}
				take(fact{Kind: factNumber, keys: []string{key}, soft: true}, at[0], at[1])
			}
		}
	}
	return facts
}

// blankLists blanks out the numbers of lists and the phrases that are not facts, in
// this order if listsFirst, else in the other.
func (r *FactReader) blankLists(rest []byte, listsFirst bool) {
	lists := func() [][]int { return r.marker.FindAllIndex(rest, -1) }
	others := func() [][]int { return r.notFacts.FindAllStringIndex(string(rest), -1) }
	order := []func() [][]int{others, lists}
	if listsFirst {
		slices.Reverse(order)
	}
	for _, find := range order {
		for _, at := range find() {
			BlankOut(rest[at[0]:at[1]])
		}
	}
}

// ReadAnswer returns the facts of an answer. In an answer that is JSON, the names of
// members are not read.
func (r *FactReader) ReadAnswer(answer string) []fact {
	if values, ok := jsonValues([]byte(answer), false); ok && strings.ContainsAny(answer, "{[") {
		var facts []fact
		for _, value := range values {
			facts = append(facts, r.facts(value, true)...)
		}
		return facts
	}
	return r.facts(answer, true)
}

// classify returns the facts in a token, none if it has no digit. money reports that
// a currency precedes it; after is the text behind it. Of each fact, the first key
// is the part of the token that it comes from, and start is the offset of that part.
func (r *FactReader) classify(token string, money bool, after string) []fact {
	if !strings.ContainsFunc(token, unicode.IsDigit) {
		return nil
	}
	if keys := numberKeys(token); keys != nil {
		// A number of up to three digits without a unit may be a count, and a span of
		// time may be what is usual.
		whole, _, _ := strings.Cut(keys[0], ".")
		bare := whole == keys[0] && !money
		soft := bare && len(whole) <= 3 && !r.unit.MatchString(after) && strings.Trim(token, "0123456789") == "" ||
			!money && r.span.MatchString(after) || token != strings.TrimRight(token, "hmsd") ||
			bare && len(whole) == 4 && (whole[:2] == "19" || whole[:2] == "20") // a year
		return []fact{{Kind: factNumber, keys: append([]string{token}, keys...), soft: soft}}
	}
	from, to, ok := strings.Cut(token, "-")
	if ok && len(from) < 4 && len(to) < 5 && numberKeys(from) != nil && numberKeys(to) != nil { // a range
		least, most := r.classify(from, money, after), r.classify(to, money, after)
		if len(least) == 1 && len(most) == 1 {
			most[0].start = len(from) + 1
			return append(least, most...)
		}
	}
	if parts := strings.Split(token, ","); len(parts) > 1 {
		var facts []fact
		at := 0
		for i, part := range parts {
			next := after
			if i+1 < len(parts) {
				next = ""
			}
			for _, f := range r.classify(part, money, next) {
				f.start += at
				facts = append(facts, f)
			}
			at += len(part) + 1
		}
		return facts
	}
	digits, letters := 0, 0
	for _, c := range token {
		if unicode.IsDigit(c) {
			digits++
		} else if unicode.IsLetter(c) {
			letters++
		}
	}
	// "iphone-15" and "a4" are words of the language.
	soft := digits < 2 || utf8.RuneCountInString(token) < 5 || digits == 2 && letters > 3
	return []fact{{Kind: factIdentifier, keys: []string{token, token}, soft: soft}}
}

// days returns the keys of a date, nil for one that does not exist. Without a year
// the key is that of the day in any year.
func days(year, month, day string) []string {
	leap := year
	if leap == "" {
		leap = "2000"
	}
	t, err := time.Parse("2006-1-2", leap+"-"+strings.TrimLeft(month, "0")+"-"+strings.TrimLeft(day, "0"))
	if err != nil {
		return nil
	}
	if year == "" {
		return []string{t.Format("--01-02")}
	}
	return []string{t.Format("2006-01-02")}
}

// clockKey returns a time of day in hours and minutes, "" for one that does not exist.
// half is "a" for am, "p" for pm, or "". Seconds are not compared.
func clockKey(hours, minutes, half string) string {
	hour, _ := strconv.Atoi(hours)
	minute, _ := strconv.Atoi(minutes)
	if half != "" {
		hour %= 12
	}
	if half == "p" {
		hour += 12
	}
	if hour > 24 || minute > 59 {
		return ""
	}
	return fmt.Sprintf("%02d:%02d", hour, minute)
}

// phrase returns the key of a quotation: its words with single spaces, without the
// punctuation at its end.
func phrase(text string) string {
	words := strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || r == '_' })
	return strings.TrimRight(strings.Join(words, " "), ".,;:!?")
}

// groupTexts returns what the groups of a match matched, "" for one that matched nothing.
func groupTexts(text string, at []int) []string {
	m := make([]string, len(at)/2)
	for i := range m {
		if at[2*i] >= 0 {
			m[i] = text[at[2*i]:at[2*i+1]]
		}
	}
	return m
}

// BlankOut replaces text by spaces, which keeps the offsets.
func BlankOut(b []byte) {
	for i := range b {
		b[i] = ' '
	}
}
