package dialect

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// The forms in which providers and frameworks write messages, calls and answers differ in
// names. This file has the names; the same code reads all forms, also mixed in one record.

// firstOf returns the first of the members that has a form.
func firstOf[T any](m members, names []string, form func(json.RawMessage) (T, bool)) (value T) {
	for _, name := range names {
		if v, is := form(m[name]); is {
			return v
		}
	}
	return value
}

func (m members) text(names ...string) string {
	return firstOf(m, names, func(doc json.RawMessage) (string, bool) {
		s, _ := textOf(doc)
		return s, s != ""
	})
}

func (m members) value(names ...string) json.RawMessage {
	return firstOf(m, names, func(doc json.RawMessage) (json.RawMessage, bool) { return doc, doc != nil })
}

func (m members) object(names ...string) members {
	return firstOf(m, names, func(doc json.RawMessage) (members, bool) {
		inner := objectOf(doc)
		return inner, inner != nil
	})
}

func (m members) list(names ...string) []json.RawMessage { return firstOf(m, names, listOf) }

func listOf(doc json.RawMessage) (elements []json.RawMessage, is bool) {
	if len(doc) == 0 || doc[0] != '[' || json.Unmarshal(doc, &elements) != nil {
		return nil, false
	}
	return elements, true
}

// maxWrappers bounds how many objects within each other are looked into.
const maxWrappers = 4

// itemOf returns the members of an item of a conversation, out of what logs and frameworks
// put around it: Claude Code a message, Codex a payload, LangChain kwargs or data.
func itemOf(raw json.RawMessage) members {
	m := objectOf(raw)
	for range maxWrappers {
		if m["role"] != nil || m["content"] != nil || m["parts"] != nil {
			break
		}
		inner := m.object("message", "payload", "kwargs", "data", "message_content")
		if inner == nil {
			break
		}
		m = inner
	}
	return m
}

// role returns who speaks, in the words of most providers.
func (m members) role() string {
	role := strings.ToLower(m.text("role"))
	if kind := m.text("type"); role == "" && slices.Contains([]string{"human", "ai", "system", "tool"}, kind) {
		role = kind
	}
	switch role {
	case "human":
		return "user"
	case "ai", "model":
		return "assistant"
	}
	return role
}

func (m members) parts() []json.RawMessage {
	return append(m.list("content"), m.list("parts", "contents")...)
}

func (m members) kind() string { return strings.ReplaceAll(m.text("type", "part_kind"), "-", "_") }

// call returns the members of a call that an item or a part is; nil: it is none. What the
// provider of the Responses API looked up for itself has neither a name nor an id.
func (m members) call() members {
	if inner := m.object("toolUse", "functionCall", "tool_call"); inner != nil {
		return inner
	}
	switch kind := m.kind(); {
	case strings.HasSuffix(kind, "tool_use"), kind == "tool_call", kind == "function_call":
		return m
	case strings.HasSuffix(kind, "_call") && (m["name"] != nil || m["call_id"] != nil):
		return m
	}
	return nil
}

// answer returns the members of an answer to a call that an item or a part is; nil: it is
// none.
func (m members) answer() members {
	if inner := m.object("toolResult", "functionResponse"); inner != nil {
		return inner
	}
	switch kind := m.kind(); {
	case strings.HasSuffix(kind, "tool_result"), strings.HasSuffix(kind, "_call_output"), kind == "tool_call_response",
		kind == "tool_return", kind == "tool_response", kind == "retry_prompt" && m["tool_name"] != nil:
		return m
	}
	return nil
}

func (m members) isItem() bool { return m.role() != "" || m.call() != nil || m.answer() != nil }

// callID returns the id of a call, as the call and the answer to it have it.
func (m members) callID() string {
	return m.text("call_id", "tool_call_id", "tool_use_id", "toolCallId", "toolUseId", "id")
}

func (m members) function() (name string, args json.RawMessage) {
	f := m
	if inner := m.object("function", "custom"); inner != nil {
		f = inner
	}
	name = cmp.Or(f.text("name", "toolName", "tool_name"), m.text("function"))
	// of a shell, or another tool of the API's own
	if kind := m.kind(); name == "" && strings.HasSuffix(kind, "_call") {
		name = strings.TrimSuffix(kind, "_call")
	}
	return name, f.value("arguments", "args", "input", "parameters", "action", "operation")
}

// beside returns the calls that a message lists beside its content.
func (m members) beside() (calls []members) {
	for _, raw := range m.list("tool_calls", "toolCalls") {
		c := objectOf(raw)
		if inner := c.object("tool_call"); inner != nil {
			c = inner
		}
		if c != nil {
			calls = append(calls, c)
		}
	}
	return calls
}

// listsBeside reports whether a call of the content is listed beside it too.
func (m members) listsBeside(id string) bool {
	return id != "" && slices.ContainsFunc(m.beside(), func(c members) bool { return c.callID() == id })
}

func (m members) calls() []members {
	calls := m.beside()
	for _, raw := range m.parts() {
		if c := objectOf(raw).call(); c != nil && !m.listsBeside(c.callID()) {
			calls = append(calls, c)
		}
	}
	return calls
}

func objectOf(raw json.RawMessage) members {
	if len(raw) == 0 || raw[0] != '{' {
		return nil
	}
	return membersOf(raw)
}

// callNames are the names of members and types that name calls of tools, without what
// separates their words.
var callNames = []string{"toolcall", "toolcalls", "tooluse", "functioncall", "functioncalls", "customtoolcall",
	"mcpcall"}

// contents are the names of members that hold what was asked or answered, and no message.
var contents = []string{"arguments", "args", "input", "parameters", "output", "result", "response"}

func namesCall(name string) bool {
	return slices.Contains(callNames, strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(name)))
}

// namedCalls counts the calls that a document names, in whatever form: also in one that is
// not read.
func namedCalls(raw json.RawMessage) int {
	var doc any
	if small := strings.ToLower(string(raw)); !strings.Contains(small, "call") && !strings.Contains(small, "use") {
		return 0
	}
	if json.Unmarshal(raw, &doc) != nil {
		return 0
	}
	return countCalls(doc)
}

func countCalls(doc any) (calls int) {
	switch doc := doc.(type) {
	case []any:
		for _, e := range doc {
			calls += countCalls(e)
		}
	case map[string]any:
		for _, name := range []string{"type", "kind", "part_kind"} {
			if kind, is := doc[name].(string); is && namesCall(kind) {
				return 1
			}
		}
		for name, value := range doc {
			switch {
			case slices.Contains(contents, name):
			case namesCall(name):
				if list, is := value.([]any); is {
					calls += len(list)
				} else if value != nil {
					calls++
				}
			default:
				calls += countCalls(value)
			}
		}
	}
	return calls
}
