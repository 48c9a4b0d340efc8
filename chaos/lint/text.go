package lint

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/telltale"
	shown "github.com/shakedown-go/shakedown/internal/text"
)

// defaultText is what the MCP tool uses if no message is given.
const defaultText = "Injected fault"

// text looks at the texts that the caller will read.
func (l *linter) text(r *rule) {
	var params any
	if json.Unmarshal(r.fault.Params, &params) != nil {
		return
	}
	for _, text := range texts(params) {
		word := telltale.Find(text)
		switch {
		case text == defaultText:
			l.report(r, DefaultText, Warning,
				"the text %q is a stand-in, and says that the error is not real: give one that the dependency would send", text)
		case word != "":
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

// delay looks for waits that are longer than the caller's patience.
func (l *linter) delay(r *rule) {
	// which makes no caller wait
	if l.Timeout <= 0 || r.fault.Class != chaos.ClassTiming || r.fault.Kind == "delayed_visibility" {
		return
	}
	var params map[string]any
	if json.Unmarshal(r.fault.Params, &params) != nil {
		return
	}
	for _, name := range []string{"duration", "lo", "mean"} {
		text, _ := params[name].(string)
		if d, err := time.ParseDuration(text); err == nil && d >= l.Timeout {
			l.report(r, CutDelay, Warning,
				"%s is %v, and callers give up after %v: they see their own time-out, not the fault", name, d,
				l.Timeout)
			return
		}
	}
}
