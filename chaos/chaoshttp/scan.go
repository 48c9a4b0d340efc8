package chaoshttp

import (
	"bytes"
	"encoding/json"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// firstMember is the text of a member's value in a JSON object, the first of
// that name. It scans no further, and of what stands before only to its end.
// nil: there is none, or doc ends before the value does.
func firstMember(doc []byte, name string) []byte {
	i := jsonedit.Space(doc, 0)
	if i == len(doc) || doc[i] != '{' {
		return nil
	}
	for i++; ; i++ {
		i = jsonedit.Space(doc, i)
		from := i
		if i = jsonedit.After(doc, i); i < 0 || doc[from] != '"' {
			return nil
		}
		found := called(doc[from:i], name)
		if i = jsonedit.Space(doc, i); i == len(doc) || doc[i] != ':' {
			return nil
		}
		from = jsonedit.Space(doc, i+1)
		if i = jsonedit.After(doc, from); i < 0 {
			return nil
		}
		if found {
			return doc[from:i]
		}
		if i = jsonedit.Space(doc, i); i == len(doc) || doc[i] != ',' {
			return nil
		}
	}
}

// called reports whether a JSON string equals the name.
func called(quoted []byte, name string) bool {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1:len(quoted)-1]) == name
	}
	var text string
	return json.Unmarshal(quoted, &text) == nil && text == name
}
