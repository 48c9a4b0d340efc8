package tape

import (
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/internal/redact"
)

// Clean returns the address of a request as it is kept and keyed: without user
// information, without query parameters that hold keys, without a fragment, and with
// well-known forms of keys masked. The host is in lower case. An opaque part is none of it.
func Clean(r *http.Request) string {
	u := *r.URL
	if u.Host == "" {
		u.Host = r.Host
	}
	return clean(&u)
}

func clean(u *url.URL) string {
	kept := url.URL{Scheme: strings.ToLower(u.Scheme), Host: strings.ToLower(u.Host)}
	kept.Path, kept.RawPath = u.Path, u.RawPath
	site := kept.Scheme + "://" + kept.Host // by which a web hook is known
	if path, ok := strings.CutPrefix(masked(site+u.Path), site); ok && path != u.Path {
		kept.Path, kept.RawPath = path, ""
	}
	var query strings.Builder
	for separator, parameter := range parameters(u.RawQuery) {
		name, value, given := strings.Cut(parameter, "=")
		plain := unescaped(value)
		switch hidden := masked(plain); {
		case holdsKey(unescaped(name), plain):
			continue
		case hidden != plain && given:
			parameter = name + "=" + url.QueryEscape(hidden)
		}
		if query.Len() > 0 {
			query.WriteString(separator)
		}
		query.WriteString(parameter)
	}
	kept.RawQuery = escapeSigns(query.String())
	return kept.String()
}

// escapeSigns escapes what a program may have put into a query without, and what would
// end it.
func escapeSigns(query string) string {
	if !strings.ContainsFunc(query, sign) {
		return query
	}
	var b strings.Builder
	for i := range len(query) {
		if c := query[i]; sign(rune(c)) {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

func sign(c rune) bool { return c <= ' ' || c == '#' || c >= 0x7f }

// parameters yields the parts of a query as they are spelled, each behind what separates it
// from the one before: & or, as some servers read it, a semicolon. A part between two & that
// is empty is none.
func parameters(query string) iter.Seq2[string, string] {
	return func(yield func(separator, parameter string) bool) {
		for separator, rest := "&", query; ; {
			parameter, next := rest, ""
			at := strings.IndexAny(rest, "&;")
			if at >= 0 {
				parameter, next, rest = rest[:at], rest[at:at+1], rest[at+1:]
			}
			if (parameter != "" || separator == ";") && !yield(separator, parameter) || at < 0 {
				return
			}
			separator = next
		}
	}
}

func unescaped(s string) string {
	if plain, err := url.QueryUnescape(s); err == nil {
		return plain
	}
	return s
}

// longCode is how long a code is that gives access; one of a country is shorter.
const longCode = 20

// positions are names that end as those of secrets do, and tell where a list goes on.
// Without them all pages would be one request.
var positions = []string{"pagetoken", "paginationtoken", "nexttoken", "continuationtoken", "resumetoken", "starttoken",
	"startingtoken", "synctoken", "deltatoken", "cursortoken", "skiptoken"}

// holdsKey reports whether a query parameter, or a field of a form, holds a key.
func holdsKey(name, value string) bool {
	return keyName(name) || strings.EqualFold(name, "code") && len(value) >= longCode
}

// keyName reports whether what has this name is a key.
func keyName(name string) bool {
	name = nested.Replace(name)
	if isPosition(name) {
		return false
	}
	plain := plainName(name)
	ends := func(key string) bool { return strings.HasSuffix(plain, key) }
	return plain == "key" || slices.ContainsFunc(keys, ends) || redact.SecretName(name)
}

// isPosition reports whether a name tells where a list goes on.
func isPosition(name string) bool {
	plain := plainName(name)
	return slices.ContainsFunc(positions, func(position string) bool { return strings.HasSuffix(plain, position) })
}

func plainName(name string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "", "$", "").Replace(name))
}

// nested writes a name such as auth[token], key[] or api.key in words.
var nested = strings.NewReplacer("[]", "", "]", "", "[", "_", ".", "_")

// keys are names that end so in addresses and forms; elsewhere they may name anything.
var keys = []string{"subscriptionkey", "appkey", "authkey", "consumerkey", "licensekey", "developerkey", "hmac"}

// KeepHeader returns what is kept of an answer's header: the type of its content, when
// to retry, request ids and rate limits. Content-Encoding is not: a request that is
// recorded must not ask for one (delete its Accept-Encoding), or no secret would be
// found in the answer.
func KeepHeader(h http.Header) http.Header {
	var kept http.Header
	for name, values := range h {
		if len(values) == 0 || !keptHeader(strings.ToLower(name)) {
			continue
		}
		if kept == nil {
			kept = make(http.Header)
		}
		name = http.CanonicalHeaderKey(name)
		for _, value := range values {
			kept[name] = append(kept[name], strings.Map(printable, strings.ToValidUTF8(value, "\ufffd")))
		}
	}
	return kept
}

// printable replaces what a file refuses in a header.
func printable(c rune) rune {
	if c < ' ' && c != '\t' || c == 0x7f {
		return ' '
	}
	return c
}

func keptHeader(name string) bool {
	switch name {
	case "content-type", "retry-after", "retry-after-ms", "x-should-retry":
		return true
	}
	plain := strings.ReplaceAll(name, "-", "")
	return strings.HasSuffix(plain, "requestid") || strings.Contains(plain, "ratelimit")
}
