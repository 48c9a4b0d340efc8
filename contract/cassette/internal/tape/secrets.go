package tape

import (
	"encoding/base64"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/internal/redact"
)

// Secrets are the credentials of the requests that were recorded. The zero value is
// ready to use. It is not safe for concurrent use.
type Secrets struct {
	sources map[string]string // where a request carried it, by the credential
}

// minSecret is the length of the shortest credential that is searched for, in bytes: a
// shorter one would be found in any text.
const minSecret = 6

// longWord is the length from which on what looks like a word in a cookie, a parameter or
// a field may be a credential.
const longWord = 16

// placeholders are what clients say as the key of a server that needs none. Answers of
// such servers have these words too.
var placeholders = []string{"dummy-key", "lm-studio", "no-key", "no-key-required", "not-needed", "ollama", "password",
	"placeholder", "sk-no-key-required", "testing", "unused"}

// Add adds the credentials that a request carries: in headers such as Authorization,
// X-Api-Key and Cookie, in user information, in query parameters, and in the fields of
// a form. Not searched for are those of fewer than 6 bytes, placeholders such as ollama,
// and in cookies, parameters and fields words of fewer than 16 letters, such as a theme:
// answers have words too.
func (s *Secrets) Add(r *http.Request, body []byte) {
	for name, values := range r.Header {
		for _, value := range values {
			s.addHeader(name, value)
		}
	}
	if user := r.URL.User; user != nil {
		password, _ := user.Password()
		s.addPair("user information of the address", user.Username(), password)
	}
	s.addFields("query parameter ", r.URL.RawQuery)
	if media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); media == "application/x-www-form-urlencoded" {
		s.addFields("form field ", string(body))
	}
}

func (s *Secrets) add(source, value string) {
	value = strings.TrimSpace(value)
	placeholder := slices.Contains(placeholders, strings.ToLower(value))
	if len(value) < minSecret || placeholder || strings.Contains(value, redact.Marker) {
		return
	}
	if s.sources == nil {
		s.sources = make(map[string]string)
	}
	if first, ok := s.sources[value]; !ok || source < first { // the same, whichever was first
		s.sources[value] = source
	}
}

// addUnlessWord adds a value that may be a setting: it is none if it is more than a word.
func (s *Secrets) addUnlessWord(source, value string) {
	if len(value) >= longWord || !words(value) {
		s.add(source, value)
	}
}

// addPair adds the password of a user, or the key that stands in place of the user, beside
// a password that is none.
func (s *Secrets) addPair(source, user, password string) {
	s.add(source, password)
	if password == "" || strings.EqualFold(password, "x") || password == "x-oauth-basic" {
		s.addUnlessWord(source, user)
	}
}

// words reports whether a text has only words, in small letters or with a capital first.
func words(s string) bool {
	for word := range strings.FieldsFuncSeq(s, func(c rune) bool { return strings.ContainsRune("-_. ", c) }) {
		if c := word[0] | 0x20; c < 'a' || c > 'z' || strings.Trim(word[1:], "abcdefghijklmnopqrstuvwxyz") != "" {
			return false
		}
	}
	return true
}

func (s *Secrets) addFields(source, fields string) {
	for _, field := range parameters(fields) {
		name, value, _ := strings.Cut(field, "=")
		if name, value = unescaped(name), unescaped(value); holdsKey(name, value) {
			s.addUnlessWord(source+name, value)
		}
	}
}

// noKeys are ends of names of headers that end in key and hold none.
var noKeys = []string{"idempotencykey", "partitionkey", "cachekey", "surrogatekey", "websocketkey"}

// addHeader adds the value of a header that holds a credential, and what of it stands
// alone elsewhere: behind the scheme, the password within it, a signature.
func (s *Secrets) addHeader(name, value string) {
	plain := strings.ToLower(strings.ReplaceAll(name, "-", ""))
	switch {
	case slices.ContainsFunc(noKeys, func(end string) bool { return strings.HasSuffix(plain, end) }):
		return
	case !redact.SecretName(name) && !strings.HasSuffix(plain, "key"):
		return
	case plain == "cookie":
		for cookie := range strings.SplitSeq(value, ";") {
			name, value, _ := strings.Cut(strings.TrimSpace(cookie), "=")
			s.addUnlessWord("cookie "+name, strings.Trim(value, `"`))
		}
		return
	}
	source := "header " + http.CanonicalHeaderKey(name)
	s.add(source, value)
	rest := strings.TrimSpace(value)
	if at := strings.IndexAny(rest, " \t"); at >= 0 {
		scheme := rest[:at]
		rest = strings.TrimSpace(rest[at:])
		s.add(source, rest)
		if strings.EqualFold(scheme, "basic") {
			if pair, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(rest, "=")); err == nil {
				user, password, _ := strings.Cut(string(pair), ":")
				s.add(source, string(pair))
				s.addPair(source, user, password)
			}
		}
	}
	for part := range strings.SplitSeq(rest, ",") {
		if name, value, ok := strings.Cut(part, "="); ok && redact.SecretName(name) {
			s.add(source, strings.Trim(strings.TrimSpace(value), `"`))
		}
	}
}

// A SecretError reports that a credential would have been written to a file. It does
// not hold the credential.
type SecretError struct {
	Exchange int    // from 1; 0: not known
	Cell     string // of the exchange
	Source   string // where a request carried it, such as "header Authorization"
}

// Error names exchange and source.
func (e *SecretError) Error() string {
	where := "the file"
	if e.Exchange > 0 {
		where = fmt.Sprintf("exchange %d", e.Exchange)
		if e.Cell != "" {
			where += " of cell " + e.Cell
		}
	}
	return fmt.Sprintf("cassette: %s holds a credential that a recorded request carried (%s): nothing was written; "+
		"take it out with Redact", where, e.Source)
}
