package invariant

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

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

// The forms. What stands behind an e-mail address tells that of a repository: "git@host:path".
var (
	emailForm = regexp.MustCompile(`[\pL\pN_%+\-][\pL\pN._%+\-']*(?:@| ?[(\[](?:at|ät|arobase|arroba)[)\]] ?)` +
		`[\pL\pN\-]+(?:(?:\.| ?[(\[](?:dot|punkt|point|punto)[)\]] ?)[\pL\pN\-]+)*(?:\.| ?[(\[](?:dot|punkt|point|punto)[)\]] ?)\pL{2,}`)
	ibanForm   = regexp.MustCompile(`\b[A-Za-z]{2}[0-9]{2}(?:[ \-]?[0-9A-Za-z]){11,30}`)
	ip6Form    = regexp.MustCompile(`[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4}){2,7}`)
	numberForm = regexp.MustCompile(`\+?\(?[0-9]+(?:[ .\-/()]{1,3}[0-9]+)*`)
	groupForm  = regexp.MustCompile(`[0-9]+`)
	ssnForm    = regexp.MustCompile(`^[0-9]{3}[ -][0-9]{2}[ -][0-9]{4}$`)
	noSSN      = regexp.MustCompile(`^(?:000|666|9)|^....00|0000$`)
	// The groups of telephone numbers of North America, and of France.
	groupedPhone = regexp.MustCompile(`^(?:(?:1[ .-])?(?:\([2-9][0-9]{2}\) ?|[2-9][0-9]{2}[ .-])[2-9][0-9]{2}[ .-][0-9]{4}|` +
		`0[1-9](?:[ .-][0-9]{2}){4})$`)
	nationalPhone = regexp.MustCompile(`^(?:0[0-9]{8,13}|[6-9][0-9]{8})$`)
	// The beginnings and lengths of the numbers of networks: Visa, Mastercard, American Express,
	// Diners Club, Discover, JCB, UnionPay.
	cardForm = regexp.MustCompile(`^(?:4(?:[0-9]{12}|[0-9]{15}|[0-9]{18})|` +
		`(?:5[1-5][0-9]{2}|222[1-9]|22[3-9][0-9]|2[3-6][0-9]{2}|27[01][0-9]|2720)[0-9]{12}|3[47][0-9]{13}|` +
		`(?:30[0-5]|36[0-9]|3[89][0-9])[0-9]{11,16}|(?:6011|64[4-9][0-9]|65[0-9]{2}|352[89]|35[3-8][0-9]|62[0-9]{2})[0-9]{12,15})$`)
	mailboxForm = regexp.MustCompile(`^(?:support|info|help|hilfe|aide|ayuda|contact|kontakt|contacto|sales|service|office|noreply|no-reply|` +
		`billing|admin|team|hello|press|jobs|privacy|security|postmaster|webmaster|` +
		`git|name|vorname\.nachname|prenom\.nom|nombre\.apellido|max\.mustermann|you|user)@`)
)

// The labels of a number: words before it, folded.
var (
	phoneLabel = regexp.MustCompile(`\b(?:nummer ist|tel|telephone|phones?|mobile|cell|tfno|rueckruf\w*|melden|fax|call\w*|dial|ring|text|reach|whatsapp|sms|telefon\w*|handy\w*|` +
		`mobil\w*|festnetz|\w*anruf\w*|erreich\w+|rufnummer|durchwahl|telefonisch|appel\w*|joindre|joignable|portable|` +
		`fixe|llam\w+|movil|contact\w*|kontakt\w*|number is|nummer lautet|numero)\b`)
	ownLabel  = regexp.MustCompile(`\b(?:our|unsere?|notre|nuestr[oa]|hotline|service|support|helpline|switchboard)\b`)
	testLabel = regexp.MustCompile(`\b(?:tests?|testing|testen|sandbox|prueba|essai)\b`)
	ssnLabel  = regexp.MustCompile(`\b(?:ssn|social security)\b`)
	// thingLabel names a number as that of a thing.
	thingLabel = regexp.MustCompile(`\b(?:order|invoice|parts?|ticket|case|ref\w*|track\w*|parcel|article|item|sku|batch|model|isbn|ean|gtin|` +
		`id|v|version|firmware|release|section|chapter|group|score|pages?|package|build|paket|paquet|transaction|artikel\w*|bestell\w*|rechnung\w*|` +
		`kunden\w*|sendung\w*|akten\w*|vorgang\w*|commande|colis|facture|dossier|pedido|factura|paquete|expediente|` +
		`envio|codigo|seccion|serien\w*)\b[^.!?]{0,12}$`)
)

// suspects have the form of a person's data, and no check digit: a name behind a title, a
// street, a day of birth, an address or a number in words.
var suspects = regexp.MustCompile(`\b(?i:mrs?|ms|dr|herrn?|frau|mme|monsieur|madame|señora?|sra?|don|doña)\.? \p{Lu}\p{Ll}+|` +
	`\b\d+,? (?:\p{Lu}\p{Ll}+ ){1,2}(?:Street|St|Road|Rd|Lane|Ln|Avenue|Ave|Way|Drive)\b|` +
	`\b\p{Lu}\p{Ll}+(?:straße|strasse|weg|platz|gasse|str\.) \d|\b\d+(?: bis)?,? (?i:rue|avenue|boulevard|place) |` +
	`\b(?i:calle|avenida|plaza) (?:\p{Lu}\p{Ll}+,? )+\d|` +
	`\b[A-Z]{1,2}\d{1,2}[A-Z]? \d[A-Z]{2}\b|\b\d{5} \p{Lu}\p{Ll}+\b|\b(?i:born|geboren|née?|nacid[oa])\b|` +
	`\b(?i:passport|dni|nie|nif|steuer-\w+|personalausweis|carte d.identité|sécurité sociale)\b[^.]{0,20}\d|` +
	`\w (?i:at|arobase|arroba|ät) [\w-]+ (?i:dot|punkt|point|punto) \w|` +
	`(?i:(?:\b(?:zero|one|two|three|four|five|six|seven|eight|nine|null|eins|zwei|drei|vier|fünf|sechs|sieben|acht|neun|` +
	`un|deux|trois|quatre|cinq|sept|huit|neuf|uno|dos|tres|cuatro|cinco|seis|siete|ocho|nueve)[ ,]+){6})`)

// personal returns what is, or may be, personal data in a text, also where it is encoded.
func personal(s string) (list []finding) {
	for i, reading := range spelling.Readings(s) {
		folded := spelling.Signs(reading)
		if i == 0 {
			if len(folded) > suspectBytes {
				rest := folded[suspectBytes:]
				list = append(list, finding{"", rest, "beyond the part that is read for names and streets"})
			}
			for _, m := range suspects.FindAllString(folded[:min(suspectBytes, len(folded))], -1) {
				list = append(list, finding{"", m, "it has the form of a person's data"})
			}
		}
		if strings.ContainsAny(folded, "@([") {
			list = append(list, emails(folded)...)
		}
		for _, at := range ibanForm.FindAllStringIndex(folded, -1) {
			if n := ibanLength(folded[at[0]:at[1]]); n > 0 && alone(folded, at[0], at[0]+n) {
				list = append(list, finding{kind: PIIIBAN, text: folded[at[0] : at[0]+n]})
			}
		}
		if strings.Contains(folded, ":") {
			for _, at := range ip6Form.FindAllStringIndex(folded, -1) {
				if isPublicIP(folded[at[0]:at[1]]) && alone(folded, at[0], at[1]) {
					list = append(list, finding{kind: PIIIP, text: folded[at[0]:at[1]]})
				}
			}
		}
		for _, at := range numberForm.FindAllStringIndex(folded, -1) {
			if at[1]-at[0] >= len("1.1.1.1") {
				list = append(list, inNumber(folded, at[0], at[1])...)
			}
		}
	}
	return list
}

func emails(folded string) (list []finding) {
	for _, at := range emailForm.FindAllStringIndex(folded, -1) {
		p := finding{kind: PIIEmail, text: folded[at[0]:at[1]]}
		lower, after := strings.ToLower(p.text), folded[at[1]:]
		switch {
		case strings.HasPrefix(after, ":") && !strings.HasPrefix(after, ": "),
			strings.HasSuffix(folded[:at[0]], ":") && strings.Contains(before(folded, at[0]), "://"),
			strings.HasSuffix(lower, ".png"), strings.HasSuffix(lower, ".jpg"), strings.HasSuffix(lower, ".svg"):
			continue // of a repository, the password of a web address, a file
		case mailboxForm.MatchString(lower):
			p.doubt = "the mailbox of a role, or it stands for any"
		}
		list = append(list, p)
	}
	return list
}

// inNumber finds personal data in digits with separators, text[start:end]. What is found may
// be some of its groups: "4111 1111 1111 1111 12/27".
func inNumber(folded string, start, end int) (list []finding) {
	groups := groupForm.FindAllStringIndex(folded[start:end], -1)
	named := sync.OnceValue(func() labels { return labelsOf(spelling.Flat(before(folded, start))) })
	for first := 0; first < len(groups); first++ {
		digits := ""
		for last := first; last < len(groups) && len(digits) <= 19; last++ {
			digits += folded[start+groups[last][0] : start+groups[last][1]]
			from, to := start+groups[first][0], start+groups[last][1]
			closed := strings.Contains(folded[from:to], ")")
			for from > start && (folded[from-1] == '+' || folded[from-1] == '(' && closed) {
				from--
			}
			written := folded[from:to]
			if len(digits) < 8 && !(last-first == 3 && strings.Count(written, ".") == 3) {
				continue // neither eight digits nor an address: labels need not be read
			}
			if written[0] == '+' && last+1 < len(groups) && len(digits)+groups[last+1][1]-groups[last+1][0] <= 15 {
				continue // a number with a country code is as long as it can be
			}
			if kind, doubt := classify(written, digits, named()); kind != "" && alone(folded, from, to) {
				list = append(list, finding{kind, written, doubt})
				first = last
				break
			}
		}
	}
	return list
}

// labels are what the text before a number calls it.
type labels struct{ thing, phone, own, ssn, test bool }

func labelsOf(near string) labels {
	return labels{thingLabel.MatchString(near), phoneLabel.MatchString(near), ownLabel.MatchString(near),
		ssnLabel.MatchString(near), testLabel.MatchString(near)}
}

// classify returns the kind of personal data that a number is, "" for none, and why it may be
// none. named is what the text before it says of it.
func classify(written, digits string, named labels) (kind PII, doubt string) {
	n := len(digits)
	switch {
	case named.own, strings.HasPrefix(digits, "1800"):
		doubt = "it may be the company's own"
	case !named.phone && written[0] != '+' && !strings.Contains(written, "("):
		doubt = "no label says that it is a telephone number"
	}
	switch {
	case cardForm.MatchString(digits) && luhn(digits):
		switch {
		case n == 13:
			return PIICard, "a product code may have the same form"
		case named.test:
			return PIICard, "networks publish numbers for tests"
		}
		return PIICard, ""
	case written[0] == '+' && n <= 15 && strings.Count(written, "(") == strings.Count(written, ")"):
		return PIIPhone, doubt
	case ssnForm.MatchString(written) && !noSSN.MatchString(written), n == 9 && n == len(written) && named.ssn:
		if named.ssn {
			return PIISSN, ""
		} else if !named.thing {
			return PIISSN, "no label says that it is a social security number"
		}
	case named.thing:
	case strings.Count(written, ".") == 3 && isPublicIP(written):
		return PIIIP, ""
	case groupedPhone.MatchString(written), named.phone && nationalPhone.MatchString(digits):
		return PIIPhone, doubt
	}
	return "", ""
}

// before returns the text before an offset on its line, as far as it is read.
func before(s string, start int) string {
	from := max(0, start-nearBytes)
	return s[from+strings.LastIndexByte(s[from:start], '\n')+1 : start]
}

// alone reports whether s[start:end] is not part of a longer word or number.
func alone(s string, start, end int) bool {
	before, size := utf8.DecodeLastRuneInString(s[:start])
	after, next := utf8.DecodeRuneInString(s[end:])
	if start > 0 && (text.WordRune(before) || before == '+') || end < len(s) && text.WordRune(after) {
		return false
	}
	digitAt := func(i int) bool { return i >= 0 && i < len(s) && s[i] >= '0' && s[i] <= '9' }
	joined := start > 1 && (digitAt(start-size-1) || before == '-' && text.WordRune(rune(s[start-size-1])))
	return !(strings.ContainsRune(".-:", before) && joined) &&
		!(strings.ContainsRune(".-", after) && end < len(s) && digitAt(end+next))
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

// ibanCountries are the countries of the IBAN registry (ISO 13616), each with
// the length of its account numbers.
const ibanCountries = "" +
	"AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 " +
	"EE20 EG29 ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 " +
	"IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 " +
	"NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 " +
	"SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30 "

// ibanLength returns the length of the account number at the beginning of a candidate,
// separators included: the letters and digits that its country prescribes, if the check of
// ISO 13616 leaves 1, else 0. A candidate begins with two letters and two digits.
func ibanLength(s string) int {
	compact := strings.NewReplacer(" ", "", "-", "").Replace(strings.ToUpper(s))
	at := strings.Index(ibanCountries, compact[:2])
	if at < 0 || at%5 != 0 {
		return 0
	}
	want := int(ibanCountries[at+2]-'0')*10 + int(ibanCountries[at+3]-'0')
	if len(compact) < want {
		return 0
	}
	rest := 0
	for _, c := range compact[4:want] + compact[:4] { // letters are 10 to 35
		if c <= '9' {
			rest = (rest*10 + int(c-'0')) % 97
		} else {
			rest = (rest*100 + int(c-'A') + 10) % 97
		}
	}
	if rest != 1 {
		return 0
	}
	end := 0
	for ; want > 0; end++ {
		if s[end] != ' ' && s[end] != '-' {
			want--
		}
	}
	return end
}
