package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/internal/text"
)

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
			lines = append(lines, fmt.Sprintf("%s in %s: %s %s", r.Field, short(r.Values), r.Capability, strings.Join(r.Scopes, ",")))
		case Confirm:
			lines = append(lines, fmt.Sprintf("%s %s %s", r.Tool, r.Field, short(r.Values)))
		}
	}
	return lines
}
