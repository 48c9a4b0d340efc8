package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

// A ToolError is a failure that a server answered with: a result marked as an
// error, or an error of the protocol.
type ToolError struct {
	Tool string // empty for tools/list
	// Code is the code of a protocol error, such as -32602; 0: a result marked as
	// an error.
	Code int64
	// Content is the result's blocks as the protocol writes them, a JSON array;
	// nil for an error of the protocol.
	Content json.RawMessage
	// Structured is the structured content of a result, or the data of an error
	// of the protocol; nil: there was none.
	Structured json.RawMessage
	// Envelope is {status, code, detail, hint} as package policy writes it, and
	// Problem problem details as in RFC 9457, where the failure carries one.
	Envelope *policy.Error
	Problem  *policy.Problem

	text string
	err  error
}

// Error is the text that a model would read: the texts of the result, or the
// message of the protocol error.
func (e *ToolError) Error() string {
	if e.text != "" {
		return e.text
	}
	if e.Structured != nil {
		return string(e.Structured)
	}
	return fmt.Sprintf("tool %q failed and did not say why", e.Tool)
}

// Unwrap returns the SDK's error, which wraps a [*jsonrpc.Error], for an error of
// the protocol. For a result it returns nil.
func (e *ToolError) Unwrap() error { return e.err }

// Is reports whether target is [chaos.ErrUnknownTool] and the server says that
// there is no such tool.
func (e *ToolError) Is(target error) bool {
	if target != chaos.ErrUnknownTool || e.Tool == "" {
		return false
	}
	if e.Envelope != nil {
		return e.Envelope.Code == policy.CodeUnknownTool
	}
	if e.Code != 0 && e.Code != jsonrpc.CodeInvalidParams && e.Code != jsonrpc.CodeMethodNotFound {
		return false
	}
	return saysUnknown(strings.ToLower(e.text), strings.ToLower(e.Tool))
}

// saysUnknown recognises the words of the official SDKs, which have no code for
// an unknown tool. The text has to contain the tool's name, so that a tool that
// did not find something is not taken for an unknown tool.
func saysUnknown(text, name string) bool {
	if !strings.Contains(text, name) {
		return false
	}
	text = strings.NewReplacer(`"`, "", `'`, "", "`", "").Replace(text)
	for _, words := range []string{"unknown tool " + name, "unknown tool: " + name,
		"tool " + name + " not found", "tool not found: " + name} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

// errorResult is a result marked as an error.
func errorResult(name string, res *mcp.CallToolResult) *ToolError {
	e := &ToolError{Tool: name}
	var texts []string
	for _, block := range res.Content {
		if text, ok := block.(*mcp.TextContent); ok {
			texts = append(texts, text.Text)
		}
	}
	e.text = strings.Join(texts, "\n")
	e.Content, _ = json.Marshal(res.Content) // it came from JSON
	if res.StructuredContent != nil {
		e.Structured, _ = json.Marshal(res.StructuredContent)
	}
	e.read(e.Structured)
	for _, text := range texts {
		e.read([]byte(text))
	}
	return e
}

// read looks for an envelope or problem details, if none was found yet. A tool
// may nest either under "problem".
func (e *ToolError) read(doc []byte) {
	if e.Envelope != nil || e.Problem != nil || len(doc) == 0 {
		return
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(doc, &members) != nil {
		return
	}
	has := func(name string) bool { _, ok := members[name]; return ok }
	switch {
	case has("status") && has("code") && has("detail"):
		envelope := new(policy.Error)
		if json.Unmarshal(doc, envelope) == nil {
			e.Envelope, e.Problem = envelope, envelope.Problem
		}
	case has("status") && (has("title") || has("detail")) || has("type") && has("title"):
		problem := new(policy.Problem)
		if json.Unmarshal(doc, problem) == nil {
			e.Problem = problem
		}
	case has("problem"):
		e.read(members["problem"])
	}
}

// A SessionError reports a call without an answer: its effect is not known.
type SessionError struct {
	Method string // the tool, or tools/list
	// Closed reports whether the session is closed for good: connect anew. If it is
	// false, perhaps only this call failed, and the session still works.
	Closed bool
	Err    error // of the transport
}

// Error says what failed and, if the session is closed, what to do.
func (e *SessionError) Error() string {
	if e.Closed {
		return fmt.Sprintf("client: %s: the session is closed for good; connect anew: %v", e.Method, e.Err)
	}
	return fmt.Sprintf("client: %s: no answer: %v", e.Method, e.Err)
}

// Unwrap returns the transport's error.
func (e *SessionError) Unwrap() error { return e.Err }

// lost is the error of a call on a session that cannot be used.
func lost(method string, err error) error {
	return &SessionError{Method: method, Closed: true, Err: err}
}

// failureOf returns the error of a call without a result. A code distinguishes
// the errors of the SDK's own transports from a server's answers.
func failureOf(ctx context.Context, name string, err error) error {
	method := name
	if method == "" {
		method = "tools/list"
	}
	var wire *jsonrpc.Error
	var cut *json.SyntaxError
	switch {
	case errors.Is(err, chaos.ErrCellEnded):
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case isAny(err, mcp.ErrConnectionClosed, mcp.ErrSessionMissing, io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe),
		errors.As(err, &cut):
		return lost(method, err)
	case errors.As(err, &wire) && wire.Code != codeRejected:
	case errors.Is(err, chaos.ErrInjected):
		return err // injected by the client's own middleware
	default:
		return &SessionError{Method: method, Err: err}
	}
	e := &ToolError{Tool: name, Code: wire.Code, Structured: wire.Data, text: wire.Message, err: err}
	e.read(wire.Data)
	return e
}

// codeRejected is how the SDK marks a request that its transport could not
// deliver, such as one answered with 503.
const codeRejected = -32005

func isAny(err error, targets ...error) bool {
	for _, target := range targets {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}
