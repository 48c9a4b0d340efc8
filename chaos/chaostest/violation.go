package chaostest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
)

// A Check is the name of one requirement.
type Check string

// The requirements of faults and triggers.
const (
	// Present: there is something to check.
	Present Check = "present"
	// Checked: valid parameters pass Check.
	Checked Check = "checked"
	// Described: the Description is valid, always the same, and agrees with what happens.
	Described Check = "described"
	// Concurrent: many goroutines get the same answers as one.
	Concurrent Check = "concurrent"
	// Goroutines: none is left behind when a call has returned.
	Goroutines Check = "goroutines"
	// Cancelled: when the context ends, the call ends at once.
	Cancelled Check = "cancelled"
)

// The requirements of faults.
const (
	// Phases: Phase returns one of the phases, always the same, and PhaseInstead for a Failer.
	Phases Check = "phases"
	// Disarmed: when the injector is disarmed, waits end at once and the call goes through.
	Disarmed Check = "disarmed"
	// NextInTurn: calls of next do not overlap.
	NextInTurn Check = "next-in-turn"
	// NextInTime: next is not called after Inject has returned.
	NextInTime Check = "next-in-time"
	// Context: next gets the context that Inject was given, or one derived from it.
	Context Check = "context"
	// Types: next gets arguments of the type that Inject was given, and the caller a result of the callee's type.
	Types Check = "types"
	// Text: the error has a text, by which a test cannot be recognised.
	Text Check = "text"
	// PassesErrors: an error of the callee goes through, unless the reply is lost.
	PassesErrors Check = "passes-errors"
	// Honest: the event agrees with what the caller got.
	Honest Check = "honest"
	// Repeatable: the same call ends in the same way in each injector.
	Repeatable Check = "repeatable"
	// Fresh: a Stateful fault starts with empty memory in each injector.
	Fresh Check = "fresh"
)

// The requirements of triggers.
const (
	// Pure: asked again about a call, a trigger answers the same.
	Pure Check = "pure"
	// Panics: no call makes a trigger panic.
	Panics Check = "panics"
	// Probable: a Probabilistic trigger matches if its draw is below its probability.
	Probable Check = "probable"
	// Ordinal: Match of an OrdinalWhen agrees with MatchOrdinal.
	Ordinal Check = "ordinal"
	// Arguments: a trigger does not change the arguments.
	Arguments Check = "arguments"
)

// A Violation is a requirement that was not met.
type Violation struct {
	Check  Check
	Detail string // what was seen
}

// Error names the check and says what was seen.
func (v *Violation) Error() string { return fmt.Sprintf("chaostest: %s: %s", v.Check, v.Detail) }

// report collects violations, equal ones once.
type report struct {
	mu    sync.Mutex
	found []error
	seen  map[Violation]bool
}

func (r *report) add(check Check, format string, args ...any) {
	v := Violation{check, fmt.Sprintf(format, args...)}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil {
		r.seen = make(map[Violation]bool)
	}
	if !r.seen[v] {
		r.seen[v] = true
		r.found = append(r.found, &v)
	}
}

func (r *report) err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(r.found...)
}

// has reports whether a requirement was violated. Checks that depend on it are then
// left out.
func (r *report) has(check Check) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.found, func(err error) bool { return err.(*Violation).Check == check })
}
