package completion

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// A form is where things stand in the completions of one API. The editors of
// documents (talk.go) and of streams (chunks.go, stream.go) know no more of
// an API than its row: a new API is a row in forms.
type form struct {
	is     func(doc *jsonedit.Value) bool // reports whether a document is one of these completions
	begins func(doc *jsonedit.Value) bool // reports whether an event is the first one with content
	ends   string                         // the type, or the data, of the event that ends a stream

	choices string // the list of choices; "": the document is the only one
	message string // in a choice, what the model says; "": the choice itself
	next    string // in a choice of a chunk, what comes next of it
	lists   []list // in it, what may be changed, in the order in which it is said
	reason  string // in a choice or in the event that ends it: why the model stopped
	words   words  // of it
	// stopped is called when an editor has changed the reason; nil: nothing else says it.
	stopped func(in *jsonedit.Value, log *changeLog, path, reason string)
	// finish edits the reason of an API that has no member for it alone.
	finish func(in *jsonedit.Value, ed Editor, calls bool, log *changeLog, path string) (p piece, ok bool)
	// refuse writes a text as a refusal; nil: it is a text like any other.
	refuse func(in *jsonedit.Value, log *changeLog, path, words string)
	// add adds a refusal to a message of which it is all. gone is how many elements were
	// removed before.
	add func(message *jsonedit.Value, log *changeLog, path, words string, gone int)

	// Of a stream whose events have a type. Without any it has chunks: documents with a delta in
	// place of the message.
	events map[string]event
	index  string // the member of an event that says which element of the first list it is about
	// delta is an event with more of a text, and block one whole element, a text.
	delta func(t *streamText, more string) *jsonedit.Value
	block func(n int, text string) []*jsonedit.Value
}

// A list is a list in a message, and what its elements are by their member "type".
// The kind "" stands for all other elements.
type list struct {
	name  string // "": the message itself is the only element
	kinds map[string]part
	// omitted says that an empty list is left out.
	omitted bool
}

// A part is a text, a call, or a list of texts.
type part struct {
	text  string // the member with the text
	drops bool   // a text that became empty goes with its part
	call  string // the member that has name and arguments; "": the part itself
	args  string // the member with the arguments of a call
	value bool   // these are a value, not a text
	inner *list  // the list with the texts
}

// event is what an event of a type does. That of a delta with a type of its own is
// found by both.
type event struct {
	does    deed
	in      string    // the member that is meant; "": the event itself
	name    string    // in it, the member with the text or the arguments
	kind    pieceKind // of what the name has: pieceText or pieceArgs
	refusal string    // the event's type once the text is a refusal
}

type deed int

const (
	passes   deed = iota
	starts        // an element of the list begins
	grows         // the next part of a text or of arguments
	stops         // there is no more of it
	restates      // an element once more, or a part of it
	finishes      // the reason
)

// forms has a row for each API.
var forms = sync.OnceValue(allForms)

func allForms() []*form { return []*form{chatForm(), messageForm(), responseForm()} }

// typeOf is the member "type" of an object.
func typeOf(v *jsonedit.Value) string {
	kind, _ := v.Get("type").Text()
	return kind
}

// chatForm is that of OpenAI's chat completions, which many servers share. A
// refusal has a member of its own, and ends with "stop".
func chatForm() *form {
	refuse := func(in *jsonedit.Value, log *changeLog, path, words string) {
		log.set(in, "content", path, jsonedit.Of(nil))
		log.set(in, "refusal", path, jsonedit.Of(words))
	}
	return &form{
		is: func(doc *jsonedit.Value) bool {
			choices := doc.Get("choices")
			return choices.Kind() == jsonedit.Array && choices.At(0).Get("message").Kind() == jsonedit.Object
		},
		begins:  func(doc *jsonedit.Value) bool { return doc.Get("choices").Kind() == jsonedit.Array },
		ends:    "[DONE]",
		choices: "choices", message: "message", next: "delta",
		lists: []list{
			{kinds: map[string]part{"": {text: "content"}}},
			{name: "tool_calls", kinds: map[string]part{"": {call: "function", args: "arguments"}}, omitted: true},
		},
		reason: "finish_reason",
		words: words{{"stop", reasonStop}, {"tool_calls", reasonCalls}, {"length", reasonLength},
			{"content_filter", reasonFilter}, {"stop", reasonRefusal}},
		refuse: refuse,
		add: func(message *jsonedit.Value, log *changeLog, path, words string, _ int) {
			refuse(message, log, path, words)
		},
	}
}

// messageForm is that of Anthropic's messages. The filter of the service and a
// refusal of the model end alike, and a refusal is a text.
func messageForm() *form {
	return &form{
		is: func(doc *jsonedit.Value) bool {
			return typeOf(doc) == "message" && doc.Get("content").Kind() == jsonedit.Array
		},
		begins: func(doc *jsonedit.Value) bool { return typeOf(doc) == "message_start" },
		ends:   "message_stop",
		lists: []list{{name: "content", kinds: map[string]part{
			"text": {text: "text", drops: true}, "tool_use": {args: "input", value: true},
		}}},
		reason: "stop_reason",
		words: words{{"end_turn", reasonStop}, {"tool_use", reasonCalls}, {"max_tokens", reasonLength},
			{"refusal", reasonFilter}, {"refusal", reasonRefusal}},
		stopped: func(in *jsonedit.Value, log *changeLog, path, reason string) {
			if reason == "refusal" {
				log.set(in, "stop_details", path, built(`{"type":"refusal","category":null,"explanation":null}`))
			}
		},
		add: func(message *jsonedit.Value, log *changeLog, path, words string, gone int) {
			log.add(message.Get("content"), path+".content", gone, built(`{"type":"text","text":%s}`, quoted(words)))
		},
		events: map[string]event{
			"content_block_start":                  {does: starts, in: "content_block"},
			"content_block_delta text_delta":       {does: grows, in: "delta", name: "text", kind: pieceText},
			"content_block_delta input_json_delta": {does: grows, in: "delta", name: "partial_json", kind: pieceArgs},
			"content_block_stop":                   {does: stops},
			"message_delta":                        {does: finishes, in: "delta"},
		},
		index: "index",
		delta: func(t *streamText, more string) *jsonedit.Value {
			if t.kind == pieceArgs {
				return built(`{"type":"content_block_delta","index":%d,"delta":{"type":"input_json_delta","partial_json":%s}}`,
					t.element, quoted(more))
			}
			return blockDelta(t.element, more)
		},
		block: func(n int, text string) []*jsonedit.Value {
			return []*jsonedit.Value{
				built(`{"type":"content_block_start","index":%d,"content_block":{"type":"text","text":""}}`, n),
				blockDelta(n, text), built(`{"type":"content_block_stop","index":%d}`, n),
			}
		},
	}
}

func blockDelta(n int, text string) *jsonedit.Value {
	return built(`{"type":"content_block_delta","index":%d,"delta":{"type":"text_delta","text":%s}}`, n, quoted(text))
}

// responseForm is that of OpenAI's responses. A stream repeats everything: in
// deltas, when a part is done, when its item is, and in the whole response at the end.
func responseForm() *form {
	return &form{
		is: func(doc *jsonedit.Value) bool {
			kind, _ := doc.Get("object").Text()
			return kind == "response" && doc.Get("output").Kind() == jsonedit.Array
		},
		begins: func(doc *jsonedit.Value) bool { return strings.HasPrefix(typeOf(doc), "response.") },
		ends:   "response.completed",
		lists: []list{{name: "output", kinds: map[string]part{
			"message":       {inner: &list{name: "content", kinds: map[string]part{"output_text": {text: "text"}}}},
			"function_call": {args: "arguments"},
		}}},
		finish: finishResponse,
		refuse: func(in *jsonedit.Value, log *changeLog, path, words string) {
			before := in.Bytes()
			in.Put(refusalPart(words).Bytes())
			log.note(path, before, in.Bytes())
		},
		add: func(response *jsonedit.Value, log *changeLog, path, words string, gone int) {
			log.add(response.Get("output"), path+".output", gone, built(
				`{"id":"msg_0","type":"message","status":"completed","role":"assistant","content":[%s]}`, refusalPart(words).Bytes()))
		},
		events: map[string]event{
			"response.output_item.added": {does: starts, in: "item"},
			"response.output_text.delta": {does: grows, name: "delta", kind: pieceText,
				refusal: "response.refusal.delta"},
			"response.output_text.done": {does: stops, name: "text", kind: pieceText,
				refusal: "response.refusal.done"},
			"response.function_call_arguments.delta": {does: grows, name: "delta", kind: pieceArgs},
			"response.function_call_arguments.done":  {does: stops, name: "arguments", kind: pieceArgs},
			"response.content_part.done":             {does: restates, in: "part"},
			"response.output_item.done":              {does: restates, in: "item"},
			"response.completed":                     {does: finishes, in: "response"},
			"response.incomplete":                    {does: finishes, in: "response"},
		},
		index: "output_index",
		delta: func(t *streamText, more string) *jsonedit.Value {
			d, ok := jsonedit.ParseValue(t.last.Bytes())
			if !ok {
				return nil // an editor adds nothing to a text without a delta
			}
			d.Delete("logprobs")
			d.SetText("delta", more)
			return d
		},
	}
}

// finishResponse edits the reason. This API has none for a normal end: it has a
// status, and details of an incomplete response.
func finishResponse(in *jsonedit.Value, ed Editor, calls bool, log *changeLog, path string) (p piece, ok bool) {
	var reason string
	switch status, _ := in.Get("status").Text(); status {
	case "completed":
		if reason = reasonStop; calls {
			reason = reasonCalls
		}
	case "incomplete":
		reason = reasonLength
	default:
		return piece{}, false // it failed, was cancelled, or is not at its end
	}
	p = editOne(ed, pieceFinish, reason)
	why := map[string]string{reasonLength: "max_output_tokens", reasonFilter: "content_filter"}[p.text]
	if p.text != reason && why != "" {
		log.set(in, "status", path, jsonedit.Of("incomplete"))
		log.set(in, "incomplete_details", path, jsonedit.Of(map[string]string{"reason": why}))
	}
	return p, true
}

func refusalPart(words string) *jsonedit.Value {
	return built(`{"type":"refusal","refusal":%s}`, quoted(words))
}

// built is a document of the given text.
func built(format string, values ...any) *jsonedit.Value {
	return jsonedit.Of(json.RawMessage(fmt.Sprintf(format, values...)))
}

// quoted is a text as JSON.
func quoted(text string) []byte { return jsonedit.Of(text).Bytes() }
