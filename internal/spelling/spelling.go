package spelling

import (
	"encoding/base64"
	"encoding/hex"
	"html"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	whole    = 6 // the least letters and digits by which a text is found apart or encoded
	piece    = 4 // the least of one of several pieces
	run      = 8 // the least of a run that is a part
	encoded  = 8 // the least characters of what may be encoded
	depth    = 3 // encodings within one another
	maxParts = 4 // pieces of one text
)

// Readings returns a text and what it may encode: JSON and HTML escapes, percent signs,
// base64 and hexadecimal, also within one another. The first is the text itself.
func Readings(s string) []string {
	list := []string{s}
	level := list
	for range depth {
		var next []string
		for _, t := range level {
			next = append(next, decodings(t)...)
		}
		list, level = append(list, next...), next
	}
	return list
}

var (
	// escape matches a character that is written as an escape: of JSON, of programs, of URLs.
	escape = regexp.MustCompile(`\\+u00[0-7][0-9a-fA-F]|\\+x[0-7][0-9a-fA-F]|%(?:25)*[0-7][0-9a-fA-F]`)
	// Lines and signs part no code.
	base64Code = strings.NewReplacer("\r", "", "\n", "", "-", "+", "_", "/")
	hexCode    = strings.NewReplacer("\r", "", "\n", "", " ", "", ":", "", "-", "", ",", "")
)

// decodings returns what a text encodes in one step.
func decodings(s string) (list []string) {
	if strings.ContainsAny(s, `\%&`) {
		plain := escape.ReplaceAllStringFunc(s, func(e string) string {
			c, _ := strconv.ParseUint(e[len(e)-2:], 16, 8) // two hexadecimal digits, as the form has it
			return string(rune(c))
		})
		if plain = html.UnescapeString(plain); plain != s {
			list = append(list, plain)
		}
	}
	// A code may begin within other text, so it is read from each of its first digits on.
	found := decoded(base64Code.Replace(s), "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz+/", 4,
		func(code string) []byte {
			raw, _ := base64.RawStdEncoding.DecodeString(code) // up to what does not fit
			return raw
		})
	found = append(found, decoded(hexCode.Replace(s), "0123456789abcdefABCDEF", 2, func(code string) []byte {
		raw, _ := hex.DecodeString(code)
		return raw
	})...)
	return append(list, found...)
}

// decoded returns what is text in the codes of these digits: rows of at least whole printable
// characters, a line each, in one text; nil if there is none.
func decoded(s, digits string, group int, decode func(code string) []byte) []string {
	var digit [128]bool
	for _, c := range digits {
		digit[c] = true
	}
	var b strings.Builder
	unprinted := func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' && r != '\t' || r == utf8.RuneError }
	for code := range strings.FieldsFuncSeq(s, func(r rune) bool { return r >= 128 || !digit[r] }) {
		for skip := 0; skip < group && len(code) >= encoded; skip++ {
			for row := range strings.FieldsFuncSeq(string(decode(code[skip:])), unprinted) {
				if len(row) >= whole {
					b.WriteString(row + "\n")
				}
			}
		}
	}
	if b.Len() == 0 {
		return nil
	}
	return []string{b.String()}
}

func rot13(r rune) rune {
	if r >= 'a' && r <= 'z' {
		return 'a' + (r-'a'+13)%26
	}
	return r
}

// A Text is an answer or the like, read once for all that is searched in it.
type Text struct {
	flat     string
	readings []string // squeezed, the plain one first
}

// Read prepares a text for the search.
func Read(s string) Text {
	t := Text{flat: Flat(s)}
	for _, reading := range Readings(s) {
		t.readings = append(t.readings, Squeeze(reading))
	}
	return t
}

// Find returns which texts are in t and not in asked: as they are, in another case, with signs
// between their characters, in two to four pieces of at least four characters, in their order,
// encoded, and, if they have six letters and digits, backwards and by ROT13. It also finds one of
// which a run is there that is at least share of it, and eight characters. It never finds an empty one.
func Find(texts []string, t, asked Text, share float64) (found []string) {
	for _, name := range texts {
		form, told := Squeeze(name), false
		switch length := utf8.RuneCountInString(form); {
		case length < piece:
			flat := Flat(name)
			told = flat != "" && strings.Contains(t.flat, flat) && !strings.Contains(asked.flat, flat)
		case length >= whole:
			backwards := []rune(form)
			slices.Reverse(backwards)
			told = inPart(string(backwards), t, asked, share) || inPart(strings.Map(rot13, form), t, asked, share)
			fallthrough
		default:
			told = told || inPart(form, t, asked, share) ||
				!inPieces(form, asked.readings[0]) && inPieces(form, t.readings[0])
		}
		if told {
			found = append(found, name)
		}
	}
	return found
}

// inPart reports whether a run of a text is in t and not in asked.
func inPart(form string, t, asked Text, share float64) bool {
	n := min(len(form), max(run, int(math.Ceil(share*float64(len(form))))))
	for at := 0; at+n <= len(form); at++ {
		part := form[at : at+n]
		if slices.ContainsFunc(t.readings, func(r string) bool { return strings.Contains(r, part) }) &&
			!strings.Contains(asked.readings[0], part) {
			return true
		}
	}
	return false
}

// inPieces reports whether pieces of a text follow one another that make all of form, each as long
// as it can be.
func inPieces(form, s string) bool {
	for range maxParts {
		n, at := len(form), -1
		for ; n >= piece && at < 0; n-- {
			if rest := len(form) - n; rest == 0 || rest >= piece {
				at = strings.Index(s, form[:n])
			}
		}
		if at < 0 {
			return false
		}
		if form, s = form[n+1:], s[at+n+1:]; form == "" {
			return true
		}
	}
	return false
}
