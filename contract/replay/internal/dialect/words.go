package dialect

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/contract/findings"
	"github.com/shakedown-go/shakedown/internal/retryable"
)

// effectOf returns what is known of the work of a call whose tool is declared to have
// effects.
func effectOf(c *findings.Call) findings.Effect {
	switch {
	case c.Error != nil:
		return failedEffect(c.Error)
	case slices.Contains(c.Missing, findings.End):
		return findings.Unknown
	}
	return findings.Done
}

// failedEffect returns NotDone for a failure that came before any work: the callee was
// not reached, or it refused the request. After any other the work may have been done.
func failedEffect(e *findings.CallError) findings.Effect {
	text, status := strings.ToLower(e.Text), e.Status
	if status == 0 {
		status = retryable.StatusIn(e.Text)
	}
	switch {
	case status == 408 || status >= 500:
		return findings.Unknown
	case status >= 400,
		containsAny(text, "connection refused", "econnrefused", "no such host", "enotfound"),
		CertificateWords.MatchString(text),
		retryable.Of(status, 0, e.Text) == retryable.Permanent:
		return findings.NotDone
	}
	return findings.Unknown
}

// CertificateWords tell of a certificate that was refused, and not of a gift certificate.
var CertificateWords = regexp.MustCompile(`(?i)\bx509: ` +
	`|(?:^|[^\w ] ?|\b(?:tls|ssl|peer|server|remote|host|root|leaf)(?:'s)? )` +
	`certificate (?:verify|verification|has expired|is (?:not )?valid|signed by)\b` +
	`|\bself[- ]signed certificate\b|\bCERT_[A-Z_]+\b|ALTNAME_INVALID`)

func containsAny(text string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
}

// suspect marks results that look like failures: an error in words, and nothing where
// other calls of the tool returned something.
func (b *builder) suspect(calls []findings.Call) {
	filled := make(map[string]bool) // tools that returned something
	for i := range calls {
		if calls[i].Error == nil && !empty(calls[i].Result) {
			filled[calls[i].Tool] = true
		}
	}
	for i := range calls {
		c := &calls[i]
		if c.Type == findings.Model || c.Error != nil || c.Result == nil {
			continue
		}
		c.Suspected = empty(c.Result) && filled[c.Tool] || complains(c.Result)
		if c.Suspected && c.Effect == findings.Done {
			c.Effect = findings.Unknown
		}
	}
}

// complaint is the beginning of a text that tells of a failure. A word for one needs
// what makes it a report: "error: gone" is one, "error rate: 0" is not.
var complaint = regexp.MustCompile(`(?i)^\W*(?:` +
	`(?:an? |the )?(?:[a-z0-9_.]*(?:error|exception)|failure|fatal)(?:\W*$| ?[:(!\x60'"\]-]` +
	`| (?:occurred|while|during|in|at|calling|executing|running|invoking|when|from|code|[45][0-9]{2})\b)` +
	`|failed(?:\W*$|[:.!]| (?:to|with|because|after)\b)|traceback\b` +
	`|(?:unable to|could not|cannot)\b` +
	`|(?:i/o |request |read |gateway |operation |connection |tool )?(?:time-?out|timed out)(?:\W*$|[:.!]| (?:(?:after|while|waiting|on|error|exceeded)\b|of [0-9]))` +
	`|connection (?:refused|reset|closed|lost)\b|(?:context )?deadline exceeded\b|broken pipe\b|unexpected eof\b` +
	`|(?:internal server error|service unavailable|bad gateway|too many requests|request failed)\b` +
	`|tool (?:call |execution )?(?:failed|error)\b|(?:status|http)[ :]*[45][0-9]{2}\b|[45][0-9]{2} [A-Z])`)

const complaintBytes = 200 // of a text are looked at

// complains reports whether a result tells of a failure in its own words.
func complains(doc json.RawMessage) bool {
	if s := saidBy(doc); s != "" { // a text, or parts of one
		return complaint.MatchString(s[:min(len(s), complaintBytes)])
	}
	if len(doc) == 0 || doc[0] != '{' {
		return false
	}
	m := membersOf(doc)
	if parts := m["content"]; len(parts) > 0 && parts[0] == '[' && complains(parts) { // the result of MCP
		return true
	}
	for _, name := range []string{"error", "errors", "isError", "is_error", "exception"} {
		if v := m[name]; v != nil && !empty(v) && string(v) != "false" && string(v) != "0" {
			return true
		}
	}
	for _, name := range []string{"ok", "success"} {
		if string(m[name]) == "false" {
			return true
		}
	}
	switch strings.ToLower(strings.Trim(string(m["status"]), `"`)) {
	case "error", "failed", "failure", "timeout":
		return true
	}
	return false
}
