package chaostest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
)

// declarations checks what a fault states of itself: Check, Phase and Describe.
func (t *faultCheck) declarations() {
	checked(&t.report, t.fault)
	t.phase = phaseOf(t.fault)
	if t.phase > chaos.PhaseAfter || phaseOf(t.fault) != t.phase {
		t.add(Phases, "Phase is %d and then %d; allowed: one of the phases, always the same", t.phase, phaseOf(t.fault))
	}
	if _, ok := t.fault.(chaos.Failer); ok && t.phase != chaos.PhaseInstead {
		t.add(Phases, "a Failer acts in PhaseInstead; this one says phase %d", t.phase)
	}
	described(&t.report, t.fault, true)
}

// checked checks that a fault or trigger passes its own Check method.
func checked(r *report, part any) {
	c, ok := part.(chaos.Checked)
	if !ok {
		return
	}
	if err := c.Check(); err != nil {
		r.add(Checked, "Check refuses it: %v", err)
	}
}

var snakeCase = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

// described checks a description, if there is one.
func described(r *report, part any, fault bool) {
	said, ok := part.(chaos.Described)
	if !ok {
		return
	}
	d := said.Describe()
	if !snakeCase.MatchString(d.Kind) {
		r.add(Described, "Kind is %q; allowed: snake_case", d.Kind)
	}
	var object map[string]json.RawMessage
	if len(d.Params) > 0 && (json.Unmarshal(d.Params, &object) != nil || object == nil) {
		r.add(Described, "Params is %s; allowed: a JSON object, or nothing", d.Params)
	}
	if again := said.Describe(); !reflect.DeepEqual(d, again) {
		r.add(Described, "it describes itself as %+v and then as %+v", d, again)
	}
	if fault {
		classes(r, d)
	}
}

func classes(r *report, d chaos.Description) {
	oneOf(r, "Class", d.Class, chaos.ClassCrash, chaos.ClassOmission, chaos.ClassTiming, chaos.ClassValue,
		chaos.ClassProtocol, chaos.ClassAdversarial)
	oneOf(r, "Visibility", d.Visibility, chaos.Explicit, chaos.Implicit)
	oneOf(r, "Persistence", d.Persistence, chaos.Transient, chaos.Permanent)
	oneOf(r, "Effect", d.Effect, chaos.EffectUnknown, chaos.EffectNone, chaos.EffectDone)
	oneOf(r, "Layer", d.Layer, "", chaos.LayerTool, chaos.LayerLLM, chaos.LayerHTTP, chaos.LayerStream,
		chaos.LayerPoint,
		chaos.LayerContext, chaos.LayerControl, chaos.LayerResource, chaos.LayerMultiAgent)
}

func oneOf[T ~string](r *report, field string, value T, allowed ...T) {
	if !slices.Contains(allowed, value) {
		r.add(Described, "%s is %q; allowed: %s", field, value, fmt.Sprintf("%q", allowed))
	}
}
