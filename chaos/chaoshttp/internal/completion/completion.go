// Package completion changes what a model says, as it stands on the wire:
// completions of OpenAI's chat/completions and responses, and of Anthropic's
// messages, each as one document or as a stream of events.
//
// A completion of any form is a sequence of pieces. An [Editor] changes pieces
// and knows nothing of the wire; the forms (chat.go, message.go, response.go,
// each with its stream) find the pieces on the wire and know nothing of faults.
// So one editor serves all six forms, and its result does not depend on how a
// stream was split. [Edit] edits a document, a [Stream] the events of a stream.
//
// What is not changed keeps its order, its numbers and its unknown members. The
// package knows no HTTP.
package completion

import (
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/sse"
)

// Edit edits a completion that is one document. fresh makes the editor of the
// i-th choice; a form without choices has one. Each change has the path of what
// was changed, which begins with "$". ok is false if the document is no
// completion; out is then the document.
func Edit(body []byte, fresh func(i int) Editor) (out []byte, changes []chaos.Change, ok bool) {
	doc, ok := jsonedit.ParseValue(body)
	if !ok {
		return body, nil, false
	}
	log := &changeLog{root: "$"}
	if !editChat(doc, fresh, log) && !editMessage(doc, fresh, log) && !editResponse(doc, fresh, log) {
		return body, nil, false
	}
	if len(log.list) == 0 {
		return body, nil, true
	}
	return doc.Bytes(), log.list, true
}

// A Stream edits a completion that comes in events. It serves one stream, whose
// events it gets in their order. Make one with [NewStream].
type Stream struct {
	fresh   func(i int) Editor
	form    form // nil: no event had content yet
	changed bool
	typed   string // the type of the last event
}

// NewStream makes a stream whose editors fresh makes, as for [Edit].
func NewStream(fresh func(i int) Editor) *Stream { return &Stream{fresh: fresh} }

// Understood reports whether the events so far are those of a completion.
func (s *Stream) Understood() bool { return s.form != nil }

// Changed reports whether anything was changed so far.
func (s *Stream) Changed() bool { return s.changed }

// Event edits the n-th event. out is what is to come in its place, changes what
// differs, with paths that begin with "$[n]". Some of a text may come with a
// later event, or with the rest.
func (s *Stream) Event(n int, e sse.Event) (out []byte, changes []chaos.Change) {
	doc, ok := jsonedit.ParseValue([]byte(e.Data))
	if !ok {
		return e.Raw, nil
	}
	if s.form == nil {
		s.form = formOf(doc, s.fresh)
	}
	if s.form == nil {
		return e.Raw, nil
	}
	s.typed = e.Type
	log := &changeLog{root: index("$", n)}
	before, drop := s.form.rewrite(doc, log)
	s.changed = s.changed || len(log.list) > 0
	for _, d := range before {
		out = append(out, written(e, d)...)
	}
	switch {
	case drop:
	case string(doc.Bytes()) == strings.TrimSpace(e.Data) && len(before) == 0:
		out = e.Raw
	default:
		out = append(out, written(e, doc)...)
	}
	return out, log.list
}

// Rest is what editors still hold of the original when the stream ended, or
// broke off, after n events.
func (s *Stream) Rest(n int) (out []byte, changes []chaos.Change) {
	if s.form == nil {
		return nil, nil
	}
	log := &changeLog{root: index("$", n)}
	for _, d := range s.form.rest(log) {
		out = append(out, written(sse.Event{Type: s.typed, HasData: true}, d)...)
	}
	s.changed = s.changed || len(log.list) > 0
	return out, log.list
}

// Ends reports whether the data of an event marks its stream as complete.
func Ends(data string) bool {
	if strings.TrimSpace(data) == "[DONE]" {
		return true
	}
	doc, ok := jsonedit.ParseValue([]byte(data))
	if !ok {
		return false
	}
	kind, _ := doc.Get("type").Text()
	return kind == "message_stop" || kind == "response.completed"
}

// written is the event with a document as its data. If the event's type is that
// of the document, it stays so.
func written(e sse.Event, doc *jsonedit.Value) []byte {
	if kind, ok := doc.Get("type").Text(); ok && e.Type != "" {
		e.Type = kind
	}
	e.Data = string(doc.Bytes())
	return sse.Append(nil, e)
}

// formOf recognises the provider of a stream by its first event with content;
// nil: there was none yet.
func formOf(doc *jsonedit.Value, fresh func(i int) Editor) form {
	kind, _ := doc.Get("type").Text()
	switch {
	case doc.Get("choices").Kind() == jsonedit.Array:
		return &chatStream{fresh: fresh, choices: map[int]*chatChoice{}}
	case kind == "message_start":
		return &messageStream{Editor: fresh(0), kinds: map[int]string{}, gone: map[int]bool{}}
	case strings.HasPrefix(kind, "response."):
		return &responseStream{Editor: fresh(0), items: map[int]*responseItem{}}
	}
	return nil
}
