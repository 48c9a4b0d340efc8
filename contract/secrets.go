package contract

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/shakedown-go/shakedown/internal/redact"
	"github.com/shakedown-go/shakedown/internal/usercode"
)

// newRedactor hides the secrets of the matrix; nil: it has none. Short ones are numbers or words
// that reports would lack.
func (m *Matrix) newRedactor() *redact.Redactor {
	secrets := slices.DeleteFunc(slices.Clone(m.Secrets), func(s string) bool { return len(s) < 6 })
	if len(secrets) == 0 {
		return nil
	}
	return redact.New(secrets, 0)
}

// withoutSecrets takes the secrets of the matrix out of what a report shows of a cell.
func (e *engine) withoutSecrets(r *CellReport) {
	if e.secrets == nil {
		return
	}
	r.Redact(e.secrets.Text)
	for i := range r.notes.Warnings {
		r.notes.Warnings[i] = e.secrets.Text(r.notes.Warnings[i])
	}
}

// Redact replaces every text of Why, Evidence and Calm by what the function makes of it. The
// observations that were there stay as they are.
func (r *CellReport) Redact(text func(string) string) {
	r.Why, r.Calm = text(r.Why), slices.Clone(r.Calm)
	for i, o := range r.Calm {
		r.Calm[i] = o.redacted(text)
	}
	if r.Evidence != nil {
		r.Evidence = r.Evidence.redacted(text)
	}
}

func (o Observation) redacted(text func(string) string) *Observation {
	o.Prompt, o.Response, o.Baseline = text(o.Prompt), text(o.Response), text(o.Baseline)
	if o.Original != nil {
		original := text(*o.Original)
		o.Original = &original
	}
	if o.Err != nil {
		if said := usercode.ErrorText(o.Err); text(said) != said {
			o.Err = errors.New(text(said))
		}
	}
	o.Events = withDocuments(o.Events, func(raw json.RawMessage) json.RawMessage {
		if raw == nil {
			return nil
		}
		return json.RawMessage(text(string(raw)))
	})
	for i := range o.Events {
		e := &o.Events[i]
		e.Err, e.Note = text(e.Err), text(e.Note)
	}
	return &o
}
