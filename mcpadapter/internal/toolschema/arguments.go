package toolschema

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/shakedown-go/shakedown/internal/jsonvalue"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

const (
	// maxComplaints bounds the problems that one answer reports.
	maxComplaints = 10
	// maxShown bounds the values that a complaint repeats, in bytes.
	maxShown = 60
)

func refused(detail, hint string) *policy.Error {
	return &policy.Error{Status: http.StatusBadRequest, Code: policy.CodeInvalidArguments, Detail: detail, Hint: hint}
}

// Decode reads the arguments of a call by the schema of its tool, strictly: a
// name that the schema does not have, in letter case too, and a value that it
// does not allow are refused. All problems are in the error, a [*policy.Error]: the
// schema library's own names one, and not what is allowed instead. The gate has refused
// arguments that two readers could read differently.
func Decode[In any](raw json.RawMessage, s *jsonschema.Resolved) (in In, err error) {
	if bare := bytes.TrimSpace(raw); len(bare) == 0 || string(bare) == "null" {
		raw = json.RawMessage("{}")
	}
	if !json.Valid(raw) {
		return in, refused("the arguments are no JSON", "Send one JSON object.")
	}
	var doc any
	var c complaints
	if json.Unmarshal(raw, &doc) != nil || s.Validate(doc) != nil {
		doc, _ = jsonvalue.Numbers(raw) // numbers are repeated as they were written
		c.check("", doc, s.Schema())
		return in, c.refusal(s.Schema())
	}
	plain, _ := json.Marshal(doc) // it writes the whole number 5.0 as 5
	for _, text := range [][]byte{raw, plain} {
		in = *new(In)
		if json.Unmarshal(text, &in) == nil {
			return in, nil
		}
	}
	members := doc.(map[string]any) // some types read more strictly than their schema, such as a time
	for _, name := range slices.Sorted(maps.Keys(members)) {
		one, _ := json.Marshal(map[string]any{name: members[name]})
		if err := json.Unmarshal(one, new(In)); err != nil {
			c = append(c, name+": "+err.Error())
		}
	}
	return in, c.refusal(s.Schema())
}

func membersOf(s *jsonschema.Schema) string {
	if len(s.Properties) == 0 {
		return "This tool takes no arguments."
	}
	required := "none is required"
	if len(s.Required) > 0 {
		required = "required: " + strings.Join(s.Required, ", ")
	}
	return "Members are " + strings.Join(s.PropertyOrder, ", ") + "; " + required + "."
}

// complaints are the problems of a document, each with its place.
type complaints []string

func (c complaints) refusal(s *jsonschema.Schema) error {
	if over := len(c) - maxComplaints; over > 0 {
		c = append(c[:maxComplaints], fmt.Sprintf("and %d more", over))
	}
	return refused(strings.Join(c, "; "), membersOf(s))
}

func (c *complaints) add(path, format string, args ...any) {
	*c = append(*c, cmp.Or(path, "the arguments")+" "+fmt.Sprintf(format, args...))
}

func join(path, name string) string {
	return strings.TrimPrefix(path+"."+text.Clip(name, 64), ".")
}

// check adds what is wrong with a value. It descends into objects and lists, and
// leaves the rest to the schema library.
func (c *complaints) check(path string, value any, s *jsonschema.Schema) {
	switch v := value.(type) {
	case map[string]any:
		for _, one := range slices.Concat(s.AnyOf, []*jsonschema.Schema{s}) {
			if one.Properties != nil || one.AdditionalProperties != nil {
				c.members(path, v, one)
				return
			}
		}
	case []any:
		if list := *s; s.Items != nil {
			list.Items = nil
			if valid(v, &list) {
				for i, item := range v {
					c.check(fmt.Sprintf("%s[%d]", path, i), item, s.Items)
				}
				return
			}
		}
	}
	if !valid(value, s) {
		word, _ := value.(string)
		c.add(path, "is %s; allowed: %s%s", shown(value), allowed(s), text.Meant(word, wordsOf(s)))
	}
}

// members checks an object whose schema names its members.
func (c *complaints) members(path string, object map[string]any, s *jsonschema.Schema) {
	for _, name := range s.Required {
		if _, given := object[name]; !given {
			c.add(join(path, name), "is missing; allowed: %s", allowed(s.Properties[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if p := s.Properties[name]; p != nil {
			c.check(join(path, name), object[name], p)
			continue
		}
		known := slices.Sorted(slices.Values(s.PropertyOrder))
		if near := meantMember(name, known); near != "" {
			c.add(join(path, name), "is no member; did you mean %s?", near)
		} else {
			c.add(join(path, name), "is no member; allowed: %s", OrNone(known))
		}
	}
}

// meantMember returns the member that an unknown name means, or "": the one that ends it,
// such as name for plan_name, the only one of which it is a word, such as fault_name for
// name, or the nearest. ttl means what expires.
func meantMember(name string, known []string) string {
	lower := strings.ToLower(name)
	if lower == "ttl" {
		lower = "expires"
	}
	var having []string
	for _, member := range known {
		if strings.HasSuffix(lower, "_"+member) {
			return member
		}
		if strings.Contains("_"+member+"_", "_"+lower+"_") {
			having = append(having, member)
		}
	}
	if len(having) == 1 {
		return having[0]
	}
	return text.Nearest(name, known)
}

// valid reports whether a schema allows a value. A number that no float64 holds is
// never allowed.
func valid(value any, s *jsonschema.Schema) bool {
	if n, ok := value.(json.Number); ok {
		f, err := n.Float64()
		if err != nil {
			return false
		}
		value = f
	}
	r, err := s.Resolve(nil)
	return err == nil && r.Validate(value) == nil
}

// allowed describes in words what a schema allows.
func allowed(s *jsonschema.Schema) string {
	if words := wordsOf(s); len(words) > 0 {
		return strings.Join(words, ", ")
	}
	var ways []string
	for _, one := range s.AnyOf {
		ways = append(ways, allowed(one))
	}
	if len(ways) > 0 {
		return strings.Join(ways, " or ")
	}
	switch s.Type {
	case "string":
		return "text" + between(s.MinLength, s.MaxLength, " characters")
	case "array":
		return "a list" + between(s.MinItems, s.MaxItems, " items") + ", each " + allowed(s.Items)
	case "boolean":
		return "true or false"
	case "object":
		return "an object"
	case "integer":
		return "a whole number" + span(s)
	}
	return "a number" + span(s)
}

func wordsOf(s *jsonschema.Schema) []string {
	words := make([]string, len(s.Enum))
	for i, e := range s.Enum {
		words[i] = fmt.Sprint(e)
	}
	return words
}

func between(low, high *int, of string) string {
	switch {
	case low != nil && high != nil:
		return fmt.Sprintf(" of %d to %d%s", *low, *high, of)
	case high != nil:
		return fmt.Sprintf(" of at most %d%s", *high, of)
	}
	return ""
}

func span(s *jsonschema.Schema) (in string) {
	short := func(word string, f *float64) string {
		if f == nil {
			return ""
		}
		return word + strconv.FormatFloat(*f, 'f', -1, 64)
	}
	if in = short(" above ", s.ExclusiveMinimum); in == "" {
		in = short(" from ", s.Minimum)
	}
	return in + short(" up to ", s.Maximum)
}

// shown repeats a value in a complaint.
func shown(value any) string {
	switch v := value.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return fmt.Sprintf("a list of %d %s", len(v), text.Noun(len(v), "item", "items"))
	case string:
		return strconv.Quote(text.Clip(v, maxShown))
	case nil:
		return "null"
	}
	return text.Clip(fmt.Sprint(value), maxShown)
}

// OrNone lists names.
func OrNone(names []string) string {
	return cmp.Or(strings.Join(names, ", "), "none")
}

// Seed reads a seed. Seeds are text, because JSON numbers above 2^53 may lose
// precision in transit.
func Seed(field, digits string) (uint64, error) {
	seed, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return 0, refused(fmt.Sprintf("%s is %q; allowed: a decimal number from 0 to 18446744073709551615, as a string",
			field, text.Clip(digits, maxShown)), "Send the seed as a string of digits.")
	}
	return seed, nil
}
