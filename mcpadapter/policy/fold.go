package policy

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// fold gives names that differ in case alone the same form, by the rule of
// strings.EqualFold, which is that of decoders that ignore case: the Kelvin sign
// is a k, and the long s an s.
func fold(s string) string {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= utf8.RuneSelf || 'A' <= c && c <= 'Z' {
			return strings.Map(foldRune, s)
		}
	}
	return s
}

// foldRune is the smallest of the characters that differ in case alone; for an
// ASCII letter, and what folds to one, the small letter.
func foldRune(r rune) rune {
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	if 'A' <= least && least <= 'Z' {
		return least - 'A' + 'a'
	}
	return least
}

// equalASCII compares without the case of ASCII letters. Unlike
// strings.EqualFold it takes no long s for an s: what makes a call harmless has
// to be the very word.
func equalASCII(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if lowerASCII(a[i]) != lowerASCII(b[i]) {
			return false
		}
	}
	return true
}

func lowerASCII(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c - 'A' + 'a'
	}
	return c
}

// clip cuts s to at most n bytes, between characters, and marks the cut.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
