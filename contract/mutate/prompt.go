package mutate

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A prompt is a text cut into spans: words that may be changed, gaps between them, and
// what every kind of intent Same leaves alone. It is cut once, for all kinds.
type prompt struct {
	raw   string
	spans []span
	words []int // the spans that are words
}

// A span is a part of a text. The spans of a text follow each other without holes.
type span struct {
	from, to int
	what     spanKind
}

type spanKind uint8

const (
	gap   spanKind = iota // white space and punctuation
	word                  // letters and marks
	exact                 // digits, identifiers, quotations, addresses, code, symbols
	name                  // a capitalised word within a sentence
)

// kept reports whether kinds of intent Same leave the span as it is.
func (s span) kept() bool { return s.what == exact || s.what == name }

func (p *prompt) text(s span) string { return p.raw[s.from:s.to] }

// between reports whether the i-th span is a gap between two that are kept. It is part
// of what they say, such as the space in "1 042".
func (p *prompt) between(i int) bool {
	return i > 0 && i+1 < len(p.spans) && p.spans[i-1].kept() && p.spans[i+1].kept()
}

func parse(raw string) *prompt {
	p := &prompt{raw: raw, spans: make([]span, 0, 8+len(raw)/3)}
	c := cutter{prompt: p, start: true, lower: strings.ContainsFunc(raw, unicode.IsLower)}
	for c.at < len(raw) {
		c.next()
	}
	p.words = make([]int, 0, len(p.spans)/2)
	for i, s := range p.spans {
		if s.what == word {
			p.words = append(p.words, i)
		}
	}
	return p
}

// A cutter cuts a text into spans.
type cutter struct {
	*prompt
	at    int
	lower bool // the text has lower case, so a word in capitals is an identifier
	start bool // the next word begins a sentence
	// missing has the closing marks that were looked for and not found: they are not
	// there further on either.
	missing []string
}

// add ends a span at to. Gaps are joined.
func (c *cutter) add(to int, what spanKind) {
	if n := len(c.spans); what == gap && n > 0 && c.spans[n-1].what == gap {
		c.spans[n-1].to = to
	} else {
		c.spans = append(c.spans, span{c.at, to, what})
	}
	c.at = to
}

// next cuts the next span.
func (c *cutter) next() {
	r, size := utf8.DecodeRuneInString(c.raw[c.at:])
	if end := c.enclosed(r, size); end > 0 {
		c.add(end, exact)
		c.start = false
		return
	}
	if !begins(r) && !c.figure(r, size) {
		if ends(r) {
			c.start = true
		}
		c.add(c.at+size, gap)
		return
	}
	c.token()
}

// begins reports whether a character begins a token: all but white space and
// punctuation, and the punctuation that addresses and variables begin with.
func begins(r rune) bool {
	return !unicode.IsSpace(r) && (!unicode.IsPunct(r) || strings.ContainsRune(`/@#%&*_\{}[]`, r))
}

// figure reports whether a mark begins a number: the sign of "-5", the point of ".5".
func (c *cutter) figure(mark rune, size int) bool {
	if !unicode.Is(unicode.Pd, mark) && mark != '.' && mark != ',' && mark != '٫' {
		return false
	}
	if before, _ := utf8.DecodeLastRuneInString(c.raw[:c.at]); c.at > 0 && !unicode.IsSpace(before) &&
		!unicode.Is(unicode.Ps, before) {
		return false
	}
	rest := strings.TrimLeftFunc(c.raw[c.at+size:], func(r rune) bool { return unicode.Is(unicode.Sc, r) || r == '.' })
	next, _ := utf8.DecodeRuneInString(rest)
	return unicode.IsNumber(next)
}

// ends reports whether a character ends a sentence.
func ends(r rune) bool { return strings.ContainsRune(".!?:\n…。！？।؟¿¡", r) }

// The marks that begin a quotation or code, and at the same places those that end it.
const (
	openers = "\"'`”“„«»‹‘「『"
	closers = "\"'`””“»«›’」』"
)

// closer returns the mark that ends what a mark begins; "": it begins nothing.
func closer(mark rune) string {
	if at := strings.IndexRune(openers, mark); at >= 0 {
		return closers[at : at+utf8.RuneLen(mark)]
	}
	return ""
}

// enclosed returns the end of the quotation, code or bracket that begins here; 0: none
// does.
func (c *cutter) enclosed(r rune, size int) int {
	rest := c.raw[c.at+size:]
	switch r {
	case '{', '[', '<':
		if n := bracketed(c.raw[c.at:]); n > 0 {
			return c.at + n
		}
		return 0
	case '`':
		if strings.HasPrefix(rest, "``") {
			if n := strings.Index(rest[2:], "```"); n >= 0 {
				return c.at + size + 2 + n + 3
			}
			return len(c.raw) // code that is not closed goes on to the end
		}
	case '\'', '‘':
		if before, _ := utf8.DecodeLastRuneInString(c.raw[:c.at]); unicode.IsLetter(before) || unicode.IsDigit(before) {
			return 0 // an apostrophe
		}
	}
	mark := closer(r)
	if mark == "" || slices.Contains(c.missing, mark) {
		return 0
	}
	if n := closing(rest, mark); n > 0 {
		return c.at + size + n
	}
	c.missing = append(c.missing, mark)
	return 0
}

// closing returns the end of the first closing mark, 0 if there is none. One before a
// letter may be an apostrophe, and closes nothing.
func closing(rest, mark string) int {
	for at := 0; ; {
		n := strings.Index(rest[at:], mark)
		if n < 0 {
			return 0
		}
		at += n + len(mark)
		after, _ := utf8.DecodeRuneInString(rest[at:])
		if mark != "'" && mark != "’" || !unicode.IsLetter(after) {
			return at
		}
	}
}

// maxBracket bounds how far a closing bracket is looked for, in bytes.
const maxBracket = 1 << 10

// bracketed returns the length of the bracket that the text begins with, with all that
// is nested in it; 0: it is not closed.
func bracketed(text string) int {
	opener := text[0]
	closer := opener + 2 // of all three kinds
	depth := 0
	for i := 0; i < min(len(text), maxBracket); i++ {
		switch text[i] {
		case opener:
			depth++
		case closer:
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

// token cuts what stands between white space: a word, an identifier, an address.
func (c *cutter) token() {
	first, _ := utf8.DecodeRuneInString(c.raw[c.at:])
	dense, numeral := unspaced(first), isNumeral(first)
	end, last := c.at, c.at // last is the end of the token without punctuation behind it
	plain := true           // letters and marks alone
	for end < len(c.raw) {
		r, size := utf8.DecodeRuneInString(c.raw[end:])
		if end > c.at && (unicode.IsSpace(r) || dense && unicode.IsPunct(r) || r != '\'' && closer(r) != "" ||
			isNumeral(r) != numeral ||
			unspaced(r) != dense && (unicode.IsLetter(r) || unicode.IsNumber(r))) {
			break
		}
		end += size
		switch {
		case unicode.In(r, unicode.L, unicode.M):
			last = end
		case begins(r):
			plain, last = false, end
		}
	}
	core := c.raw[c.at:last]
	if last == c.at {
		last = end
	}
	switch {
	case !plain || numeral || odd(core):
		c.add(last, exact)
	case c.lower && len(core) > 1 && strings.ToUpper(core) == core && strings.ToLower(core) != core:
		c.add(last, exact) // an abbreviation, a code
	case !c.start && c.lower && unicode.IsUpper(first):
		c.add(last, name)
	default:
		c.parts(last)
	}
	c.start = false
}

// isNumeral reports whether a letter is a number of Chinese, Japanese or Korean, such as
// those of 三百二十. Some stand in words too, which then stay.
func isNumeral(r rune) bool {
	return r >= '〇' && strings.ContainsRune("〇零一二三四五六七八九十百千万萬亿億兆半两兩廿卅壹贰叁肆伍陆柒捌玖拾佰仟"+
		"貳參陸壱弐参拾", r)
}

// odd reports whether a token without digits and signs is an identifier or an address
// all the same: punctuation between letters, or a capital within.
func odd(core string) bool {
	before := ' '
	for i, r := range core {
		switch {
		case unicode.IsUpper(r) && unicode.IsLower(before):
			return true
		case unicode.IsPunct(r) && r != '-' && r != '\'' && r != '’' && i > 0:
			return true
		}
		before = r
	}
	return false
}

// parts cuts a compound into its words, at hyphens.
func (c *cutter) parts(end int) {
	for c.at < end {
		n := strings.IndexByte(c.raw[c.at:end], '-')
		switch {
		case n < 0:
			c.add(end, word)
		case n == 0:
			c.add(c.at+1, gap)
		default:
			c.add(c.at+n, word)
		}
	}
}

// unspaced reports whether a letter is of a script that does not separate words with
// spaces.
func unspaced(r rune) bool {
	return r > unicode.MaxLatin1 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai,
		unicode.Lao, unicode.Khmer, unicode.Myanmar)
}
