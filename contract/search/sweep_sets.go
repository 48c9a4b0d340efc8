package search

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"

	"github.com/shakedown-go/shakedown/internal/glob"
	"github.com/shakedown-go/shakedown/internal/hash"
)

// A sweptCall is a call that some run of a list made.
type sweptCall struct {
	event chaos.Event
	acts  []int // the numbers of its faults in List.Acts
	asked bool  // which faults to try on it
}

// An act is one fault on one call.
type act struct {
	call int // of List.calls
	kind string
	Rule chaos.Rule
}

// An actSet are the numbers of acts, in order. Acts are numbered in the order in which
// their calls were found, so those of calm calls come first.
type actSet []int

func (s actSet) with(n int) actSet {
	all := append(slices.Clone(s), n)
	slices.Sort(all)
	return all
}

func (s actSet) within(t actSet) bool {
	return !slices.ContainsFunc(s, func(n int) bool { return !slices.Contains(t, n) })
}

func (s actSet) key() string {
	var b strings.Builder
	for _, n := range s {
		b.WriteString(" " + strconv.Itoa(n))
	}
	return b.String()
}

// A promptList is the invariants that have the same prompts, and what is known of the
// runs with these prompts.
type promptList struct {
	Number     int
	Name       string   // an invariant that stands for all
	Invariants []string // all, as a run judges them
	Severities []contract.Severity

	calm   *outcome
	before []*contract.Observation // those of the calm run
	calls  []*sweptCall            // first those of the calm run
	byCall map[when.Coord]int
	calmly int // the number of calls of the calm run
	Acts   []act
	byRule map[string]int
	runs   map[string]*outcome // by the key of a set
	// further are other runs of sets that were run before, and calmBroke the invariants that
	// one of two calm runs broke.
	further   []*outcome
	calmBroke []int
	// breaks are the smallest sets that break an invariant, by its place in Invariants.
	breaks [][]actSet
}

// Request is the run of a set. Runs of one set are told apart by a number.
func (l *promptList) Request(set actSet, number int) runRequest {
	r := runRequest{Cell: contract.Cell{Scenario: sweepScenario, Invariant: l.Name, Trial: 1},
		Key: fmt.Sprintf("%d:%s #%d", l.Number, set.key(), number)}
	for _, n := range set {
		r.Rules = append(r.Rules, l.Acts[n].Rule)
	}
	return r
}

// Scenario is the scenario of the runs of a sweep: a coordinate of their draws. No
// scenario of a matrix may have this name.
const sweepScenario = "(sweep)"

// learnCalm takes the calls of the calm run.
func (l *promptList) learnCalm(calm *outcome) {
	l.calm, l.before = calm, calm.shown.prompts
	calm.shown = nil
	l.byCall = map[when.Coord]int{}
	l.byRule = map[string]int{}
	l.runs = map[string]*outcome{actSet(nil).key(): calm}
	l.breaks = make([][]actSet, len(l.Invariants))
	for _, e := range calm.extra {
		l.addCall(e)
	}
	calm.extra, l.calmly = nil, len(l.calls)
	calm.made = make([]bool, l.calmly)
	for i := range calm.made {
		calm.made[i] = true
	}
}

func (l *promptList) addCall(e chaos.Event) int {
	at := coordOf(&e)
	i, known := l.byCall[at]
	if !known {
		i = len(l.calls)
		l.byCall[at] = i
		l.calls = append(l.calls, &sweptCall{event: e})
	}
	return i
}

// addActs numbers the faults to try on a call. Those of a random agent are addressed by
// the number of the call, since its arguments may be others in the next run.
func (l *promptList) addActs(call int, faults []chaos.Fault, byNumber bool) {
	e := &l.calls[call].event
	at := coordOf(e)
	place := hash.Combine(hash.Combine(hash.String(at.Lane), at.Key), at.Occurrence)
	trigger := when.Exactly(at)
	if byNumber {
		place = hash.Combine(hash.String(at.Lane), e.Ordinal)
		trigger = when.All(when.Lane(glob.Literal(at.Lane)), when.Nth(int(e.Ordinal)+1))
	}
	for _, f := range faults {
		kind := kindOf(f, fmt.Sprintf("%T", f))
		name := fmt.Sprintf("%s:%s#%08x", at.Target, kind, uint32(place)) // with @ it looks like a login
		for n := 2; ; n++ {
			if _, taken := l.byRule[name]; !taken {
				break
			}
			name = fmt.Sprintf("%s:%s~%d#%08x", at.Target, kind, n, uint32(place))
		}
		l.byRule[name] = len(l.Acts)
		l.calls[call].acts = append(l.calls[call].acts, len(l.Acts))
		l.Acts = append(l.Acts, act{call, kind,
			chaos.Rule{Name: name, Target: glob.Literal(at.Target), When: trigger, Fault: f}})
	}
}

// open are the invariants that no known set within s breaks.
func (l *promptList) open(s actSet) (all []int) {
	for x := range l.Invariants {
		if !l.explains(x, s) {
			all = append(all, x)
		}
	}
	return all
}

// explains reports whether a known set within s breaks an invariant.
func (l *promptList) explains(x int, s actSet) bool {
	return slices.ContainsFunc(l.breaks[x], func(k actSet) bool { return k.within(s) })
}

// keep remembers the run of a set. It is also the run of what it delivered.
func (l *promptList) keep(s actSet, o *outcome) {
	l.runs[s.key()] = o
	if delivered := o.delivered.key(); l.runs[delivered] == nil {
		l.runs[delivered] = o
	}
}

// An outcome is what is kept of a run. Its States are by the place of the invariant in the list.
type outcome struct {
	*runDigest
	delivered actSet
	made      []bool        // by calm call: whether the run made it; nil if several faults were delivered
	extra     []chaos.Event // calls that the calm run lacks; nil when no level needs them any more
	changed   changeKind
}

func (o *outcome) brokeAny(invariants []int) bool {
	return slices.ContainsFunc(invariants, func(x int) bool { return o.States[x].Broke })
}

// digest is what is kept of a run. Nothing that it reads changes during a round.
func (l *promptList) digest(v *viewer, r *contract.Result) *outcome {
	o := &outcome{runDigest: v.Judge(r)}
	states := make([]*judged, len(l.Invariants))
	for x, name := range l.Invariants {
		if states[x] = o.judgedBy(name); states[x] == nil {
			states[x] = &judged{Invariant: name, State: contract.NotRun}
		}
	}
	o.States = states
	hits := hitsOf(r.Observations)
	for i := range hits {
		n, known := l.byRule[hits[i].Rule]
		if !known {
			continue
		}
		hits[i].Fault = l.Acts[n].kind
		if hits[i].Delivered && !slices.Contains(o.delivered, n) {
			o.delivered = append(o.delivered, n)
		}
	}
	slices.Sort(o.delivered)
	if o.Broke() { // else nobody asks why
		v.Explain(o.runDigest, hits, r.Observations)
	}
	l.addCalls(o, r.Observations)
	if l.calm == nil {
		o.shown = &shownRun{r.Observations} // of the calm runs only
	} else {
		o.changed = changeOf(l.before, r.Observations)
	}
	return o
}

// addCalls adds which of the calls of the calm run a run made, and those that are new.
func (l *promptList) addCalls(o *outcome, observations []*contract.Observation) {
	made := make([]bool, l.calmly)
	for _, observation := range observations {
		for k := range observation.Events {
			e := &observation.Events[k]
			if e.Layer == "" {
				continue // InjectNow: no call
			}
			if i, known := l.byCall[coordOf(e)]; known && i < l.calmly {
				made[i] = true
			} else {
				o.extra = append(o.extra, *e)
			}
		}
	}
	if len(o.delivered) < 2 {
		o.made = made
	}
}
