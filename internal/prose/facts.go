package prose

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/shakedown-go/shakedown/internal/spelling"
)

// A kind of facts. All but a small number are such that no answer has one by chance.
type kind int

const (
	address   kind = iota // an e-mail or web address
	quotation             // text in quotation marks
	date
	weekday
	clock      // a time of day
	amount     // a number that is long, or has a fraction, a currency or a percent sign
	identifier // a word with a digit
	small      // another number, or several that a sign joins
)

// A key is what a fact may mean.
type key struct {
	kind kind
	text string  // of addresses, quotations and identifiers
	n    float64 // an amount; the day of a week; minutes since midnight
	day  time.Time
}

// A fact is a part of a text that a source has or has not.
type fact struct {
	kind kind
	text string
	keys []key // one of them in the source is enough
}

// The names of the months and of the days of the week, with their numbers from 1 on.
var (
	months   = numbered("months")
	weekdays = numbered("weekdays")
	month    = `(?:` + Words("months") + `)`
)

// numbered returns the words of a list with the numbers of their lines.
func numbered(list string) map[string]int {
	numbers := make(map[string]int)
	for i, line := range strings.Split(lines(list), "\n") {
		for word := range strings.SplitSeq(line, "|") {
			numbers[word] = i + 1
		}
	}
	return numbers
}

// factForm finds facts in a text in lower case. The groups are the kinds in their order; the
// last has words.
var factForm = regexp.MustCompile(
	`(https?://[^\s<>"')\]]+|[a-z0-9_%+\-][a-z0-9._%+\-']*@[a-z0-9\-]+(?:\.[a-z0-9\-]+)+)` +
		`|("[^"\n]+"|«[^»\n]+»)` +
		`|(\b\d{4}-\d\d-\d\d|\b\d{4}[/.]\d{1,2}[/.]\d{1,2}\b|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b|\b\d{1,2}\.\d{1,2}\.\d?` +
		`|\b\d{1,2}(?:\.|st|nd|rd|th|er)?[ -](?:de |of )?` + month + `\b\.?(?:,? (?:de |del )?\d{4}\b|-\d\d(?:\d\d)?\b)?` +
		`|\b` + month + `\.? \d{1,2}(?:st|nd|rd|th)?\b(?:,? \d{4}\b)?)` +
		`|\b(` + Words("weekdays") + `)\b` +
		`|((?:\b|t)\d{1,2}:\d\d(?::\d\d)?(?: ?[ap]\.?m\b)?|\b\d{1,2} ?[ap]m\b|\b\d{1,2} ?h ?\d\d\b|\b\d{1,2}(?:\.\d\d)? uhr\b)` +
		`|([$€£] ?\d[\d.,']*|\d[\d.,']* ?(?:[$€£%]|usd\b|eur\b|euros?\b|gbp\b|chf\b|dollars?\b|prozent\b|percent\b))` +
		`|(\b\d{1,3}(?: \d{3})+(?:,\d+)?\b|\d+(?:[.,']\d+)+\pL*|[\pL\pN]+(?:[\-_./:'][\pL\pN]+)*)`)

// facts returns the facts of a text.
func facts(s string) (list []fact) {
	folded := strings.ToLower(spelling.Signs(s))
	for _, at := range factForm.FindAllStringSubmatchIndex(folded, -1) {
		k := address
		for at[2*int(k)+2] < 0 {
			k++
		}
		f := factOf(k, folded[at[0]:at[1]])
		if f.keys == nil {
			f = word(strings.TrimRight(f.text, "."))
		}
		if f.keys != nil {
			list = append(list, f)
		}
	}
	return list
}

// factOf reads a match of a group of factForm. Its keys are nil where it is a word after all:
// "75.95.", "10:75".
func factOf(k kind, s string) fact {
	f := fact{kind: k, text: s}
	switch k {
	case address:
		f.text = strings.TrimRight(s, ".,;:!?")
		f.keys = []key{{kind: address, text: strings.TrimRight(f.text, "/")}}
	case quotation:
		f.text = strings.Trim(s, `"«» .,!`)
		if said := spelling.Squeeze(f.text); said != "" {
			f.keys = []key{{kind: quotation, text: said}}
		}
	case date:
		if f.keys = dates(s); f.keys != nil {
			f.keys = append(f.keys, numbers(s)...) // "It is 4.3."
		}
	case weekday:
		f.keys = []key{{kind: weekday, n: float64(weekdays[s])}}
	case clock:
		f.keys = clocks(strings.TrimPrefix(s, "t"))
	case amount:
		f.text = strings.TrimRight(s, ".,'")
		f.keys = numbers(strings.Trim(s, "$€£% abcdefghijklmnopqrstuvwxyz"))
	}
	return f
}

// units are what may stand behind a number without a space.
const units = "  st nd rd th er e ms s sec m min h hr hrs d j g kg mg lb oz km cm mm l kb mb gb tb x "

// word reads a word with a digit as a number or an identifier.
func word(s string) fact {
	if !strings.ContainsFunc(s, unicode.IsDigit) {
		return fact{}
	}
	plain := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyz")
	unit := s[len(plain):]
	if keys := numbers(plain); keys != nil && strings.Contains(units, " "+unit+" ") {
		k := small
		if len(plain) > 3 || strings.ContainsAny(plain, ".,") {
			k = amount
		}
		return fact{k, s, keys}
	}
	k := identifier
	parts := strings.FieldsFunc(s, noWord)
	if len(parts) > 1 && !slices.ContainsFunc(parts, func(part string) bool { return word(part).kind != small }) {
		k = small // 24h/24, 3-5
	}
	return fact{k, s, []key{{kind: identifier, text: spelling.Squeeze(s)}}}
}

// thousands matches a number with one sign between groups of three digits.
var thousands = regexp.MustCompile(`^\d{1,3}(?:(?:\.\d{3})+|(?:,\d{3})+)$`)

// numbers returns what a number may mean, nil if s is none: "1.234" is 1234 in German and
// 1.234 in English.
func numbers(s string) (keys []key) {
	s = strings.Trim(strings.NewReplacer("'", "", " ", "").Replace(s), ".,")
	if s == "" || strings.Trim(s, "0123456789.,") != "" {
		return nil
	}
	add := func(whole, fraction string) {
		v, err := strconv.ParseFloat(strings.NewReplacer(".", "", ",", "").Replace(whole)+fraction, 64)
		if err == nil {
			keys = append(keys, key{kind: amount, n: v})
		}
	}
	last := strings.LastIndexAny(s, ".,")
	if last >= 0 && strings.Count(s, s[last:last+1]) == 1 {
		add(s[:last], "."+s[last+1:])
	}
	if last < 0 || thousands.MatchString(s) {
		add(s, "")
	}
	return keys
}

// dates returns the days that a date may mean. One without a year is of the year 0.
func dates(s string) (keys []key) {
	var nums [3]int
	n, month := 0, 0
	for part := range strings.FieldsFuncSeq(s, func(r rune) bool { return strings.ContainsRune(" -./,", r) }) {
		if m := months[part]; m > 0 {
			month = m
		} else if v, err := strconv.Atoi(strings.TrimRight(part, "stndrhe")); err == nil && n < len(nums) {
			nums[n], n = v, n+1
		}
	}
	add := func(year, month, day int) {
		if year > 0 && year < 100 {
			year += 2000
		}
		if month >= 1 && month <= 12 && day >= 1 && day <= 31 {
			keys = append(keys, dayKey(time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)))
		}
	}
	switch {
	case month > 0:
		add(nums[1], month, nums[0])
	case nums[0] > 31:
		add(nums[0], nums[1], nums[2])
	default:
		add(nums[2], nums[1], nums[0])
		add(nums[2], nums[0], nums[1])
	}
	return keys
}

func dayKey(t time.Time) key { return key{kind: date, day: t} }

// clocks returns a time of day.
func clocks(s string) []key {
	digits := append(strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsDigit(r) }), "0")
	hour, _ := strconv.Atoi(digits[0]) // one or two digits, as the form has it
	minute, _ := strconv.Atoi(digits[1])
	switch {
	case hour > 24 || minute > 59:
		return nil
	case strings.Contains(s, "p") && hour < 12:
		hour += 12
	case strings.Contains(s, "a") && hour == 12:
		hour = 0
	}
	return []key{{kind: clock, n: float64(hour*60 + minute)}}
}
