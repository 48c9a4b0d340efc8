package policy

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// stateless is the first revision of the protocol whose results have a type.
const stateless = "2026-07-28"

func newEra(req *mcp.CallToolRequest) bool { return req.ProtocolVersion() >= stateless }

func (acc *access) refuse(req *mcp.CallToolRequest, e *Error) (mcp.Result, error) {
	acc.code, acc.detail = e.Code, e.Code+": "+e.Error()
	return acc.failure(req, e)
}

// failure returns an error result, so that a model can read it and try again.
//
// A middleware cannot set a result's type, which newer clients require, because
// the field belongs to the SDK. But a result decoded from JSON has it.
func (acc *access) failure(req *mcp.CallToolRequest, e *Error) (mcp.Result, error) {
	result := map[string]any{"isError": true, "content": []any{map[string]any{"type": "text", "text": e.text()}}}
	if acc.row != nil && acc.row.Failure != nil {
		if output := acc.row.Failure(req.Params.Arguments, e.sound()); output != nil {
			result["structuredContent"] = output
		}
	}
	return fromWire(req, result, "complete")
}

// fromWire makes a result as if it had been received.
func fromWire(req *mcp.CallToolRequest, result map[string]any, kind string) (mcp.Result, error) {
	if newEra(req) {
		result["resultType"] = kind
	}
	text, err := json.Marshal(result)
	if err != nil {
		return nil, err
	}
	res := new(mcp.CallToolResult)
	if err := json.Unmarshal(text, res); err != nil {
		return nil, err
	}
	return res, nil
}

func (e *Error) text() string {
	text, err := json.Marshal(e.sound())
	if err != nil { // extensions of a problem that are not JSON; a handler made it by hand
		c := *e.sound()
		c.Problem = nil
		text, _ = json.Marshal(&c)
	}
	return string(text)
}

// wire is the envelope as the data of a JSON-RPC error.
func (e *Error) wire(code int64) *jsonrpc.Error {
	return &jsonrpc.Error{Code: code, Message: e.Error(), Data: json.RawMessage(e.text())}
}

// outcome converts failures of a handler to their common form.
func (acc *access) outcome(ctx context.Context, req *mcp.CallToolRequest, res mcp.Result,
	err error) (mcp.Result, error) {
	if err != nil {
		if protocol, ok := errors.AsType[*jsonrpc.Error](err); ok {
			return nil, acc.protocolError(protocol)
		}
		return acc.refuse(req, toError(ctx, err))
	}
	result, ok := res.(*mcp.CallToolResult)
	switch {
	case !ok || result == nil:
		return acc.refuse(req, toError(ctx, errNotResult))
	case !result.IsError:
		acc.detail = ""
		return result, nil
	}
	return acc.enveloped(ctx, result), nil
}

// protocolError keeps the code that a tool chose and adds the envelope, unless
// the tool has data of its own.
func (acc *access) protocolError(p *jsonrpc.Error) error {
	acc.code, acc.detail = CodeToolError, p.Message
	if p.Code == jsonrpc.CodeInvalidParams {
		acc.code = CodeInvalidArguments
	}
	if len(p.Data) > 0 {
		return p
	}
	e := &Error{Status: http.StatusInternalServerError, Code: CodeToolError, Detail: p.Message}
	if p.Code == jsonrpc.CodeInvalidParams {
		e.Status, e.Code = http.StatusBadRequest, CodeInvalidArguments
	}
	return e.wire(p.Code)
}

// enveloped puts the envelope into an error result of a handler that has none.
// If the result holds nothing but a text, the envelope replaces it; other
// content stays, after the envelope.
func (acc *access) enveloped(ctx context.Context, res *mcp.CallToolResult) *mcp.CallToolResult {
	var text string
	var rest []mcp.Content
	if len(res.Content) > 0 {
		if t, ok := res.Content[0].(*mcp.TextContent); ok {
			text = t.Text
		}
	}
	if e := parseEnvelope(text); e != nil { // the handler has done it itself
		acc.code, acc.detail = e.Code, e.Code+": "+e.Error()
		return res
	}
	if len(res.Content) > 1 || len(res.Content) == 1 && text == "" {
		rest = res.Content
	}
	cause := res.GetError()
	if cause == nil {
		cause = errors.New(text)
	}
	e := toError(ctx, cause)
	acc.code, acc.detail = e.Code, e.Code+": "+e.Error()
	c := *res // a copy keeps the type of the result
	c.Content = append([]mcp.Content{&mcp.TextContent{Text: e.text()}}, rest...)
	return &c
}

// parseEnvelope reads an envelope from a text; nil if the text is no envelope.
func parseEnvelope(text string) *Error {
	if !strings.HasPrefix(text, "{") {
		return nil
	}
	e := new(Error)
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if dec.Decode(e) != nil || dec.More() || e.Status < 400 || e.Status > 599 || e.Code == "" || e.Detail == "" {
		return nil
	}
	return e
}

func toError(ctx context.Context, err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok && e != nil {
		return e.sound()
	}
	if p, ok := errors.AsType[*Problem](err); ok && p != nil {
		return p.envelope()
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &Error{Status: http.StatusGatewayTimeout, Code: CodeDeadlineExceeded, Detail: err.Error(),
			Hint: "ask for less, or try again later"}
	case errors.Is(err, context.Canceled), ctx.Err() != nil:
		return &Error{Status: http.StatusRequestTimeout, Code: CodeCancelled, Detail: err.Error(),
			Hint: "the call was cancelled; what it had begun may have happened"}
	case badArguments(err):
		return &Error{Status: http.StatusBadRequest, Code: CodeInvalidArguments, Detail: err.Error(),
			Hint: "correct the arguments by the tool's input schema and call again"}
	}
	return (&Error{Status: http.StatusInternalServerError, Code: CodeToolError, Detail: err.Error()}).sound()
}

// badArguments distinguishes the SDK's complaints about arguments from a handler's
// errors. The SDK gives them no type; a test fixes their words.
func badArguments(err error) bool {
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return true
	}
	text := err.Error()
	return strings.HasPrefix(text, `validating "arguments": `) || strings.HasPrefix(text, "json: cannot unmarshal ")
}
