package contract

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/shakedown-go/shakedown/internal/glob"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/scoring"
	"github.com/shakedown-go/shakedown/scoring/stats"
)

// A fold makes the report of a matrix of its cells, one after the other in the order of the
// matrix. The run feeds it, and so does whoever reads a run file: what both count is equal.
type fold struct {
	head      *runHead
	report    *Report
	scenarios []*foldScenario
	byName    map[string]*foldScenario
	counts    map[scoring.Cell]int // index into report.Counts
	chaos     *chaosTally          // nil: the score has twins that were left out
	coverage  *coverage
	judges    judgeTally
	warnings  []string                // of runs, in order
	unmet     []unmetRule             // whose targets matched no name so far
	called    map[int]map[string]bool // of points, by the worlds of scenarios
	last      unitKey                 // that a reader added
	gaps      int                     // cells that are left out before those of a reader
}

// A foldScenario is a scenario with what was counted of it so far.
type foldScenario struct {
	*headScenario
	index  int
	asked  int           // the invariants that apply
	fields []*fieldTally // by invariant of the matrix; nil: it does not apply
	runs   alikeRuns
	rules  []ruleTally
	tried  int    // runs of the agent
	failed int    // those of which the agent answered nothing but errors, without faults
	why    string // of the first such run
}

// A ruleTally counts what one rule did.
type ruleTally struct {
	FaultCount
	overlaps  int     // runs in which calls overlapped that it counted
	overlap   overlap // of the first such run
	overlapIn Cell
}

func newFold(h *runHead) *fold {
	f := &fold{head: h, report: h.newReport(), byName: map[string]*foldScenario{}, counts: map[scoring.Cell]int{},
		judges: judgeTally{}, called: map[int]map[string]bool{},
		coverage: &coverage{delivered: map[CoverCount]int{}, called: map[string]bool{}, tools: h.tools()}}
	for i := range h.Scenarios {
		s := &foldScenario{headScenario: &h.Scenarios[i], index: i, fields: make([]*fieldTally, len(h.Invariants))}
		for _, rule := range s.Rules {
			s.rules = append(s.rules, ruleTally{FaultCount: FaultCount{Scenario: s.Name, Rule: rule.Name,
				Target: rule.Target, Fault: rule.Fault}})
			if target, err := glob.Compile(rule.Target); rule.Unmet && err == nil {
				f.unmet = append(f.unmet, unmetRule{s, rule, target})
			}
		}
		f.scenarios, f.byName[s.Name] = append(f.scenarios, s), s
	}
	for k := range h.Invariants {
		inv := &h.Invariants[k]
		for _, name := range inv.askedIn(h) {
			s := f.byName[name]
			s.fields[k] = newFieldTally(Field{Scenario: name, Invariant: inv.Name, Severity: inv.Severity,
				AtLeast: inv.AtLeast, Poor: inv.Poor}, h.Trials, &s.runs)
			if len(s.Questions) > 0 {
				s.fields[k].question = s.Questions[s.asked]
			}
			s.asked++
		}
	}
	if !h.Sequential {
		f.chaos = newChaosTally(f.scenarios)
	}
	return f
}

func (h *runHead) newReport() *Report {
	r := &Report{Name: h.Name, Seed: h.Seed, Trials: h.Trials, SharedObservations: h.Shared,
		StateProbed: h.Probed, Sequential: h.Sequential, Fingerprint: h.Fingerprint, Tools: h.Tools,
		AllowInconclusive: h.AllowInconclusive, head: h}
	r.Scenarios = h.scenarioNames()
	for i := range h.Invariants {
		r.Invariants = append(r.Invariants, h.Invariants[i].Name)
	}
	for _, g := range h.Goals {
		r.Goals = append(r.Goals, GoalCount{Goal: g.Name, Scenarios: g.Scenarios})
	}
	return r
}

func (h *runHead) tools() []string { return slices.Sorted(maps.Keys(h.Tools)) }

// add counts a cell of an invariant of the matrix.
func (f *fold) add(s *foldScenario, invariant int, c *CellReport) {
	r := f.report
	s.fields[invariant].add(c)
	if !c.DoesNotApply {
		f.count(c.scored(s), 1)
		f.chaos.add(c, s, s.fields[invariant].question)
		r.Filtered = r.Filtered || c.State == NotRun
	}
	r.Undecided += asInt(c.Undecided)
	r.Abandoned += asInt(c.Abandoned)
	n := c.notes
	if n == nil {
		return
	}
	if n.Run != nil {
		s.runs.ran(c, n.Run)
		f.addRun(s, n.Run, c.Cell)
	}
	f.judges.add(r, c.Cell, n.Judged)
	for _, said := range n.Warnings {
		f.warn(said)
	}
}

func asInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// addRun counts what one run of the agent showed. c is the cell that was first judged on it.
func (f *fold) addRun(s *foldScenario, n *runNotes, c Cell) {
	for i, note := range n.Rules {
		rule := &s.rules[i]
		add(&rule.Delivered, note.Delivered)
		add(&rule.Undelivered, note.Undelivered)
		rule.Cells += asInt(note.Delivered > 0)
		rule.Fault = cmp.Or(rule.Fault, note.Fault)
	}
	s.tried++
	if n.Failed != "" {
		if s.failed++; s.failed == 1 {
			s.why = fmt.Sprintf("in %v: %s", c, text.Clip(n.Failed, maxFailure))
		}
	}
	f.coverage.add(n)
	f.meet(s.Worlds, n.Points)
	for i := range n.Overlaps {
		rule := &s.rules[slices.IndexFunc(s.Rules, func(r headRule) bool { return r.Name == n.Overlaps[i].Rule })]
		if rule.overlaps++; rule.overlaps == 1 {
			rule.overlap, rule.overlapIn = n.Overlaps[i], c
		}
	}
	for _, found := range n.Goals {
		g := &f.report.Goals[found.Goal]
		add(&g.Of, 1)
		add(&g.Cells, asInt(found.Reached))
		g.Failed = cmp.Or(g.Failed, found.Failed)
	}
	add(&f.report.Dropped, n.Dropped)
}

// finish makes the report of what was added. cancelled reports whether the context of the
// run ended. stated are the fields of a report that is like it; see [fieldTally.field].
func (f *fold) finish(cancelled bool, stated []Field) (*Report, error) {
	r := f.report
	if f.head.Shard != "" && !f.addMissing() {
		f.head.Shard = "" // it has the units of all others
	}
	r.Cancelled, r.Shard = cancelled, f.head.shard()
	r.Judges = ofOneJudge(r.Judges)
	for _, s := range f.scenarios {
		for i := range s.rules {
			r.Faults = append(r.Faults, s.rules[i].FaultCount)
		}
	}
	r.Coverage = f.coverage.rows(len(r.Faults) > 0 && !cancelled && !r.IsPart() && r.Dropped == 0)
	like := map[[2]string]*Field{}
	for i := range stated {
		like[[2]string{stated[i].Scenario, stated[i].Invariant}] = &stated[i]
	}
	r.Fields = nil
	for _, s := range f.scenarios {
		for _, t := range s.fields {
			if t == nil || t.absent && t.tried() == 0 { // the invariant applied in no trial
				continue
			}
			r.Fields = append(r.Fields, t.field(r.Sequential, like[[2]string{t.Scenario, t.Invariant}]))
		}
		r.Repeats = append(r.Repeats, s.runs.repeats(s.Name))
	}
	err := r.judge()
	if chaos, problem := f.chaos.score(r.SharedObservations); problem == nil { // the score above has it too
		r.Chaos = chaos
	}
	if errors.Is(err, scoring.ErrNoDecidedCell) {
		return r, nil // the verdict says so: inconclusive
	}
	return r, err
}

// addMissing counts the cells that a shard leaves to others as not run, and reports whether there are
// any. Of a sequential run nobody knows which trials another shard needs: its fields say what they lack.
func (f *fold) addMissing() (missing bool) {
	for _, s := range f.scenarios {
		for _, t := range s.fields {
			if t == nil || t.left() == 0 || f.head.Sequential && t.decision() != stats.Open {
				continue
			}
			missing = true
			if f.head.Sequential {
				continue
			}
			c := CellReport{Cell: Cell{Scenario: s.Name, Invariant: t.Invariant}, Severity: t.Severity}
			f.count(c.scored(s), t.left())
			f.chaos.addMissing(s, c.scored(s), t.left())
			t.NotRun += t.left()
		}
	}
	return missing
}

func (f *fold) count(cell scoring.Cell, n int) {
	i, seen := f.counts[cell]
	if !seen {
		i = len(f.report.Counts)
		f.counts[cell] = i
		f.report.Counts = append(f.report.Counts, cell)
	}
	f.report.Counts[i].Count += n
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

// add adds a cell. A nil tally, that of a sequential run, and one without rules count nothing. A
// prompt that was rewritten is no fault of a rule.
func (t *chaosTally) add(c *CellReport, s *foldScenario, question int) {
	if t == nil || !t.ruled {
		return
	}
	key := twin{question, c.Cell.Invariant, c.Cell.Trial}
	own := c.scored(s)
	if c.Delivered == c.Rewritten && (own.State == Held || own.State == Broken) {
		own.State, own.Violated, own.Delivered = Undelivered, own.State == Broken, 0
	}
	switch {
	case s.calm():
		if c.State == Broken || c.State == Inconclusive && t.calm[key] != Broken {
			t.calm[key] = c.State
		}
	case len(s.Rules) == 0:
	case s.index < t.lastCalm:
		if t.waiting[key] == nil {
			t.waiting[key] = map[scoring.Cell]int{}
		}
		t.waiting[key][own]++
	default:
		t.count(own, 1, t.calm[key])
	}
}

// addMissing adds n cells that were not run.
func (t *chaosTally) addMissing(s *foldScenario, own scoring.Cell, n int) {
	if t != nil && t.ruled && len(s.Rules) > 0 {
		t.cells[own] += n
	}
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
