package replay

import (
	"encoding/json"
	"strings"

	"github.com/shakedown-go/shakedown/internal/redact"
	"github.com/shakedown-go/shakedown/internal/strictjson"
)

// Redact returns a copy of the session without secrets: without those given, in any of
// their spellings, and without what looks like one, as [Session.Encode] redacts it. Calls
// that differ in a secret alone become equal. A player redacts the arguments of a call
// likewise before it says that no recorded call is like it; see [PlayOptions].
//
// The error is that of a session that cannot be encoded.
func (s *Session) Redact(secrets ...string) (*Session, error) {
	data, err := s.encode(redact.New(secrets, redact.Patterns))
	if err != nil {
		return nil, err
	}
	return Read(data)
}

// redactSession takes the secrets out of a session's document. Only in values, which are the
// arguments and results of calls and the parameters of a plan, does the name of a
// member make its value a secret: elsewhere names are those of the format, or of a
// schema.
func redactSession(doc *strictjson.Node, secrets *redact.Redactor) {
	for i, key := range doc.Keys() {
		switch key {
		case "format", "version":
		case "calls":
			for _, call := range doc.At(i).Values() {
				for k, key := range call.Keys() {
					secrets.Node(call.At(k), key == "args" || key == "result")
				}
			}
		default:
			secrets.Node(doc.At(i), key == "faults")
		}
	}
}

func isRedacted(doc json.RawMessage) bool { return strings.Contains(string(doc), redact.Marker) }
