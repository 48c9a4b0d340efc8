// Package completion changes what a model says, as it stands on the wire:
// completions of OpenAI's chat/completions and responses, of Anthropic's messages, of
// Gemini, and of Ollama, each as one document or as a stream of events or lines.
//
// A completion of any form is a sequence of pieces. An [Editor] changes pieces
// and knows nothing of the wire. Where they stand there is the table of form.go, a
// row an API, which knows nothing of faults. A talk (talk.go) takes the pieces of a choice
// from their places and puts them back: of a document, which comes at once, of chunks, and
// of typed events (typed.go). So the result does not depend on the form, nor on how a
// stream was split. [Edit] edits a document, a [Stream] the events of a stream.
//
// What is not changed keeps its order, its numbers and its unknown members. The
// package knows no HTTP.
package completion

import (
	"maps"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/sse"
)

// An Editor is one fault of one completion: it changes pieces. A document has a
// text in one piece, a stream in many. An editor must produce the same text in
// the end, however it is split.
type Editor func(p *Piece)

// A Piece is a part of a completion, in the order in which the model says it.
type Piece struct {
	Kind Kind
	Text string // what an editor changes
	// Drop takes a whole call out, at its beginning.
	Drop bool
	// Refusal says of a text that it is one, for providers that keep them apart.
	Refusal bool
	// Late says that an editor keeps some of the text for later: that alone is no change.
	Late bool
	// More is, at an end, what is to come before it: the rest of a text or of
	// arguments, at a Finish a refusal; Was is what was kept of the original.
	More, Was string
}

// A Kind is what a piece is.
type Kind int

// The kinds of pieces.
const (
	Text    Kind = iota // a text, or its next part
	TextEnd             // no more of this text comes
	Call                // a tool call begins: the tool's name
	Args                // its arguments, a JSON text, or their next part
	CallEnd             // no more arguments come
	Finish              // nothing more comes: the reason
)

// The reasons of a Finish, in words that are no provider's. One that a
// form has no word for stays as it is on the wire.
const (
	Stopped  = "stop"
	Called   = "calls"
	TooLong  = "length"
	Filtered = "filter"
	Refused  = "refusal"
	misfit   = "misfit" // a call with arguments that the form cannot say
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
	i := slices.IndexFunc(forms(), func(f *form) bool { return f.is(doc) })
	if i < 0 {
		return body, nil, false
	}
	f, log := forms()[i], &changeLog{root: "$"}
	f.each(doc, func(i int, choice *jsonedit.Value, path string) {
		t := newTalk(f, fresh, i)
		t.document, t.doc, t.log = true, doc, log
		t.choice(choice, path)
	})
	if len(log.list) == 0 {
		return body, nil, true
	}
	return doc.Bytes(), log.list, true
}

// each calls do with the choices of a document or a chunk.
func (f *form) each(doc *jsonedit.Value, do func(i int, choice *jsonedit.Value, path string)) {
	if f.choices == "" {
		do(0, doc, "")
		return
	}
	choices := doc.Get(f.choices)
	for i := range choices.Len() {
		do(i, choices.At(i), index("."+f.choices, i))
	}
}

// A Stream edits a completion that comes in events. It serves one stream, whose
// events it gets in their order. Make one with [NewStream].
type Stream struct {
	fresh   func(i int) Editor
	form    *form         // nil: no event had content yet
	talks   map[int]*talk // by their choice; a form with typed events has one
	changed bool
	last    sse.Event // whose type and framing a rest has
}

// NewStream makes a stream whose editors fresh makes, as for [Edit].
func NewStream(fresh func(i int) Editor) *Stream {
	return &Stream{fresh: fresh, talks: map[int]*talk{}}
}

// Understood reports whether the events so far are those of a completion.
func (s *Stream) Understood() bool { return s.form != nil }

// Changed reports whether anything was changed so far.
func (s *Stream) Changed() bool { return s.changed }

// Event edits the n-th event. out is what is to come in its place, changes what
// differs, with paths that begin with "$[n]". Some of a text may come with a
// later event, or with the rest.
func (s *Stream) Event(n int, e sse.Event) (out []byte, changes []chaos.Change) {
	doc, ok := jsonedit.ParseValue([]byte(e.Data))
	if ok && s.form == nil {
		if i := slices.IndexFunc(forms(), func(f *form) bool { return f.begins(doc) }); i >= 0 {
			s.form = forms()[i]
		}
	}
	if !ok || s.form == nil {
		return e.Raw, nil
	}
	s.last = sse.Event{Type: e.Type, Line: e.Line, HasData: true}
	log := &changeLog{root: index("$", n)}
	before, drop := s.rewrite(doc, log)
	s.changed = s.changed || len(log.list) > 0
	switch {
	case drop:
	case string(doc.Bytes()) == strings.TrimSpace(e.Data) && len(before) == 0:
		return e.Raw, log.list
	default:
		before = append(before, doc)
	}
	for _, d := range before {
		out = append(out, written(e, d)...)
	}
	return out, log.list
}

// rewrite changes the document of one event in place, and returns those that are to come
// before it. drop says that the event itself is not to come.
func (s *Stream) rewrite(doc *jsonedit.Value, log *changeLog) (before []*jsonedit.Value, drop bool) {
	if s.form.events != nil {
		t := s.talk(0, doc, log)
		drop = t.event()
		return t.before, drop
	}
	s.form.each(doc, func(_ int, choice *jsonedit.Value, path string) {
		t := s.talk(choice.Get("index").Int(0), doc, log)
		t.choice(choice, path)
		before = append(before, t.before...)
	})
	return before, false
}

// talk is what has come of a choice. doc is the event; nil: the stream has ended.
func (s *Stream) talk(n int, doc *jsonedit.Value, log *changeLog) *talk {
	if s.talks[n] == nil {
		s.talks[n] = newTalk(s.form, s.fresh, n)
	}
	t := s.talks[n]
	t.doc, t.log, t.before = doc, log, nil
	return t
}

// Rest is what editors still hold of the original when the stream ended, or
// broke off, after n events.
func (s *Stream) Rest(n int) (out []byte, changes []chaos.Change) {
	log := &changeLog{root: index("$", n)}
	for _, i := range slices.Sorted(maps.Keys(s.talks)) {
		t := s.talk(i, nil, log)
		t.close(true)
		for _, d := range t.before {
			out = append(out, written(s.last, d)...)
		}
	}
	s.changed = s.changed || len(log.list) > 0
	return out, log.list
}

// Ends reports whether the data of an event marks its stream as complete.
func Ends(data string) bool {
	doc, _ := jsonedit.ParseValue([]byte(data))
	return slices.ContainsFunc(forms(), func(f *form) bool {
		return f.ends != "" && (strings.TrimSpace(data) == f.ends || typeOf(doc) == f.ends) ||
			f.done != "" && f.is(doc) && string(doc.Get(f.done).Bytes()) == "true"
	})
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
