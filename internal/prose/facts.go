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
	amount     // a number that is long, or has a fraction, a currency or a percent sign
	identifier // a word with a digit
	small      // another number, or several that a sign joins
)

// A fact is a part of a text that a source has or has not.
type fact struct {
	kind kind
	text string
	keys []string // what it may mean, by kind; one of them in the source is enough
}

// The names of the months in the four languages.
const (
	m1    = `jan|january|januar|janvier|ene|enero`
	m2    = `feb|february|februar|febrero|fev|fév|février|fevrier`
	m3    = `mar|march|mars|marzo|märz|maerz`
	m4    = `apr|april|avr|avril|abr|abril`
	m5    = `may|mai|mayo`
	m6    = `jun|june|juni|junio|juin`
	m7    = `jul|july|juli|julio|juil|juillet`
	m8    = `aug|august|août|aout|ago|agosto`
	m9    = `sep|sept|september|septembre|septiembre`
	m10   = `oct|okt|october|oktober|octobre|octubre`
	m11   = `nov|november|novembre|noviembre`
	m12   = `dec|dez|déc|dic|december|dezember|décembre|decembre|diciembre`
	month = `(?:` + m1 + `|` + m2 + `|` + m3 + `|` + m4 + `|` + m5 + `|` + m6 + `|` + m7 + `|` + m8 + `|` + m9 + `|` +
		m10 + `|` + m11 + `|` + m12 + `)`
)

var (
	// factForm finds facts in a text in lower case. The groups are the kinds in their order; the
	// last has words.
	factForm = regexp.MustCompile(
		`(https?://[^\s<>"')\]]+|[a-z0-9_%+\-][a-z0-9._%+\-']*@[a-z0-9\-]+(?:\.[a-z0-9\-]+)+)` +
			`|("[^"\n]+"|«[^»\n]+»)` +
			`|(\b\d{4}-\d\d-\d\d|\b\d{4}[/.]\d{1,2}[/.]\d{1,2}\b|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b|\b\d{1,2}\.\d{1,2}\.\d?` +
			`|\b\d{1,2}(?:\.|st|nd|rd|th|er)?[ -](?:de |of )?` + month + `\b\.?(?:,? (?:de |del )?\d{4}\b|-\d\d(?:\d\d)?\b)?` +
			`|\b` + month + `\.? \d{1,2}(?:st|nd|rd|th)?\b(?:,? \d{4}\b)?)` +
			`|((?:\b|t)\d{1,2}:\d\d(?::\d\d)?(?: ?[ap]\.?m\b)?|\b\d{1,2} ?[ap]m\b|\b\d{1,2} ?h ?\d\d\b|\b\d{1,2}(?:\.\d\d)? uhr\b)` +
			`|([$€£] ?\d[\d.,']*|\d[\d.,']* ?(?:[$€£%]|usd\b|eur\b|euros?\b|gbp\b|chf\b|dollars?\b|prozent\b|percent\b))` +
			`|(\b\d{1,3}(?: \d{3})+(?:,\d+)?\b|\d+(?:[.,']\d+)+\pL*|[\pL\pN]+(?:[\-_./:'][\pL\pN]+)*)`)
)

// monthOf returns the number of a month's name, 0 if it is none.
func monthOf(name string) int {
	list := [...]string{m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12}
	return 1 + slices.IndexFunc(list[:], func(names string) bool {
		return strings.Contains("|"+names+"|", "|"+name+"|")
	})
}

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
		f.keys = []string{"address " + strings.TrimRight(f.text, "/")}
	case quotation:
		f.text = strings.Trim(s, `"«» .,!`)
		f.keys = []string{oneLine(f.text)}
	case date:
		if f.keys = dates(s); f.keys != nil {
			f.keys = append(f.keys, numbers(s)...) // "It is 4.3."
		}
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
	if i := strings.IndexByte(s, '\''); i == 1 || i == 2 {
		s = s[i+1:] // an article: l'AF1784
	}
	plain := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyz")
	unit := s[len(plain):]
	if keys := numbers(plain); keys != nil && strings.Contains(units, " "+unit+" ") {
		k := small
		if len(plain) > 3 || strings.ContainsAny(plain, ".,") && unit != "h" {
			k = amount
		}
		return fact{k, s, keys}
	}
	f := fact{identifier, s, []string{spelling.Squeeze(s)}}
	parts := strings.FieldsFunc(s, noWord)
	if len(parts) > 1 && !slices.ContainsFunc(parts, func(part string) bool { return word(part).kind != small }) {
		f.kind = small // 24h/24, 3-5
	}
	return f
}

// numbers returns what a number may mean, nil if s is none: "1.234" is 1234 in German and
// 1.234 in English.
func numbers(s string) (keys []string) {
	s = strings.Trim(strings.NewReplacer("'", "", " ", "").Replace(s), ".,")
	if s == "" || strings.Trim(s, "0123456789.,") != "" {
		return nil
	}
	add := func(s string) {
		if v, err := strconv.ParseFloat(s, 64); err == nil {
			keys = append(keys, numberKey(v))
		}
	}
	digits := strings.NewReplacer(".", "", ",", "")
	last := strings.LastIndexAny(s, ".,")
	if last >= 0 && strings.Count(s, s[last:last+1]) == 1 {
		add(digits.Replace(s[:last]) + "." + s[last+1:])
	}
	if last < 0 || thousands.MatchString(s) {
		add(digits.Replace(s))
	}
	return keys
}

// thousands matches a number with one sign between groups of three digits.
var thousands = regexp.MustCompile(`^\d{1,3}(?:(?:\.\d{3})+|(?:,\d{3})+)$`)

func numberKey(v float64) string { return "number " + strconv.FormatFloat(v, 'f', -1, 64) }

// oneLine returns a text folded, with a space between words.
func oneLine(s string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(spelling.Flat(s), "_", " ")), " ")
}

// dates returns the days that a date may mean, as "date 2006-01-02", or "date -01-02" without
// a year.
func dates(s string) (keys []string) {
	var nums []int
	named := 0 // the month
	for part := range strings.FieldsFuncSeq(s, func(r rune) bool { return strings.ContainsRune(" -./,", r) }) {
		if m := monthOf(part); m > 0 {
			named = m
		} else if n, err := strconv.Atoi(strings.TrimRight(part, "stndrhe")); err == nil {
			nums = append(nums, n)
		}
	}
	add := func(year, month, day int) {
		switch {
		case month < 1 || month > 12 || day < 1 || day > 31 || year > 0 && year < 10:
			return
		case year == 0:
			keys = append(keys, fmt.Sprintf("date -%02d-%02d", month, day))
			return
		case year < 100:
			year += 2000
		}
		keys = append(keys, fmt.Sprintf("date %d-%02d-%02d", year, month, day))
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

// clocks returns a time of day as minutes since midnight.
func clocks(s string) []string {
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
	return []string{fmt.Sprintf("time %d", hour*60+minute)}
}
