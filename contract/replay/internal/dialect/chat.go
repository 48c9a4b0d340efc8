package dialect

import (
	"cmp"
	"encoding/json"
)

// A chatMessage is one of the chat completions API, also as LangChain writes it.
type chatMessage struct {
	message
	ID        string     `json:"tool_call_id"`
	Name      string     `json:"name"`
	Status    string     `json:"status"`
	ToolCalls []chatCall `json:"tool_calls"`
	// Function is the form that tool_calls replaced.
	Function *chatFunction `json:"function_call"`
}

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

func readChat(in *input) {
	for _, c := range in.conversations() {
		t := in.transcript(c)
		for _, raw := range c.items {
			var m chatMessage
			if in.decode(document{raw, c.line}, &m) {
				t.chat(&m)
			}
		}
		t.end()
	}
}

func (t *transcript) chat(m *chatMessage) {
	const old = "function " // the form without ids
	switch m.role() {
	case "tool":
		if n := t.answers(m.ID, m.Content); n != nil && m.Status == "error" {
			n.fail(words(n.result), 0)
		}
		return
	case "function":
		t.answers(old+m.Name, m.Content)
		return
	}
	t.said = append(t.said, m.message)
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
}
