package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
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

// Arguments are those of one call: the members of a JSON object, not decoded
// further.
type arguments struct {
	raw     json.RawMessage
	members map[string]json.RawMessage
}

// parseArguments reads what came as arguments; nothing and null are an empty
// object. What two decoders could read in two ways is an error: text that is not
// UTF-8, a member twice, and one twice but for its case, which decoders that
// ignore case take for the same.
func parseArguments(raw json.RawMessage) (*arguments, error) {
	a := &arguments{raw: raw}
	trimmed := bytes.TrimLeft(raw, " \t\r\n")
	switch {
	case len(trimmed) == 0, string(trimmed) == "null":
		return a, nil
	case trimmed[0] != '{':
		return nil, errors.New("the arguments are not a JSON object")
	case !utf8.Valid(raw):
		return nil, errors.New("the arguments are not valid UTF-8")
	}
	if err := unambiguous(raw); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, &a.members); err != nil {
		return nil, fmt.Errorf("the arguments are not valid JSON: %v", err)
	}
	return a, nil
}

// A level is an object or array that the reader is inside of.
type level struct {
	object bool
	onName bool            // the next token is a member's name
	names  map[string]bool // folded
}

// unambiguous walks through the tokens once.
func unambiguous(raw []byte) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var levels []level
	for {
		token, err := dec.Token()
		if err == io.EOF && len(levels) == 0 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the arguments are not valid JSON: %v", err)
		}
		if delim, ok := token.(json.Delim); ok && (delim == '}' || delim == ']') {
			levels = levels[:len(levels)-1]
			continue
		}
		if n := len(levels); n > 0 && levels[n-1].object {
			top := &levels[n-1]
			if top.onName {
				if err := top.name(token.(string)); err != nil {
					return err
				}
				continue
			}
			top.onName = true
		}
		if delim, ok := token.(json.Delim); ok {
			if len(levels) == maxDepth {
				return fmt.Errorf("the arguments are nested deeper than %d levels", maxDepth)
			}
			levels = append(levels, level{object: delim == '{', onName: delim == '{'})
		}
	}
}

// name takes the name of a member.
func (l *level) name(name string) error {
	if l.names == nil {
		l.names = make(map[string]bool)
	}
	folded := fold(name)
	if l.names[folded] {
		return fmt.Errorf("the arguments name the member %q more than once (case apart)", clip(name, 100))
	}
	l.names[folded], l.onName = true, false
	return nil
}

// fold gives names that differ in case alone the same form, by the rule of
// strings.EqualFold, which is that of decoders that ignore case: the Kelvin sign
// is a k, and the long s an s.
func fold(s string) string {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= utf8.RuneSelf || 'A' <= c && c <= 'Z' {
			return strings.Map(foldRune, s)
		}
	}
	return s
}

// loose returns the members whose name is field but for case: at most one.
func (a *arguments) loose(field string) (json.RawMessage, bool) {
	if value, ok := a.members[field]; ok {
		return value, true
	}
	for name, value := range a.members {
		if strings.EqualFold(name, field) {
			return value, true
		}
	}
	return nil, false
}

// confirmed says whether the caller confirmed, and whether it said anything.
func (a *arguments) confirmed() (yes, said bool) {
	value, said := a.members[confirmField]
	return said && string(bytes.TrimSpace(value)) == "true", said
}

// withoutConfirm is the arguments as they go on to the handler.
func (a *arguments) withoutConfirm() (json.RawMessage, error) {
	if _, ok := a.members[confirmField]; !ok {
		return a.raw, nil
	}
	rest := maps.Clone(a.members)
	delete(rest, confirmField)
	return json.Marshal(rest)
}

// holds says whether a value is among those of an action: nothing else counts.
func holds(value json.RawMessage, among []any) bool {
	got, ok := scalar(value)
	return ok && contains(among, got, equalASCII)
}

// mayHold says whether a value may be among those of a confirmation: space
// around a string does not matter, an array is as dangerous as any of its
// elements, and an object could be anything.
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

// scalar decodes a string, boolean or number; ok is false for all else, null too.
func scalar(value json.RawMessage) (any, bool) {
	var v any
	if json.Unmarshal(value, &v) != nil {
		return nil, false
	}
	switch v.(type) {
	case string, bool, float64:
		return v, true
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
