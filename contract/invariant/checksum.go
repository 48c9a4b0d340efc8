package invariant

import (
	"strings"
)

// luhn reports whether a row of digits passes the check of ISO/IEC 7812-1,
// annex B: every second digit from the right but one is doubled, its digits are
// added, and the sum of all is a multiple of ten.
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

// isCard reports whether digits with separators are the number of a card.
func isCard(s string) bool {
	number := digits(s)
	return issued(number) && luhn(number)
}

// issued reports whether a card network numbers its cards so: by the beginning
// and the length.
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
	case begins("6011", "6011"), begins("644", "659"), begins("3528", "3589"), begins("62", "62"): // Discover, JCB, UnionPay
		return n >= 16
	}
	return false
}

// ibanLength returns how much of a candidate, which begins with two letters
// and two digits, is an account number: as many letters and digits as its country
// prescribes, if they pass the check.
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

// mod97 is the remainder of ISO 13616: the first four characters moved to the
// end, letters as 10 to 35, modulo 97. Separators are skipped.
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
const ibanCountries = "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 " +
	"EE20 EG29 ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 " +
	"LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 " +
	"RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30 "

func countryLength(country string) int {
	i := strings.Index(ibanCountries, country)
	if len(country) != 2 || i < 0 || i%5 != 0 {
		return 0
	}
	return int(ibanCountries[i+2]-'0')*10 + int(ibanCountries[i+3]-'0')
}
