package schema

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

// A schema may refer to itself without going into a part of the value, such as {"$ref":"#"}. The schema
// library then recurses until the stack overflows, which ends the process. Whether a circle goes into a
// part depends on keywords, and each version of the library knows others. So schemaLoop refuses every
// circle before the library reads the schema. The library reads keywords in any case, and so does schemaLoop.

// schemaParts are, of each part of a schema, those directly within it and those that it refers to. Parts are named by
// their JSON pointers (RFC 6901) from the root, without escapes and folded: two members may differ in case.
type schemaParts map[string][]string

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
	if loop, found := parts.follow("", make(map[string]bool)); found {
		return fmt.Errorf("%q refers to itself; a reference must not lead back to a part that it lies in", "#"+loop)
	}
	return nil
}

// collect adds a value with what is in it.
func (s schemaParts) collect(pointer string, v any) error {
	within := func(name string, v any) error {
		s[pointer] = append(s[pointer], pointer+"/"+name)
		return s.collect(pointer+"/"+name, v)
	}
	switch v := v.(type) {
	case []any:
		for i, item := range v {
			if err := within(strconv.Itoa(i), item); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			ref, isText := v[name].(string)
			folded := text.Fold(name)
			isRef := isText && strings.HasPrefix(folded, "$") && strings.HasSuffix(folded, "ref")
			if isRef && ref != "#" && !strings.HasPrefix(ref, "#/") || isText && folded == "$id" && pointer != "" {
				return fmt.Errorf("%q has %s %q, and references are JSON pointers within the schema, such as %q",
					"#"+pointer, name, ref, "#/$defs/order")
			}
			if isRef {
				to := strings.NewReplacer("~1", "/", "~0", "~").Replace(text.Fold(ref[1:]))
				s[pointer] = append(s[pointer], to)
			}
			if err := within(folded, v[name]); err != nil {
				return err
			}
		}
	}
	return nil
}

// follow returns a part on a circle that can be reached from a part. visited is false for those on the present path.
func (s schemaParts) follow(pointer string, visited map[string]bool) (loop string, found bool) {
	if done, seen := visited[pointer]; seen {
		return pointer, !done
	}
	visited[pointer] = false
	for _, next := range s[pointer] {
		if loop, found = s.follow(next, visited); found {
			return loop, true
		}
	}
	visited[pointer] = true
	return "", false
}
