package dialect

import (
	"encoding/json"
	"strings"
)

// A message is one of a conversation, in any of the forms of providers and
// conventions: content that is a text or a list of parts, or parts beside it.
type message struct {
	Role         string          `json:"role"`
	Type         string          `json:"type,omitempty"`
	Content      json.RawMessage `json:"content,omitempty"`
	Parts        json.RawMessage `json:"parts,omitempty"`
	FinishReason string          `json:"finish_reason,omitempty"`
}

// A part is one of a message's content.
type part struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	Content json.RawMessage `json:"content"`
}

// said returns the text of a message: that of its parts, joined by line ends.
func (m *message) said() string {
	if len(m.Parts) > 0 {
		return saidBy(m.Parts)
	}
	return saidBy(m.Content)
}

func saidBy(content json.RawMessage) string {
	if s, is := textOf(content); is {
		return s
	}
	var parts []part
	if len(content) == 0 || content[0] != '[' || json.Unmarshal(content, &parts) != nil {
		return ""
	}
	var texts []string
	for _, p := range parts {
		switch p.Type {
		case "", "text", "input_text", "output_text":
			if s, is := textOf(p.Content); is && p.Text == "" {
				p.Text = s
			}
			if p.Text != "" {
				texts = append(texts, p.Text)
			}
		}
	}
	return strings.Join(texts, "\n")
}

// role returns who speaks, in the words of most providers.
func (m *message) role() string {
	switch role := strings.ToLower(m.Role); role {
	case "human":
		return "user"
	case "ai", "model":
		return "assistant"
	case "":
		switch m.Type {
		case "human":
			return "user"
		case "ai":
			return "assistant"
		}
		return ""
	default:
		return role
	}
}

// talkOf returns what the user asked in a conversation and what it ended with: the last
// text of the assistant, unless the user spoke after it.
func talkOf(messages []message) (t talk) {
	for i := range messages {
		switch m := &messages[i]; m.role() {
		case "user":
			if s := m.said(); s != "" {
				t.prompts, t.answer = append(t.prompts, s), ""
			}
		case "assistant":
			if s := m.said(); s != "" {
				t.answer = s
			}
		}
	}
	return t
}

// asked are the members in which programs put what they were asked, and answered those
// for what they answered.
var (
	asked    = [...]string{"input", "question", "query", "prompt", "message", "text", "content"}
	answered = [...]string{"output", "answer", "response", "result", "message", "text", "content"}
)

// wrappers bounds how many objects within each other are looked into for a text or for
// messages: each look reads all that is in them.
const wrappers = 4

// promptsIn returns the prompts in what a program was given.
func promptsIn(doc json.RawMessage) []string {
	if messages := messagesIn(doc, wrappers); len(messages) > 0 {
		return talkOf(messages).prompts
	}
	if s := textIn(doc, asked[:], wrappers); s != "" {
		return []string{s}
	}
	return nil
}

// answerIn returns the answer in what a program returned.
func answerIn(doc json.RawMessage) string {
	if messages := messagesIn(doc, wrappers); len(messages) > 0 {
		return talkOf(messages).answer
	}
	return textIn(doc, answered[:], wrappers)
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
	if doc[0] == '{' && depth > 0 {
		m := membersOf(doc)
		for _, name := range names {
			if s, is := textOf(m[name]); is && s != "" {
				return s
			}
			if len(m[name]) > 0 && m[name][0] == '{' {
				return textIn(m[name], names, depth-1)
			}
		}
	}
	return string(doc)
}

// messagesIn returns the messages of a conversation that a document is, or has; nil: it
// has none.
func messagesIn(doc json.RawMessage, depth int) []message {
	if len(doc) == 0 || depth == 0 {
		return nil
	}
	if doc[0] == '{' {
		m := membersOf(doc)
		for _, name := range []string{"messages", "contents"} {
			if list := m[name]; len(list) > 0 && list[0] == '[' {
				return messagesIn(list, depth-1)
			}
		}
		for _, name := range []string{"content", "message"} {
			if inner := m[name]; len(inner) > 0 && inner[0] == '{' {
				return messagesIn(inner, depth-1)
			}
		}
		if m["role"] == nil {
			return nil
		}
		doc = append(append(json.RawMessage("["), doc...), ']')
	}
	var messages []message
	if doc[0] != '[' || json.Unmarshal(doc, &messages) != nil {
		var nested [][]message // LangChain batches conversations
		if doc[0] != '[' || json.Unmarshal(doc, &nested) != nil || len(nested) == 0 {
			return nil
		}
		messages = nested[0]
	}
	for i := range messages {
		if messages[i].role() == "" {
			return nil
		}
	}
	return messages
}
