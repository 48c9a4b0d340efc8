package lint

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/shakedown-go/shakedown/chaos/internal/telltale"
	shown "github.com/shakedown-go/shakedown/internal/text"
)

// text looks at the texts that the caller will read.
func (l *linter) text(r *rule) {
	var params any
	if json.Unmarshal(r.fault.Params, &params) != nil {
		return
	}
	for _, text := range texts(params) {
		if word := telltale.Find(text); word != "" {
			l.report(r, TelltaleText, Warning, "the text %q contains %q, by which a model may know that this is a test",
				shown.Clip(text, 80), word)
		}
	}
}

// texts lists the strings in parameters, except those that appear only in
// reports.
func texts(v any) (list []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, item := range v {
			list = append(list, texts(item)...)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if key != "name" && key != "type" && key != "kind" {
				list = append(list, texts(v[key])...)
			}
		}
	}
	return list
}
