package text

import (
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printed returns s on one line. What cannot be printed
// becomes a Go escape: control characters, marks that change the direction of
// writing, bytes that are not UTF-8. Any kind of space becomes a space.
func Printed(s string) string { return PrintedUpTo(s, math.MaxInt) }

// PrintedUpTo is [Printed] in at most width columns. "…" marks cut text.
func PrintedUpTo(s string, width int) string {
	var b strings.Builder
	used, room := 0, 0 // columns written; bytes that leave a column for the ellipsis
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		part, columns := shown(r, s[i:i+size])
		if used+columns > width {
			return b.String()[:room] + "…"
		}
		b.WriteString(part)
		if used += columns; used < width {
			room = b.Len()
		}
		i += size
	}
	return b.String()
}

// shown returns a character as it is printed, and the columns it takes. encoded is
// its encoding; an invalid byte is printed as an escape of itself.
func shown(r rune, encoded string) (string, int) {
	switch {
	case r >= ' ' && r < 0x7f:
		return encoded, 1
	case r == utf8.RuneError && len(encoded) == 1:
		return `\x` + strconv.FormatUint(uint64(encoded[0]), 16), 4
	case unicode.Is(unicode.Zs, r):
		return " ", 1
	case unicode.IsPrint(r):
		return encoded, Columns(encoded)
	}
	quoted := strconv.QuoteRune(r)
	quoted = quoted[1 : len(quoted)-1]
	return quoted, len(quoted)
}

// Columns returns the number of terminal columns of a text that can be printed: for a character two for those of East
// Asia and for pictures, after the property East_Asian_Width of the Unicode Standard Annex #11, by
// whole blocks. A combining mark counts as one.
func Columns(s string) (n int) {
	for _, r := range s {
		n++
		for _, wide := range [...][2]rune{
			{0x1100, 0x115f}, {0x2e80, 0xa4cf}, {0xa960, 0xa97f}, {0xac00, 0xd7a3}, {0xf900, 0xfaff}, {0xfe10, 0xff60},
			{0xffe0, 0xffe6}, {0x16fe0, 0x1b2ff}, {0x1f000, 0x1faff}, {0x20000, 0x3fffd},
		} {
			if r >= wide[0] && r <= wide[1] {
				n++
			}
		}
	}
	return n
}
