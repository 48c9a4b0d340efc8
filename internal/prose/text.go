package prose

import (
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	LongWord   = 5 // the least characters of a long word
	stemLength = 5 // the first characters of a word, by which words are compared
)

// A shape is a degree to which the spelling of a text is folded before it is read.
type shape int

const (
	// ShapeSigns writes signs that look alike as one: spaces, dashes, quotation marks,
	// full-width characters. It leaves out characters without width.
	ShapeSigns shape = iota
	// ShapeWords also folds case, and writes letters without their marks:
	// "é" is "e", "ü" is "ue", "ß" is "ss". Patterns over it are ASCII.
	ShapeWords
)

// A PlainText is a folded text with its offsets in the original.
type PlainText struct {
	Text string
	at   []int // of each byte of text, and of its end, the offset in the original
}

// Flatten folds a text in one pass.
func Flatten(original string, as shape) PlainText {
	var b strings.Builder
	b.Grow(len(original))
	at := make([]int, 0, len(original)+1)
	for i, r := range original {
		if r < utf8.RuneSelf {
			if as == ShapeWords {
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
	return PlainText{b.String(), append(at, len(original))}
}

// Flat returns the text of flatten alone.
func Flat(original string, as shape) string { return Flatten(original, as).Text }

// Original returns the offsets in the original of text[start:end].
func (p PlainText) Original(start, end int) (int, int) { return p.at[start], p.at[end] }

// From returns the offset in the text of an offset in the original.
func (p PlainText) From(original int) int { return sort.SearchInts(p.at, original) }

func flatRune(r rune, as shape) string {
	switch {
	case r >= 0xFF01 && r <= 0xFF5E: // full width
		r -= 0xFEE0
		if as == ShapeWords {
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
	case as == ShapeSigns:
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
	plainLetters  = "a a a a a a a a c c c d d e e e e e e e i i i i i i l n n n o o o o o o o u u u u u u y y " +
		"s s s z z z aeoeuessoeae"
)

// Straighten replaces curly quotation marks, which models like, with plain ones.
func Straighten(text string) string {
	return strings.NewReplacer("’", "'", "‘", "'", "“", `"`, "”", `"`, "„", `"`).Replace(text)
}

// Fold makes texts equal that [strings.EqualFold] calls equal. It keeps the number of
// characters, so the n-th character of the result is that of the n-th of the text.
func Fold(s string) string { return strings.Map(foldRune, s) }

func foldRune(r rune) rune {
	if r < utf8.RuneSelf {
		return unicode.ToLower(r)
	}
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		least = min(least, f)
	}
	// The small letter of the dotted capital I folds otherwise, so the capital stays.
	if lower := unicode.ToLower(least); lower >= utf8.RuneSelf || least < utf8.RuneSelf {
		return lower
	}
	return least
}

// Find returns the offsets in text of the first part whose folded form is part.
// folded is the folded text.
func Find(text, folded, part string) (start, end int, ok bool) {
	i := strings.Index(folded, part)
	if i < 0 {
		return 0, 0, false
	}
	start = forward(text, 0, utf8.RuneCountInString(folded[:i]))
	return start, forward(text, start, utf8.RuneCountInString(part)), true
}

// Blank reports whether a text has no visible character: only white space, control
// characters and characters without width.
func Blank(text string) bool {
	for _, r := range text {
		if !unicode.IsSpace(r) && !unicode.In(r, unicode.Cc, unicode.Cf) {
			return false
		}
	}
	return true
}

// WordRune reports whether r belongs to a word, a name or a number.
func WordRune(r rune) bool {
	return r == '_' || unicode.In(r, unicode.L, unicode.N, unicode.M)
}

// Squeezed returns the letters and digits of a text, in ShapeWords.
func Squeezed(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, Flat(text, ShapeWords))
}

// PlainWords returns the words of a text in ShapeWords, without the punctuation and
// symbols around them. White space, signs of JSON and cells of tables separate words.
// A number of up to three digits at the beginning of a line, a cell or a JSON string
// is a marker and left out.
func PlainWords(text string) []string {
	var list []string
	betweenCells := func(r rune) bool { return strings.ContainsRune("\n|\"{}[]", r) }
	betweenWords := func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("*,;:()", r) }
	for cell := range strings.FieldsFuncSeq(Flat(text, ShapeWords), betweenCells) {
		first := true
		for word := range strings.FieldsFuncSeq(cell, betweenWords) {
			word = strings.TrimFunc(word, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
			if word == "" {
				continue
			}
			if !first || len(word) > 3 || strings.Trim(word, "0123456789") != "" {
				list = append(list, word)
			}
			first = false
		}
	}
	return list
}

// LanguageOf guesses the language of a text by its commonest words: en, de, fr, es, or
// "" if two are equally likely.
func LanguageOf(text string) string {
	const (
		en = " the is are you to of and for with your not a "
		de = " der die das und ist nicht sie ich mit fuer auf ein eine den "
		fr = " le la les est vous je de et pour un une des ne pas "
		es = " el la los es que de y para un una no con por se "
	)
	var counts [4]int
	for _, word := range PlainWords(text) {
		for i, list := range []string{en, de, fr, es} {
			if strings.Contains(list, " "+word+" ") {
				counts[i]++
			}
		}
	}
	best, second := 0, -1
	for i := 1; i < len(counts); i++ {
		if counts[i] > counts[best] {
			best, second = i, best
		} else if second < 0 || counts[i] > counts[second] {
			second = i
		}
	}
	if counts[best] == counts[second] {
		return ""
	}
	return []string{"en", "de", "fr", "es"}[best]
}

// StemsOf returns the beginnings of the long words, and the numbers of at least two digits.
func StemsOf(words []string) map[string]struct{} {
	stems := make(map[string]struct{})
	for _, word := range words {
		letters := []rune(word)
		switch {
		case len(letters) >= LongWord:
			stems[string(letters[:stemLength])] = struct{}{}
		case len(letters) >= 2 && strings.Trim(word, "0123456789") == "":
			stems[word] = struct{}{}
		}
	}
	return stems
}

// numberKeys returns the numbers that a token may mean, nil if it is no number:
// "1.234" is 1234 in German and 1.234 in English.
func numberKeys(token string) []string {
	end := strings.LastIndexAny(token, "0123456789") + 1
	if suffix := token[end:]; suffix != "" && !isUnit(suffix) {
		return nil
	}
	body := token[:end]
	if body == "" || strings.Trim(body, "0123456789.,'") != "" || body[0] < '0' || body[0] > '9' {
		return nil
	}
	parts := strings.FieldsFunc(body, func(r rune) bool { return strings.ContainsRune(".,'", r) })
	if len(parts) == 1 {
		return []string{plainNumber(body)}
	}
	var between []byte // the separators in their order
	for i := range len(body) {
		if strings.IndexByte(".,'", body[i]) >= 0 {
			between = append(between, body[i])
		}
	}
	if len(between) != len(parts)-1 {
		return nil // two in a row
	}
	grouped := func(list []string) bool {
		for i, part := range list {
			if i == 0 && len(part) > 3 || i > 0 && len(part) != 3 {
				return false
			}
		}
		return true
	}
	same := len(strings.Trim(string(between), string(between[:1]))) == 0
	last := parts[len(parts)-1]
	switch {
	case same && between[0] == ',' && len(last) > 3:
		return nil // two numbers
	case same && len(between) == 1 && between[0] != '\'': // a decimal number, or thousands
		keys := []string{plainNumber(parts[0] + "." + last)}
		if grouped(parts) {
			keys = append(keys, plainNumber(parts[0]+last))
		}
		return keys
	case same && grouped(parts):
		return []string{plainNumber(strings.Join(parts, ""))}
	case !same && between[len(between)-1] != between[0] && grouped(parts[:len(parts)-1]) &&
		len(strings.Trim(string(between[:len(between)-1]), string(between[:1]))) == 0:
		return []string{plainNumber(strings.Join(parts[:len(parts)-1], "") + "." + last)}
	}
	return nil
}

// isUnit reports whether the letters behind a number are a unit, or the end of an
// ordinal number.
func isUnit(s string) bool {
	const units = " st nd rd th er e ms s sec m min h hr hrs d j g kg mg lb oz km cm mm ml l kb mb gb tb am pm x " +
		"usd eur gbp chf "
	return strings.Contains(units, " "+s+" ")
}

// plainNumber removes the zeros that mean nothing.
func plainNumber(s string) string {
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	if s = strings.TrimLeft(s, "0"); s == "" || s[0] == '.' {
		s = "0" + s
	}
	return s
}
