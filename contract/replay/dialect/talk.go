package dialect

import (
	"encoding/json"
	"strings"
)

// said returns the text of a message: that of its parts, joined by line ends.
func (m members) said() string {
	if parts := m.value("parts", "contents"); parts != nil {
		return saidBy(parts)
	}
	return saidBy(m["content"])
}

func saidBy(content json.RawMessage) string {
	if s, is := textOf(content); is {
		return s
	}
	var texts []string
	parts, _ := listOf(content)
	for _, raw := range parts {
		m := itemOf(raw)
		switch m.text("type") {
		case "", "text", "input_text", "output_text":
			if s := m.text("text", "content"); s != "" {
				texts = append(texts, s)
			}
		}
	}
	return strings.Join(texts, "\n")
}

// talkOf returns what the user asked in a conversation and what it ended with: the last
// text of the assistant, unless the user spoke after it.
func talkOf(messages []json.RawMessage) (t talk) {
	for _, raw := range messages {
		t.add(itemOf(raw))
	}
	return t
}

func (t *talk) add(m members) {
	s := m.said()
	switch role := m.role(); {
	case s == "":
	case role == "user":
		t.prompts, t.answer = append(t.prompts, s), ""
	case role == "assistant":
		t.answer = s
	}
}

// asked are the members in which programs put what they were asked, and answered those
// for what they answered.
var (
	asked    = [...]string{"input", "question", "query", "prompt", "message", "text", "content"}
	answered = [...]string{"output", "answer", "response", "result", "message", "text", "content"}
)

func promptsIn(doc json.RawMessage) []string {
	if messages := messagesIn(doc, maxWrappers); len(messages) > 0 {
		return talkOf(messages).prompts
	}
	if s := textIn(doc, asked[:], maxWrappers); s != "" {
		return []string{s}
	}
	return nil
}

func answerIn(doc json.RawMessage) string {
	if messages := messagesIn(doc, maxWrappers); len(messages) > 0 {
		return talkOf(messages).answer
	}
	return textIn(doc, answered[:], maxWrappers)
}

// textIn returns a document that is a text, or that of the first of its members that
// has one; else all of it.
func textIn(doc json.RawMessage, names []string, depth int) string {
	if s, is := textOf(doc); is {
		return s
	}
	if empty(doc) {
		return ""
	}
	if s := saidBy(doc); s != "" {
		return s
	}
	if depth > 0 {
		m := objectOf(doc)
		for _, name := range names {
			if s := m.text(name); s != "" {
				return s
			}
			if inner := m[name]; len(inner) > 0 && inner[0] == '{' {
				return textIn(inner, names, depth-1)
			}
		}
	}
	return string(doc)
}

// messagesIn returns the items of a conversation that a document is, or has; nil: it has
// none.
func messagesIn(doc json.RawMessage, depth int) []json.RawMessage {
	if len(doc) == 0 || depth == 0 {
		return nil
	}
	if doc[0] == '{' {
		m := membersOf(doc)
		for _, name := range []string{"messages", "contents", "generations"} {
			if list := m[name]; len(list) > 0 && list[0] == '[' {
				return messagesIn(list, depth-1)
			}
		}
		for _, name := range []string{"content", "message"} {
			if inner := m[name]; len(inner) > 0 && inner[0] == '{' {
				return messagesIn(inner, depth-1)
			}
		}
		if !itemOf(doc).isItem() {
			return nil
		}
		return []json.RawMessage{doc}
	}
	items, _ := listOf(doc)
	if len(items) == 0 {
		return nil
	}
	if items[0][0] == '[' { // LangChain batches conversations
		return messagesIn(items[0], depth-1)
	}
	for _, raw := range items {
		if !itemOf(raw).isItem() {
			return nil
		}
	}
	return items
}
