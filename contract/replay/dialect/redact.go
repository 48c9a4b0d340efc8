package dialect

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/shakedown-go/shakedown/internal/redact"
)

// A cleaner takes secrets out of what was read: well-known forms of keys always, and
// what the caller's function takes out.
type cleaner struct {
	in   *input
	keys *redact.Redactor
}

func newCleaner(in *input) *cleaner {
	return &cleaner{in, redact.New(nil, redact.Patterns)}
}

func (c *cleaner) trace(t *trace) {
	for i := range t.prompts {
		t.prompts[i] = c.text("prompts", "", t.prompts[i])
	}
	t.answer = c.text("answer", "", t.answer)
	for i := range t.calls {
		call := &t.calls[i]
		at := fmt.Sprintf("calls[%d].", i)
		call.Args = c.document(at+"args", call.Tool, call.Args)
		call.Result = c.document(at+"result", call.Tool, call.Result)
		if call.Error != nil {
			e := *call.Error // two calls may have had one error
			e.Text = c.text(at+"error.text", call.Tool, e.Text)
			call.Error = &e
		}
	}
}

// text cleans a text, which the caller's function sees as a JSON string.
func (c *cleaner) text(field, target, s string) string {
	if s == "" {
		return s
	}
	s = c.keys.Text(s)
	if c.in.o.Redact == nil {
		return s
	}
	doc, _ := json.Marshal(s) // a string has JSON
	doc = c.ask(field, target, doc)
	if err := json.Unmarshal(doc, &s); err != nil {
		c.in.wrong.Because(field, nil, err, "a JSON string, from Redact of one")
	}
	return s
}

func (c *cleaner) document(field, target string, doc json.RawMessage) json.RawMessage {
	if len(doc) == 0 {
		return doc
	}
	doc = c.withoutKeys(doc)
	if c.in.o.Redact == nil {
		return doc
	}
	doc = c.ask(field, target, doc)
	if !json.Valid(doc) {
		c.in.wrong.Wrong(field, string(doc), "JSON, from Redact")
	}
	return doc
}

func (c *cleaner) ask(field, target string, doc []byte) []byte {
	return c.in.o.Redact(target, bytes.Clone(doc))
}

// withoutKeys takes keys out of a document. Where there are none, which is the rule,
// its bytes stay as they are. Escaped letters hide a key from a search of the bytes.
func (c *cleaner) withoutKeys(doc json.RawMessage) json.RawMessage {
	if text := string(doc); c.keys.Text(text) == text && !bytes.Contains(doc, []byte(`\u`)) {
		return doc
	}
	doc = c.keys.JSON(doc, true)
	text := string(doc)
	if left := c.keys.Text(text); left != text {
		if doc = json.RawMessage(left); !json.Valid(doc) {
			doc, _ = json.Marshal(left) // a string has JSON
		}
	}
	return doc
}
