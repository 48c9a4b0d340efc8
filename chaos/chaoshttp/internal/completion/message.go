package completion

import (
	"encoding/json"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// messageWords are the reasons of Anthropic's messages. The filter of the
// service and a refusal of the model end alike.
func messageWords() words {
	return words{{"end_turn", reasonStop}, {"tool_use", reasonCalls}, {"max_tokens", reasonLength},
		{"refusal", reasonFilter}, {"refusal", reasonRefusal}}
}

// editMessage edits a message that came as one document.
func editMessage(doc *jsonedit.Value, fresh func(i int) Editor, log *changeLog) bool {
	content := doc.Get("content")
	if kind, _ := doc.Get("type").Text(); kind != "message" || content.Kind() != jsonedit.Array {
		return false
	}
	ed := fresh(0)
	gone := log.each(content, ".content", func(block *jsonedit.Value, at string) bool {
		return editBlock(block, ed, log, at)
	})
	if wire, ok := doc.Get("stop_reason").Text(); ok {
		if p := stopFor(doc, ed, wire, log, ""); p.more != "" {
			block := jsonedit.Of(textBlock{"text", p.more})
			log.note(index(".content", content.Len()+gone), nil, block.Bytes())
			content.Add(block)
		}
	}
	return true
}

type textBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// editBlock edits a content block, and reports whether the block stays. A text
// without characters is removed, because the service sends no empty one.
func editBlock(block *jsonedit.Value, ed Editor, log *changeLog, path string) bool {
	switch kind, _ := block.Get("type").Text(); kind {
	case "text":
		text, _ := block.Get("text").Text()
		p := wholeText(ed, text)
		if p.text == "" && text != "" {
			return false
		}
		log.text(block, "text", path, p, text)
	case "tool_use":
		if log.part(block, "name", path, ed, pieceCall).drop {
			return false
		}
		args := string(block.Get("input").Bytes())
		if p := wholeArgs(ed, args); p.text != args {
			log.set(block, "input", path, asInput(p.text))
		}
	}
	return true
}

// asInput is the value of a block's input. An input is a JSON value, so
// arguments that are no JSON become a string.
func asInput(args string) *jsonedit.Value {
	if json.Valid([]byte(args)) {
		return jsonedit.Of(json.RawMessage(args))
	}
	return jsonedit.Of(args)
}

// stopFor edits the reason in a message or in the delta that ends its stream.
func stopFor(in *jsonedit.Value, ed Editor, wire string, log *changeLog, path string) piece {
	p, changed := messageWords().finish(ed, wire)
	if !changed {
		return p
	}
	log.set(in, "stop_reason", path, jsonedit.Of(p.text))
	if p.text == "refusal" {
		log.set(in, "stop_details", path,
			jsonedit.Of(json.RawMessage(`{"type":"refusal","category":null,"explanation":null}`)))
	}
	return p
}
