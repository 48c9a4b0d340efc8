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

// An attempt is what runs under some habits showed of the cells of a defect. Copies count as if each was run.
type attempt struct {
	picks     partSet // the numbers of the habits
	set       habitSet
	held, of  int
	holding   []int // of the cells, those that hold
	broke     int
	unreached int
	fewer     int               // see holdsWithFewer
	usual     int               // cells with the answer of the calm run
	cost      contract.CureCost // the sum
	changes   bool              // a run differed from that without habits, of those that were made
	complete  bool              // it was not cut, and no cell ended it
	refused   string            // by the cell that ended it
}

func (o outcome) held() bool { return o == holds || o == holdsWithFewer }

func (t *attempt) mends() bool { return t.complete && t.of > 0 && t.held == t.of }

// add counts what a run said of so many cells.
func (t *attempt) add(said outcome, cells int, run, base *runDigest) {
	t.of += cells
	switch said {
	case breaks:
		t.broke += cells
	case unreached:
		t.unreached += cells
	case holdsWithFewer:
		t.fewer += cells
	}
	if said.held() {
		t.held += cells
	}
	addTo(&t.cost, run, base, cells)
}

// addTo adds what a run took more than another, so many times.
func addTo(sum *contract.CureCost, run, base *runDigest, times int) {
	sum.Calls += float64(times * (run.calls - base.calls))
	sum.Time += time.Duration(times) * (run.took - base.took)
}

func mean(sum contract.CureCost, runs int) contract.CureCost {
	return contract.CureCost{Calls: sum.Calls / float64(runs), Time: sum.Time / time.Duration(runs)}
}

// under is what a run of a cell under habits says of it, and the run: own, or else one by its calls.
func (a *ailing) under(ask askFunc, at *brokenCell, set habitSet, own runRequest) (outcome, *runDigest) {
	run := ask(own)
	said := outcomeOf(run, at.base, at.Invariant, at.needs)
	if said != unreached {
		return said, run
	}
	if s := a.byNumber(at); len(s.Parts) > 0 {
		return a.byCalls(ask, &sourceRun{source: s, set: firstParts(len(s.Parts))}, set, at.needs)
	}
	return said, run
}

// byCalls is what a run of faults under habits says: by the numbers of their calls, or where these are other calls, by
// their coordinates.
func (c *curer) byCalls(ask askFunc, f *sourceRun, set habitSet, needs map[need]int) (said outcome, run *runDigest) {
	for _, s := range []*source{f.source, f.exactly()} {
		run = ask(c.with(s.request(f.set, f.swaps), set))
		said = outcomeOf(run, f.Whole, f.Cell.Invariant, needs)
		if said != unreached || !run.Moved(f.Whole, targetsOf(needs)) {
			break
		}
	}
	return said, run
}

// outcomeOf is what a run says of an invariant that needs faults to break, as it did in another run.
func outcomeOf(run, base *runDigest, invariant string, needs map[need]int) outcome {
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
	case !reaches || run.Moved(base, targetsOf(needs)):
		return unreached
	case fewer:
		return holdsWithFewer
	}
	return holds
}

// Moved reports whether a call to some targets that met a fault in another run is made here without one: a habit that
// adds or spares calls may have moved the fault to a call that matters less.
func (s *runDigest) Moved(base *runDigest, targets []string) bool {
	if base == nil { // of an agent that does not repeat itself, other calls may meet them
		return false
	}
	for op, met := range base.asked {
		if hit, made := s.asked[op]; met && made && !hit && slices.Contains(targets, op.Target) {
			return true
		}
	}
	return false
}

// Reaches reports whether as many faults were delivered at each target, or fewer, since every call of it that was made
// met one: then there was no need for more calls.
func (s *runDigest) Reaches(needs map[need]int) (reaches, fewer bool) {
	for need, n := range needs {
		met := s.met[need]
		if met >= n {
			continue
		}
		if fewer = true; met == 0 || slices.Contains(s.spared, need.target) {
			return false, false
		}
	}
	return true, fewer
}

// An effort says which runs an attempt makes.
type effort int

const (
	counting effort = iota // of all cells, in one round
	learning               // of one cell after the other, up to the first that does not hold
	checking               // so too, first of those that likely do not
	proving                // as learning, in rounds; of a random agent, runs that no choice rested on
)

// try makes the runs of the cells under some habits. Where one that does not hold ends it, those come first that
// likely do not.
func (a *ailing) try(ask askFunc, picks partSet, everywhere bool, how effort) attempt {
	t := attempt{picks: picks, set: a.setOf(picks, everywhere)}
	cells := a.cells
	if how == checking && !a.random {
		if k := a.hardest(picks); k < len(cells) {
			cells = slices.Insert(slices.Delete(slices.Clone(cells), k, k+1), 0, cells[k])
			first := t
			if a.run(ask, &first, cells[:1], how); !first.complete {
				return first
			}
		}
		if a.against != nil {
			run := ask(a.own(a.against.Cell, t.set))
			if run == nil || a.against.brokenIn(run) != "" {
				return t
			}
		}
	}
	a.run(ask, &t, cells, how)
	return t
}

// hardest is the number of the cell in which some habits most likely do not hold: of the first ones in which each
// alone does not, the last. It is that of cells if one of the habits holds in all.
func (a *ailing) hardest(picks partSet) (at int) {
	for _, habit := range picks {
		n, holding := 0, a.singles[habit].holding
		for n < len(holding) && holding[n] == n {
			n++
		}
		at = max(at, n)
	}
	return at
}

// run makes the runs of cells under the habits of an attempt.
func (a *ailing) run(ask askFunc, t *attempt, cells []brokenCell, how effort) {
	if a.random {
		a.runUntilDecided(ask, t, how)
		return
	}
	requests := a.requests(cells, t.set)
	switch how {
	case counting:
		inRounds(requests, len(requests))
	case proving:
		inRounds(requests, atOnce)
	}
	for i := range cells {
		at := &cells[i]
		said, run := a.under(ask, at, t.set, requests[i])
		if said == notAsked {
			t.refused = cutShort
			return
		}
		t.add(said, len(at.copies), run, at.base)
		if calm := ask(a.with(a.calm(at.Cell), nil)); calm != nil && calm.Answer == run.Answer {
			t.usual += len(at.copies)
		}
		t.changes = t.changes || run.differs(at.base)
		if said.held() {
			t.holding = append(t.holding, i)
		} else if how != counting {
			t.refused = said.of(at.String())
			return
		}
	}
	t.complete = true
}

// setOf puts habits on the tools of the defect, or everywhere: on all on which they can act.
func (a *ailing) setOf(picks partSet, everywhere bool) habitSet {
	set := fewest.Pick(a.habits, picks)
	if everywhere {
		return set
	}
	return set.only(a.targets)
}

// differs reports whether a run shows that its habits did something. In real time two runs are never equally long.
func (s *runDigest) differs(base *runDigest) bool {
	return s.calls != base.calls || s.Answer != base.Answer || (s.took-base.took).Abs() >= brief
}

// requests are the runs of cells under habits.
func (a *ailing) requests(cells []brokenCell, set habitSet) (all []runRequest) {
	for i := range cells {
		all = append(all, a.own(cells[i].Cell, set))
	}
	return all
}

// inRounds has requests that are asked for in order made in rounds: so many in the first one, and in each further one
// twice as many. Runs after the first that refuses habits are in vain, and what has held for long will likely hold to
// the end.
func inRounds(all []runRequest, first int) []runRequest {
	for i, n := 0, first; i < len(all); i, n = i+n, 2*n {
		all[i].Next = all[i+1 : min(i+n, len(all))]
	}
	return all
}

// atOnce is how many runs of a verification are made in its first round.
const atOnce = 3

// trySingles tries each habit alone.
func (a *ailing) trySingles() (tasks []task) {
	a.singles = make([]attempt, len(a.habits))
	for i := range a.habits {
		tasks = append(tasks, func(ask askFunc) { a.singles[i] = a.try(ask, partSet{i}, false, learning) })
	}
	return tasks
}

// best are the attempts that mend: those first under which more runs have the answer of the calm run, since the agent
// does its work then, and of these those that change the least: an agent that makes fewer calls may do less.
func best(all []attempt) []attempt {
	mend := slices.DeleteFunc(slices.Clone(all), func(t attempt) bool { return !t.mends() })
	slices.SortStableFunc(mend, func(a, b attempt) int {
		x, y := mean(a.cost, a.of), mean(b.cost, b.of)
		return cmp.Or(cmp.Compare(b.usual, a.usual), cmp.Compare(math.Abs(x.Calls), math.Abs(y.Calls)),
			cmp.Compare(max(0, x.Time), max(0, y.Time)))
	})
	return mend
}

// choose finds the fewest habits that mend a defect: one; else two, those first that change something alone, since
// most that mend are among them. On the tools of the defect they do less harm than everywhere.
func (a *ailing) choose(ask askFunc) {
	var single, pairs []partSet
	var inert partSet
	byInert := map[int][]partSet{} // by how many of the two change nothing alone
	for i := range a.habits {
		single = append(single, partSet{i})
		if !a.singles[i].changes {
			inert = append(inert, i)
		}
		for k := i + 1; k < len(a.habits); k++ {
			n := 0
			for _, habit := range []int{i, k} {
				if !a.singles[habit].changes {
					n++
				}
			}
			byInert[n] = append(byInert[n], partSet{i, k})
			pairs = append(pairs, partSet{i, k})
		}
	}
	for _, attempts := range []func() []attempt{
		func() []attempt { return a.singles },
		func() []attempt { return a.tryEach(ask, single, true) },
		func() []attempt { return a.tryEach(ask, byInert[0], false) },
		func() []attempt { return a.tryEach(ask, byInert[1], false) },
		func() []attempt {
			if !a.changeTogether(ask, inert) {
				return nil
			}
			return a.tryEach(ask, byInert[2], false)
		},
		func() []attempt { return a.tryEach(ask, pairs, true) },
	} {
		more := attempts()
		a.tried = append(a.tried, more...)
		for _, t := range best(more) {
			cure, refused := a.verify(ask, t.set, len(a.all) == 1, a)
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
	for n, picks := range []partSet{others, all, others, all} {
		if len(picks) < 3 {
			continue
		}
		mends := func(places []int) (mends, ok bool) {
			t := a.try(ask, fewest.Pick(picks, places), n > 1, checking)
			if !t.mends() {
				return false, a.runs.Cut == ""
			}
			cure, _ := a.verify(ask, t.set, len(a.all) == 1, a)
			if cure != nil {
				a.d.Cure, a.chosen = cure, t.picks
				a.tried = append(a.tried, t)
			}
			return cure != nil, a.runs.Cut == ""
		}
		if found, _ := mends(firstParts(len(picks))); found {
			left := fewest.LeaveOut(len(picks), mends)
			a.d.Cure.Cut = !left.Minimal
			return
		}
	}
	a.mendedByNone(ask)
}

// only puts habits on those of some tools on which they can act, where there are any.
func (s habitSet) only(tools []string) habitSet {
	own := slices.Clone(s)
	for i, h := range s {
		names := slices.DeleteFunc(slices.Clone(h.Tools),
			func(name string) bool { return !slices.Contains(tools, name) })
		if len(names) > 0 {
			own[i].Tools = names
		}
	}
	return own
}

// changeTogether reports whether habits that change nothing alone do so together, in the first cell: else no two of
// them do, which would take many runs to find out.
func (a *ailing) changeTogether(ask askFunc, inert partSet) bool {
	if len(inert) < 2 {
		return false
	}
	at := &a.cells[0]
	run := ask(a.own(at.Cell, a.setOf(inert, false)))
	return run != nil && (run.differs(at.base) || !run.judgedBy(at.Invariant).Broke)
}

// tryEach tries habits one after the other. Those that have no tools but the defect's are not tried everywhere again.
// The first runs of all are made in one round.
func (a *ailing) tryEach(ask askFunc, picks []partSet, everywhere bool) (all []attempt) {
	picks = slices.DeleteFunc(slices.Clone(picks), func(p partSet) bool {
		at := a.cells[0].Cell
		return everywhere && a.own(at, a.setOf(p, true)).Key == a.own(at, a.setOf(p, false)).Key
	})
	var first []runRequest
	for _, p := range picks {
		at := a.cells[0].Cell
		if k := a.hardest(p); k < len(a.cells) {
			at = a.cells[k].Cell
		} else if a.against != nil {
			at = a.against.Cell
		}
		first = append(first, a.own(at, a.setOf(p, everywhere)))
	}
	if len(first) > 0 {
		ask(inRounds(first, len(first))[0])
	}
	for _, p := range picks {
		all = append(all, a.try(ask, p, everywhere, checking))
	}
	return all
}

// mendedByNone says what comes nearest, and what stands against it.
func (a *ailing) mendedByNone(ask askFunc) {
	if a.runs.Cut != "" {
		a.cut()
		return
	}
	if a.none(cmp.Or(a.refused, "no habit here mends it")); a.refused != "" {
		return
	}
	for i, t := range a.tried[:len(a.singles)] {
		if !t.complete { // it ended at the first cell that does not hold
			a.tried[i] = a.try(ask, t.picks, false, counting)
		}
	}
	if a.runs.Cut != "" {
		a.cut()
		return
	}
	var near *attempt
	for i := range a.tried {
		t := &a.tried[i]
		if t.complete && t.held > 0 && (near == nil || t.held*near.of > near.held*t.of) {
			near = t
		}
		if t.complete && t.unreached > 0 && t.held+t.unreached == t.of {
			a.d.Cure.Why = a.secrets.Text(fmt.Sprintf("no habit here is known to mend it: under %v its faults were "+
				"undelivered in %d of %d cells", t.set, t.unreached, t.of))
		}
	}
	if near != nil {
		c := a.d.Cure
		c.Nearest, c.Held, c.Cells, c.Random = near.set, near.held, near.of, a.random
		if !a.random {
			c.Places = addPlaces(nil, a.cells, near.holding)
		}
	}
}
