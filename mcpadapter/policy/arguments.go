package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// maxDepth bounds the nesting of arguments. No tool needs more, and the SDK's
	// own limit, 1000, is one that a handler's recursion may not survive.
	maxDepth = 100
	// confirmField is the argument that confirms.
	confirmField = "confirm"
)

// arguments are the members of one call's JSON object, not decoded further.
type arguments struct {
	raw     json.RawMessage
	members []member
}

type member struct {
	name  string
	value json.RawMessage
}

// parseArguments reads the arguments of a call; no text and null are an empty
// object. Anything that two decoders could read differently is an error: text
// that is not UTF-8, a member twice, and two members that differ in case only,
// which some decoders take for the same.
func parseArguments(raw json.RawMessage) (*arguments, error) {
	a := &arguments{raw: raw}
	trimmed := bytes.Trim(raw, " \t\r\n")
	switch {
	case len(trimmed) == 0, string(trimmed) == "null":
		return a, nil
	case trimmed[0] != '{':
		return nil, errors.New("the arguments are not a JSON object")
	case !utf8.Valid(raw):
		return nil, errors.New("the arguments are not valid UTF-8")
	case !json.Valid(raw):
		return nil, errors.New("the arguments are not valid JSON")
	}
	w := walker{text: raw}
	err := w.walk()
	a.members = w.members
	return a, err
}

// exact returns the member with exactly this name.
func (a *arguments) exact(field string) (json.RawMessage, bool) {
	for _, m := range a.members {
		if m.name == field {
			return m.value, true
		}
	}
	return nil, false
}

// loose returns the member whose name equals field, ignoring case: at most one.
func (a *arguments) loose(field string) (json.RawMessage, bool) {
	for _, m := range a.members {
		if strings.EqualFold(m.name, field) {
			return m.value, true
		}
	}
	return nil, false
}

// confirmed reports whether the caller confirmed, and whether it gave the
// argument at all.
func (a *arguments) confirmed() (yes, given bool) {
	value, given := a.exact(confirmField)
	return given && string(value) == "true", given
}

// withoutConfirm returns the arguments without the confirmation, for the
// handler.
func (a *arguments) withoutConfirm() (json.RawMessage, error) {
	if _, ok := a.exact(confirmField); !ok {
		return a.raw, nil
	}
	rest := make(map[string]json.RawMessage, len(a.members))
	for _, m := range a.members {
		if m.name != confirmField {
			rest[m.name] = m.value
		}
	}
	return json.Marshal(rest)
}

// holds reports whether a value is exactly one of an action's values.
func holds(value json.RawMessage, among []any) bool {
	got, ok := scalar(value)
	return ok && contains(among, got, equalASCII)
}

// mayHold reports whether a value may be one of a confirmation's values. Space
// around a string is ignored, an array counts if one of its elements does, and
// an object always counts.
func mayHold(value json.RawMessage, among []any) bool {
	trimmed := bytes.TrimSpace(value)
	switch {
	case len(trimmed) == 0:
		return false
	case trimmed[0] == '{':
		return true
	case trimmed[0] == '[':
		var elements []json.RawMessage
		if json.Unmarshal(trimmed, &elements) != nil {
			return true
		}
		for _, e := range elements {
			if mayHold(e, among) {
				return true
			}
		}
		return false
	}
	got, ok := scalar(trimmed)
	return ok && contains(among, got, func(a, b string) bool { return strings.EqualFold(strings.TrimSpace(a), strings.TrimSpace(b)) })
}

// scalar decodes a string, boolean or number; ok is false for anything else,
// null included. The value is valid JSON.
func scalar(value json.RawMessage) (any, bool) {
	switch {
	case len(value) == 0:
		return nil, false
	case value[0] == '"':
		if plain := value[1 : len(value)-1]; bytes.IndexByte(plain, '\\') < 0 {
			return string(plain), true
		}
		var s string
		err := json.Unmarshal(value, &s)
		return s, err == nil
	case value[0] == 't':
		return true, true
	case value[0] == 'f':
		return false, true
	case value[0] == '-' || '0' <= value[0] && value[0] <= '9':
		n, err := strconv.ParseFloat(string(value), 64)
		return n, err == nil
	}
	return nil, false
}

func contains(among []any, got any, equal func(a, b string) bool) bool {
	for _, want := range among {
		switch want := want.(type) {
		case string:
			if s, ok := got.(string); ok && equal(s, want) {
				return true
			}
		case int:
			if got == float64(want) {
				return true
			}
		default:
			if got == want {
				return true
			}
		}
	}
	return false
}
