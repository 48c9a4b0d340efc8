package mcpadapter

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
)

// maxShown bounds the values that a complaint repeats.
const maxShown = 60

// largestExact is the largest whole number that every JSON reader keeps exactly.
const largestExact = 1 << 53

// check checks a value against its schema and returns it, whole numbers in
// their plain form (5.0 is 5). It knows the keywords that the schemas of this
// package use. Another validator would not say what is allowed.
func (c *checker) check(v any, s *jsonschema.Schema, path string) any {
	for _, one := range slices.Concat(s.AnyOf, []*jsonschema.Schema{s}) {
		if one.Type == typeOf(v) || one.Type == "integer" && typeOf(v) == "number" {
			return c.checkOne(v, one, path)
		}
	}
	c.add(path, "is %s; allowed: %s", shown(v), allowed(s))
	return v
}

// checkOne checks a value that has the schema's type.
func (c *checker) checkOne(v any, s *jsonschema.Schema, path string) any {
	switch v := v.(type) {
	case map[string]any:
		c.checkObject(v, s, path)
	case []any:
		c.checkList(v, s, path)
	case json.Number:
		return c.checkNumber(v, s, path)
	case string:
		n := utf8.RuneCountInString(v)
		ok := (s.MinLength == nil || n >= *s.MinLength) && (s.MaxLength == nil || n <= *s.MaxLength)
		if !ok || len(s.Enum) > 0 && !slices.Contains(s.Enum, any(v)) {
			c.add(path, "is %s; allowed: %s%s", shown(v), allowed(s), meant(v, s))
		}
	}
	return v
}

// typeOf is the JSON Schema type of a value.
func typeOf(v any) string {
	switch v.(type) {
	case map[string]any:
		return "object"
	case []any:
		return "array"
	case string:
		return "string"
	case json.Number:
		return "number"
	case bool:
		return "boolean"
	}
	return "null"
}

func (c *checker) checkList(list []any, s *jsonschema.Schema, path string) {
	if s.MinItems != nil && len(list) < *s.MinItems || s.MaxItems != nil && len(list) > *s.MaxItems {
		c.add(path, "has %d items; allowed: %s", len(list), allowed(s))
		return
	}
	for i := range list {
		list[i] = c.check(list[i], s.Items, fmt.Sprintf("%s[%d]", path, i))
	}
}

func (c *checker) checkNumber(v json.Number, s *jsonschema.Schema, path string) any {
	f, err := v.Float64()
	integer := s.Type == "integer"
	ok := err == nil && (!integer || f == math.Trunc(f) && math.Abs(f) <= largestExact) &&
		(s.Minimum == nil || f >= *s.Minimum) && (s.Maximum == nil || f <= *s.Maximum) &&
		(s.ExclusiveMinimum == nil || f > *s.ExclusiveMinimum)
	switch {
	case !ok:
		c.add(path, "is %s; allowed: %s", shorten(v.String(), maxShown), allowed(s))
	case integer:
		return json.Number(strconv.FormatInt(int64(f), 10))
	}
	return v
}

// allowed describes in words what a schema allows.
func allowed(s *jsonschema.Schema) string {
	if s == nil {
		return "a value"
	}
	if len(s.Enum) > 0 {
		words := make([]string, len(s.Enum))
		for i, e := range s.Enum {
			words[i] = fmt.Sprint(e)
		}
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

func between(low, high *int, of string) string {
	switch {
	case low != nil && high != nil:
		return fmt.Sprintf(" of %d to %d%s", *low, *high, of)
	case high != nil:
		return fmt.Sprintf(" of at most %d%s", *high, of)
	}
	return ""
}

func span(s *jsonschema.Schema) string {
	var text string
	if s.Minimum != nil {
		text = " from " + short(*s.Minimum)
	}
	if s.ExclusiveMinimum != nil {
		text = " above " + short(*s.ExclusiveMinimum)
	}
	if s.Maximum != nil {
		text += " up to " + short(*s.Maximum)
	}
	return text
}

func short(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// shown repeats a value in a complaint.
func shown(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return strconv.Quote(shorten(v, maxShown))
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	}
	return shorten(fmt.Sprint(v), maxShown)
}

func shorten(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "…"
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func meant(word string, s *jsonschema.Schema) string {
	var words []string
	for _, e := range s.Enum {
		words = append(words, fmt.Sprint(e))
	}
	if near := nearest(word, words); near != "" {
		return " (did you mean " + near + "?)"
	}
	return ""
}

// nearest returns the name that a misspelt word probably means: the closest
// within a third of its length, ignoring letter case and separators; "" if
// there is none.
func nearest(word string, names []string) string {
	if utf8.RuneCountInString(word) > 64 {
		return ""
	}
	plain := strings.NewReplacer("_", "", "-", "", " ", "")
	w := strings.ToLower(plain.Replace(word))
	best, found := 1+max(len(w)/3, 1), ""
	for _, name := range names {
		if d := distance(w, strings.ToLower(plain.Replace(name))); d < best {
			best, found = d, name
		}
	}
	return found
}

// distance counts the letters to change, add, drop or swap with a neighbour.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	rows := make([][]int, len(x)+1)
	for i := range rows {
		rows[i] = make([]int, len(y)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(x); i++ {
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(x)][len(y)]
}
