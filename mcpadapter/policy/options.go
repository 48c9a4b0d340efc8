package policy

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"io"
	"slices"

	"github.com/shakedown-go/shakedown/internal/redact"
)

const (
	// ScopeAdmin satisfies every scope.
	ScopeAdmin = "admin"
	// ScopeRead is what a request other than tools/call needs for which
	// [Options.Requests] has no rule.
	ScopeRead = "mcp:read"
)

// Options are the settings of a [Gate]. With the zero value every call is
// refused, because there is no tool.
type Options struct {
	_ struct{}

	// Mode is read-only unless it is ReadWrite and EnableWrite is also set: two
	// switches, so that neither a slip nor a copied line makes a server writable.
	Mode        Mode
	EnableWrite bool

	// Tools is the table, with one row per tool. A tool of the server without a row
	// is neither listed nor callable.
	Tools []Tool
	// Confirm are the rules for calls that need a confirmation.
	Confirm []Confirm

	// Requests are the rules for requests other than tools/call: to list and read
	// resources, to subscribe, to get prompts, to set the level of messages. The
	// first rule that matches decides; a request without a rule needs [ScopeRead].
	Requests []Request

	// Tokens are the tokens of HTTP callers. With none, and no TokensFile, HTTP
	// refuses to start, unless HTTPOptions allow it.
	Tokens []Token
	// TokensFile is a file of tokens, which are added to Tokens: YAML, in a file that
	// only its owner can write, of at most 64 KiB. It holds hashes alone, so others may
	// read it, and the path may be a link, as in a volume of Kubernetes.
	//
	//	version: 1
	//	tokens:
	//	  - subject: ci
	//	    scopes: [chaos:read, contract:read]   # required; [] grants nothing
	//	    expires: 2027-01-31T00:00:00Z         # optional
	//	    hash: sha256:…                        # as NewToken makes it
	//
	// It is read strictly: a member that is not known, one that is missing, and a
	// subject or hash that comes twice are errors.
	TokensFile string
	// Local is the caller over a transport without credentials: standard input, or
	// memory. Nil: subject "local" with scope admin, because the user who started
	// the process could do the same without it.
	Local *Caller

	// Limit and SessionLimit apply to each tool, and each method other than
	// tools/call, that has none of its own. Nil: none.
	Limit, SessionLimit *Limit
	// MaxSessions and MaxCallerSessions are how many sessions over HTTP there may be,
	// in all and of one caller. 0: 1024 and 256.
	MaxSessions, MaxCallerSessions int
	// MaxSubscriptions and MaxCallerSubscriptions are how many subscriptions to
	// resources there may be, in all and of one caller. 0: 1000 and 200.
	MaxSubscriptions, MaxCallerSubscriptions int

	// Audit receives the audit lines, each in one Write. Nil: standard output once
	// there is an HTTP handler; standard error before that, and always after
	// [Gate.ReserveStdout]. A writer that does not return within two seconds counts
	// as failed until it does.
	Audit io.Writer
	// AuditBestEffort lets calls that write go on if their audit line could not be
	// written. Without it they are refused ([CodeAuditUnavailable]).
	AuditBestEffort bool
}

// A Caller is the subject of a call, and the scopes it was granted.
type Caller struct {
	_ struct{}

	Subject string
	Scopes  []string
}

// A Gate checks calls against a policy. Only its limits and sessions
// change. It is safe for concurrent use.
type Gate struct {
	mode     Mode
	rows     map[string]*row
	requests []requestRule
	tokens   tokens
	local    Caller
	options  Options
	redact   *redact.Redactor
	audit    *auditor
	limiter  *limiter
	logins   *limiter // of failed logins, by address
	sessions *sessions
}

// New returns a gate for a copy of the options. Its error joins all problems,
// each a [*FieldError], except for read-write mode that was enabled only once.
func New(o *Options) (*Gate, error) {
	o = cmp.Or(o, &Options{})
	problems := fields.List()
	bad := problems.Wrongf
	rows, err := compile(o)
	problems.Add(err)
	requests := compileRequests(o.Requests, bad)
	switch {
	case o.Mode > ReadWrite:
		bad("ReadOnly, ReadWrite", uint8(o.Mode), "Mode")
	case o.Mode == ReadWrite && !o.EnableWrite:
		problems.Add(errNotEnabled)
	}
	o.Limit.check(bad, "Limit")
	o.SessionLimit.check(bad, "SessionLimit")
	problems.Demand(o.MaxSessions >= 0, "MaxSessions", o.MaxSessions, "0 (1024) or more")
	problems.Demand(o.MaxCallerSessions >= 0, "MaxCallerSessions", o.MaxCallerSessions, "0 (256) or more")
	problems.Demand(o.MaxSubscriptions >= 0, "MaxSubscriptions", o.MaxSubscriptions, "0 (1000) or more")
	problems.Demand(o.MaxCallerSubscriptions >= 0, "MaxCallerSubscriptions", o.MaxCallerSubscriptions, "0 (200) or more")
	all := slices.Clone(o.Tokens)
	if o.TokensFile != "" {
		filed, err := readTokens(o.TokensFile)
		problems.Add(err)
		all = append(all, filed...)
	}
	checkTokens(bad, all)
	if o.Local != nil {
		checkCaller(bad, "Local", o.Local.Subject, o.Local.Scopes)
	}
	if problems.Count() > 0 {
		return nil, problems.Err()
	}
	g := build(o, rows, all)
	g.requests = requests
	return g, nil
}

func build(o *Options, rows map[string]*row, all []Token) *Gate {
	g := &Gate{mode: o.Mode, rows: rows, options: *o, limiter: newLimiter(), logins: newLimiter(),
		local: Caller{Subject: "local", Scopes: []string{ScopeAdmin}}}
	if o.Local != nil {
		g.local = Caller{Subject: o.Local.Subject, Scopes: slices.Clone(o.Local.Scopes)}
	}
	var secrets []string
	for _, t := range o.Tokens {
		if t.Value != "" {
			secrets = append(secrets, t.Value)
		}
	}
	for _, token := range all {
		g.tokens = append(g.tokens, token.grant())
	}
	g.options.Tokens = nil // from here on only their hashes are compared
	g.redact = redact.New(secrets, redact.Patterns)
	g.audit = newAuditor(o.Audit, g.redact, g.mode)
	g.sessions = newSessions(o)
	return g
}

func checkCaller(bad complain, place, subject string, scopes []string) {
	if !plainWord(subject) {
		bad("a word without space and comma", subject, place+".Subject")
	}
	checkNeeds(bad, Write, scopes, place)
}

// Mode returns the mode that the gate was made with.
func (g *Gate) Mode() Mode { return g.mode }

func newID() string {
	var b [6]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
