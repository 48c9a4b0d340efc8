package dialect

import (
	"cmp"
	"encoding/json"
	"strings"
)

// An anthropicBlock is one of the content of a message of the Messages API.
type anthropicBlock struct {
	Type    string          `json:"type"`
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Input   json.RawMessage `json:"input"`
	UseID   string          `json:"tool_use_id"`
	Content json.RawMessage `json:"content"`
	IsError bool            `json:"is_error"`
}

// anthropic reads the calls and the answers in the content of a message. LangChain lists
// the calls beside it too.
func (t *transcript) anthropic(m *item) {
	var parts []json.RawMessage
	if len(m.Content) == 0 || m.Content[0] != '[' || !t.decode(document{m.Content, t.line}, &parts) {
		return
	}
	beside := make(map[string]bool, len(m.ToolCalls))
	for _, c := range m.ToolCalls {
		beside[c.ID] = c.ID != ""
	}
	for _, raw := range parts {
		if raw[0] != '{' {
			continue
		}
		kind, _ := textOf(membersOf(raw)["type"])
		use, result := strings.HasSuffix(kind, "tool_use"), strings.HasSuffix(kind, "tool_result")
		var b anthropicBlock
		if !use && !result || !t.decode(document{raw, t.line}, &b) {
			continue
		}
		switch {
		case result:
			t.anthropicResult(&b)
		case !beside[b.ID]:
			t.asks(b.ID, b.Name, b.Input)
		}
	}
}

// anthropicResult reads the answer to a call. A tool that the provider runs itself says by
// the type of the content that it failed.
func (t *transcript) anthropicResult(b *anthropicBlock) {
	if b.Content == nil {
		b.Content = json.RawMessage(`""`) // a tool that returns nothing has no content
	}
	n := t.answers(b.UseID, b.Content)
	if n == nil {
		return
	}
	code := ""
	if b.Content[0] == '{' {
		m := membersOf(b.Content)
		if kind, _ := textOf(m["type"]); strings.HasSuffix(kind, "_error") {
			b.IsError = true
			code, _ = textOf(m["error_code"])
		}
	}
	if b.IsError {
		n.fail(cmp.Or(code, words(n.result)), 0)
	}
}
