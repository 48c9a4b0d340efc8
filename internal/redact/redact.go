// Package redact takes secrets out of texts and JSON: those that are known, in all
// their spellings, and what looks like one.
package redact

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/shakedown-go/shakedown/internal/strictjson"
)

const (
	// Marker stands where a secret was.
	Marker = done + "]"
	done   = "[redacted" // begins what was redacted before
	// maxPasses bounds the search for a text that has nothing left to redact.
	maxPasses = 5
)

// Rules are what a [Redactor] looks for besides known secrets.
type Rules uint8

// Patterns are the usual forms of secrets: credentials of HTTP, values of names
// such as password, flags of commands, web hooks, keys, and tokens with well-known
// prefixes.
//
// Keys are those among them that are told by their own form, whatever stands around
// them: private keys, tokens with well-known prefixes, and what addresses hold, web
// hooks and user information. They leave prose and names such as token alone.
const (
	Patterns Rules = 1 << iota
	Keys
)

// A Redactor replaces secrets by [Marker]. It is idempotent: a text that keeps
// changing after a few passes is replaced whole. The zero value replaces nothing.
// All methods are safe for concurrent use.
type Redactor struct {
	rules   Rules
	secrets []string // verbatim
	needles []string // in every spelling but base64
	encoded int      // the length of the shortest base64 of one
}

// New returns a redactor of these secrets, with and without the space around them.
// It finds each verbatim, as written in URLs, Go strings and JSON, and in base64,
// also as a part of what is encoded. Blank ones are ignored.
func New(secrets []string, rules Rules) *Redactor {
	r := &Redactor{rules: rules}
	for _, secret := range secrets {
		if strings.TrimSpace(secret) == "" {
			continue
		}
		for _, s := range []string{secret, strings.TrimSpace(secret)} {
			r.secrets = append(r.secrets, s)
			inJSON, _ := json.Marshal(s)
			r.needles = append(r.needles, s, url.QueryEscape(s), url.PathEscape(s),
				unquoted(strconv.Quote(s)), unquoted(strconv.QuoteToASCII(s)), unquoted(string(inJSON)),
				unquoted(string(strictjson.Quote(s))))
			if n := base64.RawStdEncoding.EncodedLen(len(s)); r.encoded == 0 || n < r.encoded {
				r.encoded = n
			}
		}
	}
	return r
}

func unquoted(s string) string { return s[1 : len(s)-1] }

// Address takes the user information out of an address, which need not be a valid one, and
// what else in it looks like a secret.
func Address(s string) string {
	begin := 0
	if i := strings.Index(s, "//"); i >= 0 {
		begin = i + len("//")
	}
	if at := strings.LastIndexByte(s, '@'); at > begin {
		s = s[:begin] + Marker + s[at:]
	}
	return New(nil, Patterns).Text(s)
}

// Text takes the secrets out of a text.
func (r *Redactor) Text(s string) string {
	for range maxPasses {
		next := r.rules.clean(r.known(s))
		if next == s {
			return s
		}
		s = next
	}
	return Marker
}

// known replaces every byte that belongs to a known secret: one secret may overlap or contain
// another. A marker that is there already holds no secret.
func (r *Redactor) known(s string) string {
	if len(r.needles) == 0 || s == "" {
		return s
	}
	marked := make([]bool, len(s))
	found := false
	mark := func(needle string, secret bool) {
		for at := 0; ; at++ {
			i := strings.Index(s[at:], needle)
			if i < 0 {
				return
			}
			at += i
			for k := range len(needle) {
				marked[at+k] = secret
			}
			found = true
		}
	}
	for _, needle := range r.needles {
		mark(needle, true)
	}
	for word := range strings.FieldsFuncSeq(s, func(c rune) bool { return !inBase64(c) }) {
		if len(word) >= r.encoded && r.encodes(word) {
			mark(word, true)
		}
	}
	if !found {
		return s
	}
	mark(Marker, false)
	var b strings.Builder
	for i := range len(s) {
		switch {
		case !marked[i]:
			b.WriteByte(s[i])
		case i == 0 || !marked[i-1]:
			b.WriteString(Marker)
		}
	}
	return b.String()
}

func inBase64(c rune) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || strings.ContainsRune("+/-_", c)
}

// minInside is the length from which on a secret is also looked for in base64 that
// begins within a word. Shorter ones would be found in anything.
const minInside = 4

// encodes reports whether s is base64 of something that contains a secret, or ends
// in such, as a path does whose last part is one.
func (r *Redactor) encodes(s string) bool {
	s = strings.NewReplacer("-", "+", "_", "/").Replace(s)
	for from := range min(4, len(s)) {
		text := s[from:]
		if len(text)%4 == 1 { // no base64 has this length; without its last character it may be base64
			text = text[:len(text)-1]
		}
		plain, err := base64.RawStdEncoding.DecodeString(text)
		if err == nil && slices.ContainsFunc(r.secrets, func(secret string) bool {
			return (from == 0 || len(secret) >= minInside) && strings.Contains(string(plain), secret)
		}) {
			return true
		}
	}
	return false
}
