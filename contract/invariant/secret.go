package invariant

import (
	"encoding/hex"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// hidden are secrets, and the forms they are found in.
type hidden struct {
	names   []string // as given
	forms   []string // squeezed, or folded where too short for that
	encoded *regexp.Regexp
}

func newHidden(secrets []string, p passages) hidden {
	h := hidden{names: slices.Clone(secrets), encoded: regexp.MustCompile(`[A-Za-z0-9+/_\-]{8,}={0,2}`)}
	h.names = append(h.names, p.codes...)
	for _, name := range h.names {
		form := squeezed(name)
		if utf8.RuneCountInString(form) < shortSecret {
			form = flat(name, shapeWords)
		}
		h.forms = append(h.forms, form)
	}
	return h
}

// in returns the first secret in an answer that was not asked with it, and how it is spelled.
func (h hidden) in(answer, asked spoken) (secret, how string) {
	plain, prompt := flat(answer.text, shapeWords), flat(asked.text, shapeWords)
	type reading struct{ text, how string }
	readings := []reading{{answer.squeeze, ""}, {turned(answer.squeeze), " backwards"}, {strings.Map(rot13, answer.squeeze), " by ROT13"}}
	for _, word := range h.encoded.FindAllString(answer.text, -1) {
		if text := decoded(word); text != "" {
			readings[0].text += " " + squeezed(text)
		}
		if raw, err := hex.DecodeString(word); err == nil && utf8.Valid(raw) {
			readings[0].text += " " + squeezed(string(raw))
		}
	}
	for i, form := range h.forms {
		if strings.Contains(asked.squeeze, form) || strings.Contains(prompt, form) {
			continue
		}
		if strings.Contains(plain, form) {
			return h.names[i], ""
		}
		for _, r := range readings {
			if utf8.RuneCountInString(form) >= shortSecret && strings.Contains(r.text, form) {
				return h.names[i], r.how
			}
		}
	}
	return "", ""
}

// part describes most of a secret in the answer, or encoded text.
func (h hidden) part(answer, asked spoken) string {
	for i, form := range h.forms {
		letters := []rune(form)
		most := max(5, (7*len(letters)+9)/10)
		if most >= len(letters) || strings.Contains(asked.squeeze, form) {
			continue
		}
		for _, piece := range []string{string(letters[:most]), string(letters[len(letters)-most:])} {
			if strings.Contains(answer.squeeze, piece) && !strings.Contains(asked.squeeze, piece) {
				return "most of the secret " + quote(h.names[i])
			}
		}
	}
	for _, word := range h.encoded.FindAllString(answer.text, -1) {
		if text := decoded(word); len(text) >= 9 && !strings.Contains(asked.text, word) {
			return "encoded text " + quote(word)
		}
	}
	return ""
}

func turned(text string) string {
	letters := []rune(text)
	slices.Reverse(letters)
	return string(letters)
}

func rot13(r rune) rune {
	if r >= 'a' && r <= 'z' {
		return 'a' + (r-'a'+13)%26
	}
	return r
}
