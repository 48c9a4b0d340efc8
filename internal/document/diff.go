package document

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sergi/go-diff/diffmatchpatch"

	"github.com/shakedown-go/shakedown/internal/text"
)

// A Part is a piece of a text that is shown beside another: what only the other has is Gone, what
// only this one has is New. Marked is what a reason objects to.
type Part struct {
	Text              string
	Gone, New, Marked bool
}

var (
	words  = regexp.MustCompile(`[\pL\pN\pM_]+|\s+|.`)
	quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
)

const maxDiffer = 2 << 10 // bytes of a text that are compared

// Differ compares a text with another, word by word, and marks what a reason quotes; the narrowest
// quotes, however their letters are spelled. Of long texts the beginnings are compared, which the result
// says. It depends on the texts alone. other nil: there is none, and the text is marked alone.
func Differ(other *string, is, reason string) []Part {
	is = Block(is, MaxText)
	objected := objections(reason)
	if other == nil {
		return marked(nil, Part{Text: is}, positions(is, objected))
	}
	was, _ := beginning(Block(*other, MaxText))
	is, rest := beginning(is)
	letters, spelled := map[string]rune{}, []string{""}
	spell := func(s string) (all []rune) {
		for _, word := range words.FindAllString(s, -1) {
			if letters[word] == 0 {
				letters[word], spelled = rune(len(spelled)), append(spelled, word)
			}
			all = append(all, letters[word])
		}
		return all
	}
	d := diffmatchpatch.New()
	d.DiffTimeout = 0 // none: the result depends on no clock
	var parts []Part
	inWas, inIs := positions(was, objected), positions(is, objected)
	for _, piece := range d.DiffCleanupSemantic(d.DiffMainRunes(spell(was), spell(is), false)) {
		p := Part{Gone: piece.Type == diffmatchpatch.DiffDelete, New: piece.Type == diffmatchpatch.DiffInsert}
		for _, letter := range piece.Text {
			p.Text += spelled[letter]
		}
		n, at := utf8.RuneCountInString(p.Text), inIs
		if p.Gone {
			at = inWas
		} else {
			inIs = inIs[n:]
		}
		if !p.New {
			inWas = inWas[n:]
		}
		parts = marked(parts, p, at[:n])
	}
	if rest != "" {
		parts = append(parts, Part{Text: " [not compared from here] " + rest})
	}
	return parts
}

// beginning cuts a text where it is not compared any more.
func beginning(s string) (begin, rest string) {
	at := min(len(s), maxDiffer)
	for at < len(s) && !utf8.RuneStart(s[at]) {
		at++
	}
	return s[:at], s[at:]
}

// objections are the texts that a reason quotes, folded, without those that show where another is.
func objections(reason string) (all []string) {
	for _, q := range quoted.FindAllString(reason, 20) {
		if o, err := strconv.Unquote(q); err == nil && len(strings.TrimSpace(o)) > 1 {
			all = append(all, text.Fold(Block(strings.TrimSpace(o), maxDiffer)))
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool {
		return slices.ContainsFunc(all, func(other string) bool { return other != s && strings.Contains(s, other) })
	})
}

// positions reports of each character whether it is in one of some folded texts.
func positions(s string, objected []string) []bool {
	in, folded := make([]bool, utf8.RuneCountInString(s)), text.Fold(s)
	for _, o := range objected {
		for at := 0; ; at += len(o) {
			i := strings.Index(folded[at:], o)
			if i < 0 {
				break
			}
			at += i
			from := utf8.RuneCountInString(folded[:at])
			for k := range utf8.RuneCountInString(o) {
				in[from+k] = true
			}
		}
	}
	return in
}

// marked adds a part, cut where marks begin and end.
func marked(parts []Part, p Part, in []bool) []Part {
	var run []rune
	k := 0
	for _, r := range p.Text {
		if len(run) > 0 && in[k] != in[k-1] {
			parts = append(parts, Part{string(run), p.Gone, p.New, in[k-1]})
			run = nil
		}
		run = append(run, r)
		k++
	}
	if len(run) > 0 {
		parts = append(parts, Part{string(run), p.Gone, p.New, in[k-1]})
	}
	return parts
}

// partsText is a text beside another in plain signs, as git's word diff has them.
func partsText(parts []Part) string {
	var b strings.Builder
	for _, p := range parts {
		s := p.Text
		if p.Marked {
			s = ">>" + s + "<<"
		}
		switch {
		case p.Gone:
			s = "[-" + s + "-]"
		case p.New:
			s = "{+" + s + "+}"
		}
		b.WriteString(s)
	}
	return b.String()
}
