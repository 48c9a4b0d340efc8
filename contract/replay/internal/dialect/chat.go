package dialect

import (
	"cmp"
	"encoding/json"
)

// A chatCall is a call that a message asks for.
type chatCall struct {
	ID       string          `json:"id"`
	Function *chatFunction   `json:"function"`
	Custom   *chatFunction   `json:"custom"`
	Name     string          `json:"name"` // LangChain
	Args     json.RawMessage `json:"args"`
}

type chatFunction struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Input     json.RawMessage `json:"input"` // of a custom tool
}

// chat reads a message: of the chat completions API, also as LangChain writes it, or of
// the Messages API.
func (t *transcript) chat(m *item) {
	const old = "function " // the form without ids
	switch m.role() {
	case "tool":
		if n := t.answers(m.ToolCallID, m.Content); n != nil && string(m.Status) == `"error"` {
			n.fail(words(n.result), 0)
		}
		return
	case "function":
		t.answers(old+m.Name, m.Content)
		return
	}
	t.said = append(t.said, m.message)
	t.turn()
	for _, c := range m.ToolCalls {
		f := cmp.Or(c.Function, c.Custom)
		if f == nil {
			f = &chatFunction{Name: c.Name, Arguments: c.Args}
		}
		args := f.Arguments
		if args == nil {
			args = f.Input
		}
		t.asks(c.ID, f.Name, args)
	}
	if m.Function != nil {
		t.asks(old+m.Function.Name, m.Function.Name, m.Function.Arguments)
	}
	t.anthropic(m)
}
