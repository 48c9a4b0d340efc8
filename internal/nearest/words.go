package nearest

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sergi/go-diff/diffmatchpatch"
)

const (
	wordsASide = 1000 // that are compared, after the common beginning and end: 2,000 in all
	context    = 3    // words that are shown before and after a change, with the spaces between them
	sameStart  = 12   // characters that two long values may share before these are cut
)

// words shows two texts as one: "[-recorded-]{+asked+}" between the words around it.
func words(recorded, asked string, room int) string {
	old, now := split(recorded), split(asked)
	start := 0
	for start < min(len(old), len(now)) && old[start] == now[start] {
		start++
	}
	end := 0
	for end < min(len(old), len(now))-start && old[len(old)-1-end] == now[len(now)-1-end] {
		end++
	}
	var b strings.Builder
	b.WriteString(equalWords(now[:start], false, true))
	parts := diffWords(old[start:len(old)-end], now[start:len(now)-end])
	for i, p := range parts {
		switch {
		case p.equal:
			b.WriteString(equalWords(p.now, true, true))
		default:
			b.WriteString(change(strings.Join(p.old, ""), strings.Join(p.now, ""), room))
		}
		if i > 0 && b.Len() > room*utf8.UTFMax { // the rest would be cut
			break
		}
	}
	b.WriteString(equalWords(now[len(now)-end:], true, false))
	return b.String()
}

// split cuts a text into words and the spaces between them.
func split(s string) (words []string) {
	start, space := 0, false
	for i, r := range s {
		if now := unicode.IsSpace(r); i > 0 && now != space {
			words = append(words, s[start:i])
			start = i
		}
		space = unicode.IsSpace(r)
	}
	if start < len(s) {
		words = append(words, s[start:])
	}
	return words
}

// A part is a run of words that are equal in both texts, or that one has in place of the other's.
type part struct {
	old, now []string
	equal    bool
}

// diffWords compares the first words of each side. What follows them is the end of the last change.
func diffWords(old, now []string) []part {
	restOld, restNow := old[min(len(old), wordsASide):], now[min(len(now), wordsASide):]
	old, now = old[:len(old)-len(restOld)], now[:len(now)-len(restNow)]
	// A rune stands for a word, as go-diff does it for lines. There are too few of them to reach the surrogates.
	vocabulary := []string{""}
	runeOf := map[string]rune{}
	encode := func(words []string) []rune {
		runes := make([]rune, len(words))
		for i, w := range words {
			r, ok := runeOf[w]
			if !ok {
				r = rune(len(vocabulary))
				runeOf[w] = r
				vocabulary = append(vocabulary, w)
			}
			runes[i] = r
		}
		return runes
	}
	differ := diffmatchpatch.New()
	differ.DiffTimeout = 0 // none: what is shown must not depend on the machine
	diffs := differ.DiffMainRunes(encode(old), encode(now), false)
	var parts []part
	for _, d := range differ.DiffCleanupSemantic(diffs) {
		var text []string
		for _, r := range d.Text {
			text = append(text, vocabulary[r])
		}
		parts = appendPart(parts, d.Type, text)
	}
	if len(restOld)+len(restNow) > 0 {
		parts = appendPart(parts, diffmatchpatch.DiffDelete, restOld)
		parts = appendPart(parts, diffmatchpatch.DiffInsert, restNow)
	}
	return parts
}

func appendPart(parts []part, kind diffmatchpatch.Operation, text []string) []part {
	if kind == diffmatchpatch.DiffEqual {
		return append(parts, part{text, text, true})
	}
	if len(parts) == 0 || parts[len(parts)-1].equal {
		parts = append(parts, part{})
	}
	last := &parts[len(parts)-1]
	if kind == diffmatchpatch.DiffDelete {
		last.old = slices.Concat(last.old, text)
	} else {
		last.now = slices.Concat(last.now, text)
	}
	return parts
}

// equalWords shows the words next to a change: before it, after it, or both.
func equalWords(words []string, after, before bool) string {
	const shown = 2 * context // words and spaces
	n := 0
	if after {
		n += shown
	}
	if before {
		n += shown
	}
	if len(words) <= n {
		return Printable(strings.Join(words, ""))
	}
	var b strings.Builder
	if after {
		b.WriteString(Printable(strings.Join(words[:shown], "")))
	}
	b.WriteString("…")
	if before {
		b.WriteString(Printable(strings.Join(words[len(words)-shown:], "")))
	}
	return b.String()
}

// change shows a recorded text in place of which another was asked. Long ones begin shortly before they differ.
func change(old, now string, room int) string {
	most := max(room/2-len("[--]"), sameStart) // columns of each side
	if len(old) > most || len(now) > most {
		old, now = cutSame(old, now)
	}
	var b strings.Builder
	if old != "" {
		b.WriteString("[-" + clip(Printable(firstRunes(old, most)), most) + "-]")
	}
	if now != "" {
		b.WriteString("{+" + clip(Printable(firstRunes(now, most)), most) + "+}")
	}
	return b.String()
}

// firstRunes returns at least the first n characters of s, if it has more, and one to show that.
func firstRunes(s string, n int) string {
	if len(s) <= (n+1)*utf8.UTFMax {
		return s
	}
	cut := (n + 1) * utf8.UTFMax
	for !utf8.RuneStart(s[cut]) && cut > n+1 {
		cut--
	}
	return s[:cut]
}

// cutSame replaces a common beginning of two texts by an ellipsis, but for its last few characters.
func cutSame(a, b string) (string, string) {
	same, starts := 0, make([]int, 0, sameStart) // where the last characters of the common beginning start
	for i, r := range a {
		if !strings.HasPrefix(b[min(i, len(b)):], string(r)) {
			break
		}
		if len(starts) == sameStart {
			starts = append(starts[:0], starts[1:]...)
		}
		starts = append(starts, i)
		same = i
	}
	if same == 0 || len(starts) < sameStart || starts[0] == 0 {
		return a, b
	}
	return "…" + a[starts[0]:], "…" + b[starts[0]:]
}
