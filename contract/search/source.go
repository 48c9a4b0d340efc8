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

// A source is a cell with what can be left out of it, its parts: the deliveries of the rules of
// a broken cell, in the order of their calls, or each fault that a sweep tries on a call.
type source struct {
	Cell  contract.Cell // of its runs: the first of those that broke
	Key   string        // of its runs, short: each run is remembered by it
	Rules []chaos.Rule
	Parts []part

	before []*contract.Observation // of the cell, as the report has it; of a sweep, of the first calm run

	Whole  *runDigest  // under the scenario's own rules; nil: it was not made
	alone  *runDigest  // under all deliveries of the whole, each by its coordinates; nil: it was not made
	Random bool        // calls are found by their numbers: their arguments may be others in the next run
	Differ string      // the first difference of two runs
	equal  []operation // that the agent calls several times without any fault
}

// A part is a fault on one call.
type part struct {
	hit
	RuleAt int                 // its place in the source's rules
	call   int                 // of a sweep: the number of the call
	calls  []contract.Delivery // that the fault must see: for a fault with memory those before it, and the call
}

// A partSet are the numbers of parts, in order.
type partSet []int

func (s partSet) with(n int) partSet {
	all := append(slices.Clone(s), n)
	slices.Sort(all)
	return all
}

func (s partSet) without(n int) partSet {
	return slices.DeleteFunc(slices.Clone(s), func(k int) bool { return k == n })
}

func (s partSet) within(t partSet) bool {
	return !slices.ContainsFunc(s, func(n int) bool { return !slices.Contains(t, n) })
}

// firstParts are the parts 0 to n-1.
func firstParts(n int) partSet {
	all := make(partSet, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// Learn makes the whole run of a source, and finds out whether it repeats itself: beside
// the cell's own run, or where that is not known, beside a second one.
func (s *source) Learn(ask askFunc) {
	if s.Whole = ask(s.own(0)); s.Whole == nil {
		return
	}
	if len(s.before) > 0 {
		s.Differ = differs(s.before, s.Whole.shown)
	} else if second := ask(s.own(1)); second != nil {
		s.Differ = differs(s.Whole.shown, second.shown)
		second.shown = nil
	}
	s.Whole.shown = nil
	s.Random = s.Differ != ""
	s.takeApart()
	if !s.Random {
		s.alone = ask(s.request(firstParts(len(s.Parts)), nil))
	}
}

func differs(cell, run []*contract.Observation) string {
	if d := differenceOf(cell, run, true); d != nil {
		return d.String()
	}
	return ""
}

// takeApart lists the deliveries of the whole run. A fault with memory brings the earlier calls
// that it has seen.
func (s *source) takeApart() {
	s.Parts = nil
	for i, h := range s.Whole.Hits {
		rule := slices.IndexFunc(s.Rules, func(r chaos.Rule) bool { return r.Name == h.Rule })
		if !h.Delivered || rule < 0 {
			continue
		}
		p := part{hit: *h, RuleAt: rule}
		p.Fault = kindOf(s.Rules[rule].Fault, h.Fault)
		if _, remembers := s.Rules[rule].Fault.(chaos.Stateful); remembers {
			for _, before := range s.Whole.Hits[:i] {
				if before.Rule == p.Rule {
					call := before.Delivery
					call.Fault = p.Fault
					p.calls = append(p.calls, call)
				}
			}
		}
		p.calls = append(p.calls, h.Delivery)
		s.Parts = append(s.Parts, p)
	}
}

// named fills in the kinds of faults that an event names by their rules alone, and which calls
// have equal ones without any fault.
func (s *source) named(hits []hit) []hit {
	for i := range hits {
		h := &hits[i]
		h.Equal = slices.Contains(s.equal, h.Op())
		rule := slices.IndexFunc(s.Rules, func(r chaos.Rule) bool { return r.Name == h.Rule })
		if h.Fault == "" && rule >= 0 {
			h.Fault = kindOf(s.Rules[rule].Fault, "")
		}
	}
	return hits
}

// keyOf names the run of a set of parts, some with other faults.
func (s *source) keyOf(set partSet, swaps map[int]swap) string {
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
	return key.String()
}

// request is the run of a set of parts, some with other faults.
func (s *source) request(set partSet, swaps map[int]swap) runRequest {
	r := runRequest{Cell: s.Cell, Rules: s.rulesOf(set, swaps), Key: s.keyOf(set, swaps)}
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

// run makes the run of a set of parts, some with other faults in their place, or looks it up; nil:
// the search was cut.
func (s *source) run(ask askFunc, set partSet, swaps map[int]swap) *runDigest {
	run := ask(s.request(set, swaps))
	if run != nil && len(set) == 0 {
		s.equal = run.Equal
	}
	return run
}

// rulesOf are the rules that inject a set of parts, in the order of the scenario's, and
// with their names: so their draws stay.
func (s *source) rulesOf(set partSet, swaps map[int]swap) (rules []chaos.Rule) {
	kept, swapped := map[int][]contract.Delivery{}, map[int][]chaos.Rule{}
	for _, k := range set {
		p := &s.Parts[k]
		if w, other := swaps[k]; other {
			swapped[p.RuleAt] = append(swapped[p.RuleAt], chaos.Rule{Name: s.swapName(k),
				Target: glob.Literal(p.Target), When: s.trigger(p.calls[len(p.calls)-1:]), Fault: w.fault})
		} else {
			kept[p.RuleAt] = append(kept[p.RuleAt], p.calls...)
		}
	}
	for i, own := range s.Rules {
		if calls := kept[i]; len(calls) > 0 {
			rules = append(rules, chaos.Rule{Name: own.Name, Target: own.Target, When: s.trigger(calls),
				Fault: own.Fault, Layer: own.Layer})
		}
		rules = append(rules, swapped[i]...)
	}
	return rules
}

// swapName is the name of the rule that injects another fault in the place of a part.
func (s *source) swapName(k int) string { return s.Parts[k].Rule + "~" + strconv.Itoa(k) }

// trigger matches calls: by their coordinates, and those of an agent that does not repeat itself
// by their number in lane and target.
func (s *source) trigger(calls []contract.Delivery) chaos.When {
	if s.Random {
		return numbersOf(calls)
	}
	var exact []when.Coord
	for i := range calls {
		if c := coordOfDelivery(&calls[i]); !slices.Contains(exact, c) {
			exact = append(exact, c)
		}
	}
	return when.Exactly(exact...)
}

// numbersOf matches the calls of deliveries by their number in lane and target.
func numbersOf(deliveries []contract.Delivery) chaos.When {
	n := numberedCalls{}
	for _, d := range deliveries {
		n[numbered{d.Lane, d.Target, d.Ordinal}] = true
	}
	return n
}

// numberedCalls matches the calls of these numbers, from 0.
type numberedCalls map[numbered]bool

type numbered struct {
	lane, target string
	ordinal      uint64
}

func (n numberedCalls) Match(c chaos.Call) bool { return n[numbered{c.Lane, c.Target, c.Ordinal}] }
