package fault

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// merged applies a JSON merge patch (RFC 7396, section 2) to a document:
// members of the patch replace those of the same name, and null removes one.
func merged(doc, patch []byte) (json.RawMessage, error) {
	target, err := numbered(doc)
	if err != nil {
		return nil, err
	}
	change, err := numbered(patch)
	if err != nil {
		return nil, err
	}
	return json.Marshal(merge(target, change))
}

func merge(target, patch any) any {
	change, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	object, ok := target.(map[string]any)
	if !ok {
		object = map[string]any{}
	}
	for name, value := range change {
		if value == nil {
			delete(object, name)
		} else {
			object[name] = merge(object[name], value)
		}
	}
	return object
}

// numbered decodes one document and keeps its numbers as they are spelled.
func numbered(doc []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	if err = d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err = d.Token(); err != io.EOF {
		return nil, fmt.Errorf("there is more behind the document")
	}
	return v, nil
}
