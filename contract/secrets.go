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

// Redact replaces every text of Why and Evidence by what the function makes of it. The
// observation that was the Evidence stays as it is.
func (r *CellReport) Redact(text func(string) string) {
	r.Why = text(r.Why)
	if r.Evidence == nil {
		return
	}
	o := *r.Evidence
	r.Evidence = &o
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
}
