package mcpadapter

import (
	"bytes"
	"context"
	_ "embed" // tools.yaml
	"encoding/json"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/chaos/planjson"
	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/mcpadapter/mcpchaos"
)

// The resources, by URI.
const (
	uriLatest    = "shakedown://reports/latest"
	uriCatalogue = "shakedown://faults"
	uriTools     = "shakedown://tools"
)

const (
	mimeJSON  = "application/json"
	mimeJSONL = "application/jsonl"
	mimeYAML  = "application/yaml"
)

func (s *Server) addResources() {
	if len(s.reports.matrices) > 0 {
		s.mcp.AddResource(&mcp.Resource{URI: uriLatest, Name: "latest-report", Title: "Latest contract report",
			MIMEType:    mimeJSONL,
			Description: "The run file of the matrix that was run last: JSON Lines, with a line for each scenario and trial, and the report in the last. It may be long; contract_report shows the report a page at a time."},
			s.readReport)
	}
	s.mcp.AddResource(&mcp.Resource{URI: uriCatalogue, Name: "fault-catalogue", Title: "Catalogue of faults",
		MIMEType:    mimeJSON,
		Description: "Every kind of fault and trigger that a plan can name: what it does, its parameters with what is allowed, an example of them, and its coordinates: class, visibility, persistence, effect. Triggers are marked; the others are faults. chaos_inject_fault takes five of them."},
		func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			kinds, err := planjson.Kinds(s.plans)
			if err != nil {
				return nil, fmt.Errorf("mcpadapter: %w", err)
			}
			text, err := json.MarshalIndent(kinds, "", "  ")
			return content(uriCatalogue, mimeJSON, text), err
		})
}

func content(uri, mime string, text []byte) *mcp.ReadResourceResult {
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: mime, Text: string(text)}}}
}

func (s *Server) readReport(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	k, found := s.reports.latestOf("")
	if !found {
		return nil, mcp.ResourceNotFoundError(uriLatest)
	}
	var b bytes.Buffer
	if err := report.Write(&b, k.Report, nil); err != nil {
		return nil, fmt.Errorf("mcpadapter: %w", err)
	}
	return content(uriLatest, mimeJSONL, b.Bytes()), nil
}

// toolManifest describes all tools of the library: what each needs and
// its schemas. It is generated from a running server, and a test holds it
// against one.
//
//go:embed tools.yaml
var toolManifest string

func (s *Server) addManifest() {
	s.mcp.AddResource(&mcp.Resource{URI: uriTools, Name: "tool-contract", Title: "Tool contract", MIMEType: mimeYAML,
		Description: "What each tool offers: capability, scopes, what only reads, input and output schema. It has all tools of the library; this server lists those that its host has something behind, and its operator may ask for more scopes."},
		func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return content(uriTools, mimeYAML, []byte(toolManifest)), nil
		})
}

// planOptions are the settings with which plans of clients are read: the host's, which may
// be nil, and the faults of the protocol that the host does not have rows for itself.
func planOptions(host *planjson.Options) *planjson.Options {
	var o planjson.Options
	if host != nil {
		o = *host
	}
	own := o.Rows
	o.Rows = slices.DeleteFunc(mcpchaos.Rows(), func(r *catalog.Row) bool {
		return slices.ContainsFunc(own, func(o *catalog.Row) bool { return o != nil && o.Kind == r.Kind })
	})
	o.Rows = append(o.Rows, own...)
	return &o
}
