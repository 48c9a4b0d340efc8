package policy

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// fold maps names that differ in case only to the same form, by the rule of
// strings.EqualFold, which decoders that ignore case use: the Kelvin sign is a
// k, and the long s is an s.
func fold(s string) string {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= utf8.RuneSelf || 'A' <= c && c <= 'Z' {
			return strings.Map(foldRune, s)
		}
	}
	return s
}

// foldRune returns the smallest of the characters that differ in case alone. For
// an ASCII letter, and for what folds to one, it returns the lower-case letter.
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

// equalASCII compares two texts, ignoring the case of ASCII letters only.
// Unlike strings.EqualFold it does not take a long s for an s: an action that
// reduces what a call needs has to match exactly.
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
