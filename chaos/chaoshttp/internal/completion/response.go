package completion

import (
	"encoding/json"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// editResponse edits an answer of OpenAI's Responses API that came as one document.
func editResponse(doc *jsonedit.Value, fresh func(i int) Editor, log *changeLog) bool {
	output := doc.Get("output")
	if kind, _ := doc.Get("object").Text(); kind != "response" || output.Kind() != jsonedit.Array {
		return false
	}
	ed, calls := fresh(0), false
	gone := log.each(output, ".output", func(item *jsonedit.Value, at string) bool {
		switch kind, _ := item.Get("type").Text(); kind {
		case "message":
			for i := range item.Get("content").Len() {
				editPart(item.Get("content").At(i), ed, log, index(at+".content", i))
			}
		case "function_call":
			calls = true
			return log.call(item, at, ed)
		}
		return true
	})
	if p, ok := endResponse(doc, ed, calls, log, ""); ok && p.more != "" {
		item := messageItem(p)
		log.note(index(".output", output.Len()+gone), nil, item.Bytes())
		output.Add(item)
	}
	return true
}

func editPart(part *jsonedit.Value, ed Editor, log *changeLog, path string) {
	text, ok := part.Get("text").Text()
	if kind, _ := part.Get("type").Text(); kind != "output_text" || !ok {
		return
	}
	p := wholeText(ed, text)
	if !p.refusal {
		log.text(part, "text", path, p, text)
		return
	}
	before := part.Bytes()
	part.Put(refusalPart(p.text).Bytes())
	log.note(path, before, part.Bytes())
}

func refusalPart(text string) *jsonedit.Value {
	return jsonedit.Of(struct {
		Type    string `json:"type"`
		Refusal string `json:"refusal"`
	}{"refusal", text})
}

// messageItem is an item of output that an editor added.
func messageItem(p piece) *jsonedit.Value {
	part := refusalPart(p.more)
	if !p.refusal {
		part = jsonedit.Of(struct {
			Type        string `json:"type"`
			Text        string `json:"text"`
			Annotations []any  `json:"annotations"`
		}{"output_text", p.more, []any{}})
	}
	return jsonedit.Of(struct {
		ID      string            `json:"id"`
		Type    string            `json:"type"`
		Status  string            `json:"status"`
		Role    string            `json:"role"`
		Content []json.RawMessage `json:"content"`
	}{"msg_0", "message", "completed", "assistant", []json.RawMessage{part.Bytes()}})
}

// endResponse edits the reason. This API has none for a normal end: it has a
// status, and details of an incomplete response.
func endResponse(doc *jsonedit.Value, ed Editor, calls bool, log *changeLog, path string) (piece, bool) {
	var reason string
	switch status, _ := doc.Get("status").Text(); status {
	case "completed":
		if reason = reasonStop; calls {
			reason = reasonCalls
		}
	case "incomplete":
		reason = reasonLength
	default:
		return piece{}, false // it failed, was cancelled, or is not at its end
	}
	p := editOne(ed, pieceFinish, reason)
	why := map[string]string{reasonLength: "max_output_tokens", reasonFilter: "content_filter"}[p.text]
	if p.text != reason && why != "" {
		log.set(doc, "status", path, jsonedit.Of("incomplete"))
		log.set(doc, "incomplete_details", path, jsonedit.Of(map[string]string{"reason": why}))
	}
	return p, true
}
