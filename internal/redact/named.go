package redact

import (
	"regexp"
	"strings"
)

var (
	// separator matches what stands between a name and its value, with the signs around names in
	// JSON and Markdown.
	separator = regexp.MustCompile("[ \\t\\r\\n\\\\\"'*`]*(?:[=:]|%3[Dd])[=:>* \\t\\r\\n]*")
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
	for _, at := range separator.FindAllStringIndex(s, -1) {
		if at[0] < from || !SecretName(s[from:at[0]]) {
			continue
		}
		b.WriteString(s[from:at[1]])
		quote, n := valueLen(s[at[1]:], strings.Contains(s[at[0]:at[1]], ":") && headerName.MatchString(s[max(from, at[0]-maxName):at[0]]))
		if from = at[1] + n; n > 0 {
			b.WriteString(quote + Marker + quote)
		}
	}
	return b.String() + s[from:]
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
