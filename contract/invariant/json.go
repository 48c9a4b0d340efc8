package invariant

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/text"
)

// JSONOptions are the settings of [ValidJSON]; nil and the zero value work.
type JSONOptions struct {
	_ struct{}
	// Schema is a JSON Schema of draft 2020-12 or draft 7 that the answer must
	// satisfy; "": any JSON holds. References are JSON pointers within the schema, such as
	// "#/$defs/order"; others are refused, and so are those that lead back to a part that they lie in, as of a tree.
	// format is not checked. Numbers are compared as float64.
	Schema string
	// AllowFence removes one Markdown code fence around the whole answer.
	AllowFence bool
}

// ValidJSON holds when the answer is one JSON value, with or without white space
// around it, and satisfies the schema if there is one. Duplicate members are not
// reported: the last one counts, as in encoding/json.
func ValidJSON(name string, severity contract.Severity, o *JSONOptions) contract.Invariant {
	d := newDraft("ValidJSON", name, severity)
	if o == nil {
		o = &JSONOptions{}
	}
	var schema *jsonschema.Resolved
	if o.Schema != "" {
		var err error
		if schema, err = resolve(o.Schema); err != nil {
			d.refuse("Schema", nil, err,
				"a JSON Schema of draft 2020-12 or draft 7 whose references are JSON pointers")
		}
	}
	fenced := o.AllowFence
	return d.judge(func(_ context.Context, o *contract.Observation) error {
		doc := o.Response
		if fenced {
			doc = unfence(doc)
		}
		var value any
		if err := json.Unmarshal([]byte(doc), &value); err != nil && !json.Valid([]byte(doc)) {
			return fmt.Errorf("the answer is not JSON: %w: %s", err, text.QuoteShort(doc))
		} else if schema == nil {
			return nil
		} else if err != nil {
			return fmt.Errorf("the answer is JSON that the schema cannot judge: %w", err)
		}
		if err := validate(schema, value); err != nil {
			return fmt.Errorf("the answer does not satisfy the schema: %w: %s", err, text.QuoteShort(doc))
		}
		return nil
	})
}

// resolve reads a schema. It checks the dialect, because the library does so only when
// it validates, and accepts a final '#' in the name of one dialect alone.
func resolve(text string) (resolved *jsonschema.Resolved, err error) {
	defer recovered(&err)
	if err := schemaLoop(text); err != nil {
		return nil, err
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal([]byte(text), &schema); err != nil {
		return nil, err
	}
	switch strings.TrimSuffix(schema.Schema, "#") {
	case "":
	case "http://json-schema.org/draft-07/schema", "https://json-schema.org/draft-07/schema":
		schema.Schema = "http://json-schema.org/draft-07/schema#"
	case "https://json-schema.org/draft/2020-12/schema":
		schema.Schema = "https://json-schema.org/draft/2020-12/schema"
	default:
		return nil, fmt.Errorf("$schema %q is not supported", schema.Schema)
	}
	return schema.Resolve(nil)
}

func validate(schema *jsonschema.Resolved, value any) (err error) {
	defer recovered(&err)
	return schema.Validate(value)
}

// recovered turns a panic of the schema library into an error: a schema is data, and
// data must not end the process.
func recovered(err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("the schema cannot be used: %v", v)
	}
}

// unfence returns the text between ``` and ```, if there is nothing around them, else
// the whole text.
func unfence(text string) string {
	inner, ok := strings.CutPrefix(strings.TrimSpace(text), "```")
	if !ok {
		return text
	}
	inner, ok = strings.CutSuffix(inner, "```")
	_, body, multiline := strings.Cut(inner, "\n") // the first line names the language
	if !ok || !multiline {
		return text
	}
	return body
}
