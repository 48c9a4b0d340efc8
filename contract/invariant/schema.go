package invariant

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/shakedown-go/shakedown/internal/strictjson"
)

// A schema may refer to itself without going into a part of the value, such as
// {"$ref":"#"}. The schema library then recurses until the stack overflows, which ends
// the process. schemaLoop finds such a circle before the library reads the schema. From
// every part of the schema it follows the parts that apply to the same value ($ref,
// allOf, not, …).

// A schemaPart is a JSON object within a schema.
type schemaPart struct {
	members  map[string]any
	pointer  string
	resource *schemaPart // the enclosing object with an $id, or the root
	base     *url.URL    // of the resource
}

// schemaParts are the objects of a schema.
type schemaParts struct {
	at      map[string]*schemaPart   // by JSON pointer from the root
	ids     map[string]*schemaPart   // resources by their URI
	anchors map[string][]*schemaPart // by name
}

// schemaLoop returns an error that names a circle in a schema, or a member that the
// schema library reads in another way than schemaLoop does.
func schemaLoop(text string) error {
	var doc any
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		return err
	}
	// The schema library merges two members of one name; a map has only the last.
	var twice strictjson.Problems
	strictjson.Parse([]byte(text), len(text), &twice)
	if err := errors.Join(twice.Err(), newSchemaNames().check("#", doc)); err != nil {
		return err
	}
	s := schemaParts{map[string]*schemaPart{}, map[string]*schemaPart{}, map[string][]*schemaPart{}}
	s.collect("", doc, nil, &url.URL{})
	visited := make(map[*schemaPart]bool) // false: on the present path
	for _, pointer := range slices.Sorted(maps.Keys(s.at)) {
		if loop := s.follow(s.at[pointer], visited); loop != nil {
			return fmt.Errorf("%q refers to itself without going into the value", "#"+loop.pointer)
		}
	}
	return nil
}

// collect adds the objects in a value.
func (s schemaParts) collect(pointer string, v any, resource *schemaPart, base *url.URL) {
	switch v := v.(type) {
	case []any:
		for i, item := range v {
			s.collect(pointer+"/"+strconv.Itoa(i), item, resource, base)
		}
	case map[string]any:
		part := &schemaPart{members: v, pointer: pointer, resource: resource, base: base}
		id, named := v["$id"].(string)
		if u, err := url.Parse(id); named && err == nil {
			part.base = base.ResolveReference(u)
		}
		if named || resource == nil {
			part.resource = part
			s.ids[strings.TrimSuffix(part.base.String(), "#")] = part
		}
		s.at[pointer] = part
		for _, keyword := range []string{"$anchor", "$dynamicAnchor"} {
			if name, ok := v[keyword].(string); ok {
				s.anchors[name] = append(s.anchors[name], part)
			}
		}
		for name, member := range v {
			s.collect(pointer+"/"+name, member, part.resource, part.base)
		}
	}
}

// follow returns a part on a circle that can be reached from part, or nil.
func (s schemaParts) follow(part *schemaPart, visited map[*schemaPart]bool) *schemaPart {
	if done, seen := visited[part]; seen {
		if done {
			return nil
		}
		return part
	}
	visited[part] = false
	for _, next := range s.same(part) {
		if loop := s.follow(next, visited); loop != nil {
			return loop
		}
	}
	visited[part] = true
	return nil
}

// same returns the parts that apply to the same value as part.
func (s schemaParts) same(part *schemaPart) []*schemaPart {
	var list []*schemaPart
	for _, keyword := range []string{"not", "if", "then", "else"} {
		list = append(list, s.at[part.pointer+"/"+keyword])
	}
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		items, _ := part.members[keyword].([]any)
		for i := range items {
			list = append(list, s.at[fmt.Sprintf("%s/%s/%d", part.pointer, keyword, i)])
		}
	}
	for _, keyword := range []string{"dependentSchemas", "dependencies"} {
		members, _ := part.members[keyword].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(members)) {
			list = append(list, s.at[part.pointer+"/"+keyword+"/"+name])
		}
	}
	for _, keyword := range []string{"$ref", "$dynamicRef"} {
		if ref, ok := part.members[keyword].(string); ok {
			list = append(list, s.targets(part, ref)...)
		}
	}
	var found []*schemaPart
	for _, p := range list {
		if p != nil {
			found = append(found, p)
		}
	}
	return found
}

// targets returns the parts that a reference may mean: for an anchor, all with its name.
func (s schemaParts) targets(part *schemaPart, ref string) []*schemaPart {
	u, err := url.Parse(ref)
	if err != nil {
		return nil
	}
	fragment := u.Fragment
	if fragment != "" && fragment[0] != '/' {
		return s.anchors[fragment]
	}
	resource := part.resource
	if u.Fragment = ""; u.String() != "" {
		resource = s.ids[part.base.ResolveReference(u).String()]
	}
	if resource == nil {
		return nil // in another document: refused when the schema is resolved
	}
	return []*schemaPart{s.at[resource.pointer+unescape(fragment)]}
}

// unescape returns a JSON pointer (RFC 6901) without its escapes, as the pointers of
// the parts are.
func unescape(pointer string) string {
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(pointer)
}

// A KeywordError is a member of a JSON Schema whose name equals a keyword only
// when case is not compared, such as "$Ref". A validator ignores it, and the
// schema library reads it as the keyword.
type KeywordError struct {
	Pointer string // of the object with the member, such as "#/$defs/a"
	Name    string // the member's name
	Keyword string // the keyword that it is read as
}

// Error names the member, its place and the keyword.
func (e *KeywordError) Error() string {
	return fmt.Sprintf("%q has the member %q, which is the keyword %q in another case", e.Pointer, e.Name, e.Keyword)
}

// schemaNames checks the names of a schema's members. It walks through the schema as
// the library does, so that a property may have the name "Items".
type schemaNames struct{ keywords []string }

func newSchemaNames() schemaNames {
	// The library unmarshals these four in code of its own, without tags.
	n := schemaNames{keywords: []string{"type", "items", "dependencies", "const"}}
	schema := reflect.TypeFor[jsonschema.Schema]()
	for i := range schema.NumField() {
		if name, _, _ := strings.Cut(schema.Field(i).Tag.Get("json"), ","); name != "-" && name != "" {
			n.keywords = append(n.keywords, name)
		}
	}
	return n
}

// check returns an error for the first wrong name in the schema at pointer.
func (n schemaNames) check(pointer string, schema any) error {
	members, ok := schema.(map[string]any)
	if !ok {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		for _, keyword := range n.keywords {
			if name != keyword && strings.EqualFold(name, keyword) {
				return &KeywordError{pointer, name, keyword}
			}
		}
		if err := n.below(pointer+"/"+name, name, members[name]); err != nil {
			return err
		}
	}
	return nil
}

// below checks the schemas in the value of a keyword.
func (n schemaNames) below(pointer, keyword string, value any) error {
	switch keyword {
	case "$defs", "definitions", "dependentSchemas", "dependencies", "properties", "patternProperties":
		members, _ := value.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(members)) {
			if err := n.check(pointer+"/"+name, members[name]); err != nil {
				return err
			}
		}
	case "items", "prefixItems", "allOf", "anyOf", "oneOf", "additionalItems", "contains", "unevaluatedItems",
		"additionalProperties", "propertyNames", "unevaluatedProperties", "not", "if", "then", "else", "contentSchema":
		if list, ok := value.([]any); ok {
			for i, item := range list {
				if err := n.check(fmt.Sprint(pointer, "/", i), item); err != nil {
					return err
				}
			}
			return nil
		}
		return n.check(pointer, value)
	}
	return nil
}
