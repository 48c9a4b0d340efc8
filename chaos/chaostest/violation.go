package chaostest

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"sync"

	"github.com/shakedown-go/shakedown/chaos"
)

// A Check is the name of one requirement.
type Check string

// The requirements of faults and triggers.
const (
	Present    Check = "present"    // there is something to check
	Checked    Check = "checked"    // valid parameters pass Check
	Described  Check = "described"  // the Description is valid, always the same, and agrees with what happens
	Concurrent Check = "concurrent" // many goroutines get the same answers as one
	Cancelled  Check = "cancelled"  // when the context ends, the call ends at once
)

// The requirements of faults.
const (
	// Phase returns one of the phases, always the same, and PhaseInstead for a Failer.
	Phases Check = "phases"
	// When the injector is disarmed, waits end at once and the call goes through.
	Disarmed   Check = "disarmed"
	NextInTurn Check = "next-in-turn" // calls of next do not overlap
	NextInTime Check = "next-in-time" // next is not called after Inject has returned
	Context    Check = "context"      // next gets the context that Inject was given, or one derived from it
	// Next gets arguments of the type that Inject was given, and the caller a result of the callee's type.
	Types        Check = "types"
	Text         Check = "text"          // the error has a text, by which a test cannot be recognised
	PassesErrors Check = "passes-errors" // an error of the callee goes through, unless the reply is lost
	Honest       Check = "honest"        // the event agrees with what the caller got
	Repeatable   Check = "repeatable"    // the same call ends in the same way in each injector
	Fresh        Check = "fresh"         // a Stateful fault starts with empty memory in each injector
)

// The requirements of triggers.
const (
	Pure      Check = "pure"      // asked again about a call, a trigger answers the same
	Panics    Check = "panics"    // no call makes a trigger panic
	Probable  Check = "probable"  // a Probabilistic trigger matches if its draw is below its probability
	Ordinal   Check = "ordinal"   // Match of an OrdinalWhen agrees with MatchOrdinal
	Arguments Check = "arguments" // a trigger does not change the arguments
)

// A Violation is a requirement that was not met.
type Violation struct {
	Check  Check
	Detail string // what was seen
}

// Error names the check and says what was seen.
func (v *Violation) Error() string { return fmt.Sprintf("chaostest: %s: %s", v.Check, v.Detail) }

type report struct {
	mu    sync.Mutex
	found []Violation
}

func (r *report) add(check Check, format string, args ...any) {
	v := Violation{check, fmt.Sprintf(format, args...)}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.found, v) {
		r.found = append(r.found, v)
	}
}

func (r *report) err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []error
	for _, v := range r.found {
		all = append(all, &v)
	}
	return errors.Join(all...)
}

// has reports whether a requirement was violated. Checks that depend on it are then
// left out.
func (r *report) has(check Check) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.found, func(v Violation) bool { return v.Check == check })
}

// declares checks what a fault or trigger says of itself.
func (r *report) declares(part any, fault bool) {
	if c, ok := part.(chaos.Checked); ok {
		if err := c.Check(); err != nil {
			r.add(Checked, "Check refuses it: %v", err)
		}
	}
	if fault {
		r.phases(part.(chaos.Fault))
	}
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
		r.classes(d)
	}
}

func (r *report) phases(f chaos.Fault) {
	phase := phaseOf(f)
	if again := phaseOf(f); phase > chaos.PhaseAfter || again != phase {
		r.add(Phases, "Phase is %d and then %d; allowed: one of the phases, always the same", phase, again)
	}
	if _, ok := f.(chaos.Failer); ok && phase != chaos.PhaseInstead {
		r.add(Phases, "a Failer acts in PhaseInstead; this one says phase %d", phase)
	}
}

func phaseOf(f chaos.Fault) chaos.Phase {
	if p, ok := f.(chaos.Phased); ok {
		return p.Phase()
	}
	return chaos.PhaseInstead
}

var snakeCase = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

func (r *report) classes(d chaos.Description) {
	oneOf(r, "Class", d.Class, chaos.ClassCrash, chaos.ClassOmission, chaos.ClassTiming, chaos.ClassValue,
		chaos.ClassProtocol, chaos.ClassAdversarial)
	oneOf(r, "Visibility", d.Visibility, chaos.Explicit, chaos.Implicit)
	oneOf(r, "Persistence", d.Persistence, chaos.Transient, chaos.Permanent)
	oneOf(r, "Effect", d.Effect, chaos.EffectUnknown, chaos.EffectNone, chaos.EffectDone)
	oneOf(r, "Layer", d.Layer, "", chaos.LayerTool, chaos.LayerLLM, chaos.LayerHTTP, chaos.LayerSQL, chaos.LayerGRPC, chaos.LayerStream,
		chaos.LayerPoint, chaos.LayerContext, chaos.LayerControl, chaos.LayerResource, chaos.LayerMultiAgent)
}

func oneOf[T ~string](r *report, field string, value T, allowed ...T) {
	if !slices.Contains(allowed, value) {
		r.add(Described, "%s is %q; allowed: %s", field, value, fmt.Sprintf("%q", allowed))
	}
}
