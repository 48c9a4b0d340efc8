package chaostest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
)

// A Check is one rule, as a violation names it.
type Check string

// The rules of all three.
const (
	// Present: there is something to check.
	Present Check = "present"
	// Checked: parameters that make sense pass Check, those that make none are refused.
	Checked Check = "checked"
	// Described: kind, parameters and coordinates are filled in and stay the same.
	Described Check = "described"
	// Concurrent: many goroutines get the same answers as one.
	Concurrent Check = "concurrent"
	// Goroutines: none is left behind when a call has returned.
	Goroutines Check = "goroutines"
	// Cancelled: a context that ends, ends the call at once.
	Cancelled Check = "cancelled"
)

// The rules of faults.
const (
	// Phases: the phase is a phase, always the same one, and Instead for a Failer.
	Phases Check = "phases"
	// Failing: Inject of a Failer does what Fail says, and does not reach the callee.
	Failing Check = "failing"
	// Disarmed: when the injector is disarmed, waits end at once and the call goes through.
	Disarmed Check = "disarmed"
	// NextInTurn: next is called in the goroutine of the call, one call after the other.
	NextInTurn Check = "next-in-turn"
	// NextInTime: next is not called after Inject has returned.
	NextInTime Check = "next-in-time"
	// Context: next gets the context that Inject was given, or one derived from it.
	Context Check = "context"
	// Types: next gets arguments of the type that Inject was given, and the caller a result of the callee's type.
	Types Check = "types"
	// Matches: the caller's error matches what a real one would match.
	Matches Check = "matches"
	// Text: the text of the error does not tell that this is a test.
	Text Check = "text"
	// PassesErrors: an error of the callee goes through, unless the reply is lost.
	PassesErrors Check = "passes-errors"
	// Honest: what the event says was delivered is what the caller saw.
	Honest Check = "honest"
	// Repeatable: the same call meets the same fate in each injector.
	Repeatable Check = "repeatable"
	// Fresh: what a fault remembers it remembers for one injector.
	Fresh Check = "fresh"
)

// The rules of triggers.
const (
	// Pure: asked again about a call, a trigger answers the same.
	Pure Check = "pure"
	// Panics: no call makes a trigger panic.
	Panics Check = "panics"
	// Probable: a Probabilistic trigger matches where its draw is below its probability.
	Probable Check = "probable"
	// Ordinal: what an OrdinalWhen answers to an ordinal, Match answers to every call of that ordinal.
	Ordinal Check = "ordinal"
	// Arguments: what looks at the arguments does not change them.
	Arguments Check = "arguments"
	// Parts: a combination gives each part draws of its own, and the arguments to those that ask.
	Parts Check = "parts"
)

// The rules of registries.
const (
	// Listing: tools have names of their own and well-formed declarations, and listing them again lists the same.
	Listing Check = "listing"
	// UnknownTool: calling a tool that is not there is an error.
	UnknownTool Check = "unknown-tool"
	// Malformed: arguments that are not JSON are an error.
	Malformed Check = "malformed"
	// Results: a result is one JSON value.
	Results Check = "results"
)

// A Violation is one broken rule.
type Violation struct {
	Check  Check
	Detail string // what was seen
}

// Error names the rule and says what was seen.
func (v *Violation) Error() string { return fmt.Sprintf("chaostest: %s: %s", v.Check, v.Detail) }

// report collects violations. One that repeats is reported once.
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

// has reports whether a rule is known to be broken: checks that build on it are
// then left out.
func (r *report) has(check Check) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.found, func(err error) bool { return err.(*Violation).Check == check })
}
