package dialect

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/shakedown-go/shakedown/contract/replay"
)

// clean takes secrets out of what was read: well-known forms of keys always, and
// what the caller's function takes out.
func (in *input) clean(s *replay.Session) {
	for i := range s.Prompts {
		s.Prompts[i] = in.cleanText("prompts", "", s.Prompts[i])
	}
	s.Answer = in.cleanText("answer", "", s.Answer)
	for i := range s.Calls {
		call := &s.Calls[i]
		at := fmt.Sprintf("calls[%d].", i)
		call.Args = in.cleanDocument(at+"args", call.Tool, call.Args)
		call.Result = in.cleanDocument(at+"result", call.Tool, call.Result)
		if call.Error != nil {
			e := *call.Error // two calls may have had one error
			e.Text = in.cleanText(at+"error.text", call.Tool, e.Text)
			call.Error = &e
		}
	}
}

// cleanText cleans a text, which the caller's function sees as a JSON string.
func (in *input) cleanText(field, target, s string) string {
	if s == "" {
		return s
	}
	s = in.keys.Text(s)
	if in.o.Redact == nil {
		return s
	}
	doc, _ := json.Marshal(s) // a string has JSON
	doc = in.o.Redact(target, bytes.Clone(doc))
	if err := json.Unmarshal(doc, &s); err != nil {
		in.wrong.Because(field, nil, err, "a JSON string, from Redact of one")
	}
	return s
}

func (in *input) cleanDocument(field, target string, doc json.RawMessage) json.RawMessage {
	if len(doc) == 0 {
		return doc
	}
	doc = in.withoutKeys(doc)
	if in.o.Redact == nil {
		return doc
	}
	doc = in.o.Redact(target, bytes.Clone(doc))
	if !json.Valid(doc) {
		in.wrong.Wrong(field, string(doc), "JSON, from Redact")
	}
	return doc
}

// withoutKeys takes keys out of a document. Where there are none, which is the rule,
// its bytes stay as they are. Escaped letters hide a key from a search of the bytes.
func (in *input) withoutKeys(doc json.RawMessage) json.RawMessage {
	if text := string(doc); in.keys.Text(text) == text && !bytes.Contains(doc, []byte(`\u`)) {
		return doc
	}
	doc = in.keys.JSON(doc, true)
	text := string(doc)
	if left := in.keys.Text(text); left != text {
		if doc = json.RawMessage(left); !json.Valid(doc) {
			doc, _ = json.Marshal(left) // a string has JSON
		}
	}
	return doc
}
