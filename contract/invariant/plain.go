package invariant

import (
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

// shape says how much of a text's spelling is folded before it is read.
type shape int

const (
	// shapeSigns makes one sign of those that look alike: spaces, dashes and
	// quotation marks of all sorts, full-width characters. Characters without
	// width are left out.
	shapeSigns shape = iota
	// shapeWords also folds case, and writes letters without their marks:
	// "é" is "e", "ü" is "ue", "ß" is "ss". Patterns over it are ASCII.
	shapeWords
)

// plainText is a folded text with the way back to the original.
type plainText struct {
	text string
	at   []int // of each byte of text, and of its end, the offset in the original
}

// flatten folds a text in one pass.
func flatten(original string, as shape) plainText {
	var b strings.Builder
	b.Grow(len(original))
	at := make([]int, 0, len(original)+1)
	for i, r := range original {
		if r < utf8.RuneSelf {
			if as == shapeWords {
				r = unicode.ToLower(r)
			}
			b.WriteByte(byte(r))
			at = append(at, i)
			continue
		}
		from := b.Len()
		if _, size := utf8.DecodeRuneInString(original[i:]); r == utf8.RuneError && size == 1 {
			b.WriteByte(original[i])
		} else {
			b.WriteString(flatRune(r, as))
		}
		for range b.Len() - from {
			at = append(at, i)
		}
	}
	return plainText{b.String(), append(at, len(original))}
}

// flat is the text of flatten alone.
func flat(original string, as shape) string { return flatten(original, as).text }

// original returns the offsets in the original of a part of the text.
func (p plainText) original(start, end int) (int, int) { return p.at[start], p.at[end] }

// from returns the offset in the text of an offset in the original.
func (p plainText) from(original int) int { return sort.SearchInts(p.at, original) }

func flatRune(r rune, as shape) string {
	switch {
	case r >= 0xFF01 && r <= 0xFF5E: // full width
		r -= 0xFEE0
		if as == shapeWords {
			r = unicode.ToLower(r)
		}
		return string(r)
	case unicode.In(r, unicode.Cf), r >= 0xFE00 && r <= 0xFE0F: // without width; variants of emoji
		return ""
	case unicode.In(r, unicode.Zs):
		return " "
	case r == '\u2028', r == '\u2029', r == '\u0085':
		return "\n"
	case r == '—': // parts clauses
		return " - "
	case unicode.In(r, unicode.Pd), r == '\u2212', r == '\u2043':
		return "-"
	case strings.ContainsRune("’‘‛ʼ′´", r):
		return "'"
	case strings.ContainsRune("“”„‟″", r):
		return `"`
	case as == shapeSigns:
		return string(r)
	}
	if unicode.In(r, unicode.Mn) {
		return ""
	}
	r = foldRune(r)
	if i := strings.IndexRune(markedLetters, r); i >= 0 {
		i = 2 * utf8.RuneCountInString(markedLetters[:i])
		return strings.TrimSuffix(plainLetters[i:i+2], " ")
	}
	return string(r)
}

// markedLetters are the letters of Latin scripts that patterns write plainly;
// plainLetters has two bytes for each.
const (
	markedLetters = "àáâãåāăąçćčďđèéêëēęěìíîïīıłñńňòóôõøōőùúûūůűýÿšśşžźżäöüßœæ"
	plainLetters  = "a a a a a a a a c c c d d e e e e e e e i i i i i i l n n n o o o o o o o u u u u u u y y s s s z z z aeoeuessoeae"
)

// straighten replaces curly quotation marks, which models like, with plain ones.
func straighten(text string) string {
	return strings.NewReplacer("’", "'", "‘", "'", "“", `"`, "”", `"`, "„", `"`).Replace(text)
}
