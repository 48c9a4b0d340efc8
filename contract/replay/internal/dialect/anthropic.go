package dialect

import "encoding/json"

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

func readAnthropic(in *input) {
	for _, c := range in.conversations() {
		t := in.transcript(c)
		for _, raw := range c.items {
			var m message
			if in.decode(document{raw, c.line}, &m) {
				t.anthropic(&m)
			}
		}
		t.end()
	}
}

func (t *transcript) anthropic(m *message) {
	t.said = append(t.said, *m)
	if len(m.Content) == 0 || m.Content[0] != '[' {
		return
	}
	var blocks []anthropicBlock
	if !t.decode(document{m.Content, t.line}, &blocks) {
		return
	}
	for i := range blocks {
		switch b := &blocks[i]; b.Type {
		case "tool_use", "server_tool_use", "mcp_tool_use":
			t.asks(b.ID, b.Name, b.Input)
		case "tool_result", "mcp_tool_result":
			if b.Content == nil {
				b.Content = json.RawMessage(`""`) // a tool that returns nothing has no content
			}
			if n := t.answers(b.UseID, b.Content); n != nil && b.IsError {
				n.fail(words(n.result), 0)
			}
		}
	}
}
