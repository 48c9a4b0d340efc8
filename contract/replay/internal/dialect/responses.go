package dialect

import (
	"cmp"
	"encoding/json"
	"slices"
)

// A responsesItem is an item of the Responses API.
type responsesItem struct {
	message
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Input     json.RawMessage `json:"input"` // of a custom tool
	Output    json.RawMessage `json:"output"`
	Error     json.RawMessage `json:"error"` // of a call of an MCP server
	ID        string          `json:"id"`
}

func readResponses(in *input) {
	for _, c := range in.conversations() {
		t := in.transcript(c)
		items := make([]responsesItem, 0, len(c.items))
		for _, raw := range c.items {
			var item responsesItem
			if in.decode(document{raw, c.line}, &item) {
				items = append(items, item)
			}
		}
		if newestFirst(items) {
			slices.Reverse(items)
		}
		for i := range items {
			t.item(&items[i])
		}
		t.end()
	}
}

// newestFirst reports whether an answer stands before its call, as in the lists of the
// API unless they are asked for in ascending order.
func newestFirst(items []responsesItem) bool {
	called := make(map[string]bool)
	for i := range items {
		switch items[i].Type {
		case "function_call", "custom_tool_call":
			called[items[i].CallID] = true
		case "function_call_output", "custom_tool_call_output":
			id := items[i].CallID
			return !called[id] && slices.ContainsFunc(items[i:], func(later responsesItem) bool {
				return later.CallID == id && later.Name != ""
			})
		}
	}
	return false
}

func (t *transcript) item(i *responsesItem) {
	switch i.Type {
	case "function_call":
		t.asks(i.CallID, i.Name, i.Arguments)
	case "custom_tool_call":
		t.asks(i.CallID, i.Name, i.Input)
	case "function_call_output", "custom_tool_call_output":
		t.answers(i.CallID, i.Output)
	case "mcp_call": // the provider called the server: call and answer are one item
		id := cmp.Or(i.CallID, i.ID)
		t.asks(id, i.Name, i.Arguments)
		if empty(i.Output) && empty(i.Error) {
			return
		}
		if n := t.answers(id, i.Output); n != nil && !empty(i.Error) {
			n.fail(textIn(i.Error, []string{"message", "content"}, wrappers), 0)
		}
	case "", "message":
		t.said = append(t.said, i.message)
	}
}
