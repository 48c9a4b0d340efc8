package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/internal/text"
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
	return ok &&
		contains(among, got,
			func(a, b string) bool { return strings.EqualFold(strings.TrimSpace(a), strings.TrimSpace(b)) })
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

// A walker reads a JSON object once, collects its members, and refuses names
// that occur more than once in any object. The text has to be valid JSON: the
// walker does not check it.
type walker struct {
	text    []byte
	at      int
	levels  []level
	members []member // of the outermost object
	began   int      // of the outermost member's value
}

// A level is an object or array that the walker is inside of.
type level struct {
	object bool
	onName bool            // the next string is a member's name
	names  []string        // folded, as long as they are few
	many   map[string]bool // the same, when they are more
}

// fewNames is up to where looking through a slice is cheaper than a map.
const fewNames = 16

func (w *walker) walk() error {
	for w.at < len(w.text) {
		switch c := w.text[w.at]; c {
		case '{', '[':
			if len(w.levels) == maxDepth {
				return fmt.Errorf("the arguments are nested deeper than %d levels", maxDepth)
			}
			w.levels = append(w.levels, level{object: c == '{', onName: c == '{'})
		case '}', ']':
			w.endOfValue()
			w.levels = w.levels[:len(w.levels)-1]
		case ',':
			w.endOfValue()
			top := &w.levels[len(w.levels)-1]
			top.onName = top.object
		case '"':
			if err := w.passString(); err != nil {
				return err
			}
			continue
		}
		w.at++
	}
	return nil
}

// endOfValue closes the value of the outermost object's last member, if that is
// what ends here.
func (w *walker) endOfValue() {
	if len(w.levels) != 1 || len(w.members) == 0 {
		return
	}
	if last := &w.members[len(w.members)-1]; last.value == nil {
		last.value = bytes.TrimSpace(w.text[w.began:w.at])
	}
}

// passString passes over a string, and adds it to the names if it is one.
func (w *walker) passString() error {
	from := w.at
	escaped := false
	for w.at++; w.text[w.at] != '"'; w.at++ {
		if w.text[w.at] == '\\' {
			escaped = true
			w.at++
		}
	}
	w.at++
	top := &w.levels[len(w.levels)-1]
	if !top.onName {
		return nil
	}
	top.onName = false
	name := string(w.text[from+1 : w.at-1])
	if escaped {
		if err := json.Unmarshal(w.text[from:w.at], &name); err != nil {
			return err
		}
	}
	if top.add(fold(name)) {
		return fmt.Errorf("the arguments name the member %q more than once (case apart)", text.Clip(name, 100))
	}
	if len(w.levels) == 1 {
		for w.text[w.at] != ':' {
			w.at++
		}
		w.at++
		w.began = w.at
		w.members = append(w.members, member{name: name})
	}
	return nil
}

// add reports whether the name was there already.
func (l *level) add(name string) bool {
	if l.many != nil {
		had := l.many[name]
		l.many[name] = true
		return had
	}
	for _, n := range l.names {
		if n == name {
			return true
		}
	}
	if l.names == nil {
		l.names = make([]string, 0, 8)
	}
	l.names = append(l.names, name)
	if len(l.names) > fewNames {
		l.many = make(map[string]bool, 2*fewNames)
		for _, n := range l.names {
			l.many[n] = true
		}
	}
	return false
}
