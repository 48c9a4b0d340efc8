// Package completion changes what a model says, as it stands on the wire:
// completions of OpenAI's chat/completions and responses, and of Anthropic's
// messages, each as one document or as a stream of events.
//
// A completion of any form is a sequence of pieces. An [Editor] changes pieces
// and knows nothing of the wire. Where they stand there is the table of form.go, a
// row an API, which knows nothing of faults. So the result does not depend on the form,
// nor on how a stream was split. [Edit] edits a document, a [Stream] the events of
// a stream.
//
// What is not changed keeps its order, its numbers and its unknown members. The
// package knows no HTTP.
package completion

import (
	"slices"
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
	for _, f := range forms() {
		if !f.is(doc) {
			continue
		}
		log := &changeLog{root: "$"}
		f.editDocument(doc, fresh, log)
		if len(log.list) == 0 {
			return body, nil, true
		}
		return doc.Bytes(), log.list, true
	}
	return body, nil, false
}

// A Stream edits a completion that comes in events. It serves one stream, whose
// events it gets in their order. Make one with [NewStream].
type Stream struct {
	fresh   func(i int) Editor
	events  events // nil: none had content yet
	changed bool
	typed   string // the type of the last event
}

// events edits the events of one stream in their order.
type events interface {
	// rewrite changes the document of one event in place, and returns those
	// that are to come before it. drop says that the event itself is not to come.
	rewrite(doc *jsonedit.Value, log *changeLog) (before []*jsonedit.Value, drop bool)
	// rest is what editors still hold of the original when a stream broke off.
	rest(log *changeLog) []*jsonedit.Value
}

// NewStream makes a stream whose editors fresh makes, as for [Edit].
func NewStream(fresh func(i int) Editor) *Stream { return &Stream{fresh: fresh} }

// Understood reports whether the events so far are those of a completion.
func (s *Stream) Understood() bool { return s.events != nil }

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
	if s.events == nil {
		s.events = eventsOf(doc, s.fresh)
	}
	if s.events == nil {
		return e.Raw, nil
	}
	s.typed = e.Type
	log := &changeLog{root: index("$", n)}
	before, drop := s.events.rewrite(doc, log)
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
	if s.events == nil {
		return nil, nil
	}
	log := &changeLog{root: index("$", n)}
	for _, d := range s.events.rest(log) {
		out = append(out, written(sse.Event{Type: s.typed, HasData: true}, d)...)
	}
	s.changed = s.changed || len(log.list) > 0
	return out, log.list
}

// Ends reports whether the data of an event marks its stream as complete.
func Ends(data string) bool {
	if slices.ContainsFunc(forms(), func(f *form) bool { return strings.TrimSpace(data) == f.ends }) {
		return true
	}
	doc, ok := jsonedit.ParseValue([]byte(data))
	return ok && slices.ContainsFunc(forms(), func(f *form) bool { return typeOf(doc) == f.ends })
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

// eventsOf recognises the API of a stream by its first event with content;
// nil: there was none yet.
func eventsOf(doc *jsonedit.Value, fresh func(i int) Editor) events {
	for _, f := range forms() {
		switch {
		case !f.begins(doc):
		case f.events == nil:
			return &chunkStream{f, fresh, map[int]*talk{}}
		default:
			return &typedStream{newTalk(f, fresh(0))}
		}
	}
	return nil
}
