package policy

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

const (
	// ScopeAdmin satisfies every scope.
	ScopeAdmin = "admin"
	// ScopeRead is what a request other than tools/call needs for which
	// [Options.Requests] has no rule.
	ScopeRead = "mcp:read"
)

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

	// Requests say what other requests than tools/call need: to list and read
	// resources, to subscribe, to get prompts, to set the level of messages. The
	// first that fits decides; a request that none fits needs [ScopeRead].
	Requests []Request

	// Tokens are those that HTTP callers may have. None, and no TokensFile: HTTP
	// refuses to start, unless it is told otherwise (HTTPOptions).
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
	//	    hash: sha256:…                        # as package tokenhash makes it
	//
	// It is read strictly: a member that is not known, one that is missing, and a
	// subject or hash that comes twice are errors. [Gate.ReloadTokens] reads it again.
	TokensFile string
	// TokenFile is a file that [Env] reads a token from where the environment has
	// none, if AllowTokenFile is set.
	TokenFile      string
	AllowTokenFile bool
	// Local is who calls over a transport without credentials: standard input, or
	// memory. Nil: subject "local" with scope admin, for whoever started the
	// process could do the same without it.
	Local *Caller

	// Limit and SessionLimit hold for each tool, and each method that is no
	// tools/call, that has none of its own. Nil: none.
	Limit, SessionLimit *Limit
	// TargetLimits bound calls by what they are about. They hold besides the others.
	TargetLimits []TargetLimit
	// MaxSessions and MaxCallerSessions are how many sessions over HTTP there may be,
	// in all and of one caller. 0: 1024 and 256.
	MaxSessions, MaxCallerSessions int
	// MaxSubscriptions and MaxCallerSubscriptions are how many subscriptions to
	// resources there may be, in all and of one caller. 0: 1000 and 200.
	MaxSubscriptions, MaxCallerSubscriptions int
	// Timeout bounds each call that has none of its own. 0: none.
	Timeout time.Duration
	// ConfirmTimeout is how long a user who is asked may take. 0: two minutes.
	ConfirmTimeout time.Duration

	// Audit receives the audit lines, each in one Write. Nil: standard output once
	// there is an HTTP handler, standard error until then and for good after
	// [Gate.ReserveStdout]. A writer that has not returned
	// for two seconds counts as one that fails, until it has.
	Audit io.Writer
	// AuditBestEffort lets calls that write go on although their audit line could
	// not be written. Without it they are refused ([CodeAuditUnavailable]).
	AuditBestEffort bool
}

// A Caller is who makes a call, and what was granted.
type Caller struct {
	_ struct{}

	Subject string
	Scopes  []string
}

// A Gate holds calls against a policy. It does not change, but for its limits,
// its sessions and its tokens, and is safe for concurrent use.
type Gate struct {
	mode     Mode
	rows     map[string]*row
	requests []requestRule
	targets  []targetRule
	tokens   tokens
	local    Caller
	options  Options
	redact   *redactor
	audit    *auditor
	limiter  *limiter
	logins   *logins
	sessions *sessions
	sealKey  [32]byte
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
	requests := compileRequests(o.Requests, bad)
	targets := compileTargets(o.TargetLimits, rows, bad)
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
	checkCaps(bad, o)
	all := slices.Clone(o.Tokens)
	if o.TokensFile != "" {
		filed, err := readTokens(o.TokensFile)
		if err != nil {
			problems = append(problems, err)
		}
		all = append(all, filed...)
	}
	checkTokens(bad, all)
	if o.Local != nil {
		checkCaller(bad, "Local", o.Local.Subject, o.Local.Scopes)
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	g := build(o, rows, all)
	g.requests, g.targets = requests, targets
	return g, nil
}

func build(o *Options, rows map[string]*row, all []Token) *Gate {
	g := &Gate{mode: o.Mode, rows: rows, options: *o, limiter: newLimiter(), local: Caller{Subject: "local", Scopes: []string{ScopeAdmin}}}
	if g.options.ConfirmTimeout == 0 {
		g.options.ConfirmTimeout = defaultConfirmTimeout
	}
	if o.Local != nil {
		g.local = Caller{Subject: o.Local.Subject, Scopes: slices.Clone(o.Local.Scopes)}
	}
	var secrets []string
	for _, t := range o.Tokens {
		g.tokens.fixed = append(g.tokens.fixed, Token{Hash: hashOf(t), Subject: t.Subject, Scopes: t.Scopes, Expires: t.Expires})
		if t.Value != "" {
			secrets = append(secrets, t.Value)
		}
	}
	g.tokens.replace(all)
	rand.Read(g.sealKey[:]) // never fails
	g.options.Tokens = nil  // from here on only their hashes are compared
	g.redact = newRedactor(secrets)
	g.audit = newAuditor(o.Audit, g.redact, g.mode)
	g.logins = &logins{limiter: newLimiter()}
	g.sessions = newSessions(o)
	return g
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
