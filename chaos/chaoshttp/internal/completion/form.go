package completion

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// A form is where things stand in the completions of one API. The editors of
// documents and chunks (talk.go) and of typed events (typed.go) know no more of
// an API than its row: a new API is a row in forms.
type form struct {
	is     func(doc *jsonedit.Value) bool // reports whether a document is one of these completions
	begins func(doc *jsonedit.Value) bool // reports whether an event is the first one with content
	ends   string                         // the type, or the data, of the event that ends a stream; "": none has one
	done   string                         // the member that is true in the last chunk of a stream; "": none has one

	choices string // the list of choices; "": the document is the only one
	message string // in a choice, what the model says; "": the choice itself
	next    string // in a choice of a chunk, what comes next of it
	lists   []list // in it, what may be changed, in the order in which it is said
	reason  string // in a choice or in the event that ends it: why the model stopped
	// words are the provider's for our reasons. Of two that are one word on the wire, the first
	// is meant.
	words map[string]string
	// stopped is called when the reason has changed, with a call that is missing or ""; nil:
	// nothing else says it.
	stopped func(in *jsonedit.Value, log *changeLog, path, reason, call string)
	// finish edits the reason of an API that has no member for it alone.
	finish func(s *talk, in *jsonedit.Value, path string) (p Piece, ok bool)
	// refuse writes a text as a refusal; nil: it is a text like any other.
	refuse func(in *jsonedit.Value, log *changeLog, path, words string)
	// refusal is a whole element of the first list, for a message of which it is all; "": refuse
	// writes it.
	refusal string

	// delta is an event or a chunk with more of a text or of arguments, like the last one of it.
	delta func(s *talk, t *said, more string) *jsonedit.Value

	usage string // the member of a chunk with what the completion cost, which comes once
	// spill is the text of a message in which a call comes that is missing; "": it is lost.
	spill string

	// Of a stream whose events have a type. Without any it has chunks: documents with a delta in
	// place of the message.
	events map[string]event
	index  string // the member of an event that says which element of the first list it is about
	// block is one whole element, a text, as events.
	block func(n int, text string) []*jsonedit.Value
}

// A list is a list in a message, and what its elements are by their kind. The kind ""
// stands for all other elements.
type list struct {
	name  string                         // "": the message itself is the only element
	of    func(v *jsonedit.Value) string // the kind of an element; nil: its member "type"
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
	value bool   // these are a value, not a text; of a stream too, they come at once
	// object says that they are an object: a call with others cannot be said, and is missing.
	object bool
	inner  *list // the list with the texts
}

// event is what an event of a type does. That of a delta with a type of its own is
// found by both.
type event struct {
	does    deed
	in      string // the member that is meant; "": the event itself
	name    string // in it, the member with the text or the arguments
	kind    Kind   // of what the name has: Text or Args
	refusal string // the event's type once the text is a refusal
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

var forms = sync.OnceValue(allForms)

func allForms() []*form {
	return []*form{
		chatForm(), messageForm(), responseForm(), candidateForm(), lineForm("message", "content"), lineForm("", "response"),
	}
}

func typeOf(v *jsonedit.Value) string {
	kind, _ := v.Get("type").Text()
	return kind
}

// chatForm is that of OpenAI's chat completions, which many servers share. A
// refusal has a member of its own, and ends with "stop".
func chatForm() *form {
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
		words: map[string]string{Stopped: "stop", Called: "tool_calls", TooLong: "length", Filtered: "content_filter",
			Refused: "stop"},
		refuse: func(in *jsonedit.Value, log *changeLog, path, words string) {
			log.set(in, "content", path, jsonedit.Of(nil))
			log.set(in, "refusal", path, jsonedit.Of(words))
		},
		delta: func(s *talk, t *said, more string) *jsonedit.Value {
			delta := map[string]any{"content": more}
			switch {
			case t.refusal:
				delta = map[string]any{"refusal": more}
			case t.kind == Args:
				delta = map[string]any{"tool_calls": []any{
					map[string]any{"index": t.element, "function": map[string]any{"arguments": more}},
				}}
			}
			return s.chunk(t, jsonedit.Of(map[string]any{"index": s.n, "delta": delta, "finish_reason": nil}))
		},
		usage: "usage",
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
		words: map[string]string{Stopped: "end_turn", Called: "tool_use", TooLong: "max_tokens", Filtered: "refusal",
			Refused: "refusal"},
		stopped: func(in *jsonedit.Value, log *changeLog, path, reason, _ string) {
			if reason == "refusal" {
				log.set(in, "stop_details", path, built(`{"type":"refusal","category":null,"explanation":null}`))
			}
		},
		refusal: `{"type":"text","text":%s}`,
		events: map[string]event{
			"content_block_start":                  {does: starts, in: "content_block"},
			"content_block_delta text_delta":       {does: grows, in: "delta", name: "text", kind: Text},
			"content_block_delta input_json_delta": {does: grows, in: "delta", name: "partial_json", kind: Args},
			"content_block_stop":                   {does: stops},
			"message_delta":                        {does: finishes, in: "delta"},
		},
		index: "index",
		delta: func(s *talk, t *said, more string) *jsonedit.Value {
			if t.kind == Args {
				return built(`{"type":"content_block_delta","index":%d,"delta":{"type":"input_json_delta","partial_json":%s}}`,
					s.place(t.element), quoted(more))
			}
			return built(textDelta, s.place(t.element), quoted(more))
		},
		block: func(n int, text string) []*jsonedit.Value {
			return []*jsonedit.Value{
				built(`{"type":"content_block_start","index":%d,"content_block":{"type":"text","text":""}}`, n),
				built(textDelta, n, quoted(text)), built(`{"type":"content_block_stop","index":%d}`, n),
			}
		},
	}
}

const textDelta = `{"type":"content_block_delta","index":%d,"delta":{"type":"text_delta","text":%s}}`

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
			in.Put(built(refusalPart, quoted(words)).Bytes())
			log.note(path, before, in.Bytes())
		},
		refusal: `{"id":"msg_0","type":"message","status":"completed","role":"assistant","content":[` + refusalPart + `]}`,
		events: map[string]event{
			"response.output_item.added": {does: starts, in: "item"},
			"response.output_text.delta": {does: grows, name: "delta", kind: Text,
				refusal: "response.refusal.delta"},
			"response.output_text.done": {does: stops, name: "text", kind: Text,
				refusal: "response.refusal.done"},
			"response.function_call_arguments.delta": {does: grows, name: "delta", kind: Args},
			"response.function_call_arguments.done":  {does: stops, name: "arguments", kind: Args},
			"response.content_part.done":             {does: restates, in: "part"},
			"response.output_item.done":              {does: restates, in: "item"},
			"response.completed":                     {does: finishes, in: "response"},
			"response.incomplete":                    {does: finishes, in: "response"},
		},
		index: "output_index",
		delta: func(_ *talk, t *said, more string) *jsonedit.Value {
			d, ok := jsonedit.ParseValue(t.doc.Bytes())
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
func finishResponse(s *talk, in *jsonedit.Value, path string) (p Piece, ok bool) {
	reason := Stopped
	switch status, _ := in.Get("status").Text(); {
	case status == "incomplete":
		reason = TooLong
	case status != "completed":
		return Piece{}, false // it failed, was cancelled, or is not at its end
	case s.calls:
		reason = Called
	}
	p = s.one(Finish, reason)
	why := map[string]string{TooLong: "max_output_tokens", Filtered: "content_filter"}[p.Text]
	if p.Text != reason && why != "" {
		s.log.set(in, "status", path, jsonedit.Of("incomplete"))
		s.log.set(in, "incomplete_details", path, jsonedit.Of(map[string]string{"reason": why}))
	}
	return p, true
}

const refusalPart = `{"type":"refusal","refusal":%s}`

func built(format string, values ...any) *jsonedit.Value {
	return jsonedit.Of(json.RawMessage(fmt.Sprintf(format, values...)))
}

func quoted(text string) []byte { return jsonedit.Of(text).Bytes() }

// candidateForm is that of Gemini. Parts are told apart by their members, and are whole in a
// stream too. A refusal is a text, and the reason of a normal end is that of calls. A call
// whose arguments are no object is missing, and the reason says so. A prompt that was blocked
// has no candidates.
func candidateForm() *form {
	is := func(doc *jsonedit.Value) bool {
		first := doc.Get("candidates").At(0)
		return first.Get("content").Kind() == jsonedit.Object || first.Get("finishReason").Kind() == jsonedit.String ||
			doc.Get("promptFeedback").Kind() == jsonedit.Object
	}
	return &form{
		is: is, begins: is,
		choices: "candidates", message: "content", next: "content",
		lists: []list{{
			name: "parts",
			of: func(v *jsonedit.Value) string {
				switch {
				case v.Get("thought") != nil && string(v.Get("thought").Bytes()) == "true":
					return "thought"
				case v.Get("functionCall") != nil:
					return "functionCall"
				}
				return "text"
			},
			kinds: map[string]part{
				"text":         {text: "text", drops: true},
				"functionCall": {call: "functionCall", args: "args", value: true, object: true},
			},
			omitted: true,
		}},
		reason: "finishReason",
		words: map[string]string{Stopped: "STOP", Called: "STOP", TooLong: "MAX_TOKENS", Filtered: "SAFETY",
			Refused: "STOP", misfit: "MALFORMED_FUNCTION_CALL"},
		stopped: func(in *jsonedit.Value, log *changeLog, path, reason, call string) {
			if reason == "MALFORMED_FUNCTION_CALL" {
				log.set(in, "finishMessage", path, jsonedit.Of("Malformed function call: "+call))
			}
		},
		refusal: `{"text":%s}`,
		delta: func(s *talk, t *said, more string) *jsonedit.Value {
			return s.chunk(t, built(`{"content":{"parts":[{"text":%s}],"role":"model"},"index":%d}`, quoted(more), s.n))
		},
		usage: "usageMetadata",
	}
}

// lineForm is that of Ollama: its chats, which have a message, and its completions, which have
// none. A stream of them is one of lines, of which the last is done. A refusal is a text, and
// so is a call whose arguments are no object, as where the server cannot read what the model
// wrote. It has no reason for a filter, so that of OpenAI stands for it.
func lineForm(message, text string) *form {
	is := func(doc *jsonedit.Value) bool {
		in, _ := inside(doc, message, "")
		return in.Get(text).Kind() == jsonedit.String && doc.Get("done").Kind() == jsonedit.Bool
	}
	return &form{
		is: is, begins: is, done: "done",
		message: message, next: message,
		lists: []list{
			{kinds: map[string]part{"": {text: text}}},
			{name: "tool_calls", kinds: map[string]part{
				"": {call: "function", args: "arguments", value: true, object: true},
			}, omitted: true},
		},
		reason: "done_reason",
		words: map[string]string{Stopped: "stop", Called: "stop", TooLong: "length", Filtered: "content_filter",
			Refused: "stop"},
		refuse: func(in *jsonedit.Value, log *changeLog, path, words string) {
			log.set(in, text, path, jsonedit.Of(words))
		},
		spill: text,
		delta: func(_ *talk, t *said, more string) *jsonedit.Value {
			line := built(`{"done":false}`)
			for _, name := range []string{"model", "created_at"} {
				if v := t.doc.Get(name); v != nil {
					line.Set(name, v)
				}
			}
			said := built(`{%s:%s}`, quoted(text), quoted(more))
			if message == "" {
				line.Set(text, said.Get(text))
				return line
			}
			said.SetText("role", "assistant")
			line.Set(message, said)
			return line
		},
	}
}
