package invariant

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/shakedown-go/shakedown/internal/strictjson"
	"github.com/shakedown-go/shakedown/internal/text"
)

// A schema may refer to itself without going into a part of the value, such as
// {"$ref":"#"}. The schema library then recurses until the stack overflows, which ends
// the process. schemaLoop finds such a circle before the library reads the schema. From
// every part of the schema it follows the parts that apply to the same value ($ref,
// allOf, not, …). The library reads keywords in any case, and so does schemaLoop.

// schemaParts are the objects of a schema by their JSON pointers (RFC 6901) from the root, without
// escapes and folded: two members may differ in case.
type schemaParts map[string][]map[string]any

// schemaLoop returns an error that names a circle in a schema, or what it does not follow: a
// reference that is no JSON pointer.
func schemaLoop(schema string) error {
	var doc any
	if err := json.Unmarshal([]byte(schema), &doc); err != nil {
		return err
	}
	// The schema library merges two members of one name; a map has only the last.
	var twice strictjson.Problems
	strictjson.Parse([]byte(schema), len(schema), &twice)
	if err := twice.Err(); err != nil {
		return err
	}
	parts := make(schemaParts)
	if err := parts.collect("", doc); err != nil {
		return err
	}
	visited := make(map[string]bool) // false: on the present path
	for _, pointer := range slices.Sorted(maps.Keys(parts)) {
		if loop, found := parts.follow(pointer, visited); found {
			return fmt.Errorf("%q refers to itself without going into the value", "#"+loop)
		}
	}
	return nil
}

// collect adds the objects in a value.
func (s schemaParts) collect(pointer string, v any) error {
	switch v := v.(type) {
	case []any:
		for i, item := range v {
			if err := s.collect(pointer+"/"+strconv.Itoa(i), item); err != nil {
				return err
			}
		}
	case map[string]any:
		s[pointer] = append(s[pointer], v)
		for _, name := range slices.Sorted(maps.Keys(v)) {
			ref, isText := v[name].(string)
			folded := text.Fold(name)
			isRef := strings.HasPrefix(folded, "$") && strings.HasSuffix(folded, "ref")
			if isText && (isRef && ref != "#" && !strings.HasPrefix(ref, "#/") || folded == "$id" && pointer != "") {
				return fmt.Errorf("%q has %s %q, and references are JSON pointers within the schema, such as %q",
					"#"+pointer, name, ref, "#/$defs/order")
			}
			if err := s.collect(pointer+"/"+folded, v[name]); err != nil {
				return err
			}
		}
	}
	return nil
}

// follow returns a part on a circle that can be reached from a part.
func (s schemaParts) follow(pointer string, visited map[string]bool) (loop string, found bool) {
	if done, seen := visited[pointer]; seen || s[pointer] == nil {
		return pointer, seen && !done
	}
	visited[pointer] = false
	for _, next := range s.same(pointer) {
		if loop, found = s.follow(next, visited); found {
			return loop, true
		}
	}
	visited[pointer] = true
	return "", false
}

// same returns the parts that apply to the same value as a part.
func (s schemaParts) same(pointer string) (list []string) {
	for _, part := range s[pointer] {
		for name, v := range part {
			name = text.Fold(name)
			own := pointer + "/" + name
			switch v := v.(type) {
			case string:
				if name == "$ref" || name == "$dynamicref" {
					list = append(list, strings.NewReplacer("~1", "/", "~0", "~").Replace(text.Fold(v[1:])))
				}
			case []any:
				if name == "allof" || name == "anyof" || name == "oneof" {
					for i := range v {
						list = append(list, own+"/"+strconv.Itoa(i))
					}
				}
			case map[string]any:
				switch name {
				case "not", "if", "then", "else":
					list = append(list, own)
				case "dependentschemas", "dependencies":
					for member := range v {
						list = append(list, own+"/"+text.Fold(member))
					}
				}
			}
		}
	}
	slices.Sort(list) // the order of the members of a map is none
	return list
}
