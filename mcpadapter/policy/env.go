package policy

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/internal/enum"
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
// token is added to o.Tokens. Pass os.Getenv, or a map's lookup in a test.
//
// Its error is that of the mode, `read-write mode requires
// SHAKEDOWN_MCP_ENABLE_WRITE=true`, or a [*FieldError]; all joined.
func Env(getenv func(string) string, o *Options) (*Options, error) {
	c := *cmp.Or(o, &Options{})
	c.Tokens = slices.Clone(c.Tokens)
	problems := fields.List()
	if text := getenv(envMode); strings.TrimSpace(text) != "" {
		mode, err := ParseMode(text)
		problems.Add(err)
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
	if value := strings.TrimSpace(getenv(envToken)); value != "" {
		c.Tokens = append(c.Tokens, Token{Value: value})
	}
	if problems.Count() > 0 {
		return nil, problems.Err()
	}
	return &c, nil
}

// readTokensFile checks the permissions of the open file, not of the path, so
// that the file it checked is the file it reads.
func readTokensFile(path string) ([]byte, error) {
	wrong := func(allowed string, err error) error {
		return fields.Because("TokensFile", path, err, allowed)
	}
	before, err := os.Stat(path) // a pipe is not opened: that would wait for its writer
	if err != nil {
		return nil, wrong("a file that can be read", err)
	}
	if !before.Mode().IsRegular() {
		return nil, wrong("a regular file", nil)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, wrong("a file that can be read", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !os.SameFile(before, info) {
		return nil, wrong("a file that stays the same while it is opened", err)
	}
	if perm := info.Mode().Perm(); runtime.GOOS != "windows" && perm&0o022 != 0 { // Windows keeps no such bits
		return nil, wrong("a file that only its owner can write (mode 0644 or stricter)", fmt.Errorf("mode %04o", perm))
	}
	text, err := io.ReadAll(io.LimitReader(f, maxTokenFile+1))
	if err != nil || len(text) > maxTokenFile {
		return nil, wrong(fmt.Sprintf("a file of at most %d bytes that can be read", maxTokenFile), err)
	}
	return text, nil
}

// A Mode says what the whole server may do. The zero value is [ReadOnly].
type Mode uint8

const (
	ReadOnly  Mode = iota // tools and actions that write are refused
	ReadWrite             // they pass, where scopes and confirmation allow it
)

// errNotEnabled is the error of read-write mode that only one of the two switches
// asks for.
var errNotEnabled = errors.New("read-write mode requires " + envEnableWrite + "=true")

// ParseMode reads the name of a mode. Space around it and case do not matter,
// and an empty text is [ReadOnly]. Its error names the text and what is allowed.
func ParseMode(text string) (Mode, error) {
	name := strings.ToLower(strings.TrimSpace(text))
	if m, known := modes().Find(name); known || name == "" {
		return m, nil
	}
	return ReadOnly, fmt.Errorf("invalid mode %q (allowed: %s|%s)", text, ReadOnly, ReadWrite)
}

func modes() enum.Names[Mode] {
	return enum.Names[Mode]{Package: fields, Field: "mode", Of: []string{"read-only", "read-write"}}
}

// String is the mode's name, as in the environment and the audit log.
func (m Mode) String() string { return modes().String(m) }

// A Capability is what a tool or an action needs. The zero value is [Write], so
// that a row without one is not taken for harmless.
type Capability uint8

const (
	Write Capability = iota // it changes something: refused in read-only mode
	Read                    // it changes nothing
)

func capabilities() enum.Names[Capability] {
	return enum.Names[Capability]{Package: fields, Field: "capability", Of: []string{"write", "read"}}
}

// String is the capability's name, as in a manifest.
func (c Capability) String() string { return capabilities().String(c) }

// MarshalText writes the name. A value other than the constants is an error.
func (c Capability) MarshalText() ([]byte, error) { return capabilities().MarshalText(c) }
