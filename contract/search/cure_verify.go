package search

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/scoring/stats"
)

// verify makes the runs of all cells of defects under habits, of their fewest faults, and of what held. Of equal cells
// it makes one, unless copies are to be run: for a report's only defect, and for all defects together. refused says
// what stands against the habits.
func (c *curer) verify(ask askFunc, set habitSet, copies bool, all ...*ailing) (cure *contract.Cure, refused string) {
	cure = &contract.Cure{Habits: set, Random: c.random}
	for _, a := range all {
		if f := a.fewest; f != nil {
			if said, _ := c.byCalls(ask, f, set, c.needsOf(a.d.Deliveries, nil)); !said.held() {
				return nil, said.of("the run of its fewest faults")
			}
		}
		t, runs := attempt{set: set}, a.cells
		if copies {
			runs = a.each()
		}
		if a.run(ask, &t, runs, proving); !t.mends() {
			return nil, t.refused
		}
		cure.Held, cure.Cells, cure.Fewer = cure.Held+t.held, cure.Cells+t.of, cure.Fewer+t.fewer
		cure.Cost.Calls, cure.Cost.Time = cure.Cost.Calls+t.cost.Calls, cure.Cost.Time+t.cost.Time
		if !c.random {
			cure.Usual += t.usual
			cure.Places = addPlaces(cure.Places, runs, t.holding)
		}
	}
	cure.Cost = mean(cure.Cost, cure.Cells)
	if refused = c.verifyHeld(ask, set, cure, all); refused == "" {
		refused = c.verifyVaried(ask, set, all)
	}
	if refused == "" {
		refused = c.verifyCalm(ask, set, cure, all)
	}
	if refused == "" {
		refused = c.verifyFailing(ask, set, all)
	}
	if refused != "" {
		return nil, refused
	}
	return cure, ""
}

// each has the cells of a defect without copies: each is one of its own.
func (a *ailing) each() (all []brokenCell) {
	for _, at := range a.cells {
		for _, cell := range at.copies {
			own := at
			own.Cell, own.copies = cell, []contract.Cell{cell}
			all = append(all, own)
		}
	}
	return all
}

// verifyFailing makes the runs in which the calls of defects' faults only fail, and in which they time out before the
// work, under habits and without. Habits that keep a failure from the agent may mend a defect, and make the agent tell
// of work that was not done. It makes the first runs of all in one round, since few of them refuse habits.
func (c *curer) verifyFailing(ask askFunc, set habitSet, all []*ailing) (refused string) {
	var first []runRequest
	for _, a := range all {
		for _, f := range a.failing {
			for _, fails := range f.plainFailures() {
				of := f.request(f.set, fails)
				first = append(first, c.with(of, nil), c.with(of, set))
			}
		}
	}
	if len(first) > 0 {
		first[0].Next = first[1:]
		ask(first[0])
	}
	for _, a := range all {
		for _, f := range a.failing {
			if refused == "" {
				refused = c.verifyFailures(ask, set, f)
			}
		}
	}
	return refused
}

// verifyFailures compares the runs in which the calls of some faults fail. What breaks without habits as well must
// break for the same reason.
func (c *curer) verifyFailures(ask askFunc, set habitSet, f *sourceRun) (refused string) {
	for n, fails := range f.plainFailures() {
		where := []string{" where its calls only fail", " where its calls time out before the work"}[n]
		nth := func(set habitSet, n int) runRequest { return c.with(f.request(f.set, fails).numbered(n), set) }
		base, run := c.pair(ask, nth, set, 0)
		if base != nil && run != nil && !c.random && run.Moved(base, targetsOf(base.met)) {
			f = &sourceRun{source: f.exactly(), set: f.set}
			base, run = c.pair(ask, nth, set, 0)
		}
		if base == nil || run == nil {
			return cutShort
		}
		for _, j := range run.States {
			broken := func(base, run *runDigest) (was, is bool) {
				before, now := base.judgedBy(j.Invariant), run.judgedBy(j.Invariant)
				return before.Broke && (!now.Broke || before.Shape == now.Shape), now.Broke
			}
			what := breaks.of(j.Invariant + where)
			switch was, is := broken(base, run); {
			case c.random && c.oftener(ask, nth, set, broken):
				return what + " more often"
			case c.random || was || !is:
			case base.judgedBy(j.Invariant).Broke:
				return what + " for another reason"
			default:
				return what
			}
		}
	}
	return ""
}

// brief is how long a call waits that is to time out, where the fault in its place did not wait: an agent in real time
// would spend most of a search in it.
const brief = 50 * time.Millisecond

// plainFailures are faults in the place of all that have milder ones: they fail, and they time out, before the work.
func (f *sourceRun) plainFailures() (all []map[int]swap) {
	for _, k := range f.set {
		plain := slices.DeleteFunc(ladder(&f.Parts[k]), func(w swap) bool { return w.kind == "lost_reply" })
		for n, w := range plain {
			if n == len(all) {
				all = append(all, map[int]swap{})
			}
			if w.kind == "timeout" && f.Parts[k].Waited == 0 {
				w.wait, w.fault = brief, fault.Timeout(brief)
			}
			all[n][k] = w
		}
	}
	return all
}

// refuses says that a run breaks an invariant, or where it is to be decided, does not decide it; "": neither.
func (s *runDigest) refuses(invariant string, decided bool, what string) string {
	switch j := s.judgedBy(invariant); {
	case j.Broke:
		return breaks.of(what)
	case decided && j.Undecided():
		return undecided.of(what)
	}
	return ""
}

// cutShort stands against habits if the search ends before they are verified. Nobody is told it: the search is cut.
const cutShort = "the search was cut"

// of says what stands against habits under which something has an outcome.
func (o outcome) of(what string) string {
	return map[outcome]string{breaks: what + " breaks", undecided: what + " is not decided",
		unreached: "the faults of " + what + " are undelivered", notAsked: cutShort}[o]
}

// A heldCell is a cell with the other invariants that held in its run.
type heldCell struct {
	contract.Cell
	held  []string
	lived []string // did not break, though no fault was delivered or they were undecided
}

// findHeld lists the runs of the report, of copies one, with what held in them. Of a random agent a field of which a
// cell broke is not among them, since its cells hold now and then: see verifyVaried.
func (c *curer) findHeld() {
	broke := map[[2]string]bool{}
	for i := range c.report.Cells {
		r := &c.report.Cells[i]
		at := [2]string{r.Cell.Scenario, r.Cell.Invariant}
		broke[at] = broke[at] || r.Violated
	}
	runs, copies := map[string]int{}, map[string]bool{}
	for i := range c.report.Cells {
		r := &c.report.Cells[i]
		if broke[[2]string{r.Cell.Scenario, r.Cell.Invariant}] && c.random {
			continue
		}
		if r.Violated || r.State == contract.NotRun {
			continue
		}
		run, copied := c.runOf(r.Cell), c.copyOf(r)
		at, known := runs[run]
		switch {
		case known:
		case copies[copied]:
			continue
		default:
			at, runs[run], copies[copied] = len(c.held), len(c.held), true
			c.held = append(c.held, heldCell{Cell: r.Cell})
		}
		h := &c.held[at]
		if r.State == contract.Held {
			h.held = append(h.held, r.Cell.Invariant)
		} else {
			h.lived = append(h.lived, r.Cell.Invariant)
		}
	}
}

// verifyHeld makes the runs in which nothing broke under habits, and counts them. What stood against other habits comes
// first.
func (c *curer) verifyHeld(ask askFunc, set habitSet, cure *contract.Cure, all []*ailing) (refused string) {
	held := c.held
	var requests []runRequest
	for _, h := range held {
		requests = append(requests, c.own(h.Cell, set))
	}
	inRounds(requests, atOnce)
	for i, h := range held {
		run := ask(requests[i])
		if run == nil {
			return cutShort
		}
		broken := func(base, run *runDigest) (was, is bool) { return h.brokenIn(base) != "", h.brokenIn(run) != "" }
		nth := func(set habitSet, n int) runRequest { return c.nth(h.Cell, set, n) }
		if refused := h.brokenIn(run); refused != "" && (!c.random || c.oftener(ask, nth, set, broken)) {
			c.held = slices.Insert(slices.Delete(slices.Clone(held), i, i+1), 0, h)
			for _, a := range all {
				a.against = &h
			}
			return refused
		}
		cure.Kept++
	}
	return ""
}

// verifyVaried compares, of an agent that does not repeat itself, the fields of which some trials broke and others did
// not: also those within a promised rate. Those of the defects that are to be mended must not break at all.
func (c *curer) verifyVaried(ask askFunc, set habitSet, all []*ailing) (refused string) {
	for i := range c.report.Fields {
		f, trials := &c.report.Fields[i], max(1, c.matrix.Trials)
		mended := slices.ContainsFunc(all, func(a *ailing) bool {
			return slices.ContainsFunc(a.cells, func(b brokenCell) bool {
				return b.Scenario == f.Scenario && b.Invariant == f.Invariant
			})
		})
		brokeIn, not := f.Decided-f.Held+f.Unprovoked, f.Held+f.Inconclusive+f.Undelivered-f.Unprovoked
		if !c.random || mended || brokeIn == 0 || not == 0 {
			continue
		}
		nth := func(set habitSet, n int) runRequest {
			at := contract.Cell{Scenario: f.Scenario, Invariant: f.Invariant, Trial: n%trials + 1}
			return c.nth(at, set, n/trials)
		}
		broken := func(base, run *runDigest) (was, is bool) {
			return base.judgedBy(f.Invariant).Broke, run.judgedBy(f.Invariant).Broke
		}
		if c.oftener(ask, nth, set, broken) {
			return breaks.of(f.Scenario+"/"+f.Invariant) + " more often"
		}
	}
	return ""
}

// verifyCalm makes the runs without faults of the prompts of defects, and counts them: what holds in them without
// habits must hold under them.
func (c *curer) verifyCalm(ask askFunc, set habitSet, cure *contract.Cure, all []*ailing) string {
	lists := map[string]bool{}
	for _, a := range all {
		calm := c.calm(a.cells[0].Cell)
		if lists[calm.Key] {
			continue
		}
		lists[calm.Key] = true
		base, run := ask(c.with(calm, nil)), ask(c.with(calm, set))
		if base == nil || run == nil {
			return cutShort
		}
		for _, j := range base.States {
			if refused := run.refuses(j.Invariant, true, j.Invariant+" without faults"); j.Holds() && refused != "" {
				return refused
			}
		}
		cure.Kept++
		addTo(&cure.Calm, run, base, 1)
	}
	cure.Calm = mean(cure.Calm, len(lists))
	return ""
}

// brokenIn is what of it a run broke, or did not decide; "": nothing.
func (h *heldCell) brokenIn(run *runDigest) (refused string) {
	for k, invariant := range slices.Concat(h.held, h.lived) {
		at := contract.Cell{Scenario: h.Scenario, Invariant: invariant, Trial: h.Trial}
		refused = cmp.Or(refused, run.refuses(invariant, k < len(h.held), at.String()))
	}
	return refused
}

// pair makes the n-th run without habits and the one under them; nil: the search was cut.
func (c *curer) pair(ask askFunc, nth func(habitSet, int) runRequest, set habitSet, n int) (base, run *runDigest) {
	without := nth(nil, n)
	without.Next = []runRequest{nth(set, n)}
	return ask(without), ask(without.Next[0])
}

// worseOf says for [stats.SPRT] which share of the pairs that differ is worse where habits break something more often.
const worseOf = .9

// oftener reports whether runs under habits break more often than those beside them without, of an agent that does not
// repeat itself: by a sequential test of the pairs that differ (A. Wald, Sequential Analysis, 1947, on double
// dichotomies), and if that is open after mostRuns, whether more than twice as many of these do. If the first pairs are
// equal, it makes no further ones. A search that is cut does not clear the habits.
func (c *curer) oftener(ask askFunc, nth func(habitSet, int) runRequest, set habitSet,
	broken func(base, run *runDigest) (was, is bool),
) bool {
	test := stats.SPRT{P0: .5, P1: worseOf, Alpha: trialAlpha, Beta: trialBeta, Max: mostRuns}
	worse, differ := 0, 0
	for n := 0; n < mostRuns && (n < leastCalm || differ > 0); n++ {
		base, run := c.pair(ask, nth, set, n)
		if base == nil || run == nil {
			return true
		}
		was, is := broken(base, run)
		if was == is {
			continue
		}
		if differ++; is {
			worse++
		}
		if standing, err := test.Decide(worse, differ); err != nil || standing.Decision != stats.Open {
			return standing.Decision == stats.Accepted
		}
	}
	return worse > 2*(differ-worse)
}

// learnRate finds out how often the cells of an agent that does not repeat itself break.
func (a *ailing) learnRate(ask askFunc) {
	t := attempt{}
	if !a.sample(ask, &t, 0, mostRuns, func() bool { return t.broke == enoughBreaks }) {
		a.cut()
		return
	}
	if t.broke < enoughBreaks {
		a.none(fmt.Sprintf("no habit tried: without habits its cells broke in %d of %s", t.broke, text.Plural(t.of, "run")))
		return
	}
	a.test = testOf(t.of)
}

// runUntilDecided makes runs of the cells of an agent that does not repeat itself, until a sequential test decides.
// Habits mend only if none breaks.
func (a *ailing) runUntilDecided(ask askFunc, t *attempt, how effort) {
	t.changes, t.refused = true, "in further runs they are not known to"
	first := 0
	if how == proving {
		first = freshRuns
	}
	a.sample(ask, t, first, mostTrials, func() bool {
		standing, err := a.test.Decide(t.of-t.held, t.of)
		t.complete = err == nil && standing.Decision != stats.Open
		return t.complete
	})
}

// sample makes up to so many runs of the cells in turns, from a number on, until they are enough. Those in which the
// faults were not delivered do not count as runs of a cell. ok is false if the search was cut.
func (a *ailing) sample(ask askFunc, t *attempt, first, most int, enough func() bool) (ok bool) {
	for n := range most {
		at := &a.cells[n%len(a.cells)]
		run := ask(a.nth(at.Cell, t.set, first+n/len(a.cells)))
		switch said := outcomeOf(run, nil, at.Invariant, at.needs); said {
		case notAsked:
			return false
		case unreached:
			t.unreached++
			continue
		default:
			t.add(said, 1, run, at.base)
		}
		if enough() {
			return true
		}
	}
	return true
}
