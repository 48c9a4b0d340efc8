package policy

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/shakedown-go/shakedown/internal/fielderror"
)

const (
	// minToken is the least length of a token, in bytes: what is shorter can be
	// guessed, and would be removed from the audit log wherever it occurs as a word.
	minToken = 8
	// defaultSubject is whose a token is that does not say.
	defaultSubject = "token"
	// hashPrefix begins each hash, and says how it was made.
	hashPrefix = "sha256:"
	// tokensVersion is that of the form of a file of tokens.
	tokensVersion = 1
)

// A Token is a bearer token with its subject and scopes. It has a Value or a
// Hash. Without Subject it is called "token"; without Scopes (nil, not empty)
// it grants admin.
type Token struct {
	_ struct{}

	Value   string // at least 8 bytes
	Hash    string // takes the place of Value: "sha256:" and 64 hexadecimal digits in small letters
	Subject string
	Scopes  []string
	Expires time.Time // it is not valid from then on; zero: it always is
}

// NewToken returns a random token of 26 characters with 130 bits, for the client, and its
// hash, for a file of tokens. The hash is a plain SHA-256, which is cheap to compare: a
// token that a person made up can be guessed from it.
func NewToken() (value, hash string) {
	value = rand.Text()
	return value, hashOf(Token{Value: value})
}

// hashOf returns the hash of a token that has been checked.
func hashOf(t Token) string {
	sum := sha256.Sum256([]byte(t.Value))
	return cmp.Or(t.Hash, hashPrefix+hex.EncodeToString(sum[:]))
}

// parseHash is strict: a hash has only one spelling.
func parseHash(text string) (hash [sha256.Size]byte, ok bool) {
	digits, ours := strings.CutPrefix(text, hashPrefix)
	b, err := hex.DecodeString(digits)
	if !ours || err != nil || len(b) != len(hash) || digits != strings.ToLower(digits) {
		return hash, false
	}
	return [sha256.Size]byte(b), true
}

// checkTokens requires a subject of its own for each token: sessions are bound
// to subjects.
func checkTokens(bad complain, tokens []Token) {
	hashes, subjects := make(map[string]bool), make(map[string]bool)
	for i, t := range tokens {
		t.check(bad, i)
		subject, hash := cmp.Or(t.Subject, defaultSubject), hashOf(t)
		if hashes[hash] {
			bad("each token once", fielderror.Found("that of another one"), "Tokens[%d].Value", i)
		}
		if subjects[subject] {
			bad("a subject of its own for each token", subject, "Tokens[%d].Subject", i)
		}
		hashes[hash], subjects[subject] = true, true
	}
}

func (t Token) check(bad complain, i int) {
	switch { // the value itself has no place in an error
	case t.Hash != "" && t.Value != "":
		bad("Value or Hash, not both", "a hash beside a value", "Tokens[%d].Hash", i)
	case t.Hash != "":
		if _, ok := parseHash(t.Hash); !ok {
			bad(hashPrefix+" and 64 hexadecimal digits in small letters",
				fielderror.Found(fmt.Sprintf("%d bytes", len(t.Hash))), "Tokens[%d].Hash", i)
		}
	case len(t.Value) < minToken || !plainWord(t.Value):
		bad(fmt.Sprintf("at least %d bytes, without space, comma and control characters", minToken),
			fielderror.Found(fmt.Sprintf("%d bytes", len(t.Value))), "Tokens[%d].Value", i)
	}
	checkCaller(bad, fmt.Sprintf("Tokens[%d]", i), cmp.Or(t.Subject, defaultSubject), t.Scopes)
}

// readTokens reads a file of tokens. Its error never quotes the file.
func readTokens(path string) ([]Token, error) {
	text, err := readTokensFile(path)
	if err != nil {
		return nil, err
	}
	tokens, err := parseTokens(text)
	if err != nil {
		return nil, fields.Because("TokensFile", path, err,
			"YAML with version and tokens, each with subject, scopes, hash and optionally expires")
	}
	return tokens, nil
}

func parseTokens(text []byte) ([]Token, error) {
	var doc struct {
		Version int `yaml:"version"`
		Tokens  []struct {
			Subject string     `yaml:"subject"`
			Scopes  []string   `yaml:"scopes"`
			Expires *time.Time `yaml:"expires"`
			Hash    string     `yaml:"hash"`
		} `yaml:"tokens"`
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if dec.Decode(&doc) != nil { // its text may quote what stands there
		return nil, errors.New("it does not have that form")
	}
	if err := dec.Decode(new(any)); err != io.EOF {
		return nil, errors.New("it holds more than one document")
	}
	problems := fields.List()
	bad := problems.Wrongf
	if doc.Version != tokensVersion {
		bad("1", doc.Version, "version")
	}
	if len(doc.Tokens) == 0 {
		bad("at least one token", nil, "tokens")
	}
	var tokens []Token
	for i, t := range doc.Tokens {
		if t.Subject == "" {
			bad("whose the token is", nil, "tokens[%d].subject", i)
		}
		if t.Scopes == nil {
			bad("a list of scopes; [] grants nothing", nil, "tokens[%d].scopes", i)
		}
		if t.Hash == "" {
			bad("the hash of the token", nil, "tokens[%d].hash", i)
		}
		token := Token{Hash: t.Hash, Subject: t.Subject, Scopes: t.Scopes}
		if t.Expires != nil {
			token.Expires = *t.Expires
		}
		tokens = append(tokens, token)
	}
	if problems.Count() == 0 {
		checkTokens(bad, tokens)
	}
	return tokens, problems.Err()
}

// A grant is a token compared by its hash, so that the time of a comparison
// reveals nothing about it, not even its length.
type grant struct {
	hash    [sha256.Size]byte
	caller  Caller
	expires time.Time
}

func (t Token) grant() *grant {
	g := &grant{caller: Caller{Subject: cmp.Or(t.Subject, defaultSubject), Scopes: slices.Clone(t.Scopes)},
		expires: t.Expires}
	g.hash, _ = parseHash(hashOf(t))
	if t.Scopes == nil {
		g.caller.Scopes = []string{ScopeAdmin}
	}
	return g
}

func (g *grant) valid(now time.Time) bool { return g.expires.IsZero() || now.Before(g.expires) }

// tokens are those of a gate.
type tokens []*grant

// lookup compares with every token, also after a match.
func (t tokens) lookup(token string) (found *grant) {
	hash := sha256.Sum256([]byte(token))
	for _, g := range t {
		if subtle.ConstantTimeCompare(hash[:], g.hash[:]) == 1 {
			found = g
		}
	}
	return found
}
