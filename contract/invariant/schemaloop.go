package invariant

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// A schema that refers to itself without going into a part of the value, such
// as {"$ref":"#"}, makes the schema library recurse until the stack ends, which
// nothing can recover from. schemaLoop finds such a circle beforehand: it follows
// what applies to the same value ($ref, allOf, not, …) from every part of a schema.

// schemaPart is a JSON object within a schema.
type schemaPart struct {
	members  map[string]any
	pointer  string
	resource *schemaPart // the enclosing object with an $id, or the root
	base     *url.URL    // of the resource
}

// schemaParts is a schema taken apart.
type schemaParts struct {
	at      map[string]*schemaPart   // by JSON pointer from the root
	ids     map[string]*schemaPart   // resources by their URI
	anchors map[string][]*schemaPart // by name
}

// schemaLoop returns an error that names a circle in a schema, if it has one,
// or a member that the schema library would read otherwise than it is looked at here.
func schemaLoop(text string) error {
	var doc any
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		return err
	}
	if err := errors.Join(repeatedMember(text), newSchemaNames().check("#", doc)); err != nil {
		return err
	}
	s := schemaParts{map[string]*schemaPart{}, map[string]*schemaPart{}, map[string][]*schemaPart{}}
	s.collect("", doc, nil, &url.URL{})
	visited := make(map[*schemaPart]bool) // false: still on the way
	for _, pointer := range slices.Sorted(maps.Keys(s.at)) {
		if loop := s.follow(s.at[pointer], visited); loop != nil {
			return fmt.Errorf("%q refers to itself without going into the value", "#"+loop.pointer)
		}
	}
	return nil
}

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

// same are the parts that apply to the same value as part does.
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

// targets are the parts that a reference may mean: of an anchor all of its name.
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

// unescape writes a JSON pointer (RFC 6901) without its escapes, as the
// pointers of the parts are written.
func unescape(pointer string) string {
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(pointer)
}
