// Package text has what messages are made of: shortened values, lists of names
// and the nearest of them.
package text

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Clip returns s, cut before byte most and marked with an ellipsis if it is
// longer. It never cuts within a character.
func Clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > 0 && s[cut]&0xC0 == 0x80 { // not within a character
		cut--
	}
	return s[:cut] + "…"
}

// Valid returns s with each byte that is not UTF-8 as an escape, such as \xff: JSON holds
// no such byte, and would make texts equal that are not.
func Valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i, size := 0, 0; i < len(s); i += size {
		r := rune(0)
		if r, size = utf8.DecodeRuneInString(s[i:]); r == utf8.RuneError && size == 1 {
			fmt.Fprintf(&b, `\x%02x`, s[i])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Quote is s as Go source, clipped to most bytes before it is quoted.
func Quote(s string, most int) string { return strconv.Quote(Clip(s, most)) }

// Plural is a number with its noun: "1 call", "2 calls".
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Number(n) + " " + noun + "s"
}

// Noun is one where n is 1, else many.
func Noun(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Sentences joins those that are not empty.
func Sentences(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), " ")
}

// Number writes a number with a comma between thousands.
func Number(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Cost writes a sum of money or of tokens without what only the binary form of the numbers
// added: with two decimals, or as many as four digits need, and no zeros at the end.
func Cost(v float64) string {
	if v == 0 || v >= 1e15 {
		return strconv.FormatFloat(v, 'g', 6, 64)
	}
	decimals := max(2, 3-int(math.Floor(math.Log10(math.Abs(v)))))
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(v, 'f', decimals, 64), "0"), ".")
}

// Meant proposes the nearest of the names, as the end of a sentence about what
// is allowed: "; did you mean refund?". It is empty if none is near. A name is
// near to those it begins with.
func Meant(name string, names []string) string {
	best := Nearest(name, names)
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// OneOf lists the names that are allowed in place of an unknown one. Where there are many, the
// nearest stands first.
func OneOf(name string, names []string) string {
	const few = 12
	all := strings.Join(names, ", ")
	if near := Nearest(name, names); near != "" && len(names) > few {
		return "did you mean " + near + "? One of " + all
	}
	return "one of " + all + Meant(name, names)
}

// Nearest returns the nearest of the names, or "" if none is near: within about
// a third of its letters. Of equally near ones it takes the first.
func Nearest(name string, names []string) string {
	best, least := "", len(name)/3+2
	for _, other := range names {
		d := distance(name, other)
		if len(other) > 2 && strings.HasPrefix(name, other) {
			d = min(d, least-1)
		}
		if d < least {
			best, least = other, d
		}
	}
	return best
}

// distance is the number of bytes to insert, delete or replace to change one
// name into the other (Levenshtein 1966), without regard to case. Long texts
// are far from everything.
func distance(a, b string) int {
	const long = 64
	if len(a) > long || len(b) > long {
		return long
	}
	a, b = strings.ToLower(a), strings.ToLower(b)
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}

// Some lists the first names, up to few of them, and counts the others: "a, b
// and 3 more". It is "none" without names.
func Some(names []string, few int) string { return SomeOf(names, few, len(names)) }

// SomeOf is [Some] of more names than are known: all is their number.
func SomeOf(names []string, few, all int) string {
	if all == 0 {
		return "none"
	}
	some := strings.Join(names[:min(few, len(names))], ", ")
	if more := all - min(few, len(names)); more > 0 {
		some += " and " + Number(more) + " more"
	}
	return some
}

// WithoutNumbers returns s with each run of digits as one sign: what differs
// from cell to cell is often a number, such as a port, a duration or an id.
func WithoutNumbers(s string) string {
	var b strings.Builder
	inNumber := false
	for _, r := range s {
		isDigit := r >= '0' && r <= '9'
		switch {
		case !isDigit:
			b.WriteRune(r)
		case !inNumber:
			b.WriteByte('#')
		}
		inNumber = isDigit
	}
	return b.String()
}
