package prose

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	quoteRunes  = 160 // of an answer that is quoted as a whole
	aroundRunes = 40  // on either side of what was found
	listedItems = 8   // of a list of findings
)

// Quote returns text as evidence shows it: in quotation marks, cut if it is long.
func Quote(text string) string {
	if utf8.RuneCountInString(text) <= quoteRunes {
		return strconv.Quote(text)
	}
	return strconv.Quote(text[:forward(text, 0, quoteRunes)]) + "… (" + strconv.Itoa(len(text)) + " bytes)"
}

// Excerpt quotes text[start:end] with the text around it.
func Excerpt(text string, start, end int) string {
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

// forward returns the offset n characters after at, or that of the end.
func forward(text string, at, n int) int {
	for ; n > 0 && at < len(text); n-- {
		_, size := utf8.DecodeRuneInString(text[at:])
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

// QuoteAll quotes each text.
func QuoteAll(texts []string) []string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = Quote(text)
	}
	return quoted
}

// Truncate returns text, cut if it is long.
func Truncate(text string) string {
	if utf8.RuneCountInString(text) <= quoteRunes {
		return text
	}
	return text[:forward(text, 0, quoteRunes)] + "… (" + strconv.Itoa(len(text)) + " bytes)"
}
