package search

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/glob"
	"github.com/shakedown-go/shakedown/internal/hash"
)

// A sweeper tries faults on the calls of the agent of one matrix, level by level.
type sweeper struct {
	o      *Options
	faults func(chaos.Event) ([]chaos.Fault, error) // to try on a call

	// Single, Follow (by depth, from 2) and Pairs count what became of the sets.
	Single, Pairs Level
	Follow        []Level

	Found      []*finding // what breaks something
	Runs       *lockstep
	Difference *Difference // of two calm runs: the agent does not repeat itself

	lists []*promptList
}

func newSweeper(m *contract.Matrix, r *contract.Runner, o *Options) *sweeper {
	s := &sweeper{o: o, lists: promptListsOf(m), Single: Level{Faults: 1}, Pairs: Level{Faults: 2}}
	tools, names := map[string]chaos.Tool{}, map[string]bool{}
	for _, p := range m.Points {
		names[p] = true
	}
	for _, t := range r.Tools() {
		tools[t.Name], names[t.Name] = t, true
	}
	view := newViewer(r.Tools(), newShaper(names))
	s.Runs = newLockstep(r, o, func(r runRequest, result *contract.Result) *runDigest {
		l := slices.IndexFunc(s.lists, func(l *promptList) bool { return l.Cell == r.Cell })
		return s.lists[l].digest(view, result)
	})
	for _, l := range s.lists {
		l.runs = s.Runs.known
	}
	realTime := o.Run.Harness.Calm == nil || m.World != nil
	s.faults = func(e chaos.Event) ([]chaos.Fault, error) { return o.faultsOn(e, tools[e.Target], realTime) }
	return s
}

func (s *sweeper) Sweep(ctx context.Context) error {
	if err := s.learn(ctx); err != nil || s.Runs.Cut != "" {
		return err
	}
	sets, err := s.singles()
	if err == nil {
		err = s.level(ctx, &s.Single, sets)
	}
	if err != nil {
		return err
	}
	if s.Difference != nil {
		return s.confirmEach(ctx, s.confirmRandom)
	}
	for depth := 2; depth <= s.o.Depth; depth++ {
		level := Level{Faults: depth, Follows: true}
		if sets, err = s.following(sets, &level); err == nil {
			err = s.level(ctx, &level, sets)
			s.Follow = append(s.Follow, level)
		}
		if err != nil {
			return err
		}
	}
	if err := s.allPairs(ctx); err != nil {
		return err
	}
	s.foldLarger()
	s.fold()
	return s.confirmEach(ctx, s.confirm)
}

// calmTwice makes two runs of each prompt list without faults.
func calmTwice(ctx context.Context, runs *lockstep, lists []*promptList) error {
	tasks := make([]task, len(lists))
	for i, l := range lists {
		tasks[i] = func(ask askFunc) {
			if l.calm[0] = ask(l.request(nil, nil)); l.calm[0] != nil {
				l.calm[1] = ask(l.request(nil, nil).numbered(1))
			}
		}
	}
	return runs.Run(ctx, tasks...)
}

// learn takes the calls of the calm runs, and what these break.
func (s *sweeper) learn(ctx context.Context) error {
	err := calmTwice(ctx, s.Runs, s.lists)
	for _, l := range s.lists {
		if l.calm[0] == nil {
			continue
		}
		if l.calm[1] != nil && s.Difference == nil {
			s.Difference = differenceOf(l.calm[0].shown, l.calm[1].shown, false).redacted(s.o)
		}
		l.learnCalm()
		for x := range l.Invariants {
			for k, run := range l.calm {
				if run != nil && run.States[x].Broke {
					l.calmBroke = append(l.calmBroke, x)
					s.find(l, x, nil, run).fresh = k + 1
					break
				}
			}
		}
	}
	for _, l := range s.lists {
		l.Random = s.Difference != nil
	}
	return err
}

// A candidate is a set to try.
type candidate struct {
	list   *promptList
	set    partSet
	closed bool       // smaller sets in it break every invariant, so it is not tried
	out    *runDigest // nil: it was not tried
	calls  []int      // that it brought about
}

// singles are the sets of one fault on a call of the calm run.
func (s *sweeper) singles() (all []*candidate, err error) {
	for _, l := range s.lists {
		for call := range l.calmly {
			parts, err := s.partsOn(l, call)
			if err != nil {
				return nil, err
			}
			for _, n := range parts {
				all = append(all, &candidate{list: l, set: partSet{n}})
			}
		}
	}
	return all, nil
}

// partsOn are the faults to try on a call, by their numbers.
func (s *sweeper) partsOn(l *promptList, call int) ([]int, error) {
	c := l.calls[call]
	if !c.asked {
		c.asked = true
		faults, err := s.faults(c.event)
		if err != nil {
			return nil, err
		}
		l.addParts(call, faults)
	}
	return c.parts, nil
}

// following are the sets that have one fault more than those of a level, on a call that
// these brought about. level counts the sets of which that is not known.
func (s *sweeper) following(before []*candidate, level *Level) (all []*candidate, err error) {
	seen := map[string]bool{}
	for _, c := range before {
		if c.out == nil && len(c.list.open(c.set)) > 0 {
			level.Unknown++
		}
		if c.out == nil || len(c.out.delivered) < len(c.set) {
			continue // what follows it contains what breaks everything, or is a smaller set
		}
		for _, call := range c.calls {
			parts, err := s.partsOn(c.list, call)
			if err != nil {
				return nil, err
			}
			taken := slices.ContainsFunc(c.set, func(n int) bool { return c.list.Parts[n].call == call })
			for _, n := range parts {
				next := &candidate{list: c.list, set: c.set.with(n)}
				if key := c.list.keyOf(next.set, nil); !taken && !seen[key] {
					seen[key] = true
					all = append(all, next)
				}
			}
		}
	}
	return all, nil
}

// level tries sets, each alone, and counts what became of them.
func (s *sweeper) level(ctx context.Context, level *Level, sets []*candidate) error {
	err := s.try(ctx, sets)
	level.Possible = len(sets)
	for _, c := range sets {
		switch {
		case c.closed:
			level.Contains++
		case c.out == nil:
			level.Left++
		case len(c.out.delivered) < len(c.set):
			level.Undelivered++
		default:
			level.Alone++
		}
	}
	return err
}

// levels are those of all sets that are tried.
func (s *sweeper) levels() []Level {
	if s.Difference != nil {
		return []Level{s.Single}
	}
	return slices.Concat([]Level{s.Single}, s.Follow, []Level{s.Pairs})
}

// try makes a run of each set that some invariant is open for. What it breaks and no smaller set
// breaks is a finding.
func (s *sweeper) try(ctx context.Context, sets []*candidate) error {
	var tasks []task
	for _, c := range sets {
		if c.closed = len(c.list.open(c.set)) == 0; !c.closed {
			tasks = append(tasks, func(ask askFunc) { c.out = ask(c.list.request(c.set, nil)) })
		}
	}
	err := s.Runs.Run(ctx, tasks...)
	for _, c := range sets {
		if c.out == nil {
			continue
		}
		c.calls = c.list.keep(c.out)
		least := c.out.delivered
		for _, x := range c.list.open(c.set) {
			if !c.out.States[x].Broke {
				continue
			}
			if !c.list.runOf(least).States[x].Broke {
				least = c.set // a fault that could not be delivered counts all the same
			}
			s.find(c.list, x, least, c.out)
		}
	}
	return err
}

// tallies counts over all runs, by the name of the invariant.
func (s *sweeper) tallies() map[string]InvariantCount {
	all := map[string]InvariantCount{}
	counted := map[*runDigest]bool{} // a run stands for several sets
	for _, run := range s.Runs.known {
		if counted[run] {
			continue
		}
		counted[run] = true
		for _, j := range run.States {
			c := all[j.Invariant]
			c.Runs++
			if j.Broke {
				c.Broke++
			} else if j.Undecided() {
				c.Undecided++
			}
			all[j.Invariant] = c
		}
	}
	return all
}

// sweepScenario is the scenario of the runs of a sweep: a coordinate of their draws. No
// scenario of a matrix may have this name.
const sweepScenario = "(sweep)"

// A sweptCall is a call that some run of a list made.
type sweptCall struct {
	event chaos.Event
	parts []int // the numbers of its faults
	asked bool  // which faults to try on it
}

// A promptList is the invariants that have the same prompts, and what is known of the
// runs with these prompts. Its parts are numbered in the order in which their calls were
// found, so those of calls of the calm run come first.
type promptList struct {
	source
	Invariants []string // all, as a run judges them
	Severities []contract.Severity

	calm   [2]*runDigest
	calls  []*sweptCall // first those of the calm run
	byCall map[when.Coord]int
	calmly int // the number of calls of the calm run
	byRule map[string]int
	runs   map[string]*runDigest // all that were made, by their keys
	// calmBroke are the invariants that one of two calm runs broke.
	calmBroke []int
	// breaks are the smallest sets that break an invariant, by its place in Invariants.
	breaks [][]partSet
}

// promptListsOf groups the invariants of a matrix by their prompts.
func promptListsOf(m *contract.Matrix) (lists []*promptList) {
	var prompts [][]string
	for _, p := range m.Invariants {
		own := p.Probes
		if len(own) == 0 {
			own = m.Prompts
		}
		i := slices.IndexFunc(prompts, func(known []string) bool { return slices.Equal(known, own) })
		if i < 0 {
			i = len(lists)
			prompts = append(prompts, own)
			cell := contract.Cell{Scenario: sweepScenario, Invariant: p.Name, Trial: 1}
			lists = append(lists, &promptList{source: source{Key: strconv.Itoa(i), Cell: cell}})
		}
		l := lists[i]
		l.Invariants, l.Severities = append(l.Invariants, p.Name), append(l.Severities, p.Severity)
	}
	return lists
}

// learnCalm takes the calls of the first calm run.
func (l *promptList) learnCalm() {
	calm := l.calm[0]
	l.before, l.equal = calm.shown, equalCalls(calm.shown)
	l.byCall, l.byRule, l.breaks = map[when.Coord]int{}, map[string]int{}, make([][]partSet, len(l.Invariants))
	l.keep(calm)
	l.calmly = len(l.calls)
	calm.made = slices.Repeat([]bool{true}, l.calmly)
	for _, run := range l.calm {
		if run != nil {
			run.shown, run.extra = nil, nil
		}
	}
}

// addParts numbers the faults to try on a call. Those of a random agent are named after the
// number of the call, since its arguments may be others in the next run.
func (l *promptList) addParts(call int, faults []chaos.Fault) {
	c := l.calls[call]
	e := &c.event
	place := hash.Combine(hash.Combine(hash.String(e.Lane), e.Key), e.Occurrence)
	if l.Random {
		place = hash.Combine(hash.String(e.Lane), e.Ordinal)
	}
	for _, f := range faults {
		kind := kindOf(f, fmt.Sprintf("%T", f))
		name := fmt.Sprintf("%s:%s#%08x", e.Target, kind, uint32(place)) // with @ it looks like a login
		for n := 2; ; n++ {
			if _, taken := l.byRule[name]; !taken {
				break
			}
			name = fmt.Sprintf("%s:%s~%d#%08x", e.Target, kind, n, uint32(place))
		}
		n, d := len(l.Parts), deliveryOn(e, name, kind)
		l.byRule[name] = n
		c.parts = append(c.parts, n)
		l.Parts = append(l.Parts, part{hit: hit{Delivery: d}, RuleAt: n, call: call, calls: []contract.Delivery{d}})
		l.Rules = append(l.Rules, chaos.Rule{Name: name, Target: glob.Literal(e.Target), Fault: f})
	}
}

// open are the invariants that no known set within s breaks.
func (l *promptList) open(s partSet) (all []int) {
	for x := range l.Invariants {
		if !l.explains(x, s) {
			all = append(all, x)
		}
	}
	return all
}

// explains reports whether a known set within s breaks an invariant.
func (l *promptList) explains(x int, s partSet) bool {
	return slices.ContainsFunc(l.breaks[x], func(k partSet) bool { return k.within(s) })
}

// runOf is the run of a set; nil: it was not made.
func (l *promptList) runOf(s partSet) *runDigest { return l.runs[l.keyOf(s, nil)] }

// keep takes the calls of a run that the calm run lacks, and returns their numbers. The run is
// also that of what it delivered.
func (l *promptList) keep(run *runDigest) (calls []int) {
	if delivered := l.keyOf(run.delivered, nil); l.runs[delivered] == nil {
		l.runs[delivered] = run
	}
	for _, e := range run.extra {
		i, known := l.byCall[coordOf(&e)]
		if !known {
			i = len(l.calls)
			l.byCall[coordOf(&e)] = i
			l.calls = append(l.calls, &sweptCall{event: e})
		}
		calls = append(calls, i)
	}
	run.extra = nil
	return calls
}

// digest is what is kept of a run. Its States are by the place of the invariant in the list.
// Nothing that it reads changes during a round.
func (l *promptList) digest(v *viewer, r *contract.Result) *runDigest {
	run := v.Judge(r)
	states := make([]*judged, len(l.Invariants))
	for x, name := range l.Invariants {
		states[x] = run.judgedBy(name)
	}
	run.States, run.runCalls = states, &runCalls{}
	hits := hitsOf(r.Observations)
	for i := range hits {
		n, known := l.byRule[hits[i].Rule]
		if !known {
			continue
		}
		hits[i].Fault = l.Parts[n].Fault
		if hits[i].Delivered && !slices.Contains(run.delivered, n) {
			run.delivered = append(run.delivered, n)
		}
	}
	slices.Sort(run.delivered)
	if run.Broke() { // else nobody asks why
		v.Explain(run, hits, r.Observations)
	}
	made := make([]bool, l.calmly)
	for _, o := range r.Observations {
		for k := range o.Events {
			e := &o.Events[k]
			if i, known := l.byCall[coordOf(e)]; known && i < l.calmly {
				made[i] = made[i] || e.Layer != ""
			} else if e.Layer != "" { // else InjectNow: no call
				run.extra = append(run.extra, *e)
			}
		}
	}
	if len(run.delivered) < 2 {
		run.made = made
	}
	if l.before == nil {
		run.shown = r.Observations // of the calm runs only
	} else {
		run.changed = changeOf(l.before, r.Observations)
	}
	return run
}
