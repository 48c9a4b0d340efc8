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
// side only, and for the others different requirements and each place where the
// schemas differ.
func (m *Manifest) Check(running *Manifest) error {
	d := &differences{}
	promised, offered := m.byName(), running.byName()
	for _, name := range slices.Sorted(maps.Keys(promised)) {
		if _, ok := offered[name]; !ok {
			d.add(name, "the server does not offer it")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(offered)) {
		want, ok := promised[name]
		if !ok {
			d.add(name, "it is not in the manifest")
			continue
		}
		got := offered[name]
		d.same(name, "capability", want.Capability.String(), got.Capability.String())
		d.same(name, "scopes", want.Scopes, got.Scopes)
		d.same(name, "actions", plain(want.Actions), plain(got.Actions))
		d.same(name, "confirmation", plain(want.Confirmation), plain(got.Confirmation))
		d.same(name, "target", want.Target, got.Target)
		d.same(name, "keep_confirm", want.KeepConfirm, got.KeepConfirm)
		d.same(name, "input_schema", want.InputSchema, got.InputSchema)
		d.same(name, "output_schema", want.OutputSchema, got.OutputSchema)
	}
	return errors.Join(d.found...)
}

func (m *Manifest) byName() map[string]ManifestTool {
	tools := make(map[string]ManifestTool, len(m.Tools))
	for _, t := range m.Tools {
		tools[t.Name] = t
	}
	return tools
}

// differences collects the differences.
type differences struct{ found []error }

func (d *differences) add(tool, format string, args ...any) {
	d.found = append(d.found, fmt.Errorf("policy: manifest: tool %s: %s", tool, fmt.Sprintf(format, args...)))
}

// same compares two values as JSON, which has fewer kinds of numbers than YAML.
func (d *differences) same(tool, what string, want, got any) {
	var a, b any
	if err := errors.Join(remake(want, &a), remake(got, &b)); err != nil {
		d.add(tool, "%s: %v", what, err)
		return
	}
	d.diff(tool, what, a, b)
}

// diff adds the places where two values differ. Nothing, null and an empty list
// count as equal.
func (d *differences) diff(tool, path string, want, got any) {
	if empty(want) && empty(got) {
		return
	}
	wanted, ok1 := want.(map[string]any)
	given, ok2 := got.(map[string]any)
	if !ok1 || !ok2 {
		if !reflect.DeepEqual(want, got) {
			d.add(tool, "%s is %s, the manifest says %s", path, short(got), short(want))
		}
		return
	}
	names := slices.Collect(maps.Keys(wanted))
	for name := range given {
		if _, both := wanted[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		below := path + "." + name
		w, has1 := wanted[name]
		g, has2 := given[name]
		switch {
		case !has1:
			d.add(tool, "%s is %s, the manifest has none", below, short(g))
		case !has2:
			d.add(tool, "%s is missing, the manifest says %s", below, short(w))
		default:
			d.diff(tool, below, w, g)
		}
	}
}

func empty(v any) bool {
	list, ok := v.([]any)
	return v == nil || ok && len(list) == 0
}

func short(v any) string {
	doc, _ := json.Marshal(v)
	return text.Clip(string(doc), 200)
}

// plain gives rules the form that they have in the document.
func plain[T Action | Confirm](rules []T) []string {
	var lines []string
	for _, r := range rules {
		switch r := any(r).(type) {
		case Action:
			lines = append(lines,
				fmt.Sprintf("%s in %s: %s %s", r.Field, short(r.Values), r.Capability, strings.Join(r.Scopes, ",")))
		case Confirm:
			lines = append(lines, fmt.Sprintf("%s %s %s", r.Tool, r.Field, short(r.Values)))
		}
	}
	return lines
}
