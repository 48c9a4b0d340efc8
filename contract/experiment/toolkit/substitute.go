package toolkit

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/contract/experiment"
	"github.com/shakedown-go/shakedown/internal/jsonpath"
)

// reference matches ${name}, and $${, which means ${.
var reference = regexp.MustCompile(`\$\$\{|\$\{([^{}]*)\}`)

// values resolve ${name}: by the configuration, then the secrets, then the outputs
// of earlier activities, which are read when needed.
type values struct {
	config  map[string]any
	secrets map[string]string
	output  func(name string) (any, error) // nil: outputs are not available here
	keep    bool                           // an unknown ${name} stays as it is
	// the output that a tolerance judges, passed as the argument value; nil: none
	judged *any
}

// lookup resolves a name.
func (vs values) lookup(name string) (any, error) {
	if v, ok := vs.config[name]; ok {
		return v, nil
	}
	if v, ok := vs.secrets[name]; ok {
		return v, nil
	}
	if vs.output == nil {
		return nil, fmt.Errorf("${%s}: no such configuration value or secret", name)
	}
	return vs.output(name)
}

// text substitutes in a text. A text that is only ${name} becomes the value.
func (vs values) text(s string) (any, error) {
	if at := reference.FindStringSubmatchIndex(s); at != nil && at[0] == 0 && at[1] == len(s) && at[2] >= 0 {
		v, err := vs.lookup(s[at[2]:at[3]])
		if err != nil && vs.keep {
			return s, nil
		}
		return v, err
	}
	var failed error
	s = reference.ReplaceAllStringFunc(s, func(match string) string {
		if match == "$${" {
			return "${"
		}
		v, err := vs.lookup(match[2 : len(match)-1])
		if err != nil {
			if !vs.keep && failed == nil {
				failed = err
			}
			return match
		}
		return spell(v)
	})
	return s, failed
}

// spell returns a value as it appears within a text.
func spell(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case nil:
		return ""
	}
	doc, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(doc)
}

// any substitutes in every text of a decoded value, which it does not change.
func (vs values) any(v any) (any, error) {
	switch v := v.(type) {
	case string:
		return vs.text(v)
	case []any:
		list := make([]any, len(v))
		for i := range v {
			item, err := vs.any(v[i])
			if err != nil {
				return nil, err
			}
			list[i] = item
		}
		return list, nil
	case map[string]any:
		object := make(map[string]any, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			member, err := vs.any(v[name])
			if err != nil {
				return nil, err
			}
			object[name] = member
		}
		return object, nil
	}
	return v, nil
}

// string substitutes where only a text is allowed.
func (vs values) string(s string) (string, error) {
	v, err := vs.text(s)
	return spell(v), err
}

// running returns the values for a running activity.
func (vs values) running(ctx context.Context) values {
	scope := experiment.ScopeOf(ctx)
	vs.output = func(name string) (any, error) {
		name, path, _ := strings.Cut(name, ":")
		output, ok := scope.Output(name)
		if !ok {
			return nil,
				fmt.Errorf("${%s}: no configuration value, no secret, and no activity of this name has an output", name)
		}
		if path == "" {
			return output, nil
		}
		return part(output, name, path)
	}
	return vs
}

// part returns the first value at a JSON path of an output.
func part(output any, name, path string) (any, error) {
	p, err := jsonpath.Parse(path)
	if err != nil {
		return nil, err
	}
	doc, err := json.Marshal(output)
	if err != nil {
		return nil, fmt.Errorf("${%s:%s}: the output has no JSON: %w", name, path, err)
	}
	var v any
	if err := decode(doc, &v); err != nil {
		return nil, err
	}
	found := p.Find(v)
	if len(found) == 0 {
		return nil, fmt.Errorf("${%s:%s}: the output has nothing there", name, path)
	}
	return found[0].Value, nil
}

// names lists the names that the texts of a value refer to.
func names(v any) (list []string) {
	switch v := v.(type) {
	case string:
		for _, m := range reference.FindAllStringSubmatch(v, -1) {
			if m[0] != "$${" {
				list = append(list, m[1])
			}
		}
	case []any:
		for _, item := range v {
			list = append(list, names(item)...)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			list = append(list, names(v[name])...)
		}
	}
	return list
}
