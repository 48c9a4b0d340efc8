package mcpadapter

import (
	"context"
	_ "embed" // tools.yaml

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// toolContract is the promise of all tools that there are: what each needs and
// its schemas. It is generated from a running server, and a test holds it
// against one.
//
//go:embed tools.yaml
var toolContract string

func (s *Server) addContract() {
	s.mcp.AddResource(&mcp.Resource{URI: uriTools, Name: "tool-contract", Title: "Tool contract", MIMEType: mimeYAML,
		Description: "What each tool promises: capability, scopes, what only reads, input and output schema. It has all tools of the library; this server lists those that its host has something behind, and its operator may ask for more scopes."},
		func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return content(uriTools, mimeYAML, []byte(toolContract)), nil
		})
}
