package invariant

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// personal is one finding in a text.
type personal struct {
	kind       PII
	text       string
	start, end int
}

// detector finds candidates by their form and accepts those that pass a check.
type detector struct {
	kind PII
	form *regexp.Regexp
	// accept returns how much of a candidate is the finding, 0 for none.
	accept func(candidate string) int
	// sign is in every finding: a text without it need not be searched.
	sign string
	// groups says that a candidate may have taken in a number that follows, and
	// is tried again without its last group.
	groups bool
}

type detectors []detector

// newDetectors are those of all kinds. The more telling come first: what one
// has found, those after it do not look at again.
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
	return detectors{
		{kind: PIIEmail, sign: "@", accept: anything, form: regexp.MustCompile(`[\pL\pN._%+\-]+@[\pL\pN\-]+(?:\.[\pL\pN\-]+)*\.\pL{2,}`)},
		{kind: PIIIBAN, accept: ibanLength, form: regexp.MustCompile(`[A-Za-z]{2}[0-9]{2}(?:[ \-]?[0-9A-Za-z]){11,30}`)},
		{kind: PIICard, accept: whole(isCard), groups: true, form: regexp.MustCompile(`[0-9](?:[ \-]?[0-9]){12,18}`)},
		{kind: PIISSN, accept: whole(isSSN), form: regexp.MustCompile(`[0-9]{3}-[0-9]{2}-[0-9]{4}|[0-9]{3} [0-9]{2} [0-9]{4}`)},
		{kind: PIIPhone, sign: "+", accept: whole(isE164), groups: true, form: regexp.MustCompile(`\+[1-9](?:[ .\-]?\(?[0-9]\)?){7,14}`)},
		{kind: PIIPhone, accept: anything, form: regexp.MustCompile(`(?:1[ .\-])?(?:\([2-9][0-9]{2}\) ?|[2-9][0-9]{2}[ .\-])[2-9][0-9]{2}[ .\-][0-9]{4}`)},
		{kind: PIIIP, sign: ".", accept: whole(isPublicIP), form: regexp.MustCompile(`[0-9]{1,3}(?:\.[0-9]{1,3}){3}`)},
		{kind: PIIIP, sign: ":", accept: whole(isPublicIP), form: regexp.MustCompile(`[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4}){2,7}`)},
	}
}

// find returns what is in a text, in its order.
func (ds detectors) find(text string) []personal {
	var found []personal
	for _, d := range ds {
		for at := 0; at < len(text) && strings.Contains(text[at:], d.sign); {
			span := d.form.FindStringIndex(text[at:])
			if span == nil {
				break
			}
			start, end := at+span[0], at+span[1]
			p, ok := d.take(text, start, end)
			if !ok || slices.ContainsFunc(found, p.overlaps) {
				at = next(text, start)
				continue
			}
			found = append(found, p)
			at = p.end
		}
	}
	slices.SortFunc(found, func(a, b personal) int { return a.start - b.start })
	return found
}

// take makes a finding of a candidate, if it is one.
func (d detector) take(text string, start, end int) (personal, bool) {
	for end > start {
		p := personal{kind: d.kind, start: start, end: start + d.accept(text[start:end])}
		if p.end > start && stands(text, p) {
			p.text = text[p.start:p.end]
			return p, true
		}
		if !d.groups {
			break
		}
		end = start + max(0, strings.LastIndexAny(text[start:end], " .-"))
	}
	return personal{}, false
}

func (p personal) overlaps(other personal) bool { return p.start < other.end && other.start < p.end }

// next is where to look again after a candidate that was none: behind the word
// or number it began in, so that a part of a longer number is no finding, and
// no text is read twice.
func next(text string, start int) int {
	at := start
	for at < len(text) {
		r, size := utf8.DecodeRuneInString(text[at:])
		if at > start && !wordRune(r) {
			break
		}
		at += size
	}
	return at
}

// stands reports whether a finding is no part of a longer word or number.
func stands(text string, p personal) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:p.start])
	after, size := utf8.DecodeRuneInString(text[p.end:])
	if p.start > 0 && (wordRune(before) || before == '+') {
		return false
	}
	if p.start > 1 && strings.ContainsRune(".-", before) && digitBefore(text[:p.start-1]) {
		return false
	}
	if p.end == len(text) {
		return true
	}
	if wordRune(after) {
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

// isSSN checks the parts of ddd-dd-dddd.
func isSSN(s string) bool {
	area, group, serial := s[:3], s[4:6], s[7:]
	return area != "000" && area != "666" && area[0] != '9' && group != "00" && serial != "0000"
}

// isE164 checks what the form does not: enough digits, of which it takes at most
// 15, when the last group was left out, and pairs of parentheses.
func isE164(s string) bool {
	return len(digits(s)) >= 8 && strings.Count(s, "(") == strings.Count(s, ")")
}

// digits are the decimal digits of s.
func digits(s string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, s)
}

// bare is a value as two spellings of it are compared.
func bare(s string) string {
	return strings.NewReplacer(" ", "", "-", "", ".", "", "(", "", ")", "").Replace(fold(s))
}
