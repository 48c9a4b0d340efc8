package mcpadapter

import (
	"bytes"
	"context"
	_ "embed" // tools.yaml
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/chaos/planjson"
	"github.com/shakedown-go/shakedown/chaos/remote"
	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/mcpadapter/mcpchaos"
)

// The resources, by URI.
const (
	uriReports   = "shakedown://reports/"
	uriLatest    = uriReports + "latest"
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
		s.mcp.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: uriReports + "{matrix}", Name: "report",
			Title: "Contract report of a matrix", MIMEType: mimeJSONL,
			Description: "The run file of the latest run of a matrix, its name percent-encoded."}, s.readReport)
	}
	s.mcp.AddResource(&mcp.Resource{URI: uriCatalogue, Name: "fault-catalogue", Title: "Catalogue of faults",
		MIMEType:    mimeJSON,
		Description: "Every kind of fault and trigger that a plan can name: what it does, its parameters with what is allowed, an example of them, and its coordinates: class, visibility, persistence, effect. Triggers are marked; the others are faults. Those with a clientType can also be registered by chaos_inject_fault."},
		func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			kinds, err := listKinds(s.plans)
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

// readReport reads the report of the matrix that the URI names, or the latest.
func (s *Server) readReport(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := req.Params.URI
	name, err := url.PathUnescape(strings.TrimPrefix(uri, uriReports))
	if err != nil || name == "" {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	if uri == uriLatest {
		name = ""
	}
	k, found := s.reports.latestOf(name)
	if !found {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	var b bytes.Buffer
	if err := report.Write(&b, k.Report, nil); err != nil {
		return nil, fmt.Errorf("mcpadapter: %w", err)
	}
	return content(uri, mimeJSONL, b.Bytes()), nil
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

// A knownKind is a kind of fault or trigger that plans can name.
type knownKind struct {
	planjson.Kind
	ClientType string `json:"clientType,omitempty"` // what chaos_inject_fault calls it
}

func listKinds(o *planjson.Options) ([]knownKind, error) {
	kinds, err := planjson.Kinds(o)
	list := make([]knownKind, len(kinds))
	for i, k := range kinds {
		list[i].Kind = k
		if !k.Trigger && slices.Contains(remote.Types(), k.Description.Kind) {
			list[i].ClientType = k.Description.Kind
		}
	}
	return list, err
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
