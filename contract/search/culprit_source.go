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
)

// A source is the run of a scenario and trial in which cells broke. Its parts are what
// can be left out of it: the deliveries of its rules, in the order of their calls.
type source struct {
	Cell  contract.Cell // the first of its cells that broke
	Key   string        // of its runs, short: each run is remembered by it
	Rules []chaos.Rule

	Whole  *runDigest // under the scenario's own rules; nil: it was not made
	alone  *runDigest // under all deliveries of the whole, each by its coordinates; nil: it was not made
	Random bool
	Differ string // the first difference of two runs
	Parts  []part
	// ByRule: the deliveries alone do not break it again as they are, so a part is a rule
	// under its own trigger
	ByRule bool
	equal  []operation // that the agent calls several times without any fault
}

// named fills in the kinds of faults that an event names by their rules alone, and which calls
// have equal ones without any fault.
func (s *source) named(hits []hit) []hit {
	for i := range hits {
		hits[i].Equal = slices.Contains(s.equal, hits[i].Op())
		for k := range s.Rules {
			if hits[i].Fault == "" && s.Rules[k].Name == hits[i].Rule {
				hits[i].Fault = kindOf(s.Rules[k].Fault, "")
			}
		}
	}
	return hits
}

// A part is one delivery, or a rule with all that it delivers.
type part struct {
	hit
	RuleAt int                 // its place in the source's rules
	calls  []contract.Delivery // that the fault must see: for a fault with memory those before it, and the call
}

// sourceKey is what the runs of a source share besides the rules in force.
func sourceKey(c contract.Cell, prompts string) string {
	return fmt.Sprintf("%q %d %q", c.Scenario, c.Trial, prompts)
}

// Learn makes the whole run of a source, and finds out whether it repeats itself: beside
// the cell's own run, or where that is not known (nil), beside a second one.
func (s *source) Learn(before []*contract.Observation, ask askRun) {
	whole, ok := ask(s.own(0))
	if !ok {
		return
	}
	s.Whole = whole
	if before != nil {
		s.Differ = differs(before, whole.shown.prompts)
	} else if second, ok := ask(s.own(1)); ok {
		s.Differ = differs(whole.shown.prompts, second.shown.prompts)
		second.shown = nil
	}
	whole.shown = nil
	s.Random = s.Differ != ""
	s.takeApart()
	if s.Random {
		return
	}
	replayed, ok := ask(s.request(s.all(), nil))
	if ok {
		s.alone = replayed
	}
	if ok && !sameBreaks(whole, replayed) {
		s.takeRules()
	}
}

func differs(cell, run []*contract.Observation) string {
	if d := differenceOf(cell, run, true); d != nil {
		return d.String()
	}
	return ""
}

func (s *source) all() []int {
	all := make([]int, len(s.Parts))
	for i := range all {
		all[i] = i
	}
	return all
}

func sameBreaks(a, b *runDigest) bool {
	for _, j := range a.States {
		if j.Broke && !b.Breaks(j.Invariant, j.Shape) {
			return false
		}
	}
	return true
}

// BeRandom says of a source whose run repeated itself that its agent does not.
func (s *source) BeRandom(differ string) {
	if s.Random {
		return
	}
	s.Random, s.ByRule, s.Differ = true, false, differ
	if s.Whole != nil {
		s.takeApart()
	}
}

// takeApart lists the deliveries of the whole run.
func (s *source) takeApart() {
	s.Parts = nil
	for i := range s.Whole.Hits {
		h := *s.Whole.Hits[i]
		rule := slices.IndexFunc(s.Rules, func(r chaos.Rule) bool { return r.Name == h.Rule })
		if !h.Delivered || rule < 0 {
			continue
		}
		h.Fault = kindOf(s.Rules[rule].Fault, h.Fault)
		p := part{hit: h, RuleAt: rule, calls: []contract.Delivery{h.Delivery}}
		if _, remembers := s.Rules[rule].Fault.(chaos.Stateful); remembers {
			p.bring(s.Whole.Hits[:i])
		}
		s.Parts = append(s.Parts, p)
	}
}

// bring adds the earlier calls that a fault with memory has seen.
func (p *part) bring(before []*hit) {
	var calls []contract.Delivery
	for _, h := range before {
		if h.Rule == p.Rule {
			call := h.Delivery
			call.Fault = p.Fault
			calls = append(calls, call)
		}
	}
	p.calls = append(calls, p.calls...)
}

// takeRules makes each rule that was injected one part: a fault may do something that is
// no delivery.
func (s *source) takeRules() {
	s.ByRule, s.Parts = true, nil
	s.Key += " by rule" // its sets are others than those of deliveries
	for i := range s.Rules {
		k := slices.IndexFunc(s.Whole.Hits, func(h *hit) bool { return h.Rule == s.Rules[i].Name })
		if k >= 0 {
			s.Parts = append(s.Parts, part{hit: *s.Whole.Hits[k], RuleAt: i})
		}
	}
}

// request is the run of a set of parts, some with other faults.
func (s *source) request(set []int, swaps map[int]swap) runRequest {
	var key strings.Builder
	key.WriteString(s.Key)
	for _, i := range set {
		key.WriteString(" " + strconv.Itoa(i))
		if w, ok := swaps[i]; ok {
			key.WriteString("=" + w.kind + w.wait.String())
		}
	}
	if len(set) == 0 {
		key.WriteString(" calm")
	}
	r := runRequest{Cell: s.Cell, Rules: s.rulesOf(set, swaps), Key: key.String()}
	if len(swaps) > 0 || len(set) == 0 {
		r.Detail = ofFaults
	}
	return r
}

// own is the n-th run under the scenario's own rules. The first two are compared.
func (s *source) own(n int) runRequest {
	r := runRequest{Cell: s.Cell, Rules: s.Rules, Key: fmt.Sprintf("%s own %d", s.Key, n), Detail: ofFaults}
	if n < 2 {
		r.Detail = ofCalls
	}
	return r
}

// furtherRun is the n-th further run of a request.
func furtherRun(r runRequest, n int) runRequest {
	if n > 0 {
		r.Key = fmt.Sprintf("%s #%d", r.Key, n)
	}
	return r
}

// rulesOf are the rules that inject a set of parts, in the order of the scenario's, and
// with their names: so their draws stay.
func (s *source) rulesOf(set []int, swaps map[int]swap) []chaos.Rule {
	var rules []chaos.Rule
	for i, own := range s.Rules {
		var kept []part
		var swapped []chaos.Rule
		for _, k := range set {
			p := s.Parts[k]
			if p.RuleAt != i {
				continue
			}
			w, other := swaps[k]
			if !other {
				kept = append(kept, p)
				continue
			}
			r := chaos.Rule{Name: s.swapName(k), Target: glob.Literal(p.Target), Fault: w.fault}
			p.calls = p.calls[len(p.calls)-1:]
			r.When = s.trigger([]part{p})
			swapped = append(swapped, r)
		}
		switch {
		case len(kept) == 0:
		case s.ByRule:
			rules = append(rules, own)
		default:
			rules = append(rules, chaos.Rule{Name: own.Name, Target: own.Target, When: s.trigger(kept),
				Fault: own.Fault, Layer: own.Layer})
		}
		rules = append(rules, swapped...)
	}
	return rules
}

// swapName is the name of the rule that injects another fault in the place of a part.
func (s *source) swapName(k int) string { return s.Parts[k].Rule + "~" + strconv.Itoa(k) }

// trigger matches the calls of parts: by their coordinates, and those of an agent that
// does not repeat itself by their number in lane and target.
func (s *source) trigger(parts []part) chaos.When {
	var calls []contract.Delivery
	for _, p := range parts {
		calls = append(calls, p.calls...)
	}
	if s.Random {
		return numbersOf(calls)
	}
	var exact []when.Coord
	for _, d := range calls {
		c := (&hit{Delivery: d}).Coord()
		if !slices.Contains(exact, c) {
			exact = append(exact, c)
		}
	}
	return when.Exactly(exact...)
}

// numbersOf matches the calls of deliveries by their number in lane and target.
func numbersOf(deliveries []contract.Delivery) chaos.When {
	n := numberedCalls{}
	for _, d := range deliveries {
		at := strand{d.Lane, d.Target}
		n[at] = append(n[at], int(d.Ordinal)+1)
	}
	return n
}

// numberedCalls matches the calls of these numbers, from 1.
type numberedCalls map[strand][]int

type strand struct{ lane, target string }

func (n numberedCalls) Match(c chaos.Call) bool {
	return slices.Contains(n[strand{c.Lane, c.Target}], int(c.Ordinal)+1)
}
