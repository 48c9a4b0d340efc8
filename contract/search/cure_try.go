package search

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/fewest"
)

// An outcome is what a run under habits says of a cell.
type outcome int

const (
	notAsked       outcome = iota // the search was cut
	holds                         // under its faults
	holdsWithFewer                // under fewer of them: there were fewer calls, and all met a fault
	breaks                        // or broke another time
	undecided                     // or inconclusive
	unreached                     // nothing broke, and its faults were not delivered: that says nothing
)

// An attempt is what runs under some habits showed of the cells of a defect.
type attempt struct {
	picks     []int // the numbers of the habits
	set       habitSet
	held, of  int
	holding   []int // of the cells, those that hold
	unreached int
	fewer     int               // of a random agent: see holdsWithFewer
	usual     int               // runs with the answer of the calm run
	cost      contract.CureCost // of the cells, in the mean
	inert     bool              // no run differed from that without habits
	complete  bool              // it was not cut
}

func (o outcome) held() bool { return o == holds || o == holdsWithFewer }

func (t *attempt) mends() bool { return t.complete && t.of > 0 && t.held == t.of }

// under is what a run of a cell under habits says of it, and the run. The cells that follow are run in the same round.
func (a *ailing) under(ask askFunc, at *brokenCell, set habitSet, follow ...brokenCell) (outcome, *runDigest) {
	own := a.own(at.Cell, set)
	for k := range follow {
		own.Next = append(own.Next, a.own(follow[k].Cell, set))
	}
	run := ask(own)
	said := outcomeOf(run, at.Invariant, at.needs)
	if said != unreached {
		return said, run
	}
	s := a.byNumber(at)
	if len(s.Parts) == 0 {
		return said, run
	}
	run = ask(a.with(s.request(firstParts(len(s.Parts)), nil), set))
	return outcomeOf(run, at.Invariant, at.needs), run
}

// outcomeOf is what a run says of an invariant that needs faults to break.
func outcomeOf(run *runDigest, invariant string, needs map[need]int) outcome {
	if run == nil {
		return notAsked
	}
	switch j := run.judgedBy(invariant); {
	case j.Broke:
		return breaks
	case !j.Holds():
		return undecided
	}
	switch reaches, fewer := run.Reaches(needs); {
	case !reaches:
		return unreached
	case fewer:
		return holdsWithFewer
	}
	return holds
}

// Reaches reports whether as many faults were delivered at each target, or fewer, since every call of it that was made
// met one: then there was no need for more calls.
func (s *runDigest) Reaches(needs map[need]int) (reaches, fewer bool) {
	for need, n := range needs {
		delivered := 0
		for _, h := range s.Hits {
			if h.Delivered && !h.Own && h.Target == need.target && (need.fault == "" || h.Fault == need.fault) {
				delivered++
			}
		}
		if delivered >= n {
			continue
		}
		if fewer = true; delivered == 0 || slices.Contains(s.Spared, need.target) {
			return false, false
		}
	}
	return true, fewer
}

// try makes the runs of the cells under habits, of those that are copies one. If only those that mend matter, it
// ends with the first cell that does not hold.
func (a *ailing) try(ask askFunc, picks []int, onlyMending bool) attempt {
	t := attempt{picks: picks, set: fewest.Pick(habitSet(a.habits), picks), inert: true}
	if a.random {
		a.tryRandom(ask, &t, 0)
		return t
	}
	if onlyMending && a.refused != "" && !a.passesFirst(ask, t.set) {
		return t
	}
	var next []brokenCell
	if !onlyMending {
		next = fewest.Pick(a.cells, a.distinct)
	}
	for _, i := range a.distinct {
		at := &a.cells[i]
		said, run := a.under(ask, at, t.set, next...)
		if said == notAsked {
			return t
		}
		t.of += at.alike
		switch said {
		case holds, holdsWithFewer:
			t.held, t.holding = t.held+at.alike, append(t.holding, i)
		case unreached:
			t.unreached += at.alike
		}
		base := at.base
		addTo(&t.cost, run, base)
		if calm := ask(a.calm(at.Cell, nil)); calm != nil && calm.Answer == run.Answer {
			t.usual++
		}
		t.inert = t.inert && run.Calls == base.Calls && run.Answer == base.Answer &&
			(run.Took-base.Took).Abs() < time.Millisecond
		if onlyMending && !said.held() {
			return t
		}
	}
	t.complete = true
	t.cost = mean(t.cost, len(a.distinct))
	return t
}

// passesFirst reports whether what stood against other habits last holds under these.
func (c *curer) passesFirst(ask askFunc, set habitSet) bool {
	run := ask(c.own(c.held[0].Cell, set))
	return run != nil && c.held[0].brokenIn(run) == ""
}

// addTo adds what a run took more than another.
func addTo(sum *contract.CureCost, run, base *runDigest) {
	sum.Calls += float64(run.Calls - base.Calls)
	sum.Time += run.Took - base.Took
}

func mean(sum contract.CureCost, runs int) contract.CureCost {
	return contract.CureCost{Calls: sum.Calls / float64(runs), Time: sum.Time / time.Duration(runs)}
}

// trySingles tries each habit alone.
func (a *ailing) trySingles() (tasks []task) {
	a.singles = make([]attempt, len(a.habits))
	for i := range a.habits {
		tasks = append(tasks, func(ask askFunc) { a.singles[i] = a.try(ask, []int{i}, false) })
	}
	return tasks
}

// best are the attempts that mend: those first under which more runs have the answer of the calm run, since the agent
// does its work then, and of these those that change the least: an agent that makes fewer calls may do less.
func best(all []attempt) []attempt {
	mend := slices.DeleteFunc(slices.Clone(all), func(t attempt) bool { return !t.mends() })
	slices.SortStableFunc(mend, func(a, b attempt) int {
		return cmp.Or(cmp.Compare(b.usual, a.usual), cmp.Compare(math.Abs(a.cost.Calls), math.Abs(b.cost.Calls)),
			cmp.Compare(max(0, a.cost.Time), max(0, b.cost.Time)))
	})
	return mend
}

// choose finds the fewest habits that mend a defect: one; else two, of which one at least changes something alone,
// since two that do not change nothing together. Those of which both do come first: most that mend are among them.
func (a *ailing) choose(ask askFunc) {
	for _, attempts := range []func(askFunc) []attempt{
		func(askFunc) []attempt { return a.singles },
		func(ask askFunc) []attempt { return a.tryPairs(ask, 0) },
		func(ask askFunc) []attempt { return a.tryPairs(ask, 1) },
	} {
		more := attempts(ask)
		a.tried = append(a.tried, more...)
		for _, t := range best(more) {
			cure, refused := a.verifyOnly(ask, t.set)
			if cure != nil {
				a.d.Cure, a.chosen = cure, t.picks
				return
			}
			a.refused = cmp.Or(a.refused, fmt.Sprintf("under %v its cells hold, but %s", t.set, refused))
		}
	}
}

// chooseMore looks for more than two habits that mend a defect: of those that mend the others, else of all, none
// of which can be left out.
func (a *ailing) chooseMore(ask askFunc) {
	var others, all partSet
	for i := range a.habits {
		all = append(all, i)
		if slices.ContainsFunc(a.all, func(o *ailing) bool { return slices.Contains(o.chosen, i) }) {
			others = append(others, i)
		}
	}
	for _, picks := range []partSet{others, all} {
		if len(picks) < 3 {
			continue
		}
		mends := func(places []int) (mends, ok bool) {
			t := a.try(ask, fewest.Pick(picks, places), true)
			if !t.mends() {
				return false, a.runs.Cut == ""
			}
			cure, _ := a.verifyOnly(ask, t.set)
			if cure != nil {
				a.d.Cure, a.chosen = cure, t.picks
				a.tried = append(a.tried, t)
			}
			return cure != nil, a.runs.Cut == ""
		}
		if found, _ := mends(firstParts(len(picks))); found {
			fewest.LeaveOut(len(picks), mends)
			return
		}
	}
	a.mendedByNone()
}

// verifyOnly verifies habits on the tools of the defect alone, where they can act on some of them, and if its cells
// need it, on all on which they can act.
func (a *ailing) verifyOnly(ask askFunc, set habitSet) (cure *contract.Cure, refused string) {
	cure, refused, own := a.verify(ask, set.only(a.targets, a.curer), len(a.all) == 1, a)
	if own {
		cure, refused, _ = a.verify(ask, set, len(a.all) == 1, a)
	}
	return cure, refused
}

// only puts habits on those of the tools on which they can act, where there are some.
func (s habitSet) only(targets []string, c *curer) habitSet {
	own := slices.Clone(s)
	for i, h := range s {
		names, _ := h.On(c.runner.Tools())
		names = slices.DeleteFunc(names, func(name string) bool { return !slices.Contains(targets, name) })
		if len(names) > 0 {
			own[i] = h.Only(names...)
		}
	}
	return own
}

// tryPairs tries the pairs of which so many habits change nothing alone. The first runs of all are made in one round.
func (a *ailing) tryPairs(ask askFunc, inert int) (all []attempt) {
	var pairs []partSet
	var first []runRequest
	for i := range a.habits {
		for k := i + 1; k < len(a.habits); k++ {
			n := 0
			for _, single := range []*attempt{&a.singles[i], &a.singles[k]} {
				if single.inert {
					n++
				}
			}
			if n != inert {
				continue
			}
			pairs = append(pairs, partSet{i, k})
			at := a.cells[a.distinct[0]].Cell
			if a.refused != "" {
				at = a.held[0].Cell
			}
			first = append(first, a.own(at, fewest.Pick(habitSet(a.habits), partSet{i, k})))
		}
	}
	if len(pairs) > 0 {
		first[0].Next = first[1:]
		ask(first[0])
	}
	for _, picks := range pairs {
		all = append(all, a.try(ask, picks, true))
	}
	return all
}

// mendedByNone says what comes nearest, and what stands against it.
func (a *ailing) mendedByNone() {
	if a.runs.Cut != "" {
		a.cut()
		return
	}
	if a.none(cmp.Or(a.refused, "no habit here mends it")); a.refused != "" {
		return
	}
	var near *attempt
	for i := range a.tried {
		t := &a.tried[i]
		if t.complete && t.held > 0 && (near == nil || t.held*near.of > near.held*t.of) {
			near = t
		}
		if t.complete && t.unreached > 0 && t.held+t.unreached == t.of {
			a.d.Cure.Why = a.secrets.Text(fmt.Sprintf("no habit here is known to mend it: under %v its faults were undelivered in %d of %d cells",
				t.set, t.unreached, t.of))
		}
	}
	if near != nil {
		c := a.d.Cure
		c.Nearest, c.Held, c.Cells, c.Random = near.set.shown(a.runner.Tools()), near.held, near.of, a.random
		if !a.random {
			c.Places = placesOf(a.cells, func(i int) bool { return slices.Contains(near.holding, a.cells[i].like) })
		}
	}
}
