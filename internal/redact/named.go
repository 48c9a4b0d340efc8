package redact

import (
	"regexp"
	"strings"
)

var (
	// headerName matches the names of headers whose values have spaces. A value goes to the end of
	// its line, or to a quotation mark that the whole header stands in. One behind a = belongs to the
	// value, as in those of digests.
	headerName  = regexp.MustCompile(`(?i)(?:authorization|cookie)$`)
	headerValue = regexp.MustCompile(`^(?:=\\*"[^"]*"?|[^"\r\n])*`)
	plainValue  = regexp.MustCompile("^[^ \\t\\r\\n,;&)}\\]\"'<>]*")
)

// namedValues redacts the values behind secret names.
func namedValues(s string) string {
	var b strings.Builder
	from := 0 // all before it is written
	for at, end := separator(s, 0); end > 0; at, end = separator(s, end) {
		if at < from || !SecretName(s[from:at]) {
			continue
		}
		b.WriteString(s[from:end])
		header := strings.Contains(s[at:end], ":") && headerName.MatchString(s[max(from, at-maxName):at])
		quote, n := valueLen(s[end:], header)
		if from = end + n; n > 0 {
			b.WriteString(quote + Marker + quote)
		}
	}
	return b.String() + s[from:]
}

// separator finds the next that parts a name from its value, with the signs around names in JSON and
// Markdown. end is 0: there is none.
func separator(s string, from int) (begin, end int) {
	for at := from; ; at++ {
		next := strings.IndexAny(s[at:], "=:%")
		if next < 0 {
			return 0, 0
		}
		at += next
		size := len("=")
		if s[at] == '%' {
			size = len("%3D")
		}
		if size == len("=") || strings.EqualFold(s[at:min(at+size, len(s))], "%3D") {
			return from + len(strings.TrimRight(s[from:at], " \t\r\n\\\"'*`")),
				len(s) - len(strings.TrimLeft(s[at+size:], "=:>* \t\r\n"))
		}
	}
}

// valueLen returns the length of the value at the beginning of a text, and the quote around it.
// Without its end, all of the text is the value.
func valueLen(s string, header bool) (quote string, n int) {
	bare := strings.TrimLeft(s, `\`)
	slashes := len(s) - len(bare)
	switch {
	case bare != "" && (bare[0] == '"' || bare[0] == '\''):
		return s[:slashes+1], quotedLen(s, slashes)
	case header:
		return "", len(headerValue.FindString(s))
	case s != "" && (s[0] == '{' || s[0] == '['):
		return "", bracketLen(s)
	}
	return "", len(plainValue.FindString(s))
}

// quotedLen is the length of a quoted text. Its closing quote has no more
// backslashes before it than the opening one.
func quotedLen(s string, slashes int) int {
	run := 0
	for i := slashes + 1; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			run++
			continue
		case s[i] == s[slashes] && (run <= slashes || slashes == 0 && run%2 == 0):
			return i + 1
		}
		run = 0
	}
	return len(s)
}

// bracketLen is the length of an array or object. Brackets inside strings only make it longer.
func bracketLen(s string) int {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(s)
}
