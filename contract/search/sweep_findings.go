package search

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/contract"
)

// A finding is a set that breaks an invariant, of which no smaller set is known to break
// it. Its Smallest is a run of the set that broke.
type finding struct {
	group
	list  *promptList
	x     int      // the invariant, by its place in the list
	alike []string // kinds of faults on the same calls that break it alike
	fresh int      // the number of a run of the set, from which on they did not lead to it
}

func (s *sweeper) find(l *promptList, x int, set partSet, run *runDigest) *finding {
	j := run.States[x]
	f := &finding{list: l, x: x, fresh: 1, group: group{scenario: sweepScenario, severity: l.Severities[x],
		why: j.Why, first: &contract.CellReport{}, once: true,
		culprit: culprit{Invariant: j.Invariant, Shape: j.Shape, Source: &l.source, Set: set, Smallest: run}}}
	s.Found = append(s.Found, f)
	l.breaks[x] = append(l.breaks[x], set)
	return f
}

// calls names the calls of a finding, what it breaks and why.
func (f *finding) calls() string {
	var calls []int
	for _, n := range f.Set {
		calls = append(calls, f.list.Parts[n].call)
	}
	slices.Sort(calls)
	return fmt.Sprintf("%s %d %v %q %v", f.list.Key, f.x, calls, f.Shape, f.Cut)
}

// beside are the faults to try on the call of a part, the mildest first.
func (l *promptList) beside(n int) []int { return l.calls[l.Parts[n].call].parts }

// rank is how far down in the lists of faults those of a finding stand: the mildest
// first, as those of a sweep are.
func (f *finding) rank() (rank int) {
	for _, n := range f.Set {
		rank += slices.Index(f.list.beside(n), n)
	}
	return rank
}

// fold keeps of the findings with the same calls, invariant and reason the mildest one,
// which names the faults of the others.
func (s *sweeper) fold() {
	mildest := map[string]*finding{}
	for _, f := range s.Found {
		if known := mildest[f.calls()]; known == nil || f.rank() < known.rank() {
			mildest[f.calls()] = f
		}
	}
	s.Found = slices.DeleteFunc(s.Found, func(f *finding) bool {
		known := mildest[f.calls()]
		if known != f && len(f.Set) == 1 {
			known.alike = append(known.alike, f.list.Parts[f.Set[0]].Fault)
		}
		return known != f
	})
}

// foldLarger leaves out findings that have all of a smaller one in them, on other calls
// of the same targets: they say nothing new.
func (s *sweeper) foldLarger() {
	marks := make(map[*finding][]string, len(s.Found)) // without the coordinates of the calls
	for _, f := range s.Found {
		for _, h := range f.Smallest.Delivered() {
			marks[f] = append(marks[f], fmt.Sprintf("%q %s", h.Target, h.Fault))
		}
	}
	all := slices.Clone(s.Found)
	s.Found = slices.DeleteFunc(s.Found, func(f *finding) bool {
		return slices.ContainsFunc(all, func(g *finding) bool {
			return len(marks[g]) > 0 && len(marks[g]) < len(marks[f]) && f.Invariant == g.Invariant &&
				f.Shape == g.Shape && isPart(marks[g], marks[f])
		})
	})
}

// isPart reports whether all of the marks, as often as they occur, are in others, in
// order.
func isPart(marks, others []string) bool {
	for _, m := range marks {
		i := slices.Index(others, m)
		if i < 0 {
			return false
		}
		others = others[i+1:]
	}
	return true
}

// confirm makes the run of a finding again. An agent that repeats itself breaks again.
func (s *sweeper) confirm(f *finding, run func(partSet, int) *runDigest) {
	again := run(f.Set, f.fresh)
	if f.once = again == nil; f.once {
		return
	}
	switch j := again.States[f.x]; {
	case j.Broke:
	case j.Undecided():
		f.instead = itWasUndecided
	default:
		f.instead = itHeld
	}
}

// confirmRandom makes runs of a finding until it broke often enough, and runs without
// faults beside them.
func (s *sweeper) confirmRandom(f *finding, run func(partSet, int) *runDigest) {
	f.once, f.Sure = false, &confirmation{set: f.Set}
	f.Sure.confirm(1+f.fresh, 2, func(set partSet, n int) (broke, ok bool) {
		out := run(set, n)
		return out != nil && out.States[f.x].Broke, out != nil
	})
}

// confirmEach confirms each finding. What else its runs break is a finding too, with other
// runs to confirm it.
func (s *sweeper) confirmEach(ctx context.Context, confirm func(*finding, func(partSet, int) *runDigest)) error {
	for done := 0; done < len(s.Found); {
		found := s.Found[done:]
		done = len(s.Found)
		type further struct {
			set partSet
			out *runDigest
		}
		runs := make([][]further, len(found))
		tasks := make([]task, len(found))
		for i, f := range found {
			tasks[i] = func(ask askFunc) {
				confirm(f, func(set partSet, n int) *runDigest {
					out := ask(f.list.request(set, nil).numbered(n))
					if out != nil {
						out.extra = nil
						runs[i] = append(runs[i], further{set, out})
					}
					return out
				})
			}
		}
		if err := s.Runs.Run(ctx, tasks...); err != nil {
			return err
		}
		for i, f := range found {
			for _, r := range runs[i] {
				for _, x := range f.list.open(r.set) {
					if r.out.States[x].Broke {
						s.find(f.list, x, r.set, r.out).fresh = f.fresh + mostRuns
					}
				}
			}
		}
	}
	return nil
}

// state states the facts about a finding: from the events of its run, and from the runs of other
// faults on the same call.
func (s *sweeper) state(f *finding) {
	if f.instead != "" {
		f.Smallest = nil
		return
	}
	f.Hits = f.Source.named(f.Smallest.Delivered())
	f.Facts = factsOf(f.Smallest, f.Hits)
	if f.Sure != nil && f.Sure.OK && len(f.Set) > 0 {
		f.say("%s", f.Sure.Beside())
	}
	if len(f.alike) > 0 {
		f.say("it breaks alike with %s", orList(f.alike))
	}
	if len(f.Set) == 1 && s.Difference == nil {
		var held []string
		for _, n := range f.list.beside(f.Set[0]) {
			out, kind := f.list.runOf(partSet{n}), f.list.Parts[n].Fault
			if n < f.Set[0] && out != nil && len(out.delivered) > 0 && (kind == "error" || kind == "timeout") &&
				out.States[f.x].Holds() {
				held = append(held, phraseOf(kind, 0))
			}
		}
		if len(held) > 0 {
			f.say("when it only %s, it holds", strings.Join(held, ", or "))
		}
	}
	if f.once {
		f.say("it was not run again: %s", s.Runs.Cut)
	}
}
