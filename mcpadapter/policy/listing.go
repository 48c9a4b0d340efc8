package policy

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// listing removes the tools without a row, and adds the confirmation argument
// to those that may need it. A caller without any scope sees only tools that
// need none.
func (g *Gate) listing(list *mcp.ListToolsResult, caller Caller) (mcp.Result, error) {
	c := *list
	c.Tools = make([]*mcp.Tool, 0, len(list.Tools)) // never null in JSON
	for _, t := range list.Tools {
		r := g.rows[t.Name]
		if r == nil || len(caller.Scopes) == 0 && len(r.Scopes) > 0 {
			continue
		}
		if len(r.confirm) > 0 {
			shown, err := withConfirm(t, r.confirm)
			if err != nil {
				return nil, fmt.Errorf("policy: input schema of tool %s: %w", t.Name, err)
			}
			t = shown
		}
		c.Tools = append(c.Tools, t)
	}
	return &c, nil
}

// withConfirm returns a copy of the tool, whose schema belongs to the server,
// with the argument. A schema that has it already is not changed.
func withConfirm(t *mcp.Tool, rules []Confirm) (*mcp.Tool, error) {
	text, err := json.Marshal(t.InputSchema)
	if err != nil {
		return nil, err
	}
	var schema map[string]any
	if err := json.Unmarshal(text, &schema); err != nil {
		return nil, err
	}
	properties, _ := schema["properties"].(map[string]any)
	if _, has := properties[confirmField]; has {
		return t, nil
	}
	if properties == nil {
		properties = make(map[string]any, 1)
	}
	properties[confirmField] = map[string]any{"type": "boolean", "description": describe(rules)}
	schema["properties"] = properties
	c := *t
	c.InputSchema = schema
	return &c, nil
}

// describe returns a sentence for models: when the argument is needed.
func describe(rules []Confirm) string {
	if slices.ContainsFunc(rules, func(r Confirm) bool { return r.Field == "" }) {
		return "Must be true, and only after the user agreed: this cannot be undone."
	}
	s := "Must be true, and only after the user agreed, when "
	for i, r := range rules {
		if i > 0 {
			s += ", or "
		}
		values, _ := json.Marshal(r.Values)
		s += fmt.Sprintf("%s is one of %s", r.Field, values)
	}
	return s + "."
}
