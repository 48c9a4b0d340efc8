package incident

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/jsonvalue"
	words "github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/mcpadapter/internal/faultevent"
)

// Payloads beyond these bounds are refused: no fault needs that much text, and
// one message must not fill the memory of a runner.
const (
	maxPayload = 1 << 20
	maxText    = 253       // of a name; the longest that Kubernetes allows
	maxContext = 128 << 10 // the rest is cut off; each byte may need six in a record
)

// parseEvent reads the data of a notification. The members decide which of the
// two shapes it has, whatever the logger or the mode of the subscription: an
// "event" makes it nested, a "resource" or "faultType" flat. Unknown members
// are ignored, since servers add to their payloads.
//
// A payload is refused with [*FieldError]s, joined, if it is not a JSON object,
// has neither or both shapes, no reason, a malformed time, or names that no
// resource has.
//
// received is the time of an event whose payload has none.
func parseEvent(logger string, data json.RawMessage, received time.Time) (event, error) {
	p, err := decodePayload(data)
	if err != nil {
		return event{}, err
	}
	e := event{ID: newUUID(), Logger: logger, Subscription: p.SubscriptionID, Cluster: p.Cluster,
		At: received.UTC()}
	switch flat := p.Resource != nil || p.FaultType != ""; {
	case p.Event != nil && flat:
		err = fields.Wrong("payload", fielderror.Found("of both shapes"), `either "event" or "resource" with "faultType"`)
	case p.Event != nil:
		err = e.readNested(p)
	case flat:
		err = e.readFlat(p)
	default:
		err = fields.Wrong("payload", excerpt(data), `a member "event", or "resource" with "faultType"`)
	}
	if err != nil {
		return event{}, err
	}
	return e, nil
}

func decodePayload(data json.RawMessage) (*faultevent.Payload, error) {
	switch {
	case len(data) > maxPayload:
		return nil, fields.Wrong("payload", fielderror.Found(fmt.Sprintf("%d bytes", len(data))),
			fmt.Sprintf("at most %d bytes", maxPayload))
	case !utf8.Valid(data):
		return nil, fields.Wrong("payload", fielderror.Found("invalid UTF-8"), "JSON in UTF-8")
	}
	p := new(faultevent.Payload)
	if err := json.Unmarshal(data, p); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			return nil, fields.Wrong(cmp.Or(jsonvalue.FieldOf(wrong), "payload"),
				fielderror.Found("of type "+wrong.Value), "a JSON "+kindName(wrong.Type.Kind().String()))
		}
		return nil, fields.Wrong("payload", excerpt(data), "a JSON object")
	}
	return p, nil
}

func (e *event) readFlat(p *faultevent.Payload) error {
	if p.Resource != nil {
		e.Resource = *p.Resource
	}
	e.Reason, e.Context, e.Severity = p.FaultType, words.Clip(p.Context, maxContext), severityOf(p.Severity)
	return errors.Join(e.setTime("timestamp", p.Timestamp), e.check("faultType", "resource"))
}

func (e *event) readNested(p *faultevent.Payload) error {
	n := p.Event
	e.Resource = n.InvolvedObject
	e.Resource.Namespace = cmp.Or(n.Namespace, e.Resource.Namespace)
	e.Reason, e.Severity = n.Reason, severityOf(n.Type)
	var text strings.Builder
	text.WriteString(n.Message)
	for _, l := range p.Logs {
		if text.Len() > maxContext { // a log of two bytes has a heading of twenty
			break
		}
		text.WriteString("\n" + logText(l))
	}
	e.Context = words.Clip(strings.TrimSpace(text.String()), maxContext)
	return errors.Join(e.setTime("event.timestamp", n.Timestamp), e.check("event.reason", "event.involvedObject"))
}

// logText is the sample under a line that names its container.
func logText(l faultevent.Log) string {
	head := "log of " + cmp.Or(l.Container, "a container")
	if l.Previous {
		head += ", previous run"
	}
	if l.HasPanic {
		head += ", with a panic"
	}
	if l.Error != "" {
		return head + ": not available: " + l.Error
	}
	return head + ":\n" + l.Sample
}

func (e *event) setTime(field, text string) error {
	if text == "" {
		return nil
	}
	at, err := time.Parse(time.RFC3339, text)
	// an offset may lead out of the years that can be written
	if at = at.UTC(); err != nil || at.Year() < 0 || at.Year() > 9999 {
		return fields.Wrong(field, text, "a time by RFC 3339, such as 2026-05-01T12:00:00Z")
	}
	e.At = at
	return nil
}

// check refuses what cannot be a name, so that later stages never meet line
// breaks, control characters or endless texts.
func (e *event) check(reason, of string) error {
	problems := fields.List()
	problems.Demand(e.Reason != "", reason, nil, "a word that says what happened")
	for _, f := range []struct{ field, value string }{
		{reason, e.Reason}, {of + ".kind", e.Resource.Kind}, {of + ".name", e.Resource.Name},
		{of + ".namespace", e.Resource.Namespace}, {"cluster", e.Cluster},
	} {
		if len(f.value) > maxText || strings.ContainsFunc(f.value, unicode.IsControl) {
			problems.Wrong(f.field, excerpt([]byte(f.value)),
				fmt.Sprintf("at most %d bytes without control characters", maxText))
		}
	}
	return problems.Err()
}

func severityOf(text string) Severity {
	if s, err := ParseSeverity(text); err == nil {
		return s
	}
	return Warning
}

func excerpt(data []byte) string {
	return words.Clip(string(data), 80)
}

func kindName(goKind string) string {
	known := map[string]string{"struct": "object", "ptr": "object", "slice": "array", "int64": "whole number",
		"bool": "boolean"}
	return cmp.Or(known[goKind], goKind)
}
