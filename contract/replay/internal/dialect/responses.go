package dialect

import (
	"cmp"
	"slices"
	"strings"
)

// newestFirst reports whether an answer stands before its call, as in the lists of the
// API unless they are asked for in ascending order.
func newestFirst(items []item) bool {
	called := make(map[string]bool)
	for i := range items {
		switch id := items[i].CallID; {
		case items[i].isOutput():
			return !called[id] && slices.ContainsFunc(items[i:], func(later item) bool {
				return later.CallID == id && later.isCall() && !later.isOutput()
			})
		case items[i].isCall():
			called[id] = true
		}
	}
	return false
}

// isCall reports whether an item is a call or the answer to one. What the provider looked
// up or ran for itself has neither a name nor the id of a request.
func (i *item) isCall() bool {
	return i.isOutput() || i.Type == "function_call" ||
		strings.HasSuffix(i.Type, "_call") && (i.Name != "" || i.CallID != "")
}

// isOutput reports whether an item is the answer to a call.
func (i *item) isOutput() bool { return strings.HasSuffix(i.Type, "_call_output") }

// call reads a call or the answer to one.
func (t *transcript) call(i *item) {
	switch i.Type {
	case "function_call":
		t.asks(i.CallID, i.Name, i.Arguments)
	case "custom_tool_call":
		t.asks(i.CallID, i.Name, i.Input)
	case "mcp_call": // the provider called the server: call and answer are one item
		id := cmp.Or(i.CallID, string(i.ID))
		t.asks(id, i.Name, i.Arguments)
		if empty(i.Output) && empty(i.Error) {
			return
		}
		if n := t.answers(id, i.Output); n != nil && !empty(i.Error) {
			n.fail(textIn(i.Error, []string{"message", "content"}, wrappers), 0)
		}
	default: // of a shell or another tool of the API's own, which the agent runs
		if i.isOutput() {
			t.answers(i.CallID, i.Output)
			return
		}
		t.asks(i.CallID, cmp.Or(i.Name, strings.TrimSuffix(i.Type, "_call")), cmpOr(i.Action, i.Operation))
	}
}
