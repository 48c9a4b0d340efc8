package lies

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/jsonvalue"
)

// document is a result, or the arguments of a call, as the document that an
// edit changes.
type document struct {
	original any
	doc      *jsonedit.Doc
	plain    bool // a text that is no JSON: the document is the text as a JSON string
	value    bool // a Go value
}

// bodied is a result with a document that its caller reads later, as an HTTP
// response has: a lie about it is one about that document.
type bodied interface {
	OnBody(ctx context.Context, c chaos.Call, args any, f chaos.Fault) (any, error)
}

// open reads a result. If why is not empty, it says why there is no document.
func open(result any) (in document, why string) {
	in.original = result
	if v, ok := result.(interface{ NoDocument() string }); ok {
		return in, v.NoDocument()
	}
	text, isText := jsonvalue.Text(result)
	if !isText {
		encoded, err := jsonvalue.Encode(result)
		if err != nil {
			return in, fmt.Sprintf("the result, %T, has no JSON: %v", result, err)
		}
		text, in.value = encoded, true
	}
	if d, ok := jsonedit.Parse(text); ok {
		in.doc = d
		return in, ""
	}
	in.plain = true
	in.doc, _ = jsonedit.Parse(jsonedit.Quote(string(text)))
	if in.doc == nil {
		return in, "the result is too large"
	}
	return in, ""
}

// close returns the changed document in the form of the result. A text stays a
// text if the document is a string.
func (in document) close(after []byte) (result any, why string) {
	if in.value {
		return in.closeValue(after)
	}
	if in.plain {
		if d, ok := jsonedit.Parse(after); ok && d.Kind(0) == jsonedit.String {
			after = []byte(d.String(0))
		}
	}
	return jsonvalue.Like(after, in.original), ""
}

// closeValue decodes into the type that the caller expects. It compares both
// values as decoded, because the caller does not see what its type does not
// hold.
func (in document) closeValue(after []byte) (result any, why string) {
	if in.original == nil {
		return json.RawMessage(after), ""
	}
	result, err := jsonvalue.DecodeLike(after, in.original)
	if err != nil {
		return nil, fmt.Sprintf("the changed result does not decode into %T", in.original)
	}
	before, err := jsonvalue.DecodeLike(in.doc.Text, in.original)
	if err == nil && reflect.DeepEqual(before, result) {
		return nil, fmt.Sprintf("a %T does not show what was changed", in.original)
	}
	return result, ""
}
