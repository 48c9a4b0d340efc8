package invariant

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"
)

// factKind says what sort of thing a fact is.
type factKind string

const (
	factNumber     factKind = "number"
	factIdentifier factKind = "identifier"
	factDate       factKind = "date"
	factTime       factKind = "time"
	factQuotation  factKind = "quotation"
)

// fact is something specific that a text says.
type fact struct {
	kind factKind
	text string   // as it stands in the text
	keys []string // what it is compared by; any of them will do
}

func (f fact) String() string { return string(f.kind) + " " + quote(f.text) }

// factReader finds facts. It is prepared once for an invariant.
type factReader struct {
	marker, quotation, address, token, number *regexp.Regexp
	dates                                     []dateForm
	clock                                     *regexp.Regexp
}

// dateForm is one way to write a date; read says which days a match may be.
type dateForm struct {
	form *regexp.Regexp
	read func(match []string) []string
}

const (
	monthNames = `(jan(?:uary|\.)?|feb(?:ruary|\.)?|mar(?:ch|\.)?|apr(?:il|\.)?|may|june?|july?|aug(?:ust|\.)?|sept?(?:ember|\.)?|oct(?:ober|\.)?|nov(?:ember|\.)?|dec(?:ember|\.)?)`
	ordinal    = `(?:st|nd|rd|th)?`
	// units may follow a number without a space: "24h" states the number 24.
	units = `(?:st|nd|rd|th|ms|s|sec|m|min|h|hrs?|d|g|kg|mg|lb|oz|km|cm|mm|ml|l|kb|mb|gb|tb|am|pm|x|usd|eur|gbp)`
)

func newFactReader() *factReader {
	return &factReader{
		marker:    regexp.MustCompile(`(?m)^\s*[0-9]{1,3}[.)]\s`),
		quotation: regexp.MustCompile(`(?:^|[\s(\[:])(?:"([^"\s][^"\n]*)"|«\s?([^»\n]+?)\s?»|` + "`([^`\n]+)`)"),
		address:   regexp.MustCompile(`https?://[^\s<>"')\]]+|[\pL\pN._%+\-]+@[\pL\pN\-]+(?:\.[\pL\pN\-]+)+`),
		token:     regexp.MustCompile(`[\pL\pN]+(?:[-_./:,][\pL\pN]+)*`),
		number:    regexp.MustCompile(`^([0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?)` + units + `?$`),
		clock:     regexp.MustCompile(`\b([0-9]{1,2}):([0-9]{2})(:[0-9]{2})?(?:\.[0-9]+)?(?: ?([ap])\.?m\b)?(?:z\b|[+-][0-9]{2}:[0-9]{2})?`),
		dates: []dateForm{
			{regexp.MustCompile(`\b([0-9]{4})[-/.]([0-9]{1,2})[-/.]([0-9]{1,2})(?:t|\b)`), func(m []string) []string { return days(m[1], m[2], m[3]) }},
			{regexp.MustCompile(`\b([0-9]{1,2})[-/.]([0-9]{1,2})[-/.]([0-9]{4})\b`), func(m []string) []string {
				return append(days(m[3], m[1], m[2]), days(m[3], m[2], m[1])...)
			}},
			{regexp.MustCompile(`\b([0-9]{1,2})` + ordinal + `(?: of)? ` + monthNames + `(?:,? ([0-9]{4}))?\b`), func(m []string) []string { return days(m[3], m[2], m[1]) }},
			{regexp.MustCompile(`\b` + monthNames + ` ([0-9]{1,2})` + ordinal + `(?:,? ([0-9]{4}))?\b`), func(m []string) []string { return days(m[3], m[1], m[2]) }},
		},
	}
}

// read returns the facts of a text. What one sort has taken, the next does not see.
func (r *factReader) read(text string) []fact {
	text = fold(straighten(text))
	rest := []byte(text)
	var facts []fact
	take := func(kind factKind, start, end int, keys ...string) {
		facts = append(facts, fact{kind, text[start:end], keys})
		blankOut(rest[start:end])
	}
	for _, at := range r.quotation.FindAllSubmatchIndex(rest, -1) {
		for group := 2; group < len(at); group += 2 {
			if start, end := at[group], at[group+1]; start >= 0 {
				take(factQuotation, start, end, phrase(text[start:end]))
			}
		}
	}
	for _, at := range r.address.FindAllIndex(rest, -1) {
		end := at[0] + len(strings.TrimRight(text[at[0]:at[1]], ".,;:!?"))
		take(factIdentifier, at[0], end, text[at[0]:end])
	}
	for _, form := range r.dates {
		for _, at := range form.form.FindAllSubmatchIndex(rest, -1) {
			if keys := form.read(groups(text, at)); keys != nil {
				take(factDate, at[0], at[1], keys...)
			}
		}
	}
	for _, at := range r.clock.FindAllSubmatchIndex(rest, -1) {
		if key := clockKey(groups(text, at)); key != "" {
			take(factTime, at[0], at[1], key)
		}
	}
	for _, at := range r.token.FindAllIndex(rest, -1) {
		facts = append(facts, r.classify(text[at[0]:at[1]])...)
	}
	return facts
}

// readAnswer is read without the numbers of a numbered list, and for an answer
// that is JSON without the names of its members.
func (r *factReader) readAnswer(answer string) []fact {
	var facts []fact
	if pieces, ok := jsonValues([]byte(answer), false); ok && strings.ContainsAny(answer, "{[") {
		for _, piece := range pieces {
			facts = append(facts, r.read(piece)...)
		}
		return facts
	}
	return r.read(r.marker.ReplaceAllString(answer, "\n"))
}

// classify makes facts of a token, if it has a digit.
func (r *factReader) classify(token string) []fact {
	if !strings.ContainsFunc(token, unicode.IsDigit) {
		return nil
	}
	if key, ok := r.numberKey(token); ok {
		return []fact{{factNumber, token, []string{key}}}
	}
	if parts := strings.Split(token, ","); len(parts) > 1 {
		var facts []fact
		for _, part := range parts {
			facts = append(facts, r.classify(part)...)
		}
		return facts
	}
	return []fact{{factIdentifier, token, []string{token}}}
}

// numberKey is a number without separators, unit and zeros that mean nothing:
// "1,234.50" and "1234.5" are the same.
func (r *factReader) numberKey(token string) (string, bool) {
	m := r.number.FindStringSubmatch(token)
	if m == nil {
		return "", false
	}
	return plainNumber(strings.ReplaceAll(m[1], ",", "")), true
}

func plainNumber(s string) string {
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	if s = strings.TrimLeft(s, "0"); s == "" || s[0] == '.' {
		s = "0" + s
	}
	return s
}

// days are the keys of a date, empty for none that exists. Without a year it is
// the same day of any year.
func days(year, month, day string) []string {
	if len(month) > 2 {
		month = fmt.Sprint(1 + strings.Index("janfebmaraprmayjunjulaugsepoctnovdec", month[:3])/3)
	}
	leap := year
	if leap == "" {
		leap = "2000"
	}
	t, err := time.Parse("2006-1-2", leap+"-"+month+"-"+day)
	if err != nil {
		return nil
	}
	if year == "" {
		return []string{t.Format("--01-02")}
	}
	return []string{t.Format("2006-01-02")}
}

// clockKey is the time of day in hours and minutes; seconds are not compared.
func clockKey(m []string) string {
	var hour, minute int
	if _, err := fmt.Sscanf(m[1]+" "+m[2], "%d %d", &hour, &minute); err != nil || minute > 59 {
		return ""
	}
	if m[4] != "" {
		hour %= 12
	}
	if m[4] == "p" {
		hour += 12
	}
	if hour > 24 {
		return ""
	}
	return fmt.Sprintf("%02d:%02d", hour, minute)
}

// phrase is a quotation as it is compared: single spaces, no punctuation at its end.
func phrase(text string) string {
	return strings.TrimRight(strings.Join(strings.Fields(text), " "), ".,;:!?")
}

func groups(text string, at []int) []string {
	m := make([]string, len(at)/2)
	for i := range m {
		if at[2*i] >= 0 {
			m[i] = text[at[2*i]:at[2*i+1]]
		}
	}
	return m
}

func blankOut(b []byte) {
	for i := range b {
		b[i] = ' '
	}
}
