package mutate

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Noise: what people type.

func noiseRows() []row {
	return grouped("noise", Same,
		row{Kind{Name: "typo", Weight: .8, Strength: .3,
			Text: "a letter in some words is its neighbour on the keyboard, or in the word"},
			eachWord(positive(threeLetters), mistyped)},
		row{Kind{Name: "lower", Weight: .5, Strength: 1, Text: "in lower case", Once: true}, recast(strings.ToLower)},
		row{Kind{Name: "upper", Weight: .6, Strength: 1, Text: "in capitals", Once: true}, recast(strings.ToUpper)},
		row{Kind{Name: "no_punctuation", Weight: .6, Text: "without punctuation, brackets apart", Once: true},
			noPunctuation},
		row{Kind{Name: "whitespace", Weight: .7, Text: "with more white space, around and within"}, whitespace},
	)
}

// A change appends the i-th span, a word, in another form to b.
type change func(b []byte, p *prompt, i int, d Draw) []byte

// A fitting reports whether the i-th span, a word, can be changed.
type fitting func(p *prompt, i int) bool

// eachWord changes as many words as the strength says, of those that fit.
func eachWord(fits fitting, f change) func(*prompt, Draw) string {
	return func(p *prompt, d Draw) string {
		touched := p.choose(d, fits)
		if len(touched) == 0 {
			return p.raw
		}
		b := make([]byte, 0, len(p.raw)+len(p.raw)/2+16)
		from := 0
		for _, i := range touched {
			s := p.spans[i]
			b = append(b, p.raw[from:s.from]...)
			b = f(b, p, i, d.at(i))
			from = s.to
		}
		return string(append(b, p.raw[from:]...))
	}
}

// choose returns the spans of the words to touch, in order: the share of the words that
// fit that the strength says, one at least.
func (p *prompt) choose(d Draw, fits fitting) []int {
	fit := make([]int, 0, len(p.words))
	for _, i := range p.words {
		if fits(p, i) {
			fit = append(fit, i)
		}
	}
	n := min(len(fit), max(1, int(d.Strength*float64(len(fit))+0.5)))
	if n == len(fit) {
		return fit
	}
	for i := range n { // the beginning of a shuffle
		j := i + d.Below(uint64(i), len(fit)-i)
		fit[i], fit[j] = fit[j], fit[i]
	}
	slices.Sort(fit[:n])
	return fit[:n]
}

// threeLetters accepts words of three letters and marks or more.
func threeLetters(p *prompt, i int) bool { return utf8.RuneCountInString(p.text(p.spans[i])) >= 3 }

// recast changes words by a function of the word alone, those that it changes.
func recast(f func(word string) string) func(*prompt, Draw) string {
	return eachWord(altered(f))
}

// disfigured is recast for words that do not negate.
func disfigured(f func(word string) string) func(*prompt, Draw) string {
	fits, change := altered(f)
	return eachWord(positive(fits), change)
}

func altered(f func(word string) string) (fitting, change) {
	is := func(p *prompt, i int) string { return f(p.text(p.spans[i])) }
	return func(p *prompt, i int) bool { return is(p, i) != p.text(p.spans[i]) },
		func(b []byte, p *prompt, i int, _ Draw) []byte { return append(b, is(p, i)...) }
}

// positive accepts of the words that fit those that do not negate: without them, or with
// one more, a prompt asks for the opposite.
func positive(fits fitting) fitting {
	return func(p *prompt, i int) bool { return fits(p, i) && !negates(p.text(p.spans[i])) }
}

// maxTries bounds the places in a word that are tried: in one of many equal letters none
// changes it.
const maxTries = 32

// mistyped changes one letter of a word. The first letter and the marks of a word stay. No word that
// negates is made.
func mistyped(b []byte, p *prompt, at int, d Draw) []byte {
	word := p.text(p.spans[at])
	var short [32]rune
	was := append(short[:0], []rune(word)...)
	n := len(was) - 1
	for k, from := 0, d.Below(0, n); k < min(n, maxTries); k++ { // the first place where it changes something
		i := 1 + (from+k)%n
		if !unicode.IsLetter(was[i]) {
			continue
		}
		if is := string(typo(slices.Clone(was), i, d)); is != word && !negates(is) {
			return append(b, is...)
		}
	}
	return append(b, word...)
}

// keyboard has the neighbours of a to z on a keyboard of the layout qwerty.
const keyboard = "qsz vgn xdv sfxe wrsd dgcvr fhbvt gjbny uko hknmu jlmi kop njk bmhj ipl o wa etdf adwzx rygf yijh cfgb qeas zcsd tuhg xas"

func typo(b []rune, i int, d Draw) []rune {
	if at := unicode.ToLower(b[i]) - 'a'; at >= 0 && at < 26 {
		near := strings.Fields(keyboard)[at]
		r := rune(near[d.Below(1, len(near))])
		if unicode.IsUpper(b[i]) {
			r = unicode.ToUpper(r)
		}
		b[i] = r
		return b
	}
	b[i] = b[(i+1)%len(b)]
	return b
}

// stop reports whether a character is punctuation other than brackets.
func stop(r rune) bool { return unicode.IsPunct(r) && !unicode.In(r, unicode.Ps, unicode.Pe) }

// noPunctuation removes the punctuation in gaps. What it separated stays apart.
func noPunctuation(p *prompt, _ Draw) string {
	b := make([]byte, 0, len(p.raw))
	for i, s := range p.spans {
		if s.what != gap || p.between(i) || !strings.ContainsFunc(p.text(s), stop) {
			b = append(b, p.text(s)...)
			continue
		}
		empty := true
		for _, r := range p.text(s) {
			if !stop(r) {
				b, empty = utf8.AppendRune(b, r), false
			}
		}
		if empty && i > 0 && i+1 < len(p.spans) {
			b = append(b, ' ')
		}
	}
	return string(b)
}

// whitespace widens some of the gaps, and puts white space around the text.
func whitespace(p *prompt, d Draw) string {
	wide := [...]string{"  ", " \t", "   ", "\n", " \n "}
	b := append(make([]byte, 0, 2*len(p.raw)+8), wide[d.Below(0, len(wide))]...)
	for i, s := range p.spans {
		part := p.text(s)
		if s.what == gap && part == " " && !p.between(i) && d.Below(uint64(i)+1, 2) == 0 {
			part = wide[d.at(i).Below(0, len(wide))]
		}
		b = append(b, part...)
	}
	return string(append(b, wide[d.Below(1<<32, len(wide))]...))
}
