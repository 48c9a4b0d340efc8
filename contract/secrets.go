package contract

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/redact"
	"github.com/shakedown-go/shakedown/internal/usercode"
)

// leastSecret is the length from which on a text of [Matrix.Secrets] is one. A shorter one is a number
// or a word that reports would lack.
const leastSecret = 6

// newRedactor hides the secrets of the matrix; nil: it has none.
func (m *Matrix) newRedactor() *redact.Redactor {
	secrets := slices.DeleteFunc(slices.Clone(m.Secrets), func(s string) bool { return len(s) < leastSecret })
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
	text := e.secrets.Text
	r.Why = text(r.Why)
	for i := range r.notes.Warnings {
		r.notes.Warnings[i] = text(r.notes.Warnings[i])
	}
	o := r.Evidence // a copy
	if o == nil {
		return
	}
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
	o.Events = slices.Clone(o.Events)
	for i := range o.Events {
		e.hideInEvent(&o.Events[i])
	}
}

func (e *engine) hideInEvent(event *chaos.Event) {
	event.Err, event.Note = e.secrets.Text(event.Err), e.secrets.Text(event.Note)
	doc := func(raw json.RawMessage) json.RawMessage {
		if raw == nil {
			return nil
		}
		return json.RawMessage(e.secrets.Text(string(raw)))
	}
	event.Args, event.Result = doc(event.Args), doc(event.Result)
	event.Changes = slices.Clone(event.Changes)
	for k := range event.Changes {
		event.Changes[k].Before, event.Changes[k].After = doc(event.Changes[k].Before), doc(event.Changes[k].After)
	}
}
