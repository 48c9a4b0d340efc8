package policy

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"
)

const (
	redacted = "[redacted]"
	// maxPasses bounds the search for a text that has nothing left to redact.
	maxPasses = 5
)

// Redact replaces what looks like a secret by "[redacted]": bearer and basic
// credentials, values of names such as token, password and api_key (as
// key=value, as headers, as JSON members, escaped ones too), credentials in
// URLs, private keys, JSON web tokens, and tokens with well-known prefixes (sk-,
// ghp_, github_pat_, glpat-, AKIA, xoxb-, AIza and others). It is idempotent.
//
// It works on text, so it cannot know a secret that looks like a word: better
// not to log it. A text that keeps changing after a few passes is replaced
// whole.
func Redact(s string) string { return (&redactor{}).text(s) }

// A redactor knows some secrets besides, in the spellings they may take.
type redactor struct{ known *strings.Replacer }

func newRedactor(secrets []string) *redactor {
	var pairs []string
	for _, s := range secrets {
		inJSON, _ := json.Marshal(s)
		for _, spelt := range []string{s, url.QueryEscape(s), url.PathEscape(s), strings.Trim(string(inJSON), `"`),
			base64.StdEncoding.EncodeToString([]byte(s)), base64.RawStdEncoding.EncodeToString([]byte(s)), base64.RawURLEncoding.EncodeToString([]byte(s))} {
			pairs = append(pairs, spelt, redacted)
		}
	}
	if len(pairs) == 0 {
		return &redactor{}
	}
	return &redactor{known: strings.NewReplacer(pairs...)}
}

func (r *redactor) text(s string) string {
	if len(s) < 4 {
		return s
	}
	for range maxPasses {
		next := r.pass(s)
		if next == s {
			return s
		}
		s = next
	}
	return redacted
}

func (r *redactor) pass(s string) string {
	if r.known != nil {
		s = r.known.Replace(s)
	}
	s = privateKey.ReplaceAllString(s, redacted)
	s = userInfo.ReplaceAllString(s, "${1}"+redacted+"@")
	s = prefixed.ReplaceAllString(s, "${1}"+redacted)
	s = scheme.ReplaceAllStringFunc(s, credentials)
	return namedValues(s)
}

var (
	privateKey = regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|$)`)
	userInfo   = regexp.MustCompile(`(://)[^\s/?#@:]*:[^\s/?#@]+@`)
	// Most prefixes are told by themselves; "sk-" ends words such as "task-".
	prefixed = regexp.MustCompile(`((?:^|[^A-Za-z]|%[0-9A-Fa-f]{2}))(?:[sr]k[-_][A-Za-z0-9_-]{16,}|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|(?:npm|hf)_[A-Za-z0-9]{16,})` +
		`|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}|gl(?:pat|dt|rt)-[A-Za-z0-9_-]{16,}|(?:AKIA|ASIA)[A-Z0-9]{12,}` +
		`|xox[a-z]-[A-Za-z0-9-]{8,}|xapp-[A-Za-z0-9-]{8,}|AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_-]{16,}|whsec_[A-Za-z0-9+/=]{16,}` +
		`|eyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*`)
	scheme = regexp.MustCompile(`(?i)\b(?:bearer|basic)(?:\s|%20|\+|\\[tn])+[A-Za-z0-9._~+/=%-]{4,}`)
	name   = regexp.MustCompile(`(?i)[A-Za-z0-9_.-]*(?:` + secretNames + `)[\\"']*\s*(?:[=:]|%3[DA])\s*`)
	whole  = regexp.MustCompile(`(?i)(?:` + secretNames + `)$`)
)

const secretNames = `token|secret|passwo?r?d|passphrase|pwd|api[_-]?key|access[_-]?key(?:[_-]?id)?|private[_-]?key|signing[_-]?key|encryption[_-]?key|credentials?|authorization|auth|cookie`

// secretName says whether whatever stands under this name is a secret.
func secretName(s string) bool { return whole.MatchString(s) }

// credentials judges a word behind "bearer" or "basic", which are also words of
// the language.
func credentials(match string) string {
	start := strings.LastIndexAny(match, " \t\n\r\v\f") + 1
	if start == 0 {
		start = strings.IndexAny(match, `%+\`)
	}
	secret := match[start:]
	if match[0] == 'b' || match[0] == 'B' {
		switch strings.ToLower(secret) {
		case "token", "tokens", "auth", "authentication", "authorization", "credentials", "usage", "header":
			return match
		}
	}
	if strings.EqualFold(match[:5], "basic") {
		plain, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(secret, "="))
		if err != nil || !strings.Contains(string(plain), ":") || !utf8.Valid(plain) {
			return match
		}
	}
	return match[:start] + redacted
}

// namedValues redacts the values behind secret names.
func namedValues(s string) string {
	var b strings.Builder
	from := 0
	for from < len(s) {
		at := name.FindStringIndex(s[from:])
		if at == nil {
			break
		}
		begin := from + at[1]
		open, end, closing := value(s, begin, headerLike(s[from+at[0]:begin]))
		b.WriteString(s[from:begin])
		if end > begin {
			b.WriteString(open + redacted + closing)
		}
		from = max(end, begin)
	}
	if from == 0 {
		return s
	}
	b.WriteString(s[from:])
	return b.String()
}

// headerLike says whether the value may hold spaces: that of a header does.
func headerLike(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, ":") && !strings.ContainsAny(name, `"'`) &&
		(strings.Contains(name, "authorization") || strings.Contains(name, "cookie"))
}

// value finds where the value at begin ends, and the quotes that it stands in.
func value(s string, begin int, header bool) (open string, end int, closing string) {
	rest := s[begin:]
	slashes := len(rest) - len(strings.TrimLeft(rest, `\`))
	if slashes < len(rest) && (rest[slashes] == '"' || rest[slashes] == '\'') {
		open = rest[:slashes+1]
		return open, begin + quotedLen(rest, slashes, rest[slashes]), open
	}
	switch {
	case header:
		end = strings.IndexAny(rest, "\r\n\"")
	case rest != "" && (rest[0] == '{' || rest[0] == '['):
		return "", begin + bracketLen(rest), ""
	default:
		end = strings.IndexAny(rest, " \t\r\n,;&)}]\"'<>")
	}
	if end < 0 {
		end = len(rest)
	}
	return "", begin + end, ""
}

// quotedLen is the length of a quoted text. Its closing quote has no more
// backslashes before it than the opening one. Without one, all the rest is it.
func quotedLen(rest string, slashes int, quote byte) int {
	run := 0
	for i := slashes + 1; i < len(rest); i++ {
		switch {
		case rest[i] == '\\':
			run++
			continue
		case rest[i] == quote && (run <= slashes || slashes == 0 && run%2 == 0):
			return i + 1
		}
		run = 0
	}
	return len(rest)
}

// bracketLen is the length of an array or object, or of all the rest if it is
// not closed. Brackets inside strings only make it longer.
func bracketLen(rest string) int {
	depth := 0
	for i := 0; i < len(rest); i++ {
		switch rest[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(rest)
}
