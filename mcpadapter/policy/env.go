package policy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	envMode        = "SHAKEDOWN_MCP_MODE"
	envEnableWrite = "SHAKEDOWN_MCP_ENABLE_WRITE"
	envToken       = "SHAKEDOWN_MCP_TOKEN"
	envTokensFile  = "SHAKEDOWN_MCP_TOKENS_FILE"
	// maxTokenFile is more than any token and its scopes need, in bytes.
	maxTokenFile = 64 << 10
)

// Env returns a copy of o (nil: the zero value) with what the environment says:
//
//	SHAKEDOWN_MCP_MODE           read-only (default) or read-write; space around it and case do not matter
//	SHAKEDOWN_MCP_ENABLE_WRITE   must also be "true" for read-write
//	SHAKEDOWN_MCP_TOKEN          the bearer token for HTTP, with scope admin
//	SHAKEDOWN_MCP_TOKENS_FILE    a file of several tokens, by their hashes, as Options.TokensFile
//
// Mode, enablement and file take the place of what o says where they are set. The
// token is added to o.Tokens. Without one in the environment, and with
// AllowTokenFile, TokenFile is read: YAML with the members token, subject and
// scopes (the last two optional), in a regular file that only its owner can
// read. Pass os.Getenv, or a map's lookup in a test.
//
// Its error is that of the mode, `read-write mode requires
// SHAKEDOWN_MCP_ENABLE_WRITE=true`, or a [*FieldError]; all joined.
func Env(getenv func(string) string, o *Options) (*Options, error) {
	if o == nil {
		o = new(Options)
	}
	c := *o
	c.Tokens = slices.Clone(o.Tokens)
	problems := fields.List()
	if text := getenv(envMode); strings.TrimSpace(text) != "" {
		mode, err := ParseMode(text)
		if err != nil {
			problems.Add(err)
		}
		c.Mode = mode
	}
	if text := strings.TrimSpace(getenv(envEnableWrite)); text != "" {
		c.EnableWrite = text == "true"
	}
	if c.Mode == ReadWrite && !c.EnableWrite {
		problems.Add(errNotEnabled)
	}
	if path := strings.TrimSpace(getenv(envTokensFile)); path != "" {
		c.TokensFile = path
	}
	token, err := c.token(getenv)
	if err != nil {
		problems.Add(err)
	} else if token != nil {
		c.Tokens = append(c.Tokens, *token)
	}
	if problems.Count() > 0 {
		return nil, problems.Err()
	}
	return &c, nil
}

func (o *Options) token(getenv func(string) string) (*Token, error) {
	if value := strings.TrimSpace(getenv(envToken)); value != "" {
		return &Token{Value: value}, nil
	}
	switch {
	case o.TokenFile == "":
		return nil, nil
	case !o.AllowTokenFile:
		return nil, fields.Wrong("TokenFile", o.TokenFile, "none, unless AllowTokenFile is set")
	}
	return readTokenFile(o.TokenFile)
}

func readTokenFile(path string) (*Token, error) {
	text, err := readPrivateFile("TokenFile", path, 0o077)
	if err != nil {
		return nil, err
	}
	token, err := parseTokenFile(text)
	if err != nil {
		return nil, fields.Because("TokenFile", path, err, "YAML with token, and optionally subject and scopes")
	}
	return token, nil
}

// readPrivateFile checks the permissions of the open file, not of the path, so
// that the file it checked is the file it reads. None of the forbidden bits may
// be set. Links are followed only if others may read the file.
func readPrivateFile(field, path string, forbidden os.FileMode) ([]byte, error) {
	wrong := func(allowed string, err error) error {
		return fields.Because(field, path, err, allowed)
	}
	look, kind, rule := os.Stat, "a regular file", "a file that only its owner can write (mode 0644 or stricter)"
	if forbidden&0o044 != 0 {
		look, kind, rule = os.Lstat, "a regular file, not a link or a device",
			"a file that only its owner can read (mode 0600)"
	}
	before, err := look(path)
	if err != nil {
		return nil, wrong("a file that can be read", err)
	}
	if !before.Mode().IsRegular() {
		return nil, wrong(kind, nil)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, wrong("a file that can be read", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, wrong("a file that can be read", err)
	}
	if !os.SameFile(before, info) {
		return nil, wrong("a file that stays the same while it is opened", nil)
	}
	if perm := info.Mode().Perm(); runtime.GOOS != "windows" && perm&forbidden != 0 { // Windows keeps no such bits
		return nil, wrong(rule, fmt.Errorf("mode %04o", perm))
	}
	text, err := io.ReadAll(io.LimitReader(f, maxTokenFile+1))
	if err != nil {
		return nil, wrong("a file that can be read", err)
	}
	if len(text) > maxTokenFile {
		return nil, wrong(fmt.Sprintf("at most %d bytes", maxTokenFile), nil)
	}
	return text, nil
}

// parseTokenFile never quotes the text in its error: it may hold the token.
func parseTokenFile(text []byte) (*Token, error) {
	var doc struct {
		Token   string   `yaml:"token"`
		Subject string   `yaml:"subject"`
		Scopes  []string `yaml:"scopes"`
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(&doc); err != nil {
		return nil, errors.New("it does not have that form")
	}
	if err := dec.Decode(new(any)); err != io.EOF {
		return nil, errors.New("it holds more than one document")
	}
	if doc.Token == "" {
		return nil, errors.New("there is no token in it")
	}
	return &Token{Value: doc.Token, Subject: doc.Subject, Scopes: doc.Scopes}, nil
}
