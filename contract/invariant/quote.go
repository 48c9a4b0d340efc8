package invariant

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	quoteRunes  = 160 // of an answer that is quoted as a whole
	aroundRunes = 40  // on either side of what was found
	listedItems = 8   // of a list of findings
)

// quote is text as evidence shows it: quoted, and cut when it is long.
func quote(text string) string {
	if utf8.RuneCountInString(text) <= quoteRunes {
		return strconv.Quote(text)
	}
	return strconv.Quote(text[:forward(text, 0, quoteRunes)]) + "… (" + strconv.Itoa(len(text)) + " bytes)"
}

// excerpt quotes text[start:end] with what stands around it.
func excerpt(text string, start, end int) string {
	from, to := start, forward(text, end, aroundRunes)
	for n := 0; n < aroundRunes && from > 0; n++ {
		_, size := utf8.DecodeLastRuneInString(text[:from])
		from -= size
	}
	s := strconv.Quote(text[from:to])
	if from > 0 {
		s = "…" + s
	}
	if to < len(text) {
		s += "…"
	}
	return s
}

// forward is the offset n characters after at, or the end.
func forward(text string, at, n int) int {
	for ; n > 0 && at < len(text); n-- {
		_, size := utf8.DecodeRuneInString(text[at:])
		at += size
	}
	return at
}

// list joins findings, each already quoted, and says how many it left out.
func list(items []string) string {
	if len(items) <= listedItems {
		return strings.Join(items, ", ")
	}
	return strings.Join(items[:listedItems], ", ") + " and " + strconv.Itoa(len(items)-listedItems) + " more"
}

func quoteAll(texts []string) []string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = quote(text)
	}
	return quoted
}

// fold makes equal what [strings.EqualFold] calls equal, and keeps the number
// of characters, so that a place in the folded text is one in the text.
func fold(s string) string { return strings.Map(foldRune, s) }

func foldRune(r rune) rune {
	if r < utf8.RuneSelf {
		return unicode.ToLower(r)
	}
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		least = min(least, f)
	}
	// Dotted capital I has a small letter that folds otherwise: it stays.
	if lower := unicode.ToLower(least); lower >= utf8.RuneSelf || least < utf8.RuneSelf {
		return lower
	}
	return least
}

// find returns the offsets in text of a part whose folded form is given.
func find(text, folded, part string) (start, end int, ok bool) {
	before, _, ok := strings.Cut(folded, part)
	if !ok {
		return 0, 0, false
	}
	start = forward(text, 0, utf8.RuneCountInString(before))
	return start, forward(text, start, utf8.RuneCountInString(part)), true
}

// blank reports whether nothing in text would leave a mark: white space,
// controls, and characters without width.
func blank(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsSpace(r) && !unicode.In(r, unicode.Cc, unicode.Cf) })
}

// cut is text without quotes, cut when it is long.
func cut(text string) string {
	if utf8.RuneCountInString(text) <= quoteRunes {
		return text
	}
	return text[:forward(text, 0, quoteRunes)] + "… (" + strconv.Itoa(len(text)) + " bytes)"
}

// wordRune reports whether r belongs to a word, a name or a number.
func wordRune(r rune) bool {
	return r == '_' || unicode.In(r, unicode.L, unicode.N, unicode.M)
}
