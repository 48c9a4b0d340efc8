// Package jsonbytes writes a []byte as JSON in the form in which people read it.
package jsonbytes

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// Of is a copy of b where b is JSON, a JSON string where it is other UTF-8, and
// a string in base64, as encoding/json writes it, where it is neither. nil is null.
func Of(b []byte) json.RawMessage {
	var v any = b
	switch {
	case json.Valid(b):
		return bytes.Clone(b)
	case b != nil && utf8.Valid(b):
		v = string(b)
	}
	doc, _ := json.Marshal(v) // bytes and strings have JSON
	return doc
}
