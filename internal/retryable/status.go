package retryable

import (
	"regexp"
	"strconv"
	"strings"
)

// StatusIn is the HTTP status, from 400 to 599, that a text names, or 0: the text begins
// with it, has it behind "status", "code" or "HTTP", or before its own words ("429 Too
// Many Requests"). "Order 500 not found" names none, and neither do amounts and numbers of
// things: "450 USD is too much", "500 orders", "promo code 404".
func StatusIn(text string) int { return statusIn(text[:min(len(text), textBytes)]) }

func statusIn(text string) int {
	if !strings.ContainsAny(text, "45") {
		return 0
	}
	if m := leading.FindStringSubmatch(text); m != nil && isKnown(m[1]) && !counts(text[len(m[0]):]) {
		return number(m[1])
	}
	for _, m := range stated.FindAllStringSubmatchIndex(text, -1) {
		code := text[m[2]:m[3]]
		if !otherCode.MatchString(text[:m[2]]) && !amount.MatchString(text[m[3]:]) {
			return number(code)
		}
	}
	if m := phrase.FindStringSubmatch(text); m != nil {
		return number(m[1][:len("404")])
	}
	return 0
}

func number(digits string) int {
	n, _ := strconv.Atoi(digits) // three digits
	return n
}

// isKnown reports whether a status is registered, or used by a well-known server or proxy.
func isKnown(digits string) bool {
	switch n := number(digits); {
	case n <= 431, n == 440, n == 444, n == 449, n == 451, n == 460, n >= 494 && n <= 511, n >= 520 && n <= 530,
		n == 561, n >= 598:
		return true
	}
	return false
}

// counts reports whether a number that a text begins with, and that this stands behind, is
// an amount or counts something. Messages of clients go on behind a status with a sign, a
// capital letter or words of a failure; "500 orders" and "400 is too much" do not.
func counts(rest string) bool {
	return amount.MatchString(rest) || smallWord.MatchString(rest) && !failureStart.MatchString(rest)
}

var (
	// Only signs that quotations begin with stand before a status: "$450" and "-404" are none.
	leading = regexp.MustCompile(`^[\s"'\x60(\[{<*]*([45]\d\d)\b`)
	stated  = regexp.MustCompile(`(?i)\b(?:status|status code|code|http(?:/[\d.]+)?)[ :=]+([45]\d\d)\b`)
	phrase  = regexp.MustCompile(`(?i)\b(400 bad request|401 unauthorized|402 payment required|403 forbidden|` +
		`404 not found|405 method not allowed|408 request timeout|409 conflict|410 gone|422 unprocessable|` +
		`429 too many requests|500 internal server error|502 bad gateway|503 service unavailable|` +
		`504 gateway time-?out|404 page not found|413 payload too large|423 locked)`)
	// Codes that are no status.
	otherCode = regexp.MustCompile(`(?i)\b(?:promo(?:tion(?:al)?)?|discount|coupon|voucher|gift|area|zip|postal|post|country|` +
		`dial(?:ing|ling)?|product|item|order|booking|reservation|room|access|exit|branch|bank|sort|bar|` +
		`tracking)[ -]?code[ :=]+$`)
	// What stands behind an amount, the rest of its digits among it.
	amount = regexp.MustCompile(`(?i)^(?:[.,/]?[\s\x{a0}]?\d|-\w|[\s\x{a0}]?[%€$£¥₹]|[\s\x{a0}](?:usd|eur|gbp|chf|jpy|cny|inr|` +
		`cad|aud|nzd|sek|nok|dkk|pln|brl|mxn|krw|dollars?|euros?|pounds?|francs?|yen|yuan|rupees?|cents?|` +
		`percent|per cent|[kmgt]i?b|ms)\b)`)
	smallWord    = regexp.MustCompile(`^\s+[a-z]`)
	failureStart = regexp.MustCompile(`^\s+(?:error|http|status|unauthori[sz]ed|unauthenticated|forbidden|` +
		`(?:client|server|internal|internal server|gateway|upstream) error|bad (?:request|gateway)|` +
		`(?:access|permission) denied|gateway time-?out|timeout|rate limit|overloaded|page not found|` +
		`not found|too many requests|unprocessable|conflict|gone|locked)\b`)
)
