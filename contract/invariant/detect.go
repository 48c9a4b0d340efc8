package invariant

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/internal/prose"
)

// A finding is a part of a text that is, or may be, personal data.
type finding struct {
	kind       PII
	text       string // as in the original
	start, end int
	// doubt is why it may not be personal, "" if there is no doubt.
	doubt string
}

// A detector finds candidates by their form and accepts those that pass a check.
type detector struct {
	kind PII
	form *regexp.Regexp
	// accept returns the length of the finding at the beginning of a candidate, 0 for none.
	accept func(candidate string) int
	// sign is in every finding, so a text without it is not searched.
	sign string
	// any has signs of which every finding has at least one; "": it may have none.
	any string
	// digits is the least number of digits that a finding has in a row, separators not
	// counted; 0: any.
	digits int
	// groups reports that a candidate may include a number that follows it. It is then
	// tried again without its last group.
	groups bool
	// near must match the text around a finding, in shapeWords; nil: it need not.
	near *regexp.Regexp
	// doubt returns why a finding may not be personal, "" for none; nil: there is never a
	// doubt.
	doubt func(finding, before string) string
}

type detectors []detector

const (
	// emailLocal does not begin with an apostrophe, which may be a quotation mark.
	emailLocal = `[\pL\pN_%+\-][\pL\pN._%+\-']*`
	emailHost  = `[\pL\pN\-]+(?:\.[\pL\pN\-]+)*\.\pL{2,}`
	// phoneWords are words near a telephone number of national form.
	phoneWords = `(?:^|[^a-z])(?:melden|tel|telephone|phones?|mobile|cell|fax|call|calling|dial|ring|text|reach|` +
		`whatsapp|sms|telefon\w*|handy\w*|mobil\w*|festnetz|\w*anruf\w*|anrufen|erreich\w+|rueckruf\w*|` +
		`rufnummer|durchwahl|telefonisch|` +
		`appel\w*|joindre|joignable|portable|fixe|llam\w+|telefon[oi]\w*|movil|contact\w*|kontakt\w*|number is|` +
		`nummer lautet|numero es)(?:$|[^a-z])`
)

// newDetectors returns the detectors of all kinds, the more reliable first: text that
// one has found is not searched by the next.
func newDetectors() detectors {
	whole := func(ok func(string) bool) func(string) int {
		return func(s string) int {
			if ok(s) {
				return len(s)
			}
			return 0
		}
	}
	anything := whole(func(string) bool { return true })
	phone := regexp.MustCompile(phoneWords)
	doubts := newDoubts()
	return detectors{
		{kind: PIIEmail, sign: "@", accept: anything, doubt: doubts.email,
			form: regexp.MustCompile(emailLocal + `@` + emailHost)},
		{kind: PIIEmail, any: "([", accept: anything,
			form: regexp.MustCompile(`(?i)[\pL\pN_%+\-][\pL\pN._%+\-]* ?(?:\((?:at|ät|arobase|arroba)\)|` +
				`\[(?:at|ät|arobase|arroba)\]) ?[\pL\pN\-]+(?: ?(?:\.|\((?:dot|punkt|point|` +
				`punto)\)|\[(?:dot|punkt|point|punto)\]| (?:dot|punkt|point|punto) ) ?[\pL\pN\-]+)*`)},
		{kind: PIIIBAN, accept: ibanLength,
			form: regexp.MustCompile(`[A-Za-z]{2}[0-9]{2}(?:[ \-]?[0-9A-Za-z]){11,30}`)},
		{kind: PIICard, digits: 13, accept: whole(isCard), groups: true, doubt: doubts.card,
			form: regexp.MustCompile(`[0-9](?:[ .\-]?[0-9]){12,18}`)},
		{kind: PIISSN, digits: 9, accept: whole(isSSN),
			form: regexp.MustCompile(`[0-9]{3}-[0-9]{2}-[0-9]{4}|` +
				`[0-9]{3} [0-9]{2} [0-9]{4}`)},
		{kind: PIIPhone, sign: "+", digits: 8, accept: whole(isE164), groups: true, doubt: doubts.phone,
			form: regexp.MustCompile(`\+[1-9](?:[ .\-/]?\(?[0-9]\)?){7,14}`)},
		{kind: PIIPhone, digits: 9, accept: anything, doubt: doubts.phone,
			form: regexp.MustCompile(`(?:1[ .\-])?(?:\([2-9][0-9]{2}\) ?|` +
				`[2-9][0-9]{2}[ .\-])[2-9][0-9]{2}[ .\-][0-9]{4}`)},
		{kind: PIIPhone, digits: 9, accept: anything, doubt: doubts.phone,
			form: regexp.MustCompile(`0[1-9](?:[ .\-][0-9]{2}){4}`)},
		{kind: PIIPhone, digits: 9, accept: whole(isNational), groups: true, near: phone, doubt: doubts.phone,
			form: regexp.MustCompile(`\(?0[0-9]{1,5}\)?(?:[ /.\-]{0,3}[0-9]){5,11}`)},
		{kind: PIIPhone, digits: 9, accept: anything, near: phone, doubt: doubts.phone,
			form: regexp.MustCompile(`[6-9][0-9]{2}(?:[ .\-]?[0-9]{3}){2}|` +
				`[6-9][0-9]{2}(?:[ .\-][0-9]{2}){3}`)},
		{kind: PIIIP, sign: ".", accept: whole(isPublicIP), doubt: doubts.ip,
			form: regexp.MustCompile(`[0-9]{1,3}(?:\.[0-9]{1,3}){3}`)},
		{kind: PIIIP, sign: ":", accept: whole(isPublicIP), doubt: doubts.ip,
			form: regexp.MustCompile(`[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4}){2,7}`)},
	}
}

// find returns the findings without a doubt, in their order in the text.
func (ds detectors) find(text string) []finding {
	return slices.DeleteFunc(ds.all(prose.Flatten(text, prose.ShapeSigns), text),
		func(p finding) bool { return p.doubt != "" })
}

// values returns the spelling keys of all findings in a text.
func (ds detectors) values(text string) map[string]bool {
	values := make(map[string]bool)
	for _, p := range ds.all(prose.Flatten(text, prose.ShapeSigns), text) {
		values[spellingKey(p.text)] = true
	}
	return values
}

// all returns the findings in a folded text, the doubtful ones too, in their order.
func (ds detectors) all(folded prose.PlainText, original string) []finding {
	found, _ := ds.search(folded, original)
	return found
}

// search does what all does, and counts its steps for a test. Each detector reads the
// text once, and the findings of those before it once.
func (ds detectors) search(folded prose.PlainText, original string) (found []finding, steps int) {
	text := folded.Text
	longest := digitsInRow(text)
	for _, d := range ds {
		if d.digits > longest || d.any != "" && !strings.ContainsAny(text, d.any) ||
			d.kind == PIIIBAN && !beginsIBAN(text) {
			continue
		}
		var more []finding
		known := 0 // the first of found that does not end before the candidate
		for at := 0; at < len(text) && strings.Contains(text[at:], d.sign); {
			span := d.form.FindStringIndex(text[at:])
			if span == nil {
				break
			}
			start, end := at+span[0], at+span[1]
			p, ok := d.take(text, start, end)
			for steps++; known < len(found) && found[known].end <= start; steps++ {
				known++
			}
			if !ok || known < len(found) && found[known].start < p.end {
				at = afterWord(text, start)
				continue
			}
			more = append(more, p)
			at = p.end
		}
		found = mergeFindings(found, more)
	}
	for i := range found {
		p := &found[i]
		p.start, p.end = folded.Original(p.start, p.end)
		p.text = original[p.start:p.end]
	}
	return found, steps
}

// digitsInRow returns the largest number of digits in a row, with up to five separators
// between two of them.
func digitsInRow(text string) int {
	most, row, gap := 0, 0, 0
	for i := range len(text) {
		switch c := text[i]; {
		case c >= '0' && c <= '9':
			row++
			gap = 0
			most = max(most, row)
		case strings.IndexByte(" .-/()", c) >= 0 && gap < 5:
			gap++
		default:
			row, gap = 0, 0
		}
	}
	return most
}

// beginsIBAN reports whether a text has two letters followed by two digits, as every
// IBAN begins.
func beginsIBAN(text string) bool {
	for i := 3; i < len(text); i++ {
		digits := text[i] >= '0' && text[i] <= '9' && text[i-1] >= '0' && text[i-1] <= '9'
		if digits && prose.LetterByte(text[i-2]) && prose.LetterByte(text[i-3]) {
			return true
		}
	}
	return false
}

// mergeFindings merges two lists that are sorted by start.
func mergeFindings(a, b []finding) []finding {
	if len(b) == 0 {
		return a
	}
	list := make([]finding, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if a[0].start < b[0].start {
			list, a = append(list, a[0]), a[1:]
		} else {
			list, b = append(list, b[0]), b[1:]
		}
	}
	return append(append(list, a...), b...)
}

// take returns the finding at the beginning of the candidate text[start:end], if there
// is one.
func (d detector) take(text string, start, end int) (finding, bool) {
	for end > start {
		p := finding{kind: d.kind, start: start, end: start + d.accept(text[start:end])}
		if p.end > start && standsAlone(text, p) {
			if d.near != nil && !d.near.MatchString(prose.Flat(around(text, p.start, p.end), prose.ShapeWords)) {
				return finding{}, false
			}
			if d.doubt != nil {
				p.doubt = d.doubt(text[p.start:p.end], around(text, p.start, p.start))
			}
			return p, true
		}
		if !d.groups {
			break
		}
		end = start + max(0, strings.LastIndexAny(text[start:end], " .-"))
	}
	return finding{}, false
}

// nearBytes is the length of the text on either side of a finding that is read with it.
const nearBytes = 40

// around returns text[start:end] with the text near it on its line. For an empty part
// it returns the text before it alone.
func around(text string, start, end int) string {
	from := start - min(start, nearBytes)
	if i := strings.LastIndexByte(text[from:start], '\n'); i >= 0 {
		from += i + 1
	}
	to := end
	if start < end {
		to = min(len(text), end+nearBytes)
	}
	return text[from:to]
}

// afterWord returns the end of the word or number at start. The search goes on there
// after a rejected candidate, so that a part of a longer number is no finding.
func afterWord(text string, start int) int {
	at := start
	for at < len(text) {
		r, size := utf8.DecodeRuneInString(text[at:])
		if at > start && !prose.WordRune(r) {
			break
		}
		at += size
	}
	return at
}

// standsAlone reports whether a finding is not part of a longer word or number.
func standsAlone(text string, p finding) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:p.start])
	after, size := utf8.DecodeRuneInString(text[p.end:])
	if p.start > 0 && (prose.WordRune(before) || before == '+') {
		return false
	}
	if p.start > 1 && strings.ContainsRune(".-", before) && digitBefore(text[:p.start-1]) {
		return false
	}
	if p.end == len(text) {
		return true
	}
	if prose.WordRune(after) {
		return false
	}
	beyond, _ := utf8.DecodeRuneInString(text[p.end+size:])
	return !(strings.ContainsRune(".-", after) && beyond >= '0' && beyond <= '9')
}

func digitBefore(text string) bool {
	last := text[len(text)-1]
	return last >= '0' && last <= '9'
}

func isPublicIP(s string) bool {
	ip, err := netip.ParseAddr(s)
	if err != nil || !ip.IsGlobalUnicast() || ip.IsPrivate() {
		return false
	}
	// Of version 6 only 2000::/3 is given out (RFC 4291).
	return ip.Is4() || ip.As16()[0]>>5 == 1
}

// isSSN reports whether the parts of ddd-dd-dddd may have been issued.
func isSSN(s string) bool {
	area, group, serial := s[:3], s[4:6], s[7:]
	return area != "000" && area != "666" && area[0] != '9' && group != "00" && serial != "0000"
}

// isNational checks a telephone number that begins with a trunk prefix: 9 to 14 digits
// and pairs of parentheses.
func isNational(s string) bool {
	n := len(digits(s))
	return n >= 9 && n <= 14 && strings.Count(s, "(") == strings.Count(s, ")")
}

// isE164 checks what the form does not: at least 8 digits, also after the last group
// was left out, and pairs of parentheses.
func isE164(s string) bool {
	return len(digits(s)) >= 8 && strings.Count(s, "(") == strings.Count(s, ")")
}

// digits returns the ASCII digits of s.
func digits(s string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, s)
}

// spellingKey returns a value without case and separators, so that two spellings of
// it are equal.
func spellingKey(s string) string {
	return strings.NewReplacer(" ", "", "-", "", ".", "", "(", "", ")", "", "/",
		"").Replace(prose.Fold(prose.Flat(s, prose.ShapeSigns)))
}

// luhn reports whether digits pass the check of ISO/IEC 7812-1, annex B: from the
// right, every second digit is doubled and the digits of the result are added; the
// sum of all is a multiple of ten.
func luhn(number string) bool {
	sum := 0
	for i := range len(number) {
		n := int(number[len(number)-1-i] - '0')
		if n < 0 || n > 9 {
			return false
		}
		if i%2 == 1 {
			if n *= 2; n > 9 {
				n -= 9
			}
		}
		sum += n
	}
	return len(number) > 0 && sum%10 == 0
}

// isCard reports whether digits with separators are the number of a payment card.
func isCard(s string) bool {
	number := digits(s)
	return issued(number) && luhn(number)
}

// issued reports whether a number has the beginning and length of a card network.
func issued(number string) bool {
	n := len(number)
	if n < 13 || n > 19 {
		return false
	}
	begins := func(from, to string) bool { return number[:len(from)] >= from && number[:len(to)] <= to }
	switch {
	case begins("4", "4"): // Visa
		return n == 13 || n == 16 || n == 19
	case begins("51", "55"), begins("2221", "2720"): // Mastercard
		return n == 16
	case begins("34", "34"), begins("37", "37"): // American Express
		return n == 15
	case begins("300", "305"), begins("36", "36"), begins("38", "39"): // Diners Club
		return n >= 14
	// Discover (two), JCB, UnionPay
	case begins("6011", "6011"), begins("644", "659"), begins("3528", "3589"), begins("62", "62"):
		return n >= 16
	}
	return false
}

// ibanLength returns the length of the account number at the beginning of a candidate,
// separators included: the letters and digits that its country prescribes, if they
// pass the check, else 0. A candidate begins with two letters and two digits.
func ibanLength(s string) int {
	want := countryLength(strings.ToUpper(s[:2]))
	if want == 0 {
		return 0
	}
	seen := 0
	for i := range len(s) {
		if s[i] == ' ' || s[i] == '-' {
			continue
		}
		if seen++; seen == want {
			if mod97(s[:i+1]) == 1 {
				return i + 1
			}
			return 0
		}
	}
	return 0
}

// mod97 returns the remainder of ISO 13616: the first four characters moved to the
// end, letters as 10 to 35, modulo 97. Separators are skipped. It is 0 for a text
// that is no account number.
func mod97(iban string) int {
	compact := strings.NewReplacer(" ", "", "-", "").Replace(strings.ToUpper(iban))
	if len(compact) < 4 {
		return 0
	}
	rest := 0
	for _, c := range compact[4:] + compact[:4] {
		switch {
		case c >= '0' && c <= '9':
			rest = (rest*10 + int(c-'0')) % 97
		case c >= 'A' && c <= 'Z':
			rest = (rest*100 + int(c-'A') + 10) % 97
		default:
			return 0
		}
	}
	return rest
}

// ibanCountries are the countries of the IBAN registry (ISO 13616), each with
// the length of its account numbers.
const ibanCountries = "" +
	"AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 " +
	"EE20 EG29 ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 " +
	"IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 " +
	"NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 " +
	"SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30 "

func countryLength(country string) int {
	i := strings.Index(ibanCountries, country)
	if len(country) != 2 || i < 0 || i%5 != 0 {
		return 0
	}
	return int(ibanCountries[i+2]-'0')*10 + int(ibanCountries[i+3]-'0')
}
