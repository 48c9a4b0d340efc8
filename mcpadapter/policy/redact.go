package policy

import "github.com/shakedown-go/shakedown/internal/redact"

// Redact replaces what looks like a secret by "[redacted]":
//
//   - bearer and basic credentials
//   - values of names such as token, password, api_key and cookie: as key=value, as headers, as JSON members, escaped ones too, as flags of a command (--password x, -p x, -u user:pass, mysql -px), and in a sentence ("the password is x1y2")
//   - codes, tickets and assertions in the query of a URL (?code=x)
//   - user:pass@ with or without a URL, and the paths of web hooks
//   - PEM blocks, JSON web tokens, and tokens with well-known prefixes (sk-, ghp_, github_pat_, glpat-, AKIA, xoxb-, AIza, hvs. and others)
//
// It also finds these secrets, in all their spellings: verbatim, as in URLs, Go
// strings and JSON, and in base64, also as a part of what is encoded. Blank ones are
// ignored.
//
// It is idempotent. It works on text, so it cannot recognise a secret that
// looks like a word and is not among secrets: better not to log it. A text that
// keeps changing after a few passes is replaced whole.
func Redact(s string, secrets ...string) string {
	return redact.New(secrets, redact.Patterns).Text(s)
}
