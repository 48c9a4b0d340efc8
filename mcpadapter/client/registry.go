package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract/audit"
)

// Registry makes the tools of an MCP server a registry, so that a contract can
// be run over any server. The caller closes the session, and may use it for
// other things at the same time.
//
// The list has every page. What a tool does is taken from its annotations,
// which are the server's claim: read-only is [chaos.EffectNone], idempotent or
// destructive is [chaos.EffectDone], else it is unknown.
//
// A result with structured content is that content. Its numbers are exact if the
// one block of the result is a text that repeats it, as the protocol asks for;
// else they have the precision of a float64. A result without structured content
// depends on its blocks:
//
//   - one text that is a JSON object or array: that document
//   - one other text: a JSON string
//   - no block: null
//   - anything else (several blocks, images, sounds, resources, links): an array of blocks as the protocol writes them
//
// A result marked as an error, and a protocol error, is a [*ToolError]. If it
// says that the tool does not exist, it matches [chaos.ErrUnknownTool]. A call
// without an answer is a [*SessionError]. If its context ended, the error is the
// context's, and the server is notified. Arguments that are not a JSON object
// are a [*chaos.ArgumentError] and are not sent.
func Registry(cs *mcp.ClientSession) chaos.ToolRegistry { return remote{cs} }

// remote is the registry of the tools behind a session.
type remote struct{ session *mcp.ClientSession }

// maxPages bounds a listing: a server whose cursors never end is broken.
const maxPages = 1000

var errNoSession = errors.New("there is no session")

// Tools lists the tools in the server's order.
func (r remote) Tools(ctx context.Context) ([]chaos.Tool, error) {
	listed, err := r.list(ctx)
	if err != nil {
		return nil, err
	}
	var tools []chaos.Tool
	for _, t := range listed {
		tool, err := toolOf(t)
		if err != nil {
			return nil, err
		}
		tools = append(tools, tool)
	}
	return tools, nil
}

// list has every page.
func (r remote) list(ctx context.Context) ([]*mcp.Tool, error) {
	if r.session == nil {
		return nil, lost("tools/list", errNoSession)
	}
	var tools []*mcp.Tool
	cursor := ""
	seen := make(map[string]bool)
	for range maxPages {
		page, err := r.session.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor})
		if err != nil {
			return nil, failureOf(ctx, "", err)
		}
		tools = append(tools, page.Tools...)
		seen[cursor] = true
		if cursor = page.NextCursor; cursor == "" {
			return tools, nil
		}
		if seen[cursor] {
			return nil, fmt.Errorf("client: tools/list: the server gave the cursor %q twice", cursor)
		}
	}
	return nil, fmt.Errorf("client: tools/list: more than %d pages", maxPages)
}

// Claims returns what the annotations of the tools of an MCP server claim, by tool. A tool without annotations is not
// in it, and a hint that is left out is nil, as is a readOnlyHint or idempotentHint of false, which is no other to the
// SDK. Errors are those of [Registry]'s list.
func Claims(ctx context.Context, cs *mcp.ClientSession) (map[string]audit.Claims, error) {
	listed, err := remote{cs}.list(ctx)
	if err != nil {
		return nil, err
	}
	all := map[string]audit.Claims{}
	for _, t := range listed {
		if a := t.Annotations; a != nil {
			said := func(hint bool) *bool {
				if !hint {
					return nil
				}
				return &hint
			}
			all[t.Name] = audit.Claims{ReadOnly: said(a.ReadOnlyHint), Idempotent: said(a.IdempotentHint),
				Destructive: a.DestructiveHint}
		}
	}
	return all, nil
}

func toolOf(t *mcp.Tool) (chaos.Tool, error) {
	input, wrongInput := schemaOf("input", t.Name, t.InputSchema)
	output, wrongOutput := schemaOf("output", t.Name, t.OutputSchema)
	tool := chaos.Tool{Name: t.Name, Description: t.Description, InputSchema: input, OutputSchema: output}
	if err := errors.Join(wrongInput, wrongOutput); err != nil {
		return tool, err
	}
	if a := t.Annotations; a != nil {
		switch {
		case a.ReadOnlyHint:
			tool.Effect = chaos.EffectNone
		case a.IdempotentHint, a.DestructiveHint != nil: // these mean something of tools that write, and of no others
			tool.Effect = chaos.EffectDone
		}
	}
	return tool, nil
}

// schemaOf returns a schema as the server gave it; nil: it gave none.
func schemaOf(which, tool string, schema any) (json.RawMessage, error) {
	if schema == nil {
		return nil, nil
	}
	doc, err := json.Marshal(schema)
	if err != nil {
		return nil, fmt.Errorf("client: %s schema of tool %q: %w", which, tool, err)
	}
	return doc, nil
}

// CallTool calls a tool once; it never tries again.
func (r remote) CallTool(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error) {
	if r.session == nil {
		return nil, lost(name, errNoSession)
	}
	object, err := objectOf(args)
	if err != nil {
		return nil, &chaos.ArgumentError{Tool: name, Err: err}
	}
	res, err := r.session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: object})
	if err != nil {
		return nil, failureOf(ctx, name, err)
	}
	switch {
	case res.NeedsInput():
		return nil, &ToolError{Tool: name, texts: []string{"the tool asks for input that this client cannot give"}}
	case res.IsError:
		return nil, errorResult(name, res)
	}
	return valueOf(name, res)
}

// objectOf returns the arguments as the protocol wants them.
func objectOf(args json.RawMessage) (json.RawMessage, error) {
	if args = bytes.TrimSpace(args); len(args) == 0 || string(args) == "null" {
		return json.RawMessage("{}"), nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(args, &object); err != nil {
		return nil, err
	}
	return args, nil
}

// valueOf converts a result to JSON: see [Registry].
func valueOf(name string, res *mcp.CallToolResult) (json.RawMessage, error) {
	var value any = res.Content
	structured := res.StructuredContent
	if len(res.Content) == 0 {
		value = nil
	} else if text, ok := res.Content[0].(*mcp.TextContent); ok && len(res.Content) == 1 {
		if doc, ok := documentIn(text.Text); ok && (structured == nil || spells(doc, structured)) {
			return doc, nil
		}
		value = text.Text
	}
	if structured != nil {
		value = structured
	}
	out, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("client: result of tool %q: %w", name, err)
	}
	return out, nil
}

// spells reports whether a document is what the SDK has decoded, which has the numbers of a float64.
func spells(doc json.RawMessage, decoded any) bool {
	var v any
	return json.Unmarshal(doc, &v) == nil && reflect.DeepEqual(v, decoded)
}

// documentIn returns the JSON object or array that a text is, if it is one.
// Numbers and words stay text: a tool that answers 42 today may answer "none"
// tomorrow.
func documentIn(text string) (json.RawMessage, bool) {
	doc := bytes.TrimSpace([]byte(text))
	if len(doc) == 0 || doc[0] != '{' && doc[0] != '[' || !json.Valid(doc) {
		return nil, false
	}
	return doc, true
}
