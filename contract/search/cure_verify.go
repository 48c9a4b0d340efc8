package search

import (
	"fmt"
	"math/bits"
	"slices"
	"time"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/fewest"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/scoring/stats"
)

// verify makes the runs of all cells of defects under habits, of their fewest faults, and of what held. Of equal cells
// it makes one, unless copies are to be run: for a report's only defect, and for all defects together. refused says
// what stands against the habits, and own whether it is one of these cells; with neither, the search was cut.
func (c *curer) verify(ask askFunc, set habitSet, copies bool, all ...*ailing) (
	cure *contract.Cure, refused string, own bool,
) {
	cure = &contract.Cure{Habits: set.shown(c.runner.Tools())}
	var total contract.CureCost
	var cells []brokenCell
	for _, a := range all {
		if f := a.fewest; f != nil {
			run := ask(c.with(f.source.request(f.set, f.swaps), set))
			if said := outcomeOf(run, f.source.Cell.Invariant, c.needsOf(a.d.Deliveries, nil)); !said.held() {
				return nil, said.of("the run of its fewest faults"), said != notAsked
			}
			if refused, ok := c.verifyFailures(ask, set, f); !ok {
				return nil, refused, false
			}
		}
		if a.random {
			t := attempt{set: set}
			if a.tryRandom(ask, &t, freshRuns); !t.mends() {
				return nil, "in further runs they are not known to", c.runs.Cut == ""
			}
			cure.Held, cure.Cells, cure.Random = cure.Held+t.held, cure.Cells+t.of, true
			cure.Fewer += t.fewer
			total.Calls += t.cost.Calls * float64(t.of)
			total.Time += t.cost.Time * time.Duration(t.of)
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
				addTo(&total, run, at.base)
			}
		}
		cells = append(cells, a.cells...)
		cure.Held, cure.Cells = cure.Held+len(a.cells), cure.Cells+len(a.cells)
	}
	cure.Places = placesOf(cells, func(int) bool { return true })
	cure.Cost = mean(total, cure.Cells)
	if refused, ok := c.verifyHeld(ask, set, cure, all); !ok {
		return nil, refused, false
	}
	return cure, "", false
}

// verifyFailures makes the run in which the calls of the fewest faults only fail, under habits and without. Habits that
// keep a failure from the agent may mend a defect, and make the agent tell of work that was not done.
func (c *curer) verifyFailures(ask askFunc, set habitSet, f *sourceRun) (refused string, ok bool) {
	fails := map[int]swap{}
	for _, k := range f.set {
		if w := ladder(&f.source.Parts[k]); len(w) > 0 {
			fails[k] = w[0]
		}
	}
	if len(fails) == 0 { // they do no more than that
		return "", true
	}
	of := f.source.request(f.set, fails)
	base, run := ask(c.with(of, nil)), ask(c.with(of, set))
	if base == nil || run == nil {
		return "", false
	}
	for _, j := range base.States {
		if j.Holds() && run.judgedBy(j.Invariant).Broke {
			return breaks.of(j.Invariant + " where its calls only fail"), false
		}
	}
	return "", true
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
		addTo(&cure.Calm, run, base)
	}
	cure.Calm = mean(cure.Calm, len(lists))
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
			run := ask(c.nth(h.Cell, own, n))
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
		run := ask(a.nth(at.Cell, nil, n/len(a.distinct)))
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
		run := ask(a.nth(at.Cell, t.set, first+n/len(a.distinct)))
		switch outcomeOf(run, at.Invariant, at.needs) {
		case notAsked:
			return
		case unreached:
			t.unreached++
			continue
		case holdsWithFewer:
			t.fewer++
			fallthrough
		case holds:
			t.held++
		}
		t.of++
		addTo(&t.cost, run, at.base)
		standing, err := a.test.Decide(t.of-t.held, t.of)
		if t.complete = err == nil && standing.Decision != stats.Open; t.complete {
			break
		}
	}
	t.cost = mean(t.cost, max(1, t.of))
}
