package document

import (
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/internal/text"
)

const (
	// Unlimited is a width larger than that of any text.
	Unlimited = math.MaxInt
	// MaxText bounds one text of an agent where it is shown in full, in bytes.
	MaxText = 8 << 10
)

// Clip returns s on one line of at most width columns. What cannot be printed
// becomes a Go escape: control characters, marks that change the direction of
// writing, bytes that are not UTF-8. Any kind of space becomes a space. "…" marks
// cut text.
func Clip(s string, width int) string {
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

// Clean returns s on one line, uncut.
func Clean(s string) string { return Clip(s, Unlimited) }

// Block returns s with its lines and tabs, otherwise as [Clip] shows it. Of a text
// of more than most bytes only the beginning remains.
func Block(s string, most int) string {
	rest := ""
	if len(s) > most {
		for back := 1; back < utf8.UTFMax && most > 0 && !utf8.RuneStart(s[most]); back++ {
			most--
		}
		s, rest = s[:most], "… and "+text.Plural(len(s)-most, "more byte")
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case !strings.HasPrefix(s[i:], "\r\n"):
			part, _ := shown(r, s[i:i+size])
			b.WriteString(part)
		}
		i += size
	}
	return b.String() + rest
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
		return encoded, columns(r)
	}
	quoted := strconv.QuoteRune(r)
	quoted = quoted[1 : len(quoted)-1]
	return quoted, len(quoted)
}

// columns returns the number of terminal columns of a printable character: two for those of East
// Asia and for pictures, after the property East_Asian_Width of the Unicode Standard Annex #11, by
// whole blocks. A combining mark counts as one.
func columns(r rune) int {
	for _, wide := range [...][2]rune{
		{0x1100, 0x115f}, {0x2e80, 0xa4cf}, {0xa960, 0xa97f}, {0xac00, 0xd7a3}, {0xf900, 0xfaff}, {0xfe10, 0xff60},
		{0xffe0, 0xffe6}, {0x16fe0, 0x1b2ff}, {0x1f000, 0x1faff}, {0x20000, 0x3fffd},
	} {
		if r >= wide[0] && r <= wide[1] {
			return 2
		}
	}
	return 1
}

// width returns the number of columns of a cleaned text.
func width(s string) int {
	n := 0
	for _, r := range s {
		n += columns(r)
	}
	return n
}

// wrap breaks s into lines of at most width columns, between words where it can,
// and keeps the first most of them.
func wrap(s string, width, most int) []string {
	var lines []string
	for line := range strings.SplitSeq(strings.TrimSpace(s), "\n") {
		rest := Clip(strings.TrimRight(line, "\r"), (width-2)*(most+1))
		for {
			head, tail := fold(rest, width-2)
			lines = append(lines, head)
			if rest = tail; rest == "" {
				break
			}
			if len(lines) > most {
				break
			}
		}
		if len(lines) > most {
			lines = lines[:most]
			lines[most-1] = strings.TrimSuffix(lines[most-1], "…") + " …"
			break
		}
	}
	return lines
}

// fold splits a cleaned line at the last space before column most, or there.
func fold(s string, most int) (head, tail string) {
	used, space := 0, 0
	for i, r := range s {
		if used += columns(r); used > most {
			if space > 0 {
				return s[:space], strings.TrimLeft(s[space:], " ")
			}
			return s[:i], s[i:]
		}
		if r == ' ' && strings.TrimLeft(s[:i], " ") != "" {
			space = i
		}
	}
	return s, ""
}
