package search

import (
	"context"
	"fmt"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
)

// A sweeper tries faults on the calls of the agent of one matrix, level by level.
type sweeper struct {
	// Depth is the number of faults of which each follows the former ones, and Strength that
	// of other faults in a set, 1 or 2.
	Depth, Strength int
	// Faults returns the faults to try on a call.
	Faults func(chaos.Event) ([]chaos.Fault, error)
	// Differ reports whether two calm runs differ. It is asked until they do.
	Differ func(a, b []*contract.Observation) bool

	// Single, Follow (by depth, from 2) and Pairs count what became of the sets, and Found
	// are those that break something.
	Single, Pairs Level
	Follow        []Level
	Found         []*finding
	Runs          *lockstep[*outcome]

	lists  []*promptList
	random bool // two calm runs differed
}

// newSweeper returns one that has made no run. Its settings are to be filled in.
func newSweeper(m *contract.Matrix, r *contract.Runner, b bounds, view *viewer) *sweeper {
	s := &sweeper{lists: promptListsOf(m)}
	s.Runs = newLockstep(r.Run, b, func(r runRequest, result *contract.Result) *outcome {
		return s.listOf(r).digest(view, result)
	})
	return s
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
			lists = append(lists, &promptList{Number: i, Name: p.Name})
		}
		l := lists[i]
		l.Invariants, l.Severities = append(l.Invariants, p.Name), append(l.Severities, p.Severity)
	}
	return lists
}

func (s *sweeper) listOf(r runRequest) *promptList {
	return s.lists[slices.IndexFunc(s.lists, func(l *promptList) bool { return l.Name == r.Cell.Invariant })]
}

func (s *sweeper) Sweep(ctx context.Context) error {
	if err := s.learn(ctx); err != nil || s.Runs.Cut != "" {
		return err
	}
	singles, err := s.singles()
	if err != nil {
		return err
	}
	if err := s.level(ctx, &s.Single, singles); err != nil {
		return err
	}
	if s.random {
		forgetCalls(singles)
		return s.confirmRandom(ctx)
	}
	sets := singles
	for depth := 2; depth <= s.Depth; depth++ {
		level := Level{Faults: depth, Follows: true}
		if sets, err = s.following(sets, &level); err != nil {
			return err
		}
		err = s.level(ctx, &level, sets)
		s.Follow = append(s.Follow, level)
		if err != nil {
			return err
		}
	}
	forgetCalls(sets)
	if err := s.allPairs(ctx); err != nil {
		return err
	}
	return s.confirm(ctx)
}

// forgetCalls drops the new calls of sets that no level follows.
func forgetCalls(sets []*candidate) {
	for _, c := range sets {
		if c.out != nil {
			c.out.extra = nil
		}
	}
}

// learn makes two calm runs of each list.
func (s *sweeper) learn(ctx context.Context) error {
	s.Single.Faults, s.Pairs.Faults = 1, 2
	calm := make([]*outcome, len(s.lists))
	again := make([]*outcome, len(s.lists))
	tasks := make([]task[*outcome], len(s.lists))
	for i, l := range s.lists {
		tasks[i] = func(ask askFunc[*outcome]) {
			var ok bool
			if calm[i], ok = ask(l.Request(nil, 0)); ok {
				again[i], _ = ask(l.Request(nil, 1))
			}
		}
	}
	err := s.Runs.Run(ctx, tasks...)
	for i, l := range s.lists {
		if calm[i] == nil {
			continue
		}
		if again[i] != nil && !s.random {
			s.random = s.Differ(calm[i].shown.prompts, again[i].shown.prompts)
		}
		l.learnCalm(calm[i])
		both := []*outcome{calm[i]}
		if again[i] != nil {
			again[i].shown, again[i].extra = nil, nil
			both, l.further = append(both, again[i]), append(l.further, again[i])
		}
		for x := range l.Invariants {
			k := slices.IndexFunc(both, func(o *outcome) bool { return o.States[x].Broke })
			if k >= 0 {
				l.calmBroke = append(l.calmBroke, x)
				s.find(l, x, nil, both[k]).fresh = k + 1
			}
		}
	}
	return err
}

// A candidate is a set to try.
type candidate struct {
	list *promptList
	set  actSet
	out  *outcome // nil: it was not tried
}

// singles are the sets of one fault on a call of the calm run.
func (s *sweeper) singles() (all []*candidate, err error) {
	for _, l := range s.lists {
		for call := range l.calmly {
			acts, err := s.actsOn(l, l.calls[call].event)
			if err != nil {
				return nil, err
			}
			for _, n := range acts {
				all = append(all, &candidate{list: l, set: actSet{n}})
			}
		}
	}
	return all, nil
}

// actsOn are the faults to try on a call, by their numbers.
func (s *sweeper) actsOn(l *promptList, e chaos.Event) ([]int, error) {
	call := l.addCall(e)
	if !l.calls[call].asked {
		l.calls[call].asked = true
		faults, err := s.Faults(e)
		if err != nil {
			return nil, err
		}
		l.addActs(call, faults, s.random)
	}
	return l.calls[call].acts, nil
}

// following are the sets that have one fault more than those of a level, on a call that
// these brought about. level counts the sets of which that is not known.
func (s *sweeper) following(before []*candidate, level *Level) (all []*candidate, err error) {
	seen := map[string]bool{}
	for _, c := range before {
		switch {
		case c.out == nil && len(c.list.open(c.set)) > 0:
			level.Unknown++
		case c.out == nil || len(c.out.delivered) < len(c.set):
			continue // what follows it contains what breaks everything, or is a smaller set
		default:
			for _, e := range c.out.extra {
				acts, err := s.actsOn(c.list, e)
				if err != nil {
					return nil, err
				}
				for _, n := range acts {
					next := &candidate{list: c.list, set: c.set.with(n)}
					key := fmt.Sprint(c.list.Number, next.set.key())
					if c.list.oneEachCall(next.set) && !seen[key] {
						seen[key] = true
						all = append(all, next)
					}
				}
			}
		}
	}
	forgetCalls(before)
	return all, nil
}

// oneEachCall reports whether no two acts of a set are on one call.
func (l *promptList) oneEachCall(set actSet) bool {
	calls := map[int]bool{}
	for _, n := range set {
		calls[l.Acts[n].call] = true
	}
	return len(calls) == len(set)
}

// level tries sets, each alone, and counts what became of them.
func (s *sweeper) level(ctx context.Context, level *Level, sets []*candidate) error {
	level.Possible += len(sets)
	var tasks []task[*outcome]
	var asked []*candidate
	for _, c := range sets {
		if len(c.list.open(c.set)) == 0 {
			level.Contains++
			continue
		}
		asked = append(asked, c)
		tasks = append(tasks, func(ask askFunc[*outcome]) {
			if out, ok := ask(c.list.Request(c.set, 0)); ok {
				c.out = out
			}
		})
	}
	err := s.Runs.Run(ctx, tasks...)
	for _, c := range asked {
		switch {
		case c.out == nil:
			level.Left++
			continue
		case len(c.out.delivered) < len(c.set):
			level.Undelivered++
		default:
			level.Alone++
		}
		s.judge(c)
	}
	return err
}

// judge keeps the run of a set. What it breaks and no smaller set breaks is a finding.
func (s *sweeper) judge(c *candidate) {
	c.list.keep(c.set, c.out)
	least := c.out.delivered
	for _, x := range c.list.open(c.set) {
		if !c.out.States[x].Broke {
			continue
		}
		if !c.list.runs[least.key()].States[x].Broke {
			least = c.set // a fault that could not be delivered counts all the same
		}
		s.find(c.list, x, least, c.out)
	}
}
