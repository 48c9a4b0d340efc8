package invariant

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/schema"
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
	var demanded *schema.Schema
	if o.Schema != "" {
		var err error
		if demanded, err = schema.Read(o.Schema); err != nil {
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
		} else if demanded == nil {
			return nil
		} else if err != nil {
			return fmt.Errorf("the answer is JSON that the schema cannot judge: %w", err)
		}
		if err := demanded.Validate(value); err != nil {
			return fmt.Errorf("the answer does not satisfy the schema: %w: %s", err, text.QuoteShort(doc))
		}
		return nil
	})
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
