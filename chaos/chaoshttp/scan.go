package chaoshttp

import (
	"bytes"
	"encoding/json"

	"github.com/shakedown-go/shakedown/internal/jsondoc"
)

// firstMember is the value of a member of a JSON object, as it is written: the first
// of that name. It looks no further than that, and takes no more trouble over
// what stands before than to find its end; nil: there is none, or doc ends
// before it does.
func firstMember(doc []byte, name string) []byte {
	i := jsondoc.Space(doc, 0)
	if i == len(doc) || doc[i] != '{' {
		return nil
	}
	for i++; ; i++ {
		i = jsondoc.Space(doc, i)
		from := i
		if i = jsondoc.After(doc, i); i < 0 || doc[from] != '"' {
			return nil
		}
		found := called(doc[from:i], name)
		if i = jsondoc.Space(doc, i); i == len(doc) || doc[i] != ':' {
			return nil
		}
		from = jsondoc.Space(doc, i+1)
		if i = jsondoc.After(doc, from); i < 0 {
			return nil
		}
		if found {
			return doc[from:i]
		}
		if i = jsondoc.Space(doc, i); i == len(doc) || doc[i] != ',' {
			return nil
		}
	}
}

// called reports whether a JSON string is the name.
func called(quoted []byte, name string) bool {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1:len(quoted)-1]) == name
	}
	var text string
	return json.Unmarshal(quoted, &text) == nil && text == name
}
