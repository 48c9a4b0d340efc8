package policy

import (
	"errors"
	"fmt"
	"strings"
)

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
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "", ReadOnly.String():
		return ReadOnly, nil
	case ReadWrite.String():
		return ReadWrite, nil
	}
	return ReadOnly, fmt.Errorf("invalid mode %q (allowed: %s|%s)", text, ReadOnly, ReadWrite)
}

// String is the mode's name, as in the environment and the audit log.
func (m Mode) String() string {
	switch m {
	case ReadOnly:
		return "read-only"
	case ReadWrite:
		return "read-write"
	}
	return fmt.Sprintf("Mode(%d)", uint8(m))
}

// A Capability is what a tool or an action needs. The zero value is [Write], so
// that a row without one is not taken for harmless.
type Capability uint8

const (
	Write Capability = iota // it changes something: refused in read-only mode
	Read                    // it changes nothing
)

// String is the capability's name, as in a manifest.
func (c Capability) String() string {
	switch c {
	case Write:
		return "write"
	case Read:
		return "read"
	}
	return fmt.Sprintf("Capability(%d)", uint8(c))
}

// MarshalText writes the name. A value other than the constants is an error.
func (c Capability) MarshalText() ([]byte, error) {
	if c > Read {
		return nil, fields.Wrong("capability", uint8(c), "write, read")
	}
	return []byte(c.String()), nil
}

// UnmarshalText reads the name, exactly as written by MarshalText.
func (c *Capability) UnmarshalText(text []byte) error {
	for _, known := range []Capability{Write, Read} {
		if string(text) == known.String() {
			*c = known
			return nil
		}
	}
	return fields.Wrong("capability", string(text), "write, read")
}
