// Package lint finds what is wrong with a plan that is well formed: rules that
// never match, rules that others hide, and texts that reveal the test.
//
//	for _, f := range lint.Plan(plan, &lint.Options{Targets: targets}) {
//		fmt.Println(f)
//	}
//	// error: rule "late": never: the trigger matches no call
//
// [chaos.NewPlan] refuses what makes no sense by itself, such as a probability
// of 30. This package reports what makes sense and yet does not do what its
// author meant. A plan without findings may still be pointless.
//
// # What it knows
//
// What a trigger matches is asked of its Match method. Which calls there are to
// try it with, and whether it leaves anything to chance, is known from what its
// Describe method returns, kind and parameters, never from its type. So a plan
// that was read from JSON is judged like one written in Go. A kind that is not
// known here is never reported: it might match any call, and do anything.
//
// Nothing is guessed: a trigger that is reported to match no call matches none,
// and a rule that is reported to be hidden is hidden. Not all such rules are
// found, though: none whose trigger draws, nor of two patterns one that covers the
// other, unless [Options] has the targets.
//
// # Costs
//
// Milliseconds for a plan of a hundred rules. Every pair of rules is compared,
// and a trigger is tried with at most 65,536 calls.
// All functions are safe for concurrent use.
package lint

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/glob"
)

// A Finding is one problem of a rule.
type Finding struct {
	Rule     string   `json:"rule"` // its name
	Code     Code     `json:"code"`
	Severity Severity `json:"severity"`
	Message  string   `json:"message"` // what is wrong, for people
}

// String returns the finding in one line.
func (f Finding) String() string {
	return fmt.Sprintf("%s: rule %q: %s: %s", f.Severity, f.Rule, f.Code, f.Message)
}

// Severity is how bad a finding is.
type Severity string

// The severities.
const (
	Error   Severity = "error"   // the rule does nothing
	Warning Severity = "warning" // it does something else than it seems to
)

// A Code is the kind of a finding, for programs.
type Code string

// The codes.
const (
	Never         Code = "never"          // the trigger matches no call
	UnknownTarget Code = "unknown-target" // the target matches no known injection point
	Unreachable   Code = "unreachable"    // some of the calls of an exact list cannot be the rule's
	Shadowed      Code = "shadowed"       // another rule decides on every call that this one matches
	TelltaleText  Code = "telltale-text"  // the text reveals that this is a test
)

// Options are what a linter may know besides the plan. The zero value means
// that nothing else is known.
type Options struct {
	_ struct{}
	// Targets are all injection points that exist; empty: unknown.
	Targets []string
}

// Plan returns the findings of a plan in the order of its rules, errors first
// within a rule; nil: there are none. o may be nil, and a nil plan has no
// rules.
func Plan(p *chaos.Plan, o *Options) []Finding {
	if p == nil {
		return nil
	}
	return Rules(p.Rules(), o)
}

// Rules is [Plan] for a list of rules in the order in which they act, names
// filled in, such as those of a live injector ([chaos.Injector.Rules]).
func Rules(rules []chaos.Rule, o *Options) []Finding {
	l := linter{}
	if o != nil {
		l.Options = *o
	}
	for _, r := range rules {
		l.add(r)
	}
	for i := range l.rules {
		l.check(i)
	}
	return l.found
}

type linter struct {
	Options
	rules []*rule
	found []Finding
}

// rule is a rule with everything that can be read from it.
type rule struct {
	chaos.Rule
	glob   *glob.Glob // nil: malformed
	when   trigger
	fault  chaos.Description
	phase  chaos.Phase
	never  bool
	always bool // it matches every call to its targets
}

func (l *linter) add(r chaos.Rule) {
	read := &rule{Rule: r}
	read.glob, _ = glob.Compile(r.Target)
	if d, ok := r.Fault.(chaos.Described); ok {
		read.fault = d.Describe()
	}
	if p, ok := r.Fault.(chaos.Phased); ok {
		read.phase = p.Phase()
	}
	read.when = trigger{kind: "always"}
	if r.When != nil {
		read.when = trigger{}
		if d, ok := r.When.(chaos.Described); ok {
			read.when = readTrigger(d.Describe())
		}
	}
	never, always := read.verdict()
	read.never, read.always = never, always && r.Limit == 0 && r.CoolDown == 0
	l.rules = append(l.rules, read)
}

// check adds the findings of one rule.
func (l *linter) check(i int) {
	first, r := len(l.found), l.rules[i]
	l.target(r)
	l.trigger(r)
	l.shadow(i)
	l.text(r)
	slices.SortStableFunc(l.found[first:], func(a, b Finding) int { return cmp.Compare(a.Severity, b.Severity) })
}

func (l *linter) report(r *rule, code Code, s Severity, format string, args ...any) {
	l.found = append(l.found, Finding{r.Name, code, s, fmt.Sprintf(format, args...)})
}
