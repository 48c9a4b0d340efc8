package search

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/contract"

	"github.com/shakedown-go/shakedown/internal/usercode"
)

// A changeKind is the most that a run changed, beside the calm run.
type changeKind uint8

// The changes, from the least to the most.
const (
	changedNothing changeKind = iota
	changedCalls
	changedAnswer
	changedState
)

// String is "", "calls", "answer" or "state".
func (c changeKind) String() string { return [...]string{"", "calls", "answer", "state"}[c] }

// changeOf compares a run with the calm run.
func changeOf(calm, run []*contract.Observation) changeKind {
	c := changedNothing
	if len(calm) != len(run) {
		c = changedAnswer
	}
	for i := range min(len(calm), len(run)) {
		a, b := calm[i], run[i]
		switch {
		case !sameState(a.After, b.After):
			return changedState
		case a.Response != b.Response || usercode.ErrorText(a.Err) != usercode.ErrorText(b.Err):
			c = max(c, changedAnswer)
		case c == changedNothing && new(Difference).ofCalls(a.Events, b.Events):
			c = changedCalls
		}
	}
	return c
}

// undecided reports whether the run broke nothing and left an invariant undecided: it does
// not show that the invariants miss its faults.
func (o *outcome) undecided() bool {
	some := false
	for _, j := range o.States {
		if j.Broke {
			return false
		}
		some = some || j.Undecided()
	}
	return some
}

// guards reads off the runs of single faults what they changed and what noticed it, in order.
// stateUnknown reports whether some calm run told no state.
func (s *sweeper) guards() (all []Guard, stateUnknown bool) {
	all = []Guard{}
	type pair struct{ target, kind string }
	most, noticed := map[pair]changeKind{}, map[pair]map[string]bool{}
	for _, l := range s.lists {
		stateUnknown = stateUnknown || slices.ContainsFunc(l.before,
			func(o *contract.Observation) bool { return o.After == nil })
		for n := range l.Acts {
			out := l.runs[actSet{n}.key()]
			if out == nil || len(out.delivered) != 1 || l.Acts[n].call >= l.calmly || out.undecided() {
				continue
			}
			at := pair{l.calls[l.Acts[n].call].event.Target, l.Acts[n].kind}
			most[at] = max(most[at], out.changed)
			if noticed[at] == nil {
				noticed[at] = map[string]bool{}
			}
			for x, j := range out.States {
				if j.Broke && !l.calm.States[x].Broke {
					noticed[at][l.Invariants[x]] = true
				}
			}
		}
	}
	for at, c := range most {
		all = append(all, Guard{Target: at.target, Fault: at.kind, Changed: c.String(),
			NoticedBy: slices.Sorted(maps.Keys(noticed[at]))})
	}
	slices.SortFunc(all, func(a, b Guard) int {
		return cmp.Or(strings.Compare(a.Target, b.Target), strings.Compare(a.Fault, b.Fault))
	})
	return all, stateUnknown
}

// tallies counts over all runs, by the name of the invariant.
func (s *sweeper) tallies() map[string]InvariantCount {
	all := map[string]InvariantCount{}
	for _, l := range s.lists {
		runs := map[*outcome]bool{} // a run stands for several sets
		for _, out := range l.further {
			runs[out] = true
		}
		for _, out := range l.runs {
			runs[out] = true
		}
		for x, name := range l.Invariants {
			c := InvariantCount{Runs: len(runs), Calm: slices.Contains(l.calmBroke, x)}
			for out := range runs {
				if out.States[x].Broke {
					c.Broke++
				} else if out.States[x].Undecided() {
					c.Undecided++
				}
			}
			all[name] = c
		}
	}
	return all
}
