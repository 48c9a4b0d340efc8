package contract

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/scoring"
)

// A fold makes the report of a matrix of its cells, one after the other in the order of the
// matrix. The run feeds it, and so does whoever reads a run file: what both count is equal.
type fold struct {
	head      *runHead
	report    *Report
	scenarios []*foldScenario
	counts    map[scoring.Cell]int // index into report.Counts
	chaos     *chaosTally          // nil: the score has twins that were left out
	coverage  *coverage
	judges    judgeTally
	hosts     bool // it warned of hosts
	warn      func(string)
}

// A foldScenario is a scenario with what was counted of it so far.
type foldScenario struct {
	*headScenario
	index  int
	at     []int         // by invariant of the matrix: its place in fields, or -1
	fields []*fieldTally // of the invariants that apply, in order
	runs   alikeRuns
	rules  []ruleTally
}

// A ruleTally counts what one rule did.
type ruleTally struct {
	*FaultCount         // in the report's own list
	matched     bool    // some call, also if no fault was injected
	overlaps    int     // runs in which calls overlapped that it counted
	overlap     overlap // of the first such run
	overlapIn   Cell
}

func newFold(h *runHead, warn func(string)) *fold {
	f := &fold{head: h, report: h.newReport(), counts: map[scoring.Cell]int{}, judges: judgeTally{},
		coverage: newCoverage(h.tools()), warn: warn}
	rules := 0
	for i := range h.Scenarios {
		rules += len(h.Scenarios[i].Rules)
	}
	f.report.Faults = make([]FaultCount, 0, rules) // its elements are pointed to: it must not grow
	for i, placed := range h.placesOfInvariants() {
		s := &foldScenario{headScenario: &h.Scenarios[i], index: i, at: placed}
		for k := range h.Invariants {
			if placed[k] < 0 {
				continue
			}
			inv := &h.Invariants[k]
			s.fields = append(s.fields,
				newFieldTally(Field{Scenario: s.Name, Invariant: inv.Name, Severity: inv.Severity,
					AtLeast: inv.AtLeast, Poor: inv.Poor}, h.Trials, &s.runs))
		}
		for _, rule := range s.Rules {
			f.report.Faults = append(f.report.Faults,
				FaultCount{Scenario: s.Name, Rule: rule.Name, Target: rule.Target, Fault: rule.Fault})
			s.rules = append(s.rules, ruleTally{FaultCount: &f.report.Faults[len(f.report.Faults)-1]})
		}
		f.scenarios = append(f.scenarios, s)
	}
	if !h.Sequential {
		f.chaos = newChaosTally(f.scenarios)
	}
	return f
}

// newReport is a report with what the head says of it.
func (h *runHead) newReport() *Report {
	r := &Report{Name: h.Name, Seed: h.Seed, Trials: h.Trials, SharedObservations: h.Shared,
		StateProbed: h.Probed, Sequential: h.Sequential, Fingerprint: h.Fingerprint, Tools: h.Tools,
		AllowInconclusive: h.AllowInconclusive, head: h}
	for i := range h.Scenarios {
		r.Scenarios = append(r.Scenarios, h.Scenarios[i].Name)
	}
	for i := range h.Invariants {
		r.Invariants = append(r.Invariants, h.Invariants[i].Name)
	}
	for _, g := range h.Goals {
		r.Goals = append(r.Goals, GoalCount{Goal: g.Name, Scenarios: g.Scenarios})
	}
	return r
}

// tools are the names of the tools in order.
func (h *runHead) tools() []string { return slices.Sorted(maps.Keys(h.Tools)) }

// add counts a cell, the at-th of those that apply in its scenario.
func (f *fold) add(s *foldScenario, at int, r *CellReport) {
	rep := f.report
	s.fields[at].add(r)
	if !r.DoesNotApply {
		f.count(r.scored(s))
		f.chaos.add(r, s, at)
		rep.Filtered = rep.Filtered || r.State == NotRun
	}
	for _, own := range []struct {
		is    bool
		count *int
	}{{r.Undecided, &rep.Undecided}, {r.Absorbed, &rep.Absorbed}, {r.Abandoned, &rep.Abandoned}} {
		if own.is {
			*own.count++
		}
	}
	if r.notes == nil {
		return
	}
	if r.notes.Run != nil {
		s.runs.ran(r, r.notes.Run)
		f.addRun(s, r.notes.Run, r.Cell)
	}
	f.judges.add(rep, r.Cell, r.notes.Judged)
	for _, text := range r.notes.Warnings {
		f.warn(text)
	}
}

// addRun counts what one run of the agent showed. c is the cell that was first judged on it.
func (f *fold) addRun(s *foldScenario, n *runNotes, c Cell) {
	for i, note := range n.Rules {
		rule := &s.rules[i]
		rule.matched = rule.matched || note.Matched
		add(&rule.Delivered, note.Delivered)
		add(&rule.Undelivered, note.Undelivered)
		if note.Delivered > 0 {
			rule.Cells++
		}
		if rule.Fault == "" {
			rule.Fault = note.Fault
		}
	}
	f.coverage.add(n)
	for i := range n.Overlaps {
		rule := &s.rules[slices.IndexFunc(s.Rules, func(r headRule) bool { return r.Name == n.Overlaps[i].Rule })]
		if rule.overlaps++; rule.overlaps == 1 {
			rule.overlap, rule.overlapIn = n.Overlaps[i], c
		}
	}
	f.warnOfHosts(n.Hosts, c)
	for _, found := range n.Goals {
		g := &f.report.Goals[found.Goal]
		add(&g.Of, 1)
		switch {
		case found.Reached:
			add(&g.Cells, 1)
		case g.Failed == "":
			g.Failed = found.Failed
		}
	}
	add(&f.report.Dropped, n.Dropped)
}

// count counts a cell, together with equal ones.
func (f *fold) count(cell scoring.Cell) {
	i, seen := f.counts[cell]
	if !seen {
		i = len(f.report.Counts)
		f.counts[cell] = i
		f.report.Counts = append(f.report.Counts, cell)
	}
	f.report.Counts[i].Count++
}

// warnOfOverlaps says where a run may not repeat.
func (f *fold) warnOfOverlaps() {
	for _, s := range f.scenarios {
		for i := range s.rules {
			t := &s.rules[i]
			if t.overlaps == 0 {
				continue
			}
			o := &t.overlap
			lane := ""
			if o.Lane != "" {
				lane = fmt.Sprintf(" of lane %q", o.Lane)
			}
			f.warn(fmt.Sprintf("Rule %s of scenario %s may act on other calls in the next run: it counts calls, and in %s some%s overlapped. In %v it "+
				"matched call %d of %s, which overlapped with call %d of %s. Give each strand of calls a lane (chaos.WithLane), or use a trigger that does not count.",
				t.Rule, s.Name, text.Plural(t.overlaps, "run"), lane, t.overlapIn,
				o.Call+1, o.Target, o.OtherCall+1, o.Other))
		}
	}
}

// warnOfHosts warns once, of the first cell.
func (f *fold) warnOfHosts(hosts []string, cell Cell) {
	if len(hosts) == 0 || f.hosts {
		return
	}
	f.hosts = true
	f.warn(fmt.Sprintf("The names of injection points hold ports that change from run to run, and what is drawn for them changes too: "+
		"in %v the calls went to %s. Give each server a name (chaoshttp.Options.Name).", cell,
		strings.Join(hosts, " and ")))
}

// finish makes the report of what was added. cancelled reports whether the context of the
// run ended. like has what the cells of a file do not say of copies; nil: they say all.
func (f *fold) finish(cancelled bool, like *Report) (*Report, error) {
	r := f.report
	r.Cancelled = cancelled
	r.Coverage = f.coverage.rows(len(r.Faults) > 0 && !cancelled && !r.Filtered && r.Dropped == 0)
	r.Judges = ofOneJudge(r.Judges)
	var tallies []*fieldTally
	for _, s := range f.scenarios {
		tallies = append(tallies, applying(s.fields)...)
		r.Repeats = append(r.Repeats, s.runs.repeats(s.Name))
	}
	if like != nil {
		if err := like.state(tallies, true); err != nil {
			return r, err
		}
	}
	err := r.judge(tallies)
	if chaos, problem := f.chaos.score(r.SharedObservations); problem == nil { // the score above has it too
		r.Chaos = chaos
	}
	if errors.Is(err, scoring.ErrNoDecidedCell) {
		return r, nil // the verdict says so: inconclusive
	}
	return r, err
}

// A chaosTally counts the cells under rules for [Report.Chaos], one after the other in the
// order of the matrix.
type chaosTally struct {
	lastCalm int  // the index of the last calm scenario; -1: there is none
	ruled    bool // there is a scenario with rules

	cells                     map[scoring.Cell]int
	calmBroken, calmUndecided int
	// calm has the calm twins that did not hold: few, so memory does not grow with the
	// number of cells. waiting has the cells of scenarios before the last calm one.
	calm    map[twin]CellState
	waiting map[twin]map[scoring.Cell]int
}

// A twin is what a cell under rules and its calm twin have in common.
type twin struct {
	question  int // prompts and the source of worlds; known answers may differ
	invariant string
	trial     int
}

func newChaosTally(scenarios []*foldScenario) *chaosTally {
	t := &chaosTally{lastCalm: -1, cells: map[scoring.Cell]int{}, calm: map[twin]CellState{},
		waiting: map[twin]map[scoring.Cell]int{}}
	for _, s := range scenarios {
		t.ruled = t.ruled || len(s.Rules) > 0
		if s.calm() {
			t.lastCalm = s.index
		}
	}
	return t
}

// numberQuestions gives each scenario the numbers of what its invariants ask: prompts and the
// source of worlds. Equal numbers are equal questions, and none are 0 alone.
func (e *engine) numberQuestions() (all [][]int) {
	type question struct {
		source  *worldSource
		prompts string
	}
	numbers, questions := map[*promptList]int{}, map[question]int{}
	for _, s := range e.scenarios {
		var own []int
		for _, p := range s.invariants {
			n, known := numbers[p.list]
			if !known {
				q := question{p.list.source, fmt.Sprintf("%q", p.list.prompts)}
				if n, known = questions[q]; !known {
					n = len(questions)
					questions[q] = n
				}
				numbers[p.list] = n
			}
			own = append(own, n)
		}
		all = append(all, own)
	}
	return all
}

// add adds a cell. A nil tally, that of a sequential run, and one without rules count nothing.
func (t *chaosTally) add(r *CellReport, s *foldScenario, at int) {
	if t == nil || !t.ruled {
		return
	}
	key := twin{s.question(at), r.Cell.Invariant, r.Cell.Trial}
	switch {
	case s.calm():
		if r.State == Broken || r.State == Inconclusive && t.calm[key] != Broken {
			t.calm[key] = r.State
		}
	case len(s.Rules) == 0:
	case s.index < t.lastCalm:
		if t.waiting[key] == nil {
			t.waiting[key] = map[scoring.Cell]int{}
		}
		t.waiting[key][r.underRules(s)]++
	default:
		t.count(r.underRules(s), 1, t.calm[key])
	}
}

// underRules is the cell as the chaos score counts it. A prompt that was rewritten is no
// fault of a rule.
func (r *CellReport) underRules(s *foldScenario) scoring.Cell {
	c := r.scored(s)
	if r.Delivered == r.Rewritten && (c.State == Held || c.State == Broken) {
		c.State, c.Violated, c.Delivered = Undelivered, c.State == Broken, 0
	}
	return c
}

// count counts n equal cells whose calm twin is in a state; NotRun: it held, or there is
// none.
func (t *chaosTally) count(c scoring.Cell, n int, calm CellState) {
	switch decided := c.State == Held || c.State == Broken; {
	case decided && calm == Broken:
		add(&t.calmBroken, n)
	case decided && calm == Inconclusive:
		add(&t.calmUndecided, n)
	default:
		t.cells[c] += n
	}
}

// score is the score of all cells; nil if no scenario has rules, or the tally is nil.
func (t *chaosTally) score(shared bool) (*scoring.ChaosScore, error) {
	if t == nil || !t.ruled {
		return nil, nil
	}
	for key, cells := range t.waiting {
		for c, n := range cells {
			t.count(c, n, t.calm[key])
		}
	}
	list := make([]scoring.Cell, 0, len(t.cells))
	for c, n := range t.cells {
		c.Count = n
		list = append(list, c)
	}
	score, err := scoring.Chaos(list, t.calmBroken, t.calmUndecided,
		&scoring.ContractOptions{SharedObservations: shared})
	return &score, err
}
