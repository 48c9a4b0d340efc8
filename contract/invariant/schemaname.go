package invariant

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// A KeywordError is a member of a JSON Schema whose name equals a keyword only
// when case is not compared, such as "$Ref". A validator ignores it, and the
// schema library reads it as the keyword.
type KeywordError struct {
	Pointer string // of the object that has it, such as "#/$defs/a"
	Name    string // as it stands there
	Keyword string // what it is read as
}

// Error names the member, its place and the keyword.
func (e *KeywordError) Error() string {
	return fmt.Sprintf("%q has the member %q, which is the keyword %q in another case", e.Pointer, e.Name, e.Keyword)
}

// schemaNames checks the names of a schema's members. It goes through the
// schema as the library does, so that a property may be called "Items".
type schemaNames struct{ keywords []string }

func newSchemaNames() schemaNames {
	// The library unmarshals these four by hand.
	n := schemaNames{keywords: []string{"type", "items", "dependencies", "const"}}
	schema := reflect.TypeFor[jsonschema.Schema]()
	for field := range schema.Fields() {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "-" && name != "" {
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
	case "items", "prefixItems", "allOf", "anyOf", "oneOf", "additionalItems", "contains", "unevaluatedItems", "additionalProperties",
		"propertyNames", "unevaluatedProperties", "not", "if", "then", "else", "contentSchema":
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

// repeatedMember returns an error if an object of a valid JSON text has two
// members of one name: the schema library merges them, and who reads the text
// as a map sees the last alone.
func repeatedMember(text string) error {
	decoder := json.NewDecoder(strings.NewReader(text))
	type object struct {
		names map[string]bool // nil: an array
		named bool            // the next token is a value
	}
	var open []object
	for {
		token, err := decoder.Token()
		if err != nil {
			return nil // the end: the text is valid
		}
		if name, ok := token.(string); ok && len(open) > 0 && open[len(open)-1].names != nil && !open[len(open)-1].named {
			in := &open[len(open)-1]
			if in.names[name] {
				return fmt.Errorf("the member %q is there twice in one object", name)
			}
			in.names[name], in.named = true, true
			continue
		}
		switch token {
		case json.Delim('{'):
			open = append(open, object{names: map[string]bool{}})
			continue
		case json.Delim('['):
			open = append(open, object{})
			continue
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
		}
		if len(open) > 0 {
			open[len(open)-1].named = false
		}
	}
}
