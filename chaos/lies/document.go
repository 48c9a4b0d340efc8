package lies

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

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
		if in.doc = d; repeats(d) {
			return in, "the result has two members of one name, of which decoders read either"
		}
		return in, ""
	}
	in.plain = true
	in.doc, _ = jsonedit.Parse(jsonedit.Quote(string(text)))
	if in.doc == nil {
		return in, "the result is too large"
	}
	return in, ""
}

// repeats reports whether an object of the document has two members of one name. A lie
// about one of them may be seen by nobody.
func repeats(d *jsonedit.Doc) bool {
	var names [][]byte
	for i := range d.Nodes {
		if d.Kind(i) != jsonedit.Object {
			continue
		}
		names = names[:0]
		for k := int32(i) + 1; k < d.Nodes[i].Next; k = d.Nodes[k].Next {
			n := d.Nodes[k]
			name := d.Text[n.NameStart+1 : n.NameEnd-1]
			if bytes.IndexByte(name, '\\') >= 0 {
				name = []byte(d.Name(int(k)))
			}
			names = append(names, name)
		}
		slices.SortFunc(names, bytes.Compare)
		for k := range len(names) - 1 {
			if bytes.Equal(names[k], names[k+1]) {
				return true
			}
		}
	}
	return false
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
