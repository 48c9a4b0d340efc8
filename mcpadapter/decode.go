package mcpadapter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
)

// maxDepth bounds the nesting of arguments: that of a plan.
const maxDepth = 64

// maxComplaints bounds the problems that one answer reports.
const maxComplaints = 10

// decode reads the arguments of a call by the schema, strictly: unknown names,
// names in other letter case, duplicates and values that the schema does not
// allow are refused. All problems are reported, phrased for a model.
func decode[In any](raw json.RawMessage, s *jsonschema.Schema, maxBytes int) (in In, err error) {
	if len(raw) > maxBytes {
		return in, badArguments(fmt.Sprintf("the arguments have %d bytes; allowed: at most %d", len(raw), maxBytes), "Send less at once.")
	}
	if !utf8.Valid(raw) {
		return in, badArguments("the arguments are not valid UTF-8", "Send JSON in UTF-8.")
	}
	if len(bytes.TrimSpace(raw)) == 0 || string(bytes.TrimSpace(raw)) == "null" {
		raw = json.RawMessage("{}")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var c checker
	doc, err := c.read(d, "", 0)
	if err == nil {
		if _, end := d.Token(); end != io.EOF {
			err = badArguments("something follows the arguments", "Send one JSON object.")
		}
	}
	if err != nil {
		return in, err
	}
	doc = c.check(doc, s, "")
	if len(c.complaints) > 0 {
		return in, c.problem(s)
	}
	clean, err := json.Marshal(doc)
	if err == nil {
		err = json.Unmarshal(clean, &in)
	}
	if err != nil { // a value that its own type reads more strictly than the schema, such as a time
		return in, badArguments(err.Error(), membersOf(s))
	}
	return in, nil
}

type checker struct{ complaints []string }

func (c *checker) add(path, format string, args ...any) {
	if path == "" {
		path = "the arguments"
	}
	c.complaints = append(c.complaints, path+" "+fmt.Sprintf(format, args...))
}

func (c *checker) problem(s *jsonschema.Schema) *problem {
	shown := c.complaints
	if len(shown) > maxComplaints {
		shown = append(shown[:maxComplaints:maxComplaints], fmt.Sprintf("and %d more", len(c.complaints)-maxComplaints))
	}
	return badArguments(strings.Join(shown, "; "), membersOf(s))
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

// read builds the tree of a document. It refuses two members of one name:
// readers differ on which of them counts.
func (c *checker) read(d *json.Decoder, path string, depth int) (any, error) {
	if depth > maxDepth {
		return nil, badArguments(fmt.Sprintf("the arguments are nested deeper than %d levels", maxDepth), "Send a flat object.")
	}
	t, err := d.Token()
	if err != nil {
		return nil, badArguments("the arguments are no JSON: "+err.Error(), "Send one JSON object.")
	}
	switch t {
	case json.Delim('{'):
		return c.readObject(d, path, depth)
	case json.Delim('['):
		list := []any{}
		for d.More() {
			item, err := c.read(d, fmt.Sprintf("%s[%d]", path, len(list)), depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, item)
		}
		_, err = d.Token()
		return list, closing(err)
	}
	return t, nil
}

func (c *checker) readObject(d *json.Decoder, path string, depth int) (any, error) {
	object := map[string]any{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, closing(err)
		}
		name, _ := t.(string)
		if _, twice := object[name]; twice {
			c.add(join(path, name), "is given twice; allowed: once")
		}
		if object[name], err = c.read(d, join(path, name), depth+1); err != nil {
			return nil, err
		}
	}
	_, err := d.Token()
	return object, closing(err)
}

func closing(err error) error {
	if err == nil {
		return nil
	}
	return badArguments("the arguments are no JSON: "+err.Error(), "Send one JSON object.")
}

func join(path, name string) string {
	name = shorten(name, 64)
	if path == "" {
		return name
	}
	return path + "." + name
}

// checkObject checks the members of an object, in a fixed order.
func (c *checker) checkObject(object map[string]any, s *jsonschema.Schema, path string) {
	if s.Properties == nil && s.AdditionalProperties == nil { // any object
		return
	}
	for _, name := range s.Required {
		if _, given := object[name]; !given {
			c.add(join(path, name), "is missing; allowed: %s", allowed(s.Properties[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if p := s.Properties[name]; p != nil {
			object[name] = c.check(object[name], p, join(path, name))
			continue
		}
		known := slices.Sorted(maps.Keys(s.Properties))
		if near := nearest(name, known); near != "" {
			c.add(join(path, name), "is no member; did you mean %s?", near)
		} else {
			c.add(join(path, name), "is no member; allowed: %s", orNone(known))
		}
	}
}
