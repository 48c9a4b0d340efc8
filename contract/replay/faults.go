package replay

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/planjson"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract/findings"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/glob"
	"github.com/shakedown-go/shakedown/internal/jsonhash"
	"github.com/shakedown-go/shakedown/internal/modelapi"
)

// FaultOptions are the settings of [Session.Faults]; the zero value works.
type FaultOptions struct {
	_ struct{}
	// AfterWork reads a time-out as a reply that was lost after the callee had done
	// its work, instead of a request that never reached it. A trace does not tell
	// which it was, so try both. A call whose Effect is known to be done or none is
	// read by that, and one within which calls were made has reached its callee.
	AfterWork bool
	// Exact matches calls by their arguments (when.Exactly) instead of by their
	// number, for an agent that makes them in another order. Calls that overlapped
	// another one of their tool and lane are always matched so.
	Exact bool
	// Suspected also makes rules of the calls of which nobody knows whether they failed:
	// the caller gets the recorded result instead of the real one.
	Suspected bool
	// SlowerThan makes a delay of each call that itself took longer; 0: of none. The
	// time of the calls within it does not count.
	SlowerThan time.Duration
}

// Faults returns rules that make the failures of the session happen again, in the
// order of the calls: a rule for each way in which a tool or model failed, on the calls
// that failed so. Encode writes them all (package planjson). o may be nil.
//
// The page docs/recordings.md has the table of failures and their faults. The rules of a tool
// match its calls by their number in their lane, and look at the lane if several lanes called
// the tool. Lanes of an imported session are not those of the agent, so its calls count as
// those of one. The target of a model is every endpoint that is asked for it, or the injection
// point if the model has the name of one.
//
// A failed call within which the last call failed too has no rule: that failure is the
// cause.
//
// The error joins the calls that no rule could be made of, each a
// [*FieldError]; the rules of the others are returned beside it. Where no call failed and
// nobody knows of some whether they did, or some were not imported, it is an error that asks:
// without rules a scenario would be a calm one.
func (s *Session) Faults(o *FaultOptions) ([]chaos.Rule, error) {
	o = cmp.Or(o, &FaultOptions{})
	f := ruleMaker{FaultOptions: *o, calls: s.Calls, byLane: s.hasLanes(), problems: fields.List()}
	f.problems.Demand(f.SlowerThan >= 0, "SlowerThan", f.SlowerThan, "a duration of 0 or more")
	f.place()
	for i := range f.calls {
		f.addCall(i)
	}
	rules := f.rules()
	if len(rules) == 0 {
		f.ask(s.NotImported)
	}
	return rules, f.problems.Err()
}

// ask refuses to make nothing of a session in which a call may have failed.
func (f *ruleMaker) ask(notImported int) {
	if f.Suspected || slices.ContainsFunc(f.calls, func(c findings.Call) bool { return c.Failure() != nil }) {
		return
	}
	if notImported > 0 {
		f.problems.Wrong("notImported", notImported,
			"0: what the calls that were not imported did is not known; or Suspected")
	}
	for i := range f.calls {
		if c := &f.calls[i]; unsure(c) && c.Effect != findings.Done && c.Effect != findings.NotDone {
			f.problems.Because(fmt.Sprintf("calls[%d]", i), nil,
				fmt.Errorf("nobody knows whether call %d did its work", i+1),
				"Suspected, which plays what it returned; or its effect, done or none, in the session")
			return
		}
	}
}

// unsure reports whether nobody knows if a call of a tool failed.
func unsure(c *findings.Call) bool {
	return c.Type != findings.Model && c.Failure() == nil &&
		(slices.Contains(c.Missing, findings.Outcome) || slices.Contains(c.Missing, findings.End))
}

type ruleMaker struct {
	FaultOptions
	calls     []findings.Call
	byLane    bool // the lanes are those of the agent; importers make theirs of what overlapped
	timed     bool // it is known when calls began
	at        []place
	lanes     map[callee]map[string]bool // the lanes that call it
	overlap   map[strand]bool            // strands of which two calls overlapped
	last      []int                      // the last call within each call, or -1
	inner     []time.Duration            // the time of the calls directly within each call
	collected []*collected
	byKey     map[ruleKey]*collected
	problems  *fielderror.List
}

// callee is what a rule is for: a tool or a model.
type callee struct {
	model bool
	name  string
}

// strand is the calls of a lane to a callee.
type strand struct {
	callee
	lane string
}

// place is where a call stands among those of its strand.
type place struct {
	strand
	number int    // from 1
	key    uint64 // of its arguments
	again  uint64 // how many calls of the strand before it had equal arguments
	exact  error  // why key and again are not known; nil: they are
}

// A collected rule is not complete before all calls were seen.
type collected struct {
	ruleKey
	fault chaos.Fault
	calls []int // their indices
}

// ruleKey is equal for calls that share a rule.
type ruleKey struct {
	strand
	exact        bool
	kind, params string
}

func (f *ruleMaker) place() {
	f.at, f.last = make([]place, len(f.calls)), slices.Repeat([]int{-1}, len(f.calls))
	f.inner = make([]time.Duration, len(f.calls))
	f.lanes, f.overlap = map[callee]map[string]bool{}, map[strand]bool{}
	f.byKey = map[ruleKey]*collected{}
	f.timed = slices.ContainsFunc(f.calls, func(c findings.Call) bool { return c.At+c.Took > 0 })
	numbers, vague := map[strand]int{}, map[strand]error{}
	type arguments struct {
		strand
		key uint64
	}
	seen, open := map[arguments]uint64{}, map[strand][]int{}
	for i := range f.calls {
		c := &f.calls[i]
		at := strand{callee: callee{c.Type == findings.Model, c.Tool}}
		if f.byLane {
			at.lane = c.Lane
		}
		if f.lanes[at.callee] == nil {
			f.lanes[at.callee] = map[string]bool{}
		}
		f.lanes[at.callee][at.lane] = true
		if p := f.parent(i); p >= 0 {
			f.last[p] = i
			f.inner[p] += c.Took
		}
		numbers[at]++
		p := place{strand: at, number: numbers[at], key: jsonhash.Sum(c.Args)}
		if vague[at] == nil {
			vague[at] = f.argumentsKnown(i)
		}
		p.exact, p.again = vague[at], seen[arguments{at, p.key}]
		seen[arguments{at, p.key}]++
		f.at[i] = p
		if !f.overlap[at] {
			open[at] = f.underWay(append(open[at], i))
			f.overlap[at] = slices.ContainsFunc(open[at], func(o int) bool { return o != i && !f.within(i, o) })
		}
	}
}

func (f *ruleMaker) parent(i int) int {
	if p := f.calls[i].Parent - 1; p < i {
		return max(p, -1)
	}
	return -1
}

func (f *ruleMaker) within(i, outer int) bool {
	for i > outer {
		i = f.parent(i)
	}
	return i == outer
}

// underWay are the calls that had not ended when the last of them began, and the last. In a
// session without times, calls of different lanes may have overlapped.
func (f *ruleMaker) underWay(calls []int) []int {
	last := &f.calls[calls[len(calls)-1]]
	return slices.DeleteFunc(calls, func(i int) bool {
		c := &f.calls[i]
		ended := c.At+c.Took <= last.At
		return c != last && ended && (f.timed || c.Lane == last.Lane)
	})
}

func (f *ruleMaker) argumentsKnown(i int) error {
	c, field := &f.calls[i], fmt.Sprintf("calls[%d].args", i)
	const allowed = "the arguments of all calls of the tool up to the one that failed, to tell it by them"
	switch {
	case c.ArgsHash != "":
		return fields.Wrong(field, fielderror.Found("only a hash"), allowed)
	case slices.Contains(c.Missing, findings.Args):
		return fields.Wrong(field, fielderror.Found("missing"), allowed)
	case c.Truncated:
		return fields.Wrong(field, fielderror.Found("truncated"), allowed)
	case isRedacted(c.Args):
		return fields.Wrong(field, fielderror.Found("redacted"), allowed)
	}
	return nil
}

func (f *ruleMaker) addCall(i int) {
	c, field := &f.calls[i], fmt.Sprintf("calls[%d]", i)
	switch c.Type {
	case "", findings.Tool, findings.Model:
	default:
		f.problems.Wrong(field+".type", c.Type, "tool, model, or nothing")
		return
	}
	failed, err := f.faultOf(i)
	f.problems.Add(err)
	var is chaos.Description
	if failed != nil {
		is = failed.(chaos.Described).Describe()
	}
	if own := f.own(i); f.SlowerThan > 0 && own > f.SlowerThan && is.Class != chaos.ClassTiming {
		f.add(i, fault.Delay(own))
	}
	if failed == nil {
		return
	}
	if last := f.last[i]; last >= 0 && c.Failure() != nil {
		if cause, _ := f.faultOf(last); cause != nil {
			return
		}
		if is.Effect == chaos.EffectNone {
			f.problems.Because(field, nil,
				errors.New("failed although the last call within it did not; a rule would keep those from being made"),
				"a failed call with no call within it, or with one that failed last")
			return
		}
	}
	f.add(i, failed)
}

// own is the time of a call without that of the calls within it.
func (f *ruleMaker) own(i int) time.Duration { return max(0, f.calls[i].Took-f.inner[i]) }

// faultOf is the fault of a call, or nil.
func (f *ruleMaker) faultOf(i int) (chaos.Fault, error) {
	c := &f.calls[i]
	switch e := c.Failure(); {
	case e != nil && timedOut(e):
		// what was done within it is known to have been reached
		if c.Effect == findings.Done || f.last[i] >= 0 || f.AfterWork && c.Effect != findings.NotDone {
			return fault.LoseReplyAfter(f.own(i)), nil
		}
		return fault.Timeout(f.own(i)), nil
	case e != nil:
		return failureOf(c), nil
	case c.Type == findings.Model:
		return completionFault(c.Result), nil
	}
	if !f.Suspected || !unsure(c) || c.Result == nil {
		return nil, nil
	}
	field := fmt.Sprintf("calls[%d].result", i)
	const allowed = "the whole result of a tool, as JSON"
	switch {
	case c.Truncated:
		return nil, fields.Wrong(field, fielderror.Found("truncated"), allowed)
	case !json.Valid(c.Result):
		return nil, fields.Wrong(field, c.Result, allowed)
	}
	return fault.Replace(c.Result), nil
}

// add makes a rule of a fault of a call, or adds the call to one.
func (f *ruleMaker) add(i int, failed chaos.Fault) {
	at, exact := f.at[i], f.Exact || f.overlap[f.at[i].strand]
	if exact && at.model {
		f.problems.Because(fmt.Sprintf("calls[%d]", i), nil,
			errors.New("is of a model: no arguments of it are known, by which to tell it from others"),
			"without Exact: calls of a model that do not overlap")
		return
	}
	if exact && at.exact != nil {
		f.problems.Because(fmt.Sprintf("calls[%d]", i), nil, at.exact, "")
		return
	}
	d := failed.(chaos.Described).Describe()
	key := ruleKey{at.strand, exact, d.Kind, string(d.Params)}
	r := f.byKey[key]
	if r == nil {
		r = &collected{ruleKey: key, fault: failed}
		f.byKey[key] = r
		f.collected = append(f.collected, r)
	}
	r.calls = append(r.calls, i)
}

// target is the glob of a callee. A trace may name a model without the suffix that a
// request names, so what follows the name does not count, unless it is what makes the
// name of another model of the session.
func (f *ruleMaker) target(c callee) string {
	if !c.model || isPoint(c.name) {
		return glob.Literal(c.name)
	}
	for other := range f.lanes {
		if other.model && other != c && strings.HasPrefix(other.name, c.name) {
			return "*#" + glob.Literal(c.name)
		}
	}
	return "*#" + glob.Literal(c.name) + "*"
}

// isPoint reports whether the name of a model is that of an injection point, as in the
// sessions of events.
func isPoint(model string) bool {
	named, err := glob.Compile(modelapi.Named)
	return modelapi.IsCall(model) || err == nil && named.Match(model)
}

// rules are the rules that a plan may have and that can be written. Of the others it adds
// the problems.
func (f *ruleMaker) rules() []chaos.Rule {
	rules := make([]chaos.Rule, 0, len(f.collected))
	for _, c := range f.collected {
		r := f.rule(c)
		plan, err := chaos.NewPlan(0, r)
		if err == nil {
			_, err = planjson.Describe(plan, nil)
		}
		if err == nil {
			rules = append(rules, r)
			continue
		}
		for _, call := range c.calls {
			f.problems.Each(fmt.Sprintf("calls[%d]", call), err)
		}
	}
	return rules
}

func (f *ruleMaker) rule(c *collected) chaos.Rule {
	r := chaos.Rule{Name: fmt.Sprintf("%s/%s/%d", c.strand.name, c.kind, c.calls[0]+1), Target: f.target(c.callee), Fault: c.fault}
	var numbers []int
	var coords []when.Coord
	for _, i := range c.calls {
		at := &f.at[i]
		numbers = append(numbers, at.number)
		coords = append(coords, when.Coord{Lane: at.lane, Target: at.name, Key: at.key, Occurrence: at.again})
	}
	switch {
	case c.exact:
		r.When = when.Exactly(coords...)
	case len(f.lanes[c.callee]) > 1:
		r.When = when.All(when.Lane(glob.Literal(c.lane)), when.Nth(numbers...))
	default:
		r.When = when.Nth(numbers...)
	}
	return r
}
