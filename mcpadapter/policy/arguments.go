package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
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
	members map[string]json.RawMessage
}

// parseArguments reads the arguments of a call; no text and null are an empty
// object. Anything that two decoders could read differently is an error: text
// that is not UTF-8, a member twice, and two members that differ in case only,
// which some decoders take for the same.
func parseArguments(raw json.RawMessage) (a arguments, err error) {
	a.raw = raw
	trimmed := bytes.Trim(raw, " \t\r\n")
	switch {
	case len(trimmed) == 0, string(trimmed) == "null":
		return a, nil
	case trimmed[0] != '{':
		return a, errors.New("the arguments are not a JSON object")
	case !utf8.Valid(raw):
		return a, errors.New("the arguments are not valid UTF-8")
	}
	d, ok := jsonedit.ParseUpTo(raw, maxDepth)
	switch {
	case ok:
		err = a.read(d)
		return a, err
	case json.Valid(raw):
		return a, fmt.Errorf("the arguments are nested deeper than %d levels", maxDepth)
	}
	return a, errors.New("the arguments are not valid JSON")
}

// read finds the members. It refuses an object that names a member more than once.
func (a *arguments) read(d *jsonedit.Doc) error {
	type member struct {
		of   int32
		name string // folded: decoders that ignore case take these for one
	}
	a.members = make(map[string]json.RawMessage)
	known := make(map[member]bool)
	for i, n := range d.Nodes {
		only := n.Parent > 0 && n.Index == 0 && n.Next == d.Nodes[n.Parent].Next
		if only || !d.IsMember(i) {
			continue
		}
		name := d.Name(i)
		one := member{n.Parent, text.Fold(name)}
		if known[one] {
			return fmt.Errorf("the arguments name the member %q more than once (case apart)", text.Clip(name, 100))
		}
		known[one] = true
		if n.Parent == 0 {
			a.members[name] = d.Raw(i)
		}
	}
	return nil
}

// loose returns the member whose name equals field, ignoring case: at most one.
func (a arguments) loose(field string) (json.RawMessage, bool) {
	for name, value := range a.members {
		if strings.EqualFold(name, field) {
			return value, true
		}
	}
	return nil, false
}

// confirmed reports whether the caller confirmed, and whether it gave the
// argument at all.
func (a arguments) confirmed() (yes, given bool) {
	value, given := a.members[confirmField]
	return string(value) == "true", given
}

// withoutConfirm returns the arguments without the confirmation, for the
// handler.
func (a arguments) withoutConfirm() (json.RawMessage, error) {
	if _, given := a.members[confirmField]; !given {
		return a.raw, nil
	}
	rest := maps.Clone(a.members)
	delete(rest, confirmField)
	return json.Marshal(rest)
}

// holds reports whether a value is exactly one of an action's values, apart from the
// case of ASCII letters. A long s is no s: an action that reduces what a call needs
// has to match exactly.
func holds(value json.RawMessage, among []any) bool {
	var got any
	return json.Unmarshal(value, &got) == nil && contains(among, got, equalASCII)
}

// equalASCII compares two texts, apart from the case of ASCII letters.
func equalASCII(a, b string) bool {
	lower := func(text string) string {
		small := []byte(text)
		for i, c := range small {
			if 'A' <= c && c <= 'Z' {
				small[i] += 'a' - 'A'
			}
		}
		return string(small)
	}
	return lower(a) == lower(b)
}

// mayHold reports whether a value may be one of a confirmation's values. Space
// around a string is ignored, an array counts if one of its elements does, and
// an object always counts, as does what cannot be read.
func mayHold(value json.RawMessage, among []any) bool {
	var got any
	return json.Unmarshal(value, &got) != nil || mayBe(got, among)
}

func mayBe(got any, among []any) bool {
	switch got := got.(type) {
	case map[string]any:
		return true
	case []any:
		return slices.ContainsFunc(got, func(element any) bool { return mayBe(element, among) })
	}
	return contains(among, got, func(a, b string) bool {
		return strings.EqualFold(strings.TrimSpace(a), strings.TrimSpace(b))
	})
}

// contains looks for a decoded value. Only strings are compared by equal.
func contains(among []any, got any, equal func(a, b string) bool) bool {
	return slices.ContainsFunc(among, func(want any) bool {
		switch want := want.(type) {
		case string:
			s, ok := got.(string)
			return ok && equal(s, want)
		case int:
			return got == float64(want)
		}
		return got == want
	})
}
