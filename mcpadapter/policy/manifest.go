package policy

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.yaml.in/yaml/v3"

	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/text"
)

const (
	// manifestVersion is the version of the document's form.
	manifestVersion = 1
	// maxManifest is the largest document, in bytes.
	maxManifest = 8 << 20
)

// A Manifest describes the tools of a server: their names, what each needs, and
// the schemas that clients see. Keep it as a file, tools.yaml, to be reviewed and
// embedded. The table of a gate can be taken from it ([Manifest.Rows]).
type Manifest struct {
	_       struct{}
	Version int            `yaml:"version"` // of the document's form: 1
	Tools   []ManifestTool `yaml:"tools"`   // sorted by name
}

// A ManifestTool is one tool of a manifest. Limits and timeouts are not part of it.
type ManifestTool struct {
	_            struct{}
	Name         string         `yaml:"name"`
	Capability   Capability     `yaml:"capability"`
	Scopes       []string       `yaml:"scopes,flow"`
	Actions      []Action       `yaml:"actions,omitempty"`
	Confirmation []Confirm      `yaml:"confirmation,omitempty"` // the rules whose pattern matches the tool
	Target       string         `yaml:"target,omitempty"`
	KeepConfirm  bool           `yaml:"keep_confirm,omitempty"`
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
		tool := ManifestTool{Name: t.Name, Capability: r.Capability, Scopes: append([]string{}, r.Scopes...),
			Target: r.Target, KeepConfirm: r.KeepConfirm,
			Actions: slices.Clone(r.Actions), Confirmation: slices.Clone(r.confirm)}
		if err := errors.Join(remake(t.InputSchema, &tool.InputSchema),
			remake(t.OutputSchema, &tool.OutputSchema)); err != nil {
			return nil, fmt.Errorf("policy: schemas of tool %s: %w", t.Name, err)
		}
		m.Tools = append(m.Tools, tool)
	}
	slices.SortFunc(m.Tools, func(a, b ManifestTool) int { return cmp.Compare(a.Name, b.Name) })
	return m, nil
}

// remake converts a value by encoding it as JSON and decoding the result.
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

// ParseManifest reads a document strictly. Errors, all of them joined, are: an
// unknown member, a member twice, a second document, a tool twice, a table that
// [New] refuses, and an invalid schema.
func ParseManifest(text []byte) (*Manifest, error) {
	if len(text) > maxManifest {
		return nil, fields.Wrong("manifest", fielderror.Found(fmt.Sprintf("%d bytes", len(text))),
			fmt.Sprintf("at most %d bytes", maxManifest))
	}
	m := new(Manifest)
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(m); err != nil {
		return nil, fmt.Errorf("policy: manifest: %w", err)
	}
	if err := dec.Decode(new(any)); err != io.EOF {
		return nil, fields.Because("manifest", nil, errors.New("there is something behind the document"),
			"one document")
	}
	problems := fields.List()
	if m.Version != manifestVersion {
		problems.Wrong("version", m.Version, "1")
	}
	if _, err := compile(&Options{Tools: m.Rows(), Confirm: m.Confirm()}); err != nil {
		problems.Add(err)
	}
	for i, t := range m.Tools {
		if t.InputSchema["type"] != "object" {
			problems.Wrongf("object", t.InputSchema["type"], "tools[%d].input_schema.type", i)
		}
		problems.Add(checkSchema(t.InputSchema, fmt.Sprintf("tools[%d].input_schema", i)),
			checkSchema(t.OutputSchema, fmt.Sprintf("tools[%d].output_schema", i)))
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	return m, nil
}

func checkSchema(schema map[string]any, field string) error {
	if schema == nil {
		return nil
	}
	s := new(jsonschema.Schema)
	err := remake(schema, s)
	if err == nil {
		_, err = s.Resolve(nil)
	}
	if err != nil {
		return fields.Because(field, nil, err, "a JSON schema")
	}
	return nil
}

// Rows returns the rows of the table that the manifest describes, without limits
// and timeouts.
func (m *Manifest) Rows() []Tool {
	rows := make([]Tool, len(m.Tools))
	for i, t := range m.Tools {
		rows[i] = Tool{Name: t.Name, Capability: t.Capability, Scopes: slices.Clone(t.Scopes),
			Actions: slices.Clone(t.Actions), Target: t.Target, KeepConfirm: t.KeepConfirm}
	}
	return rows
}

// Confirm returns the confirmation rules of the manifest, each once.
func (m *Manifest) Confirm() []Confirm {
	var rules []Confirm
	for _, t := range m.Tools {
		for _, rule := range t.Confirmation {
			if !slices.ContainsFunc(rules, func(r Confirm) bool { return reflect.DeepEqual(r, rule) }) {
				rules = append(rules, rule)
			}
		}
	}
	return rules
}

// Check compares the manifest with what a running server offers
// ([Gate.Manifest]). Its error lists every difference, one a line: tools on one
// side only, and for the others each place where requirements or schemas differ.
func (m *Manifest) Check(running *Manifest) error {
	promised, err1 := m.places()
	offered, err2 := running.places()
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	var found []error
	differ := func(tool, format string, args ...any) {
		found = append(found, fmt.Errorf("policy: manifest: tool %s: %s", tool, fmt.Sprintf(format, args...)))
	}
	for _, name := range names(promised, offered) {
		want, got := promised[name], offered[name]
		switch {
		case got == nil:
			differ(name, "the server does not offer it")
			continue
		case want == nil:
			differ(name, "it is not in the manifest")
			continue
		}
		for _, place := range names(want, got) {
			w, promisedIt := want[place]
			g, offeredIt := got[place]
			switch {
			case !promisedIt:
				differ(name, "%s is %s, the manifest has none", place, short(g))
			case !offeredIt:
				differ(name, "%s is missing, the manifest says %s", place, short(w))
			case w != g:
				differ(name, "%s is %s, the manifest says %s", place, short(g), short(w))
			}
		}
	}
	return errors.Join(found...)
}

func short(value string) string { return text.Clip(value, 200) }

// names are the names in either map, sorted.
func names[V any](a, b map[string]V) []string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}

// places are the values of each tool, in JSON, by their places in the document.
func (m *Manifest) places() (map[string]map[string]string, error) {
	tools := make(map[string]map[string]string, len(m.Tools))
	for _, t := range m.Tools {
		text, err := yaml.Marshal(t) // the same value has one form in it, whatever it was read from
		var doc any
		if err = errors.Join(err, yaml.Unmarshal(text, &doc)); err != nil {
			return nil, fmt.Errorf("policy: manifest: tool %s: %w", t.Name, err)
		}
		tools[t.Name] = make(map[string]string)
		addPlaces(tools[t.Name], "", doc)
	}
	return tools, nil
}

// addPlaces adds the values in a document. Nothing, null and an empty list count as
// equal.
func addPlaces(to map[string]string, path string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			addPlaces(to, strings.TrimPrefix(path+"."+name, "."), member)
		}
		return
	case []any:
		if len(v) == 0 {
			return
		}
	case nil:
		return
	}
	doc, err := json.Marshal(value)
	if err != nil {
		doc = []byte(fmt.Sprint(value))
	}
	to[path] = string(doc)
}
