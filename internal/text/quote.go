package text

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

// QuoteShort returns s as evidence shows it: in quotation marks, cut if it is long, and
// then with the number of its bytes.
func QuoteShort(s string) string {
	if utf8.RuneCountInString(s) <= quoteRunes {
		return strconv.Quote(s)
	}
	return strconv.Quote(s[:forward(s, 0, quoteRunes)]) + "… (" + strconv.Itoa(len(s)) + " bytes)"
}

// QuoteAll quotes each text as [QuoteShort] does.
func QuoteAll(list []string) []string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = QuoteShort(s)
	}
	return quoted
}

// Truncate returns s, cut if it is long, and then with the number of its bytes.
func Truncate(s string) string {
	if utf8.RuneCountInString(s) <= quoteRunes {
		return s
	}
	return s[:forward(s, 0, quoteRunes)] + "… (" + strconv.Itoa(len(s)) + " bytes)"
}

// Excerpt quotes s[start:end] with the text around it.
func Excerpt(s string, start, end int) string {
	from, to := start, forward(s, end, aroundRunes)
	for n := 0; n < aroundRunes && from > 0; n++ {
		_, size := utf8.DecodeLastRuneInString(s[:from])
		from -= size
	}
	quoted := strconv.Quote(s[from:to])
	if from > 0 {
		quoted = "…" + quoted
	}
	if to < len(s) {
		quoted += "…"
	}
	return quoted
}

// forward returns the offset n characters after at, or that of the end.
func forward(s string, at, n int) int {
	for ; n > 0 && at < len(s); n-- {
		_, size := utf8.DecodeRuneInString(s[at:])
		at += size
	}
	return at
}

// JoinItems joins quoted findings, and says how many it left out.
func JoinItems(items []string) string {
	if len(items) <= listedItems {
		return strings.Join(items, ", ")
	}
	return strings.Join(items[:listedItems], ", ") + " and " + strconv.Itoa(len(items)-listedItems) + " more"
}

// Fold makes texts equal that [strings.EqualFold] calls equal. It keeps the number of
// characters, so the n-th character of the result is that of the n-th of the text.
func Fold(s string) string { return strings.Map(FoldRune, s) }

// FoldRune is [Fold] for one character.
func FoldRune(r rune) rune {
	if r < utf8.RuneSelf {
		return unicode.ToLower(r)
	}
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		least = min(least, f)
	}
	// The small letter of the dotted capital I folds otherwise, so the capital stays.
	if lower := unicode.ToLower(least); lower >= utf8.RuneSelf || least < utf8.RuneSelf {
		return lower
	}
	return least
}

// Find returns the offsets in s of the first part whose folded form is part. folded is s
// as [Fold] returns it.
func Find(s, folded, part string) (start, end int, ok bool) {
	i := strings.Index(folded, part)
	if i < 0 {
		return 0, 0, false
	}
	start = forward(s, 0, utf8.RuneCountInString(folded[:i]))
	return start, forward(s, start, utf8.RuneCountInString(part)), true
}

// Blank reports whether s has no visible character: only white space, control characters
// and characters without width.
func Blank(s string) bool {
	for _, r := range s {
		if !unicode.IsSpace(r) && !unicode.In(r, unicode.Cc, unicode.Cf) {
			return false
		}
	}
	return true
}

// WordRune reports whether r belongs to a word, a name or a number.
func WordRune(r rune) bool {
	return r == '_' || unicode.In(r, unicode.L, unicode.N, unicode.M)
}
