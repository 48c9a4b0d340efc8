package completion

import "github.com/shakedown-go/shakedown/internal/jsonedit"

// chatWords are the reasons of OpenAI's chat completions, which servers of the
// same form share. A refusal ends with "stop".
func chatWords() words {
	return words{{"stop", reasonStop}, {"tool_calls", reasonCalls}, {"length", reasonLength},
		{"content_filter", reasonFilter}, {"stop", reasonRefusal}}
}

// editChat edits a chat completion that came as one document.
func editChat(doc *jsonedit.Value, fresh func(i int) Editor, log *changeLog) bool {
	choices := doc.Get("choices")
	if choices.Kind() != jsonedit.Array || choices.At(0).Get("message").Kind() != jsonedit.Object {
		return false
	}
	for i := range choices.Len() {
		editChoice(choices.At(i), fresh(i), log, index(".choices", i))
	}
	return true
}

func editChoice(choice *jsonedit.Value, ed Editor, log *changeLog, path string) {
	msg, at := choice.Get("message"), path+".message"
	said := false
	if text, ok := msg.Get("content").Text(); ok {
		p := wholeText(ed, text)
		said = p.text != ""
		setSaid(msg, at, log, p, text)
	}
	editCalls(msg, ed, log, at)
	wire, ok := choice.Get("finish_reason").Text()
	if !ok {
		return
	}
	p, changed := chatWords().finish(ed, wire)
	if changed {
		log.set(choice, "finish_reason", path, jsonedit.Of(p.text))
	}
	if p.more != "" {
		before, _ := msg.Get("content").Text()
		if p.refusal && said {
			before = ""
		}
		setSaid(msg, at, log, piece{text: before + p.more, refusal: p.refusal}, before)
	}
}

// setSaid writes a text where it belongs: refusals have a member of their own.
func setSaid(in *jsonedit.Value, path string, log *changeLog, p piece, before string) {
	if !p.refusal {
		log.text(in, "content", path, p, before)
		return
	}
	log.set(in, "content", path, jsonedit.Of(nil))
	log.set(in, "refusal", path, jsonedit.Of(p.text))
}

func editCalls(msg *jsonedit.Value, ed Editor, log *changeLog, path string) {
	calls := msg.Get("tool_calls")
	gone := log.each(calls, path+".tool_calls", func(call *jsonedit.Value, at string) bool {
		return log.call(call.Get("function"), at+".function", ed)
	})
	if gone > 0 && calls.Len() == 0 {
		msg.Delete("tool_calls") // servers send no empty list
	}
}
