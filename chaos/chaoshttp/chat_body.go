package chaoshttp

import (
	"context"
	"mime"
	"net/http"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/sse"
)

// maxCompletion bounds the completion that is held to be edited as a whole.
const maxCompletion = 8 << 20

// notUnderstood is the note for a body that passes unchanged.
const notUnderstood = "the body is no chat completion, message or response that is understood"

// edited puts an editor in front of a response, if that may be a completion.
func edited(ctx context.Context, result any, fresh func(i int) editor) any {
	r, problem := plainIn(result)
	switch {
	case problem == "" && isStream(r.Header):
		return scripted(ctx, result, &rewriting{fresh: fresh})
	case problem == "" && !isJSON(r.Header):
		problem = "the response is neither JSON nor an event stream: its content type is " + r.Header.Get("Content-Type")
	}
	if problem != "" {
		chaos.Note(ctx, problem)
		return result
	}
	return revise(ctx, r, maxCompletion, tooLong, func(ctx context.Context, body []byte) (revision, error) {
		out, changes, ok := editBody(body, fresh)
		switch {
		case !ok:
			chaos.Note(ctx, notUnderstood)
		case len(changes) == 0:
			chaos.Note(ctx, "the completion has nothing that this fault changes")
		}
		return revision{out, changes}, nil
	}, nil)
}

const tooLong = "the body is too long to be edited"

func isJSON(h http.Header) bool {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && (kind == "application/json" || strings.HasSuffix(kind, "+json"))
}

// editBody edits a completion of any provider that is one document.
func editBody(body []byte, fresh func(i int) editor) (out []byte, changes []chaos.Change, ok bool) {
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

// rewriting is the script that edits a completion in a stream.
type rewriting struct {
	fresh   func(i int) editor
	form    form
	changed bool
	typed   string // the type of the last event
}

func (w *rewriting) event(n int, e sse.Event) step {
	doc, ok := jsonedit.ParseValue([]byte(e.Data))
	if !ok {
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
func written(e sse.Event, doc *jsonedit.Value) []byte {
	if kind, ok := doc.Get("type").Text(); ok && e.Type != "" {
		e.Type = kind
	}
	e.Data = string(doc.Bytes())
	return sse.Append(nil, e)
}

// formOf recognises the provider of a stream by its first event with content;
// nil: there was none yet.
func formOf(doc *jsonedit.Value, fresh func(i int) editor) form {
	kind, _ := doc.Get("type").Text()
	switch {
	case doc.Get("choices").Kind() == jsonedit.Array:
		return &chatStream{fresh: fresh, choices: map[int]*chatChoice{}}
	case kind == "message_start":
		return &messageStream{editor: fresh(0), kinds: map[int]string{}, gone: map[int]bool{}}
	case strings.HasPrefix(kind, "response."):
		return newResponseStream(fresh)
	}
	return nil
}
