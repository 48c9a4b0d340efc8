package lies

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/jsonvalue"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// paper is a result as a document: what a lie is written on.
type paper struct {
	original any
	doc      *jsonedit.Doc
	plain    bool // a text that is no JSON: the document is the text as a JSON string
	value    bool // a Go value
}

// bodied is a result that carries a document which its caller reads later, as
// an HTTP response does: a lie about it is one about that document.
type bodied interface {
	OnBody(ctx context.Context, c chaos.Call, args any, f chaos.Fault) (any, error)
}

// open reads a result. why says why it has no document.
func open(result any) (p paper, why string) {
	p.original = result
	if v, ok := result.(interface{ NoDocument() string }); ok {
		return p, v.NoDocument()
	}
	text, isText := jsonvalue.Text(result)
	if !isText {
		encoded, err := jsonvalue.Encode(result)
		if err != nil {
			return p, fmt.Sprintf("the result, %T, has no JSON: %v", result, err)
		}
		text, p.value = encoded, true
	}
	if d, ok := jsonedit.Parse(text); ok {
		p.doc = d
		return p, ""
	}
	p.plain = true
	p.doc, _ = jsonedit.Parse(jsonedit.Quote(string(text)))
	if p.doc == nil {
		return p, "the result is too large"
	}
	return p, ""
}

// close brings a changed document back into the form of the result. A text
// stays one as long as the document is a string.
func (p paper) close(after []byte) (result any, why string) {
	if p.value {
		return p.closeValue(after)
	}
	if p.plain {
		if d, ok := jsonedit.Parse(after); ok && d.Kind(0) == jsonedit.String {
			after = []byte(d.String(0))
		}
	}
	return jsonvalue.Like(after, p.original), ""
}

// closeValue decodes into the type that the caller knows. What that type does
// not hold, the caller does not see: both sides are compared as decoded.
func (p paper) closeValue(after []byte) (result any, why string) {
	if p.original == nil {
		return json.RawMessage(after), ""
	}
	result, err := jsonvalue.DecodeLike(after, p.original)
	if err != nil {
		return nil, fmt.Sprintf("the changed result does not decode into %T", p.original)
	}
	before, err := jsonvalue.DecodeLike(p.doc.Text, p.original)
	if err == nil && reflect.DeepEqual(before, result) {
		return nil, fmt.Sprintf("a %T does not show what was changed", p.original)
	}
	return result, ""
}
