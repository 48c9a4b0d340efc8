package search

import (
	"context"
	"fmt"
	"slices"
)

// A finding is a set that breaks an invariant, of which no smaller set is known to break
// it.
type finding struct {
	List *promptList
	X    int // the invariant, by its place in the list
	Set  actSet
	Out  *outcome // of a run of the set that broke

	Cut    bool          // the search for a smaller set was cut
	others []string      // kinds of faults on the same calls that break it alike
	Sure   *confirmation // of a random agent
	Again  bool          // a further run of it was made
	Differ string        // it did not break again: the first difference
	fresh  int           // the number of a run of the set, from which on they did not lead to it
}

func (s *sweeper) find(l *promptList, x int, set actSet, out *outcome) *finding {
	f := &finding{List: l, X: x, Set: set, Out: out, fresh: 1}
	s.Found = append(s.Found, f)
	l.breaks[x] = append(l.breaks[x], set)
	return f
}

func (f *finding) Judged() *judged { return f.Out.States[f.X] }

// Hits are the faults that were delivered in the finding's run.
func (f *finding) Hits() []hit {
	hits, equal := f.Out.Delivered(), equalCalls(f.List.before)
	for i := range hits {
		hits[i].Equal = slices.Contains(equal, hits[i].Op())
	}
	return hits
}

// calls names the calls of a finding, what it breaks and why.
func (f *finding) calls() string {
	var calls []int
	for _, n := range f.Set {
		calls = append(calls, f.List.Acts[n].call)
	}
	slices.Sort(calls)
	return fmt.Sprintf("%d %d %v %q %v", f.List.Number, f.X, calls, f.Judged().Shape, f.Cut)
}

// rank is how far down in the lists of faults those of a finding stand: the mildest
// first, as those of a sweep are.
func (f *finding) rank() (rank int) {
	for _, n := range f.Set {
		rank += slices.Index(f.List.calls[f.List.Acts[n].call].acts, n)
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
		if known == f {
			return false
		}
		if len(f.Set) == 1 {
			known.others = append(known.others, f.List.Acts[f.Set[0]].kind)
		}
		return true
	})
}

// marks are what was delivered in a finding's run, without the coordinates of the calls.
func (f *finding) marks() (all []string) {
	for _, h := range f.Out.Delivered() {
		all = append(all, fmt.Sprintf("%q %s", h.Target, h.Fault))
	}
	return all
}

// foldLarger leaves out findings that have all of a smaller one in them, on other calls
// of the same targets: they say nothing new.
func (s *sweeper) foldLarger() {
	marks := make(map[*finding][]string, len(s.Found))
	for _, f := range s.Found {
		marks[f] = f.marks()
	}
	all := slices.Clone(s.Found)
	s.Found = slices.DeleteFunc(s.Found, func(f *finding) bool {
		return slices.ContainsFunc(all, func(g *finding) bool {
			return len(marks[g]) > 0 && len(marks[g]) < len(marks[f]) &&
				f.List.Invariants[f.X] == g.List.Invariants[g.X] &&
				f.Judged().Shape == g.Judged().Shape && isPart(marks[g], marks[f])
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

// confirm makes the run of each finding again. An agent that repeats itself breaks again.
func (s *sweeper) confirm(ctx context.Context) error {
	s.foldLarger()
	s.fold()
	return s.confirmEach(ctx, func(f *finding, run runSet[*outcome]) {
		again, ok := run(f.Set, f.fresh)
		f.Again = ok
		if ok && !again.States[f.X].Broke {
			f.Differ = itHeld
			if again.States[f.X].Undecided() {
				f.Differ = itWasUndecided
			}
		}
	})
}

// confirmRandom makes runs of each finding until it broke often enough, and runs without
// faults beside them.
func (s *sweeper) confirmRandom(ctx context.Context) error {
	return s.confirmEach(ctx, func(f *finding, run runSet[*outcome]) {
		broke := func(set actSet, first int) func(int) (bool, bool) {
			return func(n int) (bool, bool) {
				o, ok := run(set, first+n)
				return ok && o.States[f.X].Broke, ok
			}
		}
		f.Sure = &confirmation{}
		var ok bool
		if f.Sure.Broke, f.Sure.Runs, ok = runUntil(enoughBreaks, broke(f.Set, 1+f.fresh)); !ok {
			return
		}
		f.Sure.OK = f.Sure.Broke == enoughBreaks
		if f.Sure.OK && len(f.Set) > 0 {
			f.Sure.Compare(broke(nil, 2), broke(f.Set, 1+f.fresh))
		}
	})
}

// confirmEach confirms each finding. What else its runs break is a finding too, with other
// runs to confirm it.
func (s *sweeper) confirmEach(ctx context.Context, confirm func(*finding, runSet[*outcome])) error {
	for done := 0; done < len(s.Found); {
		found := s.Found[done:]
		done = len(s.Found)
		type furtherOutcome struct {
			set actSet
			out *outcome
		}
		runs := make([][]furtherOutcome, len(found))
		tasks := make([]task[*outcome], len(found))
		for i, f := range found {
			tasks[i] = func(ask askFunc[*outcome]) {
				confirm(f, func(set []int, number int) (*outcome, bool) {
					out, ok := ask(f.List.Request(set, number))
					if ok {
						runs[i] = append(runs[i], furtherOutcome{set, out})
					}
					return out, ok
				})
			}
		}
		if err := s.Runs.Run(ctx, tasks...); err != nil {
			return err
		}
		for i, f := range found {
			for _, r := range runs[i] {
				f.List.further = append(f.List.further, r.out)
				for _, x := range f.List.open(r.set) {
					if r.out.States[x].Broke {
						s.find(f.List, x, r.set, r.out).fresh = f.fresh + mostRuns
					}
				}
			}
		}
	}
	return nil
}

// FactsOf are the facts about a finding: from the events of its run, and from the runs
// of other faults on the same call.
func (s *sweeper) FactsOf(f *finding) []string {
	facts := factsOf(f.Out.runDigest, f.Out.Delivered())
	if f.Sure != nil && f.Sure.OK && len(f.Set) > 0 {
		facts = append(facts, f.Sure.Beside())
	}
	if len(f.others) > 0 {
		facts = append(facts, "it breaks alike with "+orList(f.others))
	}
	if len(f.Set) == 1 && !s.random {
		var held []string
		for _, n := range f.List.calls[f.List.Acts[f.Set[0]].call].acts {
			out := f.List.runs[actSet{n}.key()]
			kind := f.List.Acts[n].kind
			if n >= f.Set[0] || out == nil || len(out.delivered) == 0 || kind != "error" && kind != "timeout" {
				continue
			}
			if out.States[f.X].Holds() {
				held = append(held, phraseOf(kind, 0))
			}
		}
		if len(held) > 0 {
			facts = append(facts, "when it only "+alternatives(held)+", it holds")
		}
	}
	return facts
}
