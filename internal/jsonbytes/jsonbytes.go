// Package jsonbytes writes a []byte as JSON that people can read.
package jsonbytes

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// Of returns a copy of b if b is JSON, a JSON string if it is other UTF-8, and otherwise a string in base64, as
// encoding/json writes it. nil is null.
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
