// Package lint finds in a plan that is well formed the texts that reveal the test, and errors
// of another model provider than the one whose path a rule has.
//
//	for _, f := range lint.Plan(plan) {
//		fmt.Println(f)
//	}
//	// rule "orders": the text "injected fault" contains "injected", by which a model may know that this is a test
//
// [chaos.NewPlan] refuses what makes no sense by itself, such as a probability of 30.
// A rule that is never delivered shows in what a run reports: see
// [chaos.Injector.Undelivered]. All functions are safe for concurrent use.
//
// Stability: may change.
package lint

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/chaos/internal/telltale"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/internal/modelapi"
	"github.com/shakedown-go/shakedown/internal/text"
)

// A Finding is one problem of a rule.
type Finding struct {
	Rule    string `json:"rule"`    // its name
	Message string `json:"message"` // what is wrong, for people
}

// String returns the finding in one line.
func (f Finding) String() string { return fmt.Sprintf("rule %q: %s", f.Rule, f.Message) }

// Plan returns the findings of a plan in the order of its rules; nil: there are none. A nil
// plan has no rules. The texts of a fault are those of its description.
func Plan(p *chaos.Plan) (found []Finding) {
	if p == nil {
		return nil
	}
	for _, r := range p.Rules() {
		d, ok := r.Fault.(chaos.Described)
		if !ok {
			continue
		}
		doc := d.Describe().Params
		if problem := foreign(doc, r.Target); problem != "" {
			found = append(found, Finding{r.Name, problem})
		}
		var params any
		_ = json.Unmarshal(doc, &params) // no parameters have no texts
		for _, said := range texts(params) {
			if word := telltale.Find(said); word != "" {
				found = append(found, Finding{r.Name,
					fmt.Sprintf("the text %q contains %q, by which a model may know that this is a test",
						text.Clip(said, 80), word)})
			}
		}
	}
	return found
}

// foreign is what is wrong with an error of a model provider at a target; "": nothing is.
func foreign(params json.RawMessage, target string) string {
	var of struct{ API, Error string }
	if json.Unmarshal(params, &of) != nil || of.API == "" || of.Error == "" {
		return ""
	}
	path, _, _ := strings.Cut(target, "#")
	asked := modelapi.Provider(path)
	if asked == "" || asked == of.API {
		return ""
	}
	return fmt.Sprintf("the error is one of %s, and %q is a path of %s: without an api it is the error of the request's provider",
		of.API, text.Clip(path, 80), asked)
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

// Counts reports whether a trigger counts calls, or is combined of one that does: then
// it matters in which order the calls of a lane come. It reads the trigger's
// description; one without that counts if it is a [chaos.OrdinalWhen].
func Counts(w chaos.When) bool {
	d, ok := w.(chaos.Described)
	if !ok {
		_, ok = w.(chaos.OrdinalWhen)
		return ok
	}
	said := d.Describe()
	return part{said.Kind, said.Params}.counts()
}

// part is a trigger as descriptions have it.
type part struct {
	Kind   string          `json:"kind"`
	Params json.RawMessage `json:"params"`
}

func (p part) counts() bool {
	var in struct {
		Parts  []part `json:"parts"`
		Stages []struct {
			Calls int  `json:"calls"`
			When  part `json:"when"`
		} `json:"stages"`
	}
	if len(p.Params) > 0 && json.Unmarshal(p.Params, &in) != nil {
		return false // it is no trigger of package when
	}
	for _, s := range in.Stages {
		if s.Calls > 0 || s.When.counts() {
			return true
		}
	}
	return len(in.Stages) == 0 && slices.ContainsFunc(when.Rows(), func(r *catalog.Row) bool {
		return r.Kind == p.Kind && r.Order == catalog.Sequential
	}) || slices.ContainsFunc(in.Parts, part.counts)
}
