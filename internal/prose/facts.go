package prose

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/shakedown-go/shakedown/internal/spelling"
)

// A kind of facts. All but a small number are such that no answer has one by chance.
type kind int

const (
	address   kind = iota // an e-mail or web address
	quotation             // text in quotation marks
	date
	clock      // a time of day
	identifier // a word with a digit
	amount     // a number that is long, or has a fraction, a currency or a percent sign
	small      // another number
	loose      // small numbers that a sign joins
)

// A fact is a part of a text that a source has or has not.
type fact struct {
	kind kind
	text string
	keys []string // what it may mean; one of them in the source is enough
}

// The months' names.
const (
	m1    = `jan(?:uary|uar|vier)?|ene(?:ro)?`
	m2    = `feb(?:ruary|ruar|rero)?|f[eé]v(?:rier)?`
	m3    = `mar(?:ch|s|zo)?|m(?:ae|ä)rz`
	m4    = `apr(?:il)?|avr(?:il)?|abr(?:il)?`
	m5    = `may|mai|mayo`
	m6    = `jun(?:e|i|io)?|juin`
	m7    = `jul(?:y|i|io)?|juil(?:let)?`
	m8    = `aug(?:ust)?|ao[uû]t|ago(?:sto)?`
	m9    = `sep(?:t|tember|tembre|tiembre)?`
	m10   = `o[ck]t(?:ober|obre|ubre)?`
	m11   = `nov(?:ember|embre|iembre)?`
	m12   = `d[eé][cz](?:ember|embre)?|dic(?:iembre)?`
	month = `(?:` + m1 + `|` + m2 + `|` + m3 + `|` + m4 + `|` + m5 + `|` + m6 + `|` +
		m7 + `|` + m8 + `|` + m9 + `|` + m10 + `|` + m11 + `|` + m12 + `)`
)

var (
	// The groups of monthForms are the months.
	monthForms = regexp.MustCompile(`^(?:(` + m1 + `)|(` + m2 + `)|(` + m3 + `)|(` + m4 + `)|(` + m5 + `)|(` + m6 + `)|(` +
		m7 + `)|(` + m8 + `)|(` + m9 + `)|(` + m10 + `)|(` + m11 + `)|(` + m12 + `))$`)
	// factForm finds facts in a text in lower case. The groups are the kinds in their order.
	factForm = regexp.MustCompile(
		`(https?://[^\s<>"')\]]+|[a-z0-9_%+\-][a-z0-9._%+\-']*@[a-z0-9\-]+(?:\.[a-z0-9\-]+)+)` +
			`|("[^"\n]+"|«[^»\n]+»)` +
			`|(\b\d{4}-\d\d-\d\d|\b\d{4}[/.]\d{1,2}[/.]\d{1,2}\b|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b|\b\d{1,2}\.\d{1,2}\.` +
			`|\b\d{1,2}(?:\.|st|nd|rd|th|er)?[ -](?:de |of )?` + month + `\b\.?(?:,? (?:de |del )?\d{4}\b|-\d\d(?:\d\d)?\b)?` +
			`|\b` + month + `\.? \d{1,2}(?:st|nd|rd|th)?\b(?:,? \d{4}\b)?)` +
			`|(\bt?\d{1,2}:\d\d(?::\d\d)?(?: ?[ap]\.?m\b)?|\b\d{1,2} ?[ap]m\b|\b\d{1,2} ?h ?\d\d\b|\b\d{1,2}(?:\.\d\d)? uhr\b)` +
			`|([$€£] ?\d[\d.,']*|\d[\d.,']* ?(?:[$€£%]|usd\b|eur\b|euros?\b|gbp\b|chf\b|dollars?\b|prozent\b|percent\b))` +
			`|(\b\d{1,3}(?: \d{3})+(?:,\d+)?\b|\d+(?:[.,']\d+)+\pL*|[\pL\pN]+(?:[\-_./:'][\pL\pN]+)*)`)
)

// The groups of factForm.
const (
	inAddress = iota + 1
	inQuotation
	inDate
	inClock
	inMoney
	inWord
)

// facts returns the facts of a text.
func facts(s string) (list []fact) {
	folded := strings.ToLower(spelling.Signs(s))
	for at := 0; ; {
		m := factForm.FindStringSubmatchIndex(folded[at:])
		if m == nil {
			return list
		}
		text := folded[at+m[0] : at+m[1]]
		at += m[1]
		group := 1
		for m[2*group] < 0 {
			group++
		}
		f := fact{text: text}
		switch group {
		case inAddress:
			f.kind, f.text = address, strings.TrimRight(text, ".,;:!?")
			f.keys = []string{strings.TrimRight(f.text, "/")}
		case inQuotation:
			f.text = strings.Trim(text, `"«» .,!`)
			f.kind, f.keys = quotation, []string{oneLine(f.text)}
		case inDate:
			if f.kind, f.keys = date, dates(text); f.keys == nil { // "75.95."
				f = word(strings.TrimRight(text, "."))
			}
		case inClock:
			if f.kind, f.keys = clock, clocks(strings.TrimPrefix(text, "t")); f.keys == nil { // "10:75"
				f = word(text)
			}
		case inMoney:
			f.kind, f.text = amount, strings.TrimRight(text, ".,'")
			f.keys = numbers(strings.Trim(text, "$€£% abcdefghijklmnopqrstuvwxyz"))
		default:
			f = word(text)
		}
		if len(f.keys) > 0 {
			list = append(list, f)
		}
	}
}

// word returns a word with a digit as a number or an identifier.
func word(s string) fact {
	if !strings.ContainsFunc(s, unicode.IsDigit) {
		return fact{kind: identifier}
	}
	if i := strings.IndexByte(s, '\''); i == 1 || i == 2 {
		s = s[i+1:] // an article: l'AF1784
	}
	plain := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyz")
	if unit := s[len(plain):]; listed(" st nd rd th er e ms s sec m min h hr hrs d j g kg mg lb oz km cm mm l kb mb gb tb x ", unit) ||
		unit == "" {
		if keys := numbers(plain); keys != nil {
			f := fact{kind: small, text: s, keys: keys}
			if len(plain) > 3 || strings.ContainsAny(plain, ".,") && unit != "h" {
				f.kind = amount
			}
			return f
		}
	}
	f := fact{kind: identifier, text: s, keys: []string{spelling.Squeeze(s)}}
	parts := strings.FieldsFunc(s, noWord)
	if len(parts) > 1 && !slices.ContainsFunc(parts, func(part string) bool { return word(part).kind != small }) {
		f.kind = loose // 24h/24, 3-5
	}
	return f
}

// numbers returns what a number may mean, nil if s is none: "1.234" is 1234 in German and
// 1.234 in English.
func numbers(s string) (keys []string) {
	s = strings.Trim(strings.ReplaceAll(strings.ReplaceAll(s, "'", ""), " ", ""), ".,")
	if s == "" || strings.Trim(s, "0123456789.,") != "" {
		return nil
	}
	add := func(s string) {
		if v, err := strconv.ParseFloat(s, 64); err == nil {
			keys = append(keys, key(v))
		}
	}
	last := strings.LastIndexAny(s, ".,")
	if last < 0 {
		add(s)
		return keys
	}
	mark, only := s[last:last+1], strings.NewReplacer(".", "", ",", "")
	thousands := true // every group behind the first has three digits
	for i, group := range strings.FieldsFunc(s, func(r rune) bool { return r == '.' || r == ',' }) {
		thousands = thousands && (i == 0 && len(group) <= 3 || len(group) == 3)
	}
	if strings.Count(s, mark) == 1 {
		add(only.Replace(s[:last]) + "." + s[last+1:])
	}
	if thousands && strings.Count(s, ".")*strings.Count(s, ",") == 0 {
		add(only.Replace(s))
	}
	return keys
}

// oneLine returns a text folded, with a space between words.
func oneLine(s string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(spelling.Flat(s), "_", " ")), " ")
}

func key(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// dates returns the days that a date may mean, as year-month-day and --month-day.
func dates(s string) (keys []string) {
	var nums []int
	named := 0 // the month
	for part := range strings.FieldsFuncSeq(s, func(r rune) bool { return strings.ContainsRune(" -./,", r) }) {
		if m := monthForms.FindStringSubmatch(part); m != nil {
			for i := range m[1:] {
				if m[i+1] != "" {
					named = i + 1
				}
			}
		} else if n, err := strconv.Atoi(strings.TrimRight(part, "stndrhe")); err == nil {
			nums = append(nums, n)
		}
	}
	add := func(year, month, day int) {
		if year > 0 && year < 100 {
			year += 2000
		}
		if month < 1 || month > 12 || day < 1 || day > 31 {
			return
		}
		if year > 0 {
			keys = append(keys, fmt.Sprintf("%d-%02d-%02d", year, month, day))
		} else {
			keys = append(keys, fmt.Sprintf("--%02d-%02d", month, day))
		}
	}
	switch nums = append(nums, 0, 0, 0); {
	case named > 0:
		add(nums[1], named, nums[0])
	case nums[0] > 31:
		add(nums[0], nums[1], nums[2])
	default:
		add(nums[2], nums[1], nums[0])
		add(nums[2], nums[0], nums[1])
	}
	return keys
}

// clocks returns a time of day as minutes since midnight. Without "am" or "pm" an hour up to
// twelve may be of the afternoon.
func clocks(s string) (keys []string) {
	digits := strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsDigit(r) })
	hour, _ := strconv.Atoi(digits[0]) // one or two digits, as the form has it
	minute := 0
	if len(digits) > 1 {
		minute, _ = strconv.Atoi(digits[1])
	}
	switch {
	case hour > 24 || minute > 59:
		return nil
	case strings.Contains(s, "p") && hour < 12:
		hour += 12
	case strings.Contains(s, "a") && hour == 12:
		hour = 0
	}
	return []string{strconv.Itoa(hour*60 + minute)}
}
