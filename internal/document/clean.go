package document

import (
	"math"
	"strings"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/internal/text"
)

const (
	// Unlimited is a width larger than that of any text.
	Unlimited = math.MaxInt
	// MaxText bounds one text of an agent where it is shown in full, in bytes.
	MaxText = 8 << 10
)

// Clip is [text.PrintedUpTo]: s on one line of at most width columns.
func Clip(s string, width int) string { return text.PrintedUpTo(s, width) }

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
	s = strings.ReplaceAll(s, "\r\n", "\n")
	for at := strings.IndexAny(s, "\n\t"); at >= 0; at = strings.IndexAny(s, "\n\t") {
		b.WriteString(Clean(s[:at]) + s[at:at+1])
		s = s[at+1:]
	}
	return b.String() + Clean(s) + rest
}

// width returns the number of columns of a cleaned text.
func width(s string) int { return text.Columns(s) }

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
		if used += text.Columns(string(r)); used > most {
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
