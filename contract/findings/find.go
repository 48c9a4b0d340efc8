package findings

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/retryable"
	"github.com/shakedown-go/shakedown/internal/text"
)

// Find returns what a list of calls shows. The calls are in the order in which they
// began. Calls of models are counted and not judged. Call B comes after call A if it
// began when A had ended; calls without times, and calls that began and ended at one moment,
// are taken one after the other.
//
// Arguments are compared by value; of calls that have only a hash of them, by the hash.
// What depends on something that was not recorded is not judged, and the report says so.
//
// Find takes time and memory linear in the calls and their arguments. The errors are
// [*FieldError], joined, for options and calls that are not valid. Find does not
// change the calls, and is safe for concurrent use.
func Find(calls []Call, o *Options) (*Report, error) {
	if o == nil {
		o = &Options{}
	}
	claims, err := validate(calls, o)
	if err != nil {
		return nil, err
	}
	f := &finder{
		report: &Report{
			Operations: []Operation{}, Findings: []Finding{},
			Counts: make(map[Kind]*int), Unjudged: make(map[Kind]string),
		},
		tools:   make(map[string]chaos.Tool, len(o.Tools)),
		open:    make(map[Kind]*doubt),
		classes: make(map[CallError]retryable.Class),
	}
	for _, t := range o.Tools {
		f.tools[t.Name] = t
	}
	f.read(calls)
	if o.NotImported > 0 {
		for _, k := range allKinds() {
			f.doubt(k, text.Plural(o.NotImported, "call")+" that the record names did not come with it.")
		}
	}
	kinds := o.Kinds
	if kinds == nil {
		kinds = allKinds()
	}
	asked := func(k Kind) bool { return slices.Contains(kinds, k) }
	for _, look := range []struct {
		by   func()
		kind Kind
	}{
		{f.findRetries, Retry}, {f.findRetries, Storm}, {f.findLoops, Loop}, {f.findDuplicates, DuplicateEffect},
		{f.findAfterFinal, AfterFinal}, {f.findAbandoned, Abandoned},
		{func() { f.findFalseSuccess(o.Answer, claims) }, FalseSuccess},
		{func() { f.findFabricated(o) }, Fabricated},
	} {
		if asked(look.kind) && !(look.kind == Storm && asked(Retry)) {
			look.by()
		}
	}
	if o.NotImported > 0 {
		f.withhold()
	}
	return f.finish(asked), nil
}

// withhold takes back what a call that is not in the list could change.
func (f *finder) withhold() {
	if v := f.report.Verdict; v != nil && *v != Runaway {
		f.report.Verdict = nil
	}
	for i := range f.report.Operations {
		f.report.Operations[i].Retries = nil
	}
}

// A FieldError is one problem of the options or of a call. It is the same type as
// scoring.FieldError.
type FieldError = fielderror.Error

// maxProblems bounds the problems that an error lists.
const maxProblems = 20

// validate returns the claims of the options, ready to be looked for.
func validate(calls []Call, o *Options) ([]claim, error) {
	wrong := fielderror.Package("findings").ListUpTo(maxProblems)
	effects := []Effect{"", Done, NotDone, Unknown}
	for i, k := range o.Kinds {
		if !slices.Contains(allKinds(), k) {
			wrong.Wrongf(fmt.Sprint("one of ", allKinds()), k, "Options.Kinds[%d]", i)
		}
	}
	for i, t := range o.Tools {
		if p := t.IdempotencyKey; p != "" && !strings.HasPrefix(p, "/") {
			wrong.Wrongf("a JSON pointer to an argument, or nothing", p, "Options.Tools[%d].IdempotencyKey", i)
		}
		if !slices.Contains(effects, t.Effect) {
			wrong.Wrongf("none, done, unknown, or nothing", t.Effect, "Options.Tools[%d].Effect", i)
		}
	}
	for i := range calls {
		c := &calls[i]
		if c.Tool == "" {
			wrong.Wrongf("the name of a tool or model", c.Tool, "calls[%d].Tool", i)
		}
		if c.Type != "" && c.Type != Tool && c.Type != Model {
			wrong.Wrongf("tool, model, or nothing", c.Type, "calls[%d].Type", i)
		}
		if c.Parent < 0 || c.Parent > len(calls) {
			wrong.Wrongf(fmt.Sprint("0 to ", len(calls)), c.Parent, "calls[%d].Parent", i)
		}
		if !slices.Contains(effects, c.Effect) {
			wrong.Wrongf("done, none, unknown, or nothing", c.Effect, "calls[%d].Effect", i)
		}
	}
	wrong.Demand(o.NotImported >= 0, "Options.NotImported", o.NotImported, "0 or more")
	claims := compileClaims(o.Claims, wrong)
	return claims, wrong.Err()
}

// A finder looks for findings in the calls of tools.
type finder struct {
	report *Report
	tools  map[string]chaos.Tool // what they declare
	calls  []call
	open   map[Kind]*doubt
	// classes remembers those of errors that were read.
	classes map[CallError]retryable.Class
}

// A call is a [Call] of a tool as the finder judges it.
type call struct {
	*Call
	number     int // in the list, from 1
	operation  int // index of its operation
	within     int // number of the call of a tool within which it was made; 0: none
	begin, end time.Duration
	outcome    outcome
	effect     effect
	args       identity
	request    uint64 // the hash of args without the idempotency key
	key        uint64 // the hash of the key
	keyed      bool   // there is one
	left       *left  // nil: it is not looked at as an effect that may be abandoned
}

// An outcome is how a call ended for its agent.
type outcome uint8

const (
	unsure outcome = iota // nobody knows
	ok
	failed
)

// An effect is whether a call did work that changed something.
type effect uint8

const (
	none  effect = iota // it did not
	maybe               // nobody knows, but its tool has effects
	weak                // nobody knows, nor whether its tool has effects
	done                // it did
)

// A doubt is why something of a kind was not judged: the first reason, and how often.
type doubt struct {
	why   string
	calls int
}

// doubt notes that a call left something of a kind unjudged.
func (f *finder) doubt(kind Kind, why string) {
	if d := f.open[kind]; d != nil {
		d.calls++
		return
	}
	f.open[kind] = &doubt{why, 1}
}

func (f *finder) found(kind Kind, calls []int, format string, args ...any) {
	f.report.Findings = append(f.report.Findings, Finding{Kind: kind, Calls: calls, Text: fmt.Sprintf(format, args...)})
}

// finish sorts and counts the findings.
func (f *finder) finish(asked func(Kind) bool) *Report {
	r := f.report
	r.Findings = slices.DeleteFunc(r.Findings, func(f Finding) bool { return !asked(f.Kind) })
	slices.SortFunc(r.Findings, compareFindings)
	counts := make(map[Kind]int)
	for _, found := range r.Findings {
		counts[found.Kind]++
	}
	for _, k := range allKinds() {
		r.Counts[k] = nil
		switch d := f.open[k]; {
		case !asked(k):
			r.Unjudged[k] = "It was not looked for."
		case d == nil:
			r.Counts[k] = new(counts[k])
		case d.calls > 1:
			r.Unjudged[k] = d.why + " This is the first of " + text.Plural(d.calls, "such case") + "."
		default:
			r.Unjudged[k] = d.why
		}
	}
	return r
}

// read takes the calls of tools, and finds out of each what can be known alone.
func (f *finder) read(calls []Call) {
	type place struct{ tool, lane string }
	operations := make(map[place]int)
	effective := make(map[string]bool) // tools of which a call had an effect
	f.calls = make([]call, 0, len(calls))
	around := make([]int, len(calls)+1) // for what is within a call: that call, or what a model is within
	for i := range calls {
		c := &calls[i]
		within := c.Parent
		if within <= i {
			within = around[within]
		}
		around[i+1] = i + 1
		if c.Type == Model {
			f.report.Models++
			around[i+1] = within
			continue
		}
		at := place{c.Tool, c.Lane}
		operation, known := operations[at]
		if !known {
			operation = len(f.report.Operations)
			operations[at] = operation
			f.report.Operations = append(f.report.Operations, Operation{Tool: c.Tool, Lane: c.Lane})
		}
		seen := call{
			Call: c, number: i + 1, operation: operation, within: within,
			begin: c.At, end: endOf(c), outcome: outcomeOf(c), args: identify(c),
		}
		o := &f.report.Operations[operation]
		o.Calls++
		if seen.outcome == failed {
			o.Failures++
		}
		if c.Effect == Done {
			effective[c.Tool] = true
		}
		f.calls = append(f.calls, seen)
	}
	f.readEffects(effective, len(calls))
}

// readEffects finds the effect of each call and what it asks for without its idempotency
// key. effective are the tools of which a call had an effect.
func (f *finder) readEffects(effective map[string]bool, calls int) {
	covered := make([]bool, calls+1) // whose tool declares an effect, or the call that it was made within is covered
	for i := range f.calls {
		c := &f.calls[i]
		tool := f.tools[c.Tool]
		c.effect = effectOf(c, tool.Effect, effective[c.Tool])
		declares := tool.Effect == chaos.EffectNone || tool.Effect == chaos.EffectDone
		covered[c.number] = declares || c.within < c.number && covered[c.within]
		if c.effect == weak && covered[c.number] {
			c.effect = none
		}
		if c.request = c.args.hash; tool.IdempotencyKey != "" && c.args.known {
			c.separateKey(tool.IdempotencyKey)
		}
	}
}

// endOf returns when a call ended; a call without an end is taken to have ended at once.
func endOf(c *Call) time.Duration {
	if c.Took <= 0 || c.Took > 1<<62 || c.At > 1<<62 {
		return c.At
	}
	return c.At + c.Took
}

func outcomeOf(c *Call) outcome {
	switch {
	case c.Error != nil, c.Suspected:
		return failed
	case slices.Contains(c.Missing, End), slices.Contains(c.Missing, Outcome):
		return unsure
	}
	return ok
}

// effectOf returns the effect of a call, whose tool declares an effect, and had one in
// another call if effective is set.
func effectOf(c *call, declared chaos.Effect, effective bool) effect {
	switch {
	case declared == chaos.EffectNone, c.Effect == NotDone:
		return none
	case c.Effect == Done:
		return done
	case declared == chaos.EffectDone && c.Effect == "" && c.outcome == ok:
		return done
	case declared == chaos.EffectDone, effective, c.Effect == Unknown:
		return maybe
	}
	return weak
}

// name is how a sentence calls a call.
func (c *call) name() string {
	if c.Lane == "" {
		return c.Tool
	}
	return c.Tool + " in lane " + c.Lane
}

// failure is how a sentence describes the failure of a call.
func (c *call) failure() string {
	e := c.Failure()
	if e.Text == "" && e.Status != 0 {
		return fmt.Sprint("status ", e.Status)
	}
	return text.Quote(e.Text, quoted)
}

// quoted bounds an error in a sentence, in bytes.
const quoted = 80
