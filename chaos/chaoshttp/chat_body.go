package chaoshttp

import (
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/jsondoc"
	"github.com/shakedown-go/shakedown/internal/sse"
)

// editBody edits a completion of any provider that is one document.
func editBody(body []byte, fresh func(i int) editor) (out []byte, changes []chaos.Change, ok bool) {
	doc, err := jsondoc.Parse(body)
	if err != nil {
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

// rewriting is the script that edits a completion in a stream.
type rewriting struct {
	fresh   func(i int) editor
	form    form
	changed bool
	typed   string // the type of the last event
}

func (w *rewriting) event(n int, e sse.Event) step {
	doc, err := jsondoc.Parse([]byte(e.Data))
	if err != nil {
		return as(e)
	}
	if w.form == nil {
		w.form = formOf(doc, w.fresh)
	}
	if w.form == nil {
		return as(e)
	}
	w.typed = e.Type
	log := &changeLog{root: index("$", n)}
	before, drop := w.form.rewrite(doc, log)
	w.changed = w.changed || len(log.list) > 0
	st := step{changes: log.list}
	for _, d := range before {
		st.out = append(st.out, written(e, d)...)
	}
	switch {
	case drop:
	case string(doc.Bytes()) == strings.TrimSpace(e.Data) && len(before) == 0:
		st.out = e.Raw
	default:
		st.out = append(st.out, written(e, doc)...)
	}
	return st
}

func (w *rewriting) end(n int) (st step) {
	if w.form == nil {
		return step{note: notUnderstood}
	}
	log := &changeLog{root: index("$", n)}
	for _, d := range w.form.rest(log) {
		st.out = append(st.out, written(sse.Event{Type: w.typed, HasData: true}, d)...)
	}
	if st.changes = log.list; !w.changed && len(st.changes) == 0 {
		st.note = "the completion has nothing that this fault changes"
	}
	return st
}

// written is the event with a document as its data. If the event's type is that
// of the document, it stays so.
func written(e sse.Event, doc *jsondoc.Value) []byte {
	if kind, ok := doc.Get("type").Text(); ok && e.Type != "" {
		e.Type = kind
	}
	e.Data = string(doc.Bytes())
	return sse.Append(nil, e)
}

// formOf recognises the provider of a stream by its first event with content;
// nil: there was none yet.
func formOf(doc *jsondoc.Value, fresh func(i int) editor) form {
	kind, _ := doc.Get("type").Text()
	switch {
	case doc.Get("choices").Kind() == '[':
		return &chatStream{fresh: fresh, choices: map[int]*chatChoice{}}
	case kind == "message_start":
		return &messageStream{editor: fresh(0), kinds: map[int]string{}, gone: map[int]bool{}}
	case strings.HasPrefix(kind, "response."):
		return newResponseStream(fresh)
	}
	return nil
}
