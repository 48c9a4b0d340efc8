package policy

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// ScopeAdmin satisfies every scope.
const ScopeAdmin = "admin"

// minToken is the least length of a token, in bytes: what is shorter can be
// guessed, and would be struck out of the audit log wherever it is a word.
const minToken = 8

// defaultSubject is whose a token is that does not say.
const defaultSubject = "token"

// defaultConfirmTimeout is how long a user may take to answer a question.
const defaultConfirmTimeout = 2 * time.Minute

// Options say what a gate lets through. The zero value lets nothing through: it
// knows no tool.
type Options struct {
	_ struct{}

	// Mode is read-only unless it is ReadWrite and EnableWrite is set besides: two
	// switches, so that neither a slip nor a copied line makes a server writable.
	Mode        Mode
	EnableWrite bool

	// Tools is the table: one row a tool. A tool of the server that has no row is
	// neither listed nor called.
	Tools []Tool
	// Confirm are the rules for calls that need a confirmation.
	Confirm []Confirm

	// Tokens are those that HTTP callers may have. None: HTTP refuses to start,
	// unless it is told otherwise (HTTPOptions).
	Tokens []Token
	// TokenFile is a file that [Env] reads a token from where the environment has
	// none, if AllowTokenFile is set.
	TokenFile      string
	AllowTokenFile bool
	// Local is who calls over a transport without credentials: standard input, or
	// memory. Nil: subject "local" with scope admin, for whoever started the
	// process could do the same without it.
	Local *Caller

	// Limit and SessionLimit hold for each tool that has none of its own. Nil: none.
	Limit, SessionLimit *Limit
	// Timeout bounds each call that has none of its own. 0: none.
	Timeout time.Duration
	// ConfirmTimeout is how long a user who is asked may take. 0: two minutes.
	ConfirmTimeout time.Duration

	// Audit receives the audit lines. Nil: standard output for calls over HTTP,
	// standard error for all others, whose standard output is the protocol. A writer
	// that blocks holds up the calls that it should record.
	Audit io.Writer
}

// A Token is a bearer token and whose it is. Without Subject it is called
// "token"; without Scopes (nil, not empty) it grants admin.
type Token struct {
	_ struct{}

	Value   string // at least 8 bytes
	Subject string
	Scopes  []string
}

// A Caller is who makes a call, and what was granted.
type Caller struct {
	_ struct{}

	Subject string
	Scopes  []string
}

// A Gate holds calls against a policy. It does not change, but for its limits,
// and is safe for concurrent use.
type Gate struct {
	mode    Mode
	rows    map[string]*row
	tokens  []grant
	local   Caller
	options Options
	redact  *redactor
	audit   *auditor
	limiter *limiter
	sealKey [32]byte
}

// New reads the options, which it copies. Its error joins every problem, each a
// [*FieldError] but for read-write mode that was enabled only once.
func New(o *Options) (*Gate, error) {
	if o == nil {
		o = new(Options)
	}
	var problems []error
	bad := func(allowed string, value any, field string, args ...any) {
		problems = append(problems, &FieldError{Field: fmt.Sprintf(field, args...), Value: value, Allowed: allowed})
	}
	rows, err := compile(o)
	if err != nil {
		problems = append(problems, err)
	}
	switch {
	case o.Mode > ReadWrite:
		bad("ReadOnly, ReadWrite", uint8(o.Mode), "Mode")
	case o.Mode == ReadWrite && !o.EnableWrite:
		problems = append(problems, errNotEnabled)
	}
	o.Limit.check(bad, "Limit")
	o.SessionLimit.check(bad, "SessionLimit")
	if o.Timeout < 0 {
		bad("0 (none) or more", o.Timeout, "Timeout")
	}
	if o.ConfirmTimeout < 0 {
		bad("0 (two minutes) or more", o.ConfirmTimeout, "ConfirmTimeout")
	}
	checkTokens(bad, o.Tokens)
	if o.Local != nil {
		checkCaller(bad, "Local", o.Local.Subject, o.Local.Scopes)
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return build(o, rows), nil
}

func build(o *Options, rows map[string]*row) *Gate {
	g := &Gate{mode: o.Mode, rows: rows, options: *o, limiter: newLimiter(), local: Caller{Subject: "local", Scopes: []string{ScopeAdmin}}}
	if g.options.ConfirmTimeout == 0 {
		g.options.ConfirmTimeout = defaultConfirmTimeout
	}
	if o.Local != nil {
		g.local = Caller{Subject: o.Local.Subject, Scopes: slices.Clone(o.Local.Scopes)}
	}
	var secrets []string
	for _, t := range o.Tokens {
		g.tokens = append(g.tokens, t.grant())
		secrets = append(secrets, t.Value)
	}
	rand.Read(g.sealKey[:]) // never fails
	g.options.Tokens = nil  // from here on only their hashes are compared
	g.redact = newRedactor(secrets)
	g.audit = newAuditor(o.Audit, g.redact, g.mode)
	return g
}

// checkTokens wants a subject of its own for each token: sessions are bound to
// subjects.
func checkTokens(bad complain, tokens []Token) {
	values, subjects := make(map[string]bool), make(map[string]bool)
	for i, t := range tokens {
		t.check(bad, i)
		subject := t.grant().caller.Subject
		if values[t.Value] {
			bad("each token once", "that of another one", "Tokens[%d].Value", i)
		}
		if subjects[subject] {
			bad("a subject of its own for each token", subject, "Tokens[%d].Subject", i)
		}
		values[t.Value], subjects[subject] = true, true
	}
}

func (t Token) check(bad complain, i int) {
	if len(t.Value) < minToken || !plainWord(t.Value) { // the value itself has no place in an error
		bad(fmt.Sprintf("at least %d bytes, without space, comma and control characters", minToken), fmt.Sprintf("%d bytes", len(t.Value)), "Tokens[%d].Value", i)
	}
	checkCaller(bad, fmt.Sprintf("Tokens[%d]", i), cmp.Or(t.Subject, defaultSubject), t.Scopes)
}

func checkCaller(bad complain, place, subject string, scopes []string) {
	if !plainWord(subject) {
		bad("a word without space and comma", subject, place+".Subject")
	}
	checkNeeds(bad, Write, scopes, place)
}

// Mode is the mode that the gate was made with.
func (g *Gate) Mode() Mode { return g.mode }

// newID makes the start of the identifiers that one gate gives to requests.
func newID() string {
	var b [6]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
