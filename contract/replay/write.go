package replay

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/shakedown-go/shakedown/chaos/planjson"
	"github.com/shakedown-go/shakedown/internal/redact"
	"github.com/shakedown-go/shakedown/internal/strictjson"
	"github.com/shakedown-go/shakedown/internal/wholefile"
)

// Encode returns the session as a file has it: one call a line, where it fits. The same
// session gives the same bytes, and what [Read] makes of them gives them again.
//
// What looks like a secret, such as a key in one of the well-known forms or the value
// of a member "password", is redacted: see [Session.Redact]. The error joins the problems
// of a session that Read would refuse, each a [*FieldError].
func (s *Session) Encode() ([]byte, error) { return s.encode(redact.New(nil, redact.Patterns)) }

func (s *Session) encode(secrets *redact.Redactor) ([]byte, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	doc := document{Format: format, Version: version, Session: *s}
	text, err := strictjson.Encode(doc, member)
	if err != nil {
		return nil, fmt.Errorf("replay: session %s: %w", s.Name, err)
	}
	r := newReader()
	n := strictjson.Parse(text, math.MaxInt, &r.Problems)
	if err := r.Err(); err != nil {
		return nil, err
	}
	redactSession(n, secrets)
	text = n.Pretty()
	if _, err := Read(text); err != nil {
		return nil, err
	}
	return text, nil
}

// member writes what the strict writer does not know.
func member(v any) json.RawMessage {
	var text []byte
	var err error
	switch v := v.(type) {
	case time.Time:
		text, err = json.Marshal(v.Format(time.RFC3339Nano))
	case *planjson.Plan:
		text, err = json.Marshal(v)
	}
	if err != nil {
		return nil // and so the strict writer meets the error
	}
	return text
}

// WriteFile writes what [Session.Encode] returns to a file. The file is whole or as it
// was, whenever the process dies. Its folder must exist.
func (s *Session) WriteFile(path string) error {
	data, err := s.Encode()
	if err != nil {
		return err
	}
	if err := wholefile.Write(path, data); err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	return nil
}
