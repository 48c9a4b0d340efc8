package policy

import (
	"errors"
	"fmt"
	"strings"

	"github.com/shakedown-go/shakedown/internal/enum"
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
