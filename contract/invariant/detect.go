package invariant

import (
	"net/netip"
	"regexp"
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

// nearBytes is the length of the text before a number that is read for a label.
const nearBytes = 40

// suspectBytes is the most bytes of a text that are read for forms without a check digit. Longer
// ones are undecided, unless personal data is found: the expression takes seconds a megabyte.
const suspectBytes = 1 << 17

var (
	emailForm = regexp.MustCompile(`[\pL\pN_%+\-][\pL\pN._%+\-']*(?:@| ?[(\[](?:at|ät|arobase|arroba)[)\]] ?)` +
		`[\pL\pN\-]+(?:(?:\.| ?[(\[](?:dot|punkt|point|punto)[)\]] ?)[\pL\pN\-]+)*(?:\.| ?[(\[](?:dot|punkt|point|punto)[)\]] ?)\pL{2,}`)
	ibanForm   = regexp.MustCompile(`\b[A-Za-z]{2}[0-9]{2}(?:[ \-]?[0-9A-Za-z]){11,30}`)
	ip6Form    = regexp.MustCompile(`[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4}){2,7}`)
	numberForm = regexp.MustCompile(`\+?\(?[0-9]+(?:[ .\-/()]{1,3}[0-9]+)*`)
	groupForm  = regexp.MustCompile(`[0-9]+`)
	roleForm   = regexp.MustCompile(`^(?:support|info|help|hilfe|aide|ayuda|contact|kontakt|contacto|sales|service|office|noreply|no-reply|` +
		`billing|admin|team|hello|press|jobs|privacy|security|postmaster|webmaster|` +
		`git|name|vorname\.nachname|prenom\.nom|nombre\.apellido|max\.mustermann|you|user)@`)
	phoneLabel = regexp.MustCompile(`\b(?:nummer ist|tel|telephone|phones?|mobile|cell|tfno|rueckruf\w*|melden|fax|call\w*|dial|ring|text|reach|whatsapp|sms|telefon\w*|handy\w*|` +
		`mobil\w*|festnetz|\w*anruf\w*|erreich\w+|rufnummer|durchwahl|telefonisch|appel\w*|joindre|joignable|portable|` +
		`fixe|llam\w+|movil|contact\w*|kontakt\w*|number is|nummer lautet|numero)\b`)
	companyLabel = regexp.MustCompile(`\b(?:our|unsere?|notre|nuestr[oa]|hotline|service|support|helpline|switchboard)\b`)
	testLabel    = regexp.MustCompile(`\b(?:tests?|testing|testen|sandbox|prueba|essai)\b`)
	ssnLabel     = regexp.MustCompile(`\b(?:ssn|social security)\b`)
	// thingLabel names a number as that of a thing.
	thingLabel = regexp.MustCompile(`\b(?:order|invoice|parts?|ticket|case|ref\w*|track\w*|parcel|article|item|sku|batch|model|isbn|ean|gtin|` +
		`id|v|version|firmware|release|section|chapter|group|score|pages?|package|build|paket|paquet|transaction|artikel\w*|bestell\w*|rechnung\w*|` +
		`kunden\w*|sendung\w*|akten\w*|vorgang\w*|commande|colis|facture|dossier|pedido|factura|paquete|expediente|` +
		`envio|codigo|seccion|serien\w*)\b[^.!?]{0,12}$`)
	// suspects have the form of a person's data, and no check digit: a name behind a title, a
	// street, a day of birth, an address or a number in words.
	suspects = regexp.MustCompile(`\b(?i:mrs?|ms|dr|herrn?|frau|mme|monsieur|madame|señora?|sra?|don|doña)\.? \p{Lu}\p{Ll}+|` +
		`\b\d+,? (?:\p{Lu}\p{Ll}+ ){1,2}(?:Street|St|Road|Rd|Lane|Ln|Avenue|Ave|Way|Drive)\b|` +
		`\b\p{Lu}\p{Ll}+(?:straße|strasse|weg|platz|gasse|str\.) \d|\b\d+(?: bis)?,? (?i:rue|avenue|boulevard|place) |` +
		`\b(?i:calle|avenida|plaza) (?:\p{Lu}\p{Ll}+,? )+\d|` +
		`\b[A-Z]{1,2}\d{1,2}[A-Z]? \d[A-Z]{2}\b|\b\d{5} \p{Lu}\p{Ll}+\b|\b(?i:born|geboren|née?|nacid[oa])\b|` +
		`\b(?i:passport|dni|nie|nif|steuer-\w+|personalausweis|carte d.identité|sécurité sociale)\b[^.]{0,20}\d|` +
		`\w (?i:at|arobase|arroba|ät) [\w-]+ (?i:dot|punkt|point|punto) \w|` +
		`(?i:(?:\b(?:zero|one|two|three|four|five|six|seven|eight|nine|null|eins|zwei|drei|vier|fünf|sechs|sieben|acht|neun|` +
		`un|deux|trois|quatre|cinq|sept|huit|neuf|uno|dos|tres|cuatro|cinco|seis|siete|ocho|nueve)[ ,]+){6})`)
)

// personal returns what is, or may be, personal data in a text, also where it is encoded.
func personal(s string) (list []finding) {
	for i, reading := range spelling.Readings(s) {
		folded := spelling.Signs(reading)
		if i == 0 {
			if len(folded) > suspectBytes {
				list = append(list, finding{"", folded[suspectBytes:],
					"beyond the part that is read for names and streets"})
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
		lower := strings.ToLower(p.text)
		switch {
		case strings.HasPrefix(folded[at[1]:], ":") && !strings.HasPrefix(folded[at[1]:], ": "),
			strings.HasSuffix(folded[:at[0]], ":") && strings.Contains(around(folded, at[0]), "://"),
			strings.HasSuffix(lower, ".png"), strings.HasSuffix(lower, ".jpg"), strings.HasSuffix(lower, ".svg"):
			continue // of a repository, the password of a web address, a file
		case roleForm.MatchString(lower):
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
	named := sync.OnceValue(func() labels { return labelsOf(spelling.Flat(around(folded, start))) })
	for first := 0; first < len(groups); first++ {
		number := ""
		for last := first; last < len(groups) && len(number) <= 19; last++ {
			number += folded[start+groups[last][0] : start+groups[last][1]]
			from, to := start+groups[first][0], start+groups[last][1]
			closed := strings.Contains(folded[from:to], ")")
			for from > start && (folded[from-1] == '+' || folded[from-1] == '(' && closed) {
				from--
			}
			if len(number) < 8 && !(last-first == 3 && strings.Count(folded[from:to], ".") == 3) {
				continue // neither eight digits nor an address: labels need not be read
			}
			kind, doubt := classify(folded[from:to], number, named(), last-first+1)
			if folded[from] == '+' && last+1 < len(groups) &&
				len(number)+groups[last+1][1]-groups[last+1][0] <= 15 {
				continue // a number with a country code is as long as it can be
			}
			if kind != "" && alone(folded, from, to) {
				list = append(list, finding{kind, folded[from:to], doubt})
				first = last
				break
			}
		}
	}
	return list
}

// The groups of digits of some numbers.
var (
	ssnForm  = regexp.MustCompile(`^[0-9]{3}([ -])[0-9]{2}([ -])[0-9]{4}$`)
	naForm   = regexp.MustCompile(`^(?:1[ .-])?(?:\([2-9][0-9]{2}\) ?|[2-9][0-9]{2}[ .-])[2-9][0-9]{2}[ .-][0-9]{4}$`)
	pairForm = regexp.MustCompile(`^0[1-9](?:[ .-][0-9]{2}){4}$`)
)

// labels are what the text before a number calls it.
type labels struct{ thing, phone, company, ssn, test bool }

func labelsOf(near string) labels {
	return labels{thingLabel.MatchString(near), phoneLabel.MatchString(near), companyLabel.MatchString(near),
		ssnLabel.MatchString(near), testLabel.MatchString(near)}
}

// classify returns the kind of personal data that a number is, "" for none, and why it may be
// none. s is the number as written, named what the text before it says of it.
func classify(s, number string, named labels, groups int) (kind PII, doubt string) {
	thing, called, company := named.thing, named.phone, named.company
	unlabelled := ""
	if !called {
		unlabelled = "no label says that it is a telephone number"
	} else if company {
		unlabelled = "it may be the company's own"
	}
	n := len(number)
	switch {
	case issued(number) && luhn(number):
		switch {
		case n == 13:
			return PIICard, "a product code may have the same form"
		case named.test:
			return PIICard, "networks publish numbers for tests"
		}
		return PIICard, ""
	case s[0] == '+' && n >= 8 && n <= 15 && strings.Count(s, "(") == strings.Count(s, ")"):
		if company || strings.HasPrefix(number, "1800") {
			return PIIPhone, "it may be the company's own"
		}
		return PIIPhone, ""
	case n == 9 && groups == 3 && ssnForm.MatchString(s) && isSSN(s), n == 9 && groups == 1 && named.ssn:
		if named.ssn {
			return PIISSN, ""
		}
		if !thing {
			return PIISSN, "no label says that it is a social security number"
		}
	case groups == 4 && strings.Count(s, ".") == 3 && isPublicIP(s):
		if !thing {
			return PIIIP, ""
		}
	case thing, n < 9, n > 14:
	case groups <= 4 && strings.Contains(s, "(") && naForm.MatchString(s):
		return PIIPhone, strings.TrimPrefix(unlabelled, "no label says that it is a telephone number")
	case groups <= 4 && naForm.MatchString(s), groups == 5 && pairForm.MatchString(s):
		return PIIPhone, unlabelled
	case called && n >= 9 && n <= 14 && strings.IndexByte("06789", number[0]) >= 0 && (number[0] == '0' || n == 9):
		return PIIPhone, unlabelled
	}
	return "", ""
}

// around returns the text before an offset on its line, as far as it is read.
func around(s string, start int) string {
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
// documentation (RFC 5737, RFC 3849).
func isPublicIP(s string) bool {
	ip, err := netip.ParseAddr(s)
	if err != nil || !ip.IsGlobalUnicast() || ip.IsPrivate() {
		return false
	}
	for _, doc := range []string{"192.0.2.", "198.51.100.", "203.0.113.", "2001:db8:"} {
		if strings.HasPrefix(ip.String(), doc) {
			return false
		}
	}
	// Of version 6 only 2000::/3 is given out (RFC 4291).
	return ip.Is4() || ip.As16()[0]>>5 == 1
}

// isSSN reports whether the parts of ddd-dd-dddd may have been issued.
func isSSN(s string) bool {
	area, group, serial := s[:3], s[4:6], s[7:]
	return area != "000" && area != "666" && area[0] != '9' && group != "00" && serial != "0000"
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
	want, seen := countryLength(strings.ToUpper(s[:2])), 0
	for i := range len(s) {
		if s[i] == ' ' || s[i] == '-' {
			continue
		}
		if seen++; seen == want && mod97(s[:i+1]) == 1 {
			return i + 1
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
