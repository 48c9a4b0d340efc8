package search

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/redact"
	"github.com/shakedown-go/shakedown/internal/usercode"
)

// fill takes over what was found so far.
func (r *Swept) fill(s *sweeper, m *contract.Matrix, o *Options) {
	r.Runs, r.Elapsed, r.Stopped = s.Runs.Spent.Runs, time.Since(s.Runs.Begun), s.Runs.Cut
	r.Levels = []Level{s.Single}
	if !s.random {
		r.Levels = append(append(r.Levels, s.Follow...), s.Pairs)
	}
	tallies := s.tallies()
	for _, p := range m.Invariants {
		t := tallies[p.Name]
		t.Invariant, t.Severity = p.Name, p.Severity
		r.Invariants = append(r.Invariants, t)
	}
	r.Strength.fill(s, r.Invariants)
	r.Defects = defectsOf(s, m, o)
}

// fill takes over what single faults changed, and which invariants noticed nothing.
func (r *Strength) fill(s *sweeper, counts []InvariantCount) {
	r.Guards, r.StateUnknown = s.guards()
	for _, g := range r.Guards {
		if g.Changed == changedState.String() {
			r.Changed++
			if len(g.NoticedBy) > 0 {
				r.Noticed++
			}
		}
	}
	for _, c := range counts {
		if c.Broke == 0 && c.Undecided == 0 && c.Runs > 0 {
			r.Idle = append(r.Idle, c.Invariant)
		}
	}
}

// defectsOf merges the findings into defects, and keeps them, as [Explain] does with broken
// cells. What can be left out of a finding's run are its rules.
func defectsOf(s *sweeper, m *contract.Matrix, o *Options) []contract.Defect {
	e := &explainer{matrix: m, o: o, secrets: redact.New(o.Secrets, redact.Patterns)}
	for _, f := range s.Found {
		g := &group{scenario: sweepScenario, severity: f.List.Severities[f.X], why: f.Judged().Why,
			first: &contract.CellReport{},
			culprit: culprit{Invariant: f.List.Invariants[f.X], Shape: f.Judged().Shape,
				Source: &source{Cell: f.List.Request(f.Set, 0).Cell, Differ: f.Differ, ByRule: true}}}
		var places []int
		for i, n := range f.Set {
			places = append(places, i)
			rule := f.List.Acts[n].Rule
			g.Source.Rules = append(g.Source.Rules, rule)
			g.Source.Parts = append(g.Source.Parts,
				part{hit: hit{Delivery: contract.Delivery{Rule: rule.Name}}, RuleAt: i})
		}
		if f.Differ == "" {
			g.Set, g.Smallest, g.Cut, g.Sure = places, f.Out.runDigest, f.Cut, f.Sure
			g.Hits, g.Facts = f.Hits(), s.FactsOf(f)
			if g.once = !f.Again && f.Sure == nil; g.once {
				g.Facts = append(g.Facts, "it was not run again: "+s.Runs.Cut)
			}
		}
		e.groups = append(e.groups, g)
	}
	slices.SortStableFunc(e.groups, func(a, b *group) int { return int(b.severity) - int(a.severity) })
	return e.defects()
}

// Strength says which faults the invariants notice. It is read off the runs of single
// faults, over all prompt lists.
type Strength struct {
	// Guards has an entry for each target and kind of fault that was delivered, in order.
	Guards []Guard `json:"guards"`
	// Changed is the number of guards whose fault changed the end state, and Noticed that of
	// those among them which some invariant noticed.
	Changed int `json:"changed"`
	Noticed int `json:"noticed"`
	// StateUnknown reports whether some world told no state. Changed then counts too few.
	StateUnknown bool `json:"stateUnknown,omitempty"`
	// Idle are the invariants that held in every run of the sweep.
	Idle []string `json:"idle,omitempty"`
}

// A Guard says what one kind of fault did at one target, and what noticed it.
type Guard struct {
	Target string `json:"target"`
	Fault  string `json:"fault"` // the kind
	// Changed is the most that a single fault changed: "state", "answer", "calls", or
	// nothing.
	Changed string `json:"changed,omitempty"`
	// NoticedBy are the invariants that broke, in order.
	NoticedBy []string `json:"noticedBy,omitempty"`
}

// Unguarded reports whether the fault changed the end state or the answer and no
// invariant noticed.
func (g *Guard) Unguarded() bool {
	return len(g.NoticedBy) == 0 &&
		(g.Changed == changedState.String() || g.Changed == changedAnswer.String())
}

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
