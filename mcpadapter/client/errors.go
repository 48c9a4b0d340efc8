package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

// A ToolError is a failure that a server answered with: a result marked as an
// error, or an error of the protocol. Where its text or Structured is an envelope of
// package policy, json.Unmarshal reads it into a [policy.Error].
type ToolError struct {
	Tool string // empty for tools/list
	// Code is the code of a protocol error, such as -32602; 0: a result marked as
	// an error.
	Code int64
	// Structured is the structured content of a result, or the data of an error
	// of the protocol; nil: there was none.
	Structured json.RawMessage

	texts []string // of the result, or the message of the protocol error
	err   error
}

// Error is the text that a model would read: the texts of the result, or the
// message of the protocol error.
func (e *ToolError) Error() string {
	if text := strings.Join(e.texts, "\n"); text != "" {
		return text
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
	for _, doc := range append([]string{string(e.Structured)}, e.texts...) {
		var envelope policy.Error
		if json.Unmarshal([]byte(doc), &envelope) == nil && envelope.Status != 0 && envelope.Code != "" {
			return envelope.Code == policy.CodeUnknownTool
		}
	}
	if e.Code != 0 && e.Code != jsonrpc.CodeInvalidParams && e.Code != jsonrpc.CodeMethodNotFound {
		return false
	}
	return saysUnknown(strings.ToLower(strings.Join(e.texts, "\n")), strings.ToLower(e.Tool))
}

// saysUnknown recognises the words of the official SDKs, which have no code for
// an unknown tool. The text has to contain the tool's name, so that a tool that
// did not find something is not taken for an unknown tool.
func saysUnknown(text, name string) bool {
	if !strings.Contains(text, name) {
		return false
	}
	text = strings.NewReplacer(`"`, "", `'`, "", "`", "").Replace(text)
	return slices.ContainsFunc([]string{"unknown tool " + name, "unknown tool: " + name, "tool " + name + " not found",
		"tool not found: " + name}, func(words string) bool { return strings.Contains(text, words) })
}

func errorResult(name string, res *mcp.CallToolResult) *ToolError {
	e := &ToolError{Tool: name}
	for _, block := range res.Content {
		if text, ok := block.(*mcp.TextContent); ok {
			e.texts = append(e.texts, text.Text)
		}
	}
	if res.StructuredContent != nil {
		e.Structured, _ = json.Marshal(res.StructuredContent)
	}
	return e
}

// A SessionError reports a call without an answer: its effect is not known.
type SessionError struct {
	Method string // the tool, or tools/list
	// Closed reports whether the session is closed for good: connect anew. If it is
	// false, perhaps only this call failed, and the session still works. Over HTTP the
	// SDK also closes a session if a call is cancelled while the body of its answer,
	// which is JSON, is read: the next call then has this error.
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
	case slices.ContainsFunc([]error{mcp.ErrConnectionClosed, mcp.ErrSessionMissing, io.EOF, io.ErrUnexpectedEOF,
		io.ErrClosedPipe}, func(gone error) bool { return errors.Is(err, gone) }), errors.As(err, &cut):
		return lost(method, err)
	case errors.As(err, &wire) && wire.Code != codeRejected:
	case errors.Is(err, chaos.ErrInjected):
		return err // injected by the client's own middleware
	default:
		return &SessionError{Method: method, Err: err}
	}
	return &ToolError{Tool: name, Code: wire.Code, Structured: wire.Data, texts: []string{wire.Message}, err: err}
}

// codeRejected is how the SDK marks a request that its transport could not
// deliver, such as one answered with 503.
const codeRejected = -32005
