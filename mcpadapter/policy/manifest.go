package policy

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.yaml.in/yaml/v3"
)

// manifestVersion is the version of the document's form.
const manifestVersion = 1

// A Manifest describes the tools of a server: their names, what each needs, and
// the schemas that clients see. Keep what [Manifest.YAML] returns as a file,
// tools.yaml, to be reviewed, and compare the two in a test.
type Manifest struct {
	_       struct{}
	Version int            `yaml:"version"` // of the document's form: 1
	Tools   []ManifestTool `yaml:"tools"`   // sorted by name
}

// A ManifestTool is one tool of a manifest. What of its row has no key in YAML, such as limits, is
// not part of the document.
type ManifestTool struct {
	_            struct{}
	Tool         `yaml:",inline"`
	Confirmation []Confirm      `yaml:"confirmation,omitempty"` // the rules whose pattern matches the tool
	InputSchema  map[string]any `yaml:"input_schema"`
	OutputSchema map[string]any `yaml:"output_schema,omitempty"` // nil: none
}

// Manifest describes what a running server offers: the tools that cs lists,
// each with its row of the table. The session has to go through this gate. A
// row without a tool is left out. A tool without a row is an error.
func (g *Gate) Manifest(ctx context.Context, cs *mcp.ClientSession) (*Manifest, error) {
	m := &Manifest{Version: manifestVersion}
	for t, err := range cs.Tools(ctx, nil) {
		if err != nil {
			return nil, err
		}
		r := g.rows[t.Name]
		if r == nil {
			return nil, fmt.Errorf("policy: the session lists tool %s, which the gate does not know", t.Name)
		}
		tool := ManifestTool{Tool: r.Tool, Confirmation: slices.Clone(r.confirm)}
		tool.Scopes, tool.Actions = append([]string{}, r.Scopes...), slices.Clone(r.Actions)
		if err := errors.Join(remake(t.InputSchema, &tool.InputSchema),
			remake(t.OutputSchema, &tool.OutputSchema)); err != nil {
			return nil, fmt.Errorf("policy: schemas of tool %s: %w", t.Name, err)
		}
		m.Tools = append(m.Tools, tool)
	}
	slices.SortFunc(m.Tools, func(a, b ManifestTool) int { return cmp.Compare(a.Name, b.Name) })
	return m, nil
}

func remake(from, into any) error {
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// YAML returns the manifest as a document. Equal manifests give equal bytes.
func (m *Manifest) YAML() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("# The manifest of the tools: generated from the running server, and compared with it by a test.\n")
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(m); err != nil {
		return nil, fmt.Errorf("policy: manifest: %w", err)
	}
	return b.Bytes(), enc.Close()
}
