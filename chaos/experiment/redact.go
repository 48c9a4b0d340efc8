package experiment

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/internal/redact"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/internal/usercode"
)

// redactor takes the values of secrets out of the content of a journal.
type redactor struct{ *redact.Redactor }

func (rd redactor) text(s string) string { return rd.Text(s) }

// maxOutput is the number of bytes of an output that a journal keeps.
const maxOutput = 1 << 20

// json writes a value as JSON without secrets. A value without JSON is written as
// text, and so is the beginning of one that is too long.
func (rd redactor) json(v any) json.RawMessage {
	doc, err := marshal(v)
	if err != nil {
		if raw, ok := v.(json.RawMessage); ok { // how fmt prints one depends on the version of Go
			v = string(raw)
		}
		doc, _ = marshal(fmt.Sprintf("%+v", v))
	}
	doc = rd.JSON(doc, false)
	if len(doc) > maxOutput {
		doc, _ = marshal(text.Clip(string(doc), maxOutput))
	}
	return doc
}

// marshal returns the JSON of a value. It writes bytes and errors as texts. A
// MarshalJSON that panics gives an error.
func marshal(v any) (doc []byte, err error) {
	defer usercode.Recover(&err, "its MarshalJSON")
	switch t := v.(type) {
	case json.RawMessage: // JSON already; Encode checks it
	case []byte:
		if utf8.Valid(t) {
			v = string(t)
		}
	case error:
		v = usercode.ErrorText(t)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}
