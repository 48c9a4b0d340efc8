package invariant

import (
	"bytes"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/shakedown-go/shakedown/internal/prose"
	"github.com/shakedown-go/shakedown/internal/spelling"
	"github.com/shakedown-go/shakedown/internal/text"
)

// A finding is a part of a text that is, or may be, personal data.
type finding struct {
	kind  PII
	text  string
	doubt string // why it may not be personal, "" if there is no doubt
}

const (
	// nearBytes is the length of the text before a number that is read for a label.
	nearBytes = 40
	// suspectBytes is the most bytes of a text that are read for forms without a check digit.
	// Longer ones are undecided, unless personal data is found: the expression takes seconds a
	// megabyte.
	suspectBytes = 1 << 17
)

// A personForm is a form of personal data.
type personForm struct {
	kind PII
	sign string // the data has one of these characters
	form *regexp.Regexp
	is   func(written string) bool // its check; nil: none. Some groups of a match may pass it.
	// These match the text before the data on its line, folded, a bar and the data: "call me: |415-…".
	needs, never *regexp.Regexp
	sure, unsure *regexp.Regexp // it is in doubt where sure does not match, or unsure does
	doubt        string
}

const (
	dot       = `(?:\.| ?[(\[](?:dot|punkt|point|punto)[)\]] ?)`
	digits    = "0123456789"
	ownNumber = "it may be the company's own; or no label says that it is a telephone number"
)

// The labels of numbers, and addresses that are nobody's.
var (
	phone     = labels("telephone labels", `.*\|`)
	inGroup   = labels("telephone labels", `.*\||\|.*\(`)
	own       = regexp.MustCompile(`\b(?:our|unsere?|notre|nuestr[oa]|hotline|service|support|helpline|switchboard)\b.*\||\|\W*1\W*800`)
	trial     = regexp.MustCompile(`\b(?:tests?|testing|testen|sandbox|prueba|essai)\b.*\||\|(?:\D*\d){13}$`)
	social    = regexp.MustCompile(`\b(?:ssn|social security)\b.*\|`)
	thing     = labels("labels of things", `[^.!?|]{0,12}\|`)
	role      = regexp.MustCompile(`\|(?:` + prose.Words("roles") + `)@`)
	noMailbox = regexp.MustCompile(`://.*:\||\.(?:png|jpg|svg)$`) // the password of a web address, a file
)

func labels(list, then string) *regexp.Regexp {
	return regexp.MustCompile(`\b(?:` + prose.Words(list) + `)\b` + then)
}

// personForms are looked for in their order. What one finds, those behind it do not.
var personForms = [...]personForm{
	{kind: PIIEmail, sign: "@([", form: regexp.MustCompile(`[\pL\pN_%+\-][\pL\pN._%+\-']*(?:@| ?[(\[](?:at|ät|arobase|arroba)[)\]] ?)` +
		`[\pL\pN\-]+(?:` + dot + `[\pL\pN\-]+)*` + dot + `\pL{2,}`), never: noMailbox, unsure: role,
		doubt: "the mailbox of a role, or it stands for any"},
	{kind: PIIIBAN, sign: digits, form: regexp.MustCompile(`\b[A-Za-z]{2}[0-9]{2}(?:[ \-]?[0-9A-Za-z]){11,30}`), is: isIBAN},
	{kind: PIIIP, sign: ":", form: regexp.MustCompile(`[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4}){2,7}`), is: isPublicIP},
	{kind: PIICard, sign: digits, form: regexp.MustCompile(`[0-9](?:[ .\-]?[0-9]){12,18}`), is: isCard, unsure: trial,
		doubt: "a product code, or a number for tests, has the same form"},
	{kind: PIIPhone, sign: "+", form: regexp.MustCompile(`\+\(?[0-9](?:[ .\-/()]{0,3}[0-9]){7,14}`), is: isCode, unsure: own,
		doubt: ownNumber},
	{kind: PIISSN, sign: digits, form: regexp.MustCompile(`[0-9]{3}[ -][0-9]{2}[ -][0-9]{4}`), is: isSSN, never: thing, sure: social,
		doubt: "no label says that it is a social security number"},
	{kind: PIISSN, sign: digits, form: regexp.MustCompile(`[0-9]{9}`), needs: social},
	{kind: PIIIP, sign: ".", form: regexp.MustCompile(`[0-9]{1,3}(?:\.[0-9]{1,3}){3}`), is: isPublicIP, never: thing},
	// The groups of telephone numbers of North America, and of France.
	{kind: PIIPhone, sign: digits, form: regexp.MustCompile(`(?:1[ .-])?(?:\([2-9][0-9]{2}\) ?|[2-9][0-9]{2}[ .-])[2-9][0-9]{2}[ .-][0-9]{4}|` +
		`0[1-9](?:[ .-][0-9]{2}){4}`), never: thing, sure: inGroup, unsure: own, doubt: ownNumber},
	{kind: PIIPhone, sign: digits, form: regexp.MustCompile(`[06-9](?:[ .\-/()]{0,3}[0-9]){8,13}`), is: isNational, needs: phone,
		never: thing, unsure: own, doubt: ownNumber},
}

// suspects have the form of a person's data, and no check digit; numbers in words are six digits.
var suspects = regexp.MustCompile(prose.Words("forms of persons") +
	`|(?i:(?:\b(?:` + prose.Words("digits") + `)[ ,]+){6})`)

// personal returns what is, or may be, personal data in a text, also where it is encoded.
func personal(s string) (list []finding) {
	for i, reading := range spelling.Readings(s) {
		folded := []byte(spelling.Signs(reading))
		if i == 0 {
			if len(folded) > suspectBytes {
				rest := string(folded[suspectBytes:])
				list = append(list, finding{"", rest, "beyond the part that is read for names and streets"})
			}
			for _, m := range suspects.FindAll(folded[:min(suspectBytes, len(folded))], -1) {
				list = append(list, finding{"", string(m), "it has the form of a person's data"})
			}
		}
		for _, f := range personForms {
			if bytes.ContainsAny(folded, f.sign) {
				list = append(list, f.find(folded)...)
			}
		}
	}
	return list
}

// find finds what has a form, and blanks it.
func (f *personForm) find(s []byte) (list []finding) {
	for from := 0; ; {
		at := f.form.FindIndex(s[from:])
		if at == nil {
			return list
		}
		start, end := from+at[0], from+at[1]
		// Where it is none, the next may begin at its second word or group of digits.
		from = start + max(1, bytes.IndexFunc(s[start:end], func(r rune) bool { return !text.WordRune(r) }))
		// It may be some of its groups: "4111 1111 1111 1111 12/27".
		for ; end > start; end-- {
			if !alone(s, start, end) || f.is != nil && !f.is(string(s[start:end])) {
				if f.is == nil {
					break
				}
				continue
			}
			near := s[max(0, start-nearBytes):start]
			near = near[bytes.LastIndexByte(near, '\n')+1:]
			label := spelling.Flat(string(near)) + "|" + strings.ToLower(string(s[start:end]))
			matches := func(form *regexp.Regexp) bool { return form != nil && form.MatchString(label) }
			if matches(f.never) || f.needs != nil && !matches(f.needs) {
				break
			}
			p := finding{kind: f.kind, text: string(s[start:end])}
			if matches(f.unsure) || f.sure != nil && !matches(f.sure) {
				p.doubt = f.doubt
			}
			list = append(list, p)
			copy(s[start:end], bytes.Repeat([]byte{0}, end-start))
			from = end
			break
		}
	}
}

// alone reports whether s[start:end] is not part of a longer word or number, or of the name of a
// repository ("git@host:path").
func alone(s []byte, start, end int) bool {
	return !before.Match(s[max(0, start-8):start]) && !behind.Match(s[end:min(end+8, len(s))])
}

var (
	before = regexp.MustCompile(`(?:[\pL\pN_+]|[0-9][.:]|[\pL\pN_]-)$`)
	behind = regexp.MustCompile(`^(?:[\pL\pN_]|[.\-][0-9])`)
)

// withoutSigns has the digits of a number, and the letters and digits of an account number.
var withoutSigns = strings.NewReplacer(" ", "", ".", "", "-", "", "/", "", "(", "", ")", "", "+", "")

func isCode(written string) bool {
	return len(withoutSigns.Replace(written)) >= 8 && strings.Count(written, "(") == strings.Count(written, ")")
}

var noSSN = regexp.MustCompile(`^(?:000|666|9)|^....00|0000$`)

func isSSN(written string) bool {
	return len(written) == len("123-45-6789") && !noSSN.MatchString(written)
}

var nationalForm = regexp.MustCompile(`^(?:0[0-9]{8,13}|[6-9][0-9]{8})$`)

func isNational(written string) bool { return nationalForm.MatchString(withoutSigns.Replace(written)) }

// cardForm has the beginnings and lengths of the numbers of networks: Visa, Mastercard, American
// Express, Diners Club, Discover, JCB, UnionPay.
var cardForm = regexp.MustCompile(`^(?:4(?:[0-9]{12}|[0-9]{15}|[0-9]{18})|` +
	`(?:5[1-5][0-9]{2}|222[1-9]|22[3-9][0-9]|2[3-6][0-9]{2}|27[01][0-9]|2720)[0-9]{12}|3[47][0-9]{13}|` +
	`(?:30[0-5]|36[0-9]|3[89][0-9])[0-9]{11,16}|(?:6011|64[4-9][0-9]|65[0-9]{2}|352[89]|35[3-8][0-9]|62[0-9]{2})[0-9]{12,15})$`)

func isCard(written string) bool {
	number := withoutSigns.Replace(written)
	return cardForm.MatchString(number) && luhn(number)
}

// isPublicIP reports whether s is an address that may be a person's: not private, and not for
// documentation (RFC 5737, RFC 3849). Of version 6 only 2000::/3 is given out (RFC 4291).
func isPublicIP(s string) bool {
	ip, err := netip.ParseAddr(s)
	documentation := []string{"192.0.2.", "198.51.100.", "203.0.113.", "2001:db8:"}
	return err == nil && ip.IsGlobalUnicast() && !ip.IsPrivate() && (ip.Is4() || ip.As16()[0]>>5 == 1) &&
		!slices.ContainsFunc(documentation, func(prefix string) bool { return strings.HasPrefix(ip.String(), prefix) })
}

// luhn reports whether digits pass the check of ISO/IEC 7812-1, annex B: from the
// right, every second digit is doubled and the digits of the result are added; the
// sum of all is a multiple of ten.
func luhn(digits string) bool {
	sum := 0
	for i := range len(digits) {
		n := int(digits[len(digits)-1-i] - '0')
		if i%2 == 1 {
			n = 2*n%10 + n/5
		}
		sum += n
	}
	return sum%10 == 0
}

// ibanForm matches a country and the length of its account numbers.
var ibanForm = regexp.MustCompile(`^(?:` + prose.Words("iban") + `)$`)

// isIBAN reports whether an account number has the letters and digits that its country prescribes,
// and the check of ISO 13616 leaves 1.
func isIBAN(written string) bool {
	compact := strings.ToUpper(withoutSigns.Replace(written))
	if !ibanForm.MatchString(compact[:min(2, len(compact))] + strconv.Itoa(len(compact))) {
		return false
	}
	rest := 0
	for _, c := range compact[4:] + compact[:4] { // letters are 10 to 35
		if c <= '9' {
			rest = (rest*10 + int(c-'0')) % 97
		} else {
			rest = (rest*100 + int(c-'A') + 10) % 97
		}
	}
	return rest == 1
}
