package search

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"time"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/fewest"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/scoring/stats"
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
func outcomeOf(run *runDigest, invariant string, needs map[string]int) outcome {
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
func (s *runDigest) Reaches(needs map[string]int) (reaches, fewer bool) {
	for target, n := range needs {
		delivered := 0
		for _, h := range s.Hits {
			if h.Delivered && !h.Own && h.Target == target {
				delivered++
			}
		}
		if delivered >= n {
			continue
		}
		if fewer = true; delivered == 0 || slices.Contains(s.Spared, target) {
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
		t.add(run, base)
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
	t.cost.Calls, t.cost.Time = t.cost.Calls/float64(len(a.distinct)), t.cost.Time/time.Duration(len(a.distinct))
	return t
}

// passesFirst reports whether what stood against other habits last holds under these.
func (c *curer) passesFirst(ask askFunc, set habitSet) bool {
	run := ask(c.own(c.held[0].Cell, set))
	return run != nil && c.held[0].brokenIn(run) == ""
}

// add adds what a run took more than another.
func (t *attempt) add(run, base *runDigest) {
	t.cost.Calls += float64(run.Calls - base.Calls)
	t.cost.Time += run.Took - base.Took
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
// does its work then, and of these those that add the least.
func best(all []attempt) []attempt {
	mend := slices.DeleteFunc(slices.Clone(all), func(t attempt) bool { return !t.mends() })
	slices.SortStableFunc(mend, func(a, b attempt) int {
		return cmp.Or(cmp.Compare(b.usual, a.usual), cmp.Compare(max(0, a.cost.Calls), max(0, b.cost.Calls)),
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

// tryPairs tries the pairs of which so many habits change nothing alone.
func (a *ailing) tryPairs(ask askFunc, inert int) (all []attempt) {
	for i := range a.habits {
		for k := i + 1; k < len(a.habits); k++ {
			n := 0
			for _, single := range []*attempt{&a.singles[i], &a.singles[k]} {
				if single.inert {
					n++
				}
			}
			if n == inert {
				all = append(all, a.try(ask, []int{i, k}, true))
			}
		}
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

// verify makes the runs of all cells of defects under habits, of their fewest faults, and of what held. Of equal cells
// it makes one, unless copies are to be run: for a report's only defect, and for all defects together. refused says
// what stands against the habits, and own whether it is one of these cells; with neither, the search was cut.
func (c *curer) verify(ask askFunc, set habitSet, copies bool, all ...*ailing) (
	cure *contract.Cure, refused string, own bool,
) {
	cure = &contract.Cure{Habits: set.shown(c.runner.Tools())}
	total := attempt{}
	var cells []brokenCell
	for _, a := range all {
		if f := a.fewest; f != nil {
			run := ask(c.with(f.source.request(f.set, f.swaps), set))
			if said := outcomeOf(run, f.source.Cell.Invariant, needsOf(a.d.Deliveries, nil)); !said.held() {
				return nil, said.of("the run of its fewest faults"), said != notAsked
			}
		}
		if a.random {
			t := attempt{set: set}
			if a.tryRandom(ask, &t, freshRuns); !t.mends() {
				return nil, "in further runs they are not known to", c.runs.Cut == ""
			}
			cure.Held, cure.Cells, cure.Random = cure.Held+t.held, cure.Cells+t.of, true
			total.cost.Calls += t.cost.Calls * float64(t.of)
			total.cost.Time += t.cost.Time * time.Duration(t.of)
			continue
		}
		runs := a.cells
		if !copies {
			runs = fewest.Pick(a.cells, a.distinct)
		}
		for i := range runs {
			at := &runs[i]
			said, run := a.under(ask, at, set, following(runs, i)...)
			if !said.held() {
				return nil, said.of(at.String()), said != notAsked
			}
			standsFor := 1
			if len(runs) < len(a.cells) {
				standsFor = at.alike
			}
			if said == holdsWithFewer {
				cure.Fewer += standsFor
			}
			for range standsFor {
				total.add(run, at.base)
			}
		}
		cells = append(cells, a.cells...)
		cure.Held, cure.Cells = cure.Held+len(a.cells), cure.Cells+len(a.cells)
	}
	cure.Places = placesOf(cells, func(int) bool { return true })
	cure.Cost.Calls, cure.Cost.Time = total.cost.Calls/float64(cure.Cells), total.cost.Time/time.Duration(cure.Cells)
	if refused, ok := c.verifyHeld(ask, set, cure, all); !ok {
		return nil, refused, false
	}
	return cure, "", false
}

// of says what stands against habits under which something has an outcome; "" if it was not asked.
func (o outcome) of(what string) string {
	return map[outcome]string{breaks: what + " breaks", undecided: what + " is not decided",
		unreached: "the faults of " + what + " are undelivered"}[o]
}

// verifyHeld makes the runs in which nothing broke, and those without faults, under habits. It counts them. Of copies
// it makes one. What stood against other habits comes first.
func (c *curer) verifyHeld(ask askFunc, set habitSet, cure *contract.Cure, all []*ailing) (refused string, ok bool) {
	held := c.held
	for i, h := range held {
		own := c.own(h.Cell, set)
		for _, next := range following(held, i) {
			own.Next = append(own.Next, c.own(next.Cell, set))
		}
		run := ask(own)
		if run == nil {
			return "", false
		}
		if refused := h.brokenIn(run); refused != "" && !c.breaksAnyway(ask, h, set) {
			c.held = slices.Insert(slices.Delete(slices.Clone(held), i, i+1), 0, h)
			return refused, false
		}
		cure.Kept++
	}
	lists := map[string]bool{}
	for _, a := range all {
		at := a.cells[0].Cell
		without := c.calm(at, nil)
		if lists[without.Key] {
			continue
		}
		lists[without.Key] = true
		base, run := ask(without), ask(c.calm(at, set))
		if base == nil || run == nil {
			return "", false
		}
		for _, j := range base.States {
			under := run.judgedBy(j.Invariant)
			if !j.Holds() || under.Holds() {
				continue
			}
			return map[bool]outcome{true: breaks, false: undecided}[under.Broke].of(j.Invariant + " without faults"), false
		}
		cure.Kept++
		cure.Calm.Calls += float64(run.Calls - base.Calls)
		cure.Calm.Time += run.Took - base.Took
	}
	cure.Calm.Calls, cure.Calm.Time = cure.Calm.Calls/float64(len(lists)), cure.Calm.Time/time.Duration(len(lists))
	return "", true
}

// atOnce is how many runs of a verification are made in its first round. Each further one has twice as many: runs after
// the first that refuses habits are in vain, and what has held for long will likely hold to the end.
const atOnce = 3

// following are those of a round after the i-th, which is the first of one; else none.
func following[T any](all []T, i int) []T {
	if round := i/atOnce + 1; i%atOnce > 0 || bits.OnesCount(uint(round)) > 1 {
		return nil
	}
	return all[i+1 : min(2*i+atOnce, len(all))]
}

// brokenIn is what of it a run broke, or did not decide; "": nothing.
func (h *heldCell) brokenIn(run *runDigest) string {
	for k, invariant := range slices.Concat(h.held, h.lived) {
		j := run.judgedBy(invariant)
		at := contract.Cell{Scenario: h.Scenario, Invariant: invariant, Trial: h.Trial}.String()
		switch {
		case j.Broke:
			return breaks.of(at)
		case j.Undecided() && k < len(h.held):
			return undecided.of(at)
		}
	}
	return ""
}

// breaksAnyway reports whether what held once breaks as often without habits, of an agent that does not repeat itself.
func (c *curer) breaksAnyway(ask askFunc, h heldCell, set habitSet) bool {
	if !c.random {
		return false
	}
	broke := map[bool]int{}
	for n := range leastCalm {
		for _, own := range []habitSet{set, nil} {
			run := ask(c.own(h.Cell, own).numbered(n))
			if run == nil {
				return false
			}
			if h.brokenIn(run) != "" {
				broke[own != nil]++
			}
		}
	}
	return broke[true] <= broke[false]
}

// learnRate finds out how often the cells of an agent that does not repeat itself break.
func (a *ailing) learnRate(ask askFunc) {
	broke, runs := 0, 0
	for n := 0; n < mostRuns && broke < enoughBreaks; n++ {
		at := &a.cells[a.distinct[n%len(a.distinct)]]
		run := ask(a.own(at.Cell, nil).numbered(n / len(a.distinct)))
		switch outcomeOf(run, at.Invariant, at.needs) {
		case notAsked:
			a.cut()
			return
		case unreached:
			continue
		case breaks:
			broke++
		}
		runs++
	}
	if broke < enoughBreaks {
		a.none(fmt.Sprintf("no habit tried: without habits its cells broke in %d of %s", broke, text.Plural(runs, "run")))
		return
	}
	rate := float64(enoughBreaks-1) / float64(runs-1)
	a.test = stats.SPRT{P0: rate / 8, P1: rate / 2, Alpha: trialAlpha, Beta: trialBeta, Max: mostTrials}
}

// tryRandom makes runs of the cells under habits, from a number on, until a sequential test decides. They mend only
// if none breaks.
func (a *ailing) tryRandom(ask askFunc, t *attempt, first int) {
	t.inert = false
	for n := range mostTrials {
		at := &a.cells[a.distinct[n%len(a.distinct)]]
		run := ask(a.own(at.Cell, t.set).numbered(first + n/len(a.distinct)))
		switch outcomeOf(run, at.Invariant, at.needs) {
		case notAsked:
			return
		case unreached:
			t.unreached++
			continue
		case holds, holdsWithFewer:
			t.held++
		}
		t.of++
		t.add(run, at.base)
		standing, err := a.test.Decide(t.of-t.held, t.of)
		if t.complete = err == nil && standing.Decision != stats.Open; t.complete {
			break
		}
	}
	if t.of > 0 {
		t.cost.Calls, t.cost.Time = t.cost.Calls/float64(t.of), t.cost.Time/time.Duration(t.of)
	}
}

// chooseForAll finds the fewest habits that mend all defects that habits mend: of the sets that have for each defect
// habits under which its cells held, the smallest that is verified for all of them together.
func (c *curer) chooseForAll(ask askFunc) {
	var mended []*ailing
	var candidates []int // that mend some
	most := map[int]bool{}
	for _, a := range c.all {
		if a.d.Cure == nil || len(a.d.Cure.Habits) == 0 {
			continue
		}
		mended = append(mended, a)
		for _, i := range a.chosen {
			most[i] = true
		}
		for _, t := range best(a.tried) {
			for _, i := range t.picks {
				if !slices.Contains(candidates, i) && len(candidates) < maxTogether {
					candidates = append(candidates, i)
				}
			}
		}
	}
	if len(mended) == 0 {
		return
	}
	slices.Sort(candidates)
	why := ""
	for size := 1; size <= len(most); size++ {
		for _, picks := range coversOf(candidates, size, mended) {
			cure, refused, _ := c.verify(ask, c.together(picks, mended), true, mended...)
			if cure != nil {
				cure.Defects = len(mended)
				c.report.Cure = cure
				return
			}
			if c.runs.Cut != "" {
				c.report.Cure = &contract.Cure{Why: "not searched to its end", Cut: true}
				return
			}
			why = cmp.Or(why, fmt.Sprintf("under %v %s", fewest.Pick(habitSet(c.habits), picks), refused))
		}
	}
	c.report.Cure = &contract.Cure{Why: c.secrets.Text("no habits here mend them together: " + why)}
}

// Bounds of the search for habits that mend all defects.
const (
	maxTogether = 12 // habits of which sets are made
	maxCovers   = 4  // sets of one size that are tried
)

// coversOf are the sets of a size that mend each of the defects, those first that have the habits that each has alone.
func coversOf(candidates []int, size int, mended []*ailing) (sets [][]int) {
	for mask := range 1 << len(candidates) {
		if bits.OnesCount(uint(mask)) != size {
			continue
		}
		var picks partSet
		for k, i := range candidates {
			if mask>>k&1 == 1 {
				picks = append(picks, i)
			}
		}
		if !slices.ContainsFunc(mended, func(a *ailing) bool { return !a.mendedWithin(picks) }) {
			sets = append(sets, picks)
		}
	}
	chosen := func(picks partSet) (n int) {
		for _, a := range mended {
			if partSet(a.chosen).within(picks) {
				n++
			}
		}
		return n
	}
	slices.SortStableFunc(sets, func(a, b []int) int { return cmp.Compare(chosen(b), chosen(a)) })
	return sets[:min(maxCovers, len(sets))]
}

func (a *ailing) mendedWithin(picks partSet) bool {
	return slices.ContainsFunc(a.tried, func(t attempt) bool { return t.mends() && partSet(t.picks).within(picks) })
}

// together are habits on the tools on which they mend the defects alone, or on which these have their faults.
func (c *curer) together(picks []int, mended []*ailing) habitSet {
	set := fewest.Pick(habitSet(c.habits), picks)
	for k, h := range set {
		var tools []string
		for _, a := range mended {
			for _, own := range a.d.Cure.Habits {
				if own.Name == h.Name {
					tools = append(tools, own.Tools...)
				}
			}
		}
		if len(tools) == 0 {
			for _, a := range mended {
				tools = append(tools, a.targets...)
			}
		}
		set[k] = habitSet{h}.only(tools, c)[0]
	}
	return set
}
