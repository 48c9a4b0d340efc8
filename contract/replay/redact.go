package replay

import (
	"encoding/json"
	"strings"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/redact"
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

// withoutSecrets takes the secrets out of a session's document. Only in values, which are the
// arguments and results of calls and the parameters of a plan, does the name of a
// member make its value a secret: elsewhere names are those of the format, or of a
// schema.
func withoutSecrets(d *jsonedit.Doc, secrets *redact.Redactor) []byte {
	var edits []jsonedit.Edit
	for _, member := range d.Children(0) {
		switch name := d.Name(member); name {
		case "format", "version":
		case "calls":
			for _, call := range d.Children(member) {
				for _, part := range d.Children(call) {
					name := d.Name(part)
					edits = append(edits, secrets.Edits(d, part, name == "args" || name == "result")...)
				}
			}
		default:
			edits = append(edits, secrets.Edits(d, member, name == "faults")...)
		}
	}
	return d.Apply(edits...)
}

func isRedacted(doc json.RawMessage) bool { return strings.Contains(string(doc), redact.Marker) }
