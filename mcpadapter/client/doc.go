// Package client makes the tools of any MCP server a registry of package chaos, so
// that a contract can be run over it. What goes wrong is a [*ToolError] or a
// [*SessionError]. [WithToken] makes the HTTP client of a session whose server wants a
// token.
//
// Stability: may change.
package client
