package contract

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/scoring"
	"github.com/shakedown-go/shakedown/scoring/stats"
)

// A fieldTally counts the trials of a field, in their order.
type fieldTally struct {
	Field
	most          int             // trials of the matrix
	last          int             // the trial that was counted last, of a report that is judged
	rate          *stats.SPRT     // nil: it must hold in every trial
	runs          *alikeRuns      // of the scenario
	all, distinct account         // of a promised rate: of all trials, and without copies
	met           map[uint64]bool // by Copy: whether the invariant broke
	unlike        bool            // it broke in one of two equal trials
	stated        bool            // the report says what is distinct, and no cell does
	absent        bool            // the invariant did not apply in a trial
}

// applying leaves out the fields whose invariant applied in no trial.
func applying(all []*fieldTally) []*fieldTally {
	return slices.DeleteFunc(slices.Clone(all), func(t *fieldTally) bool { return t.absent && t.tried() == 0 })
}

func newFieldTally(f Field, most int, runs *alikeRuns) *fieldTally {
	t := &fieldTally{Field: f, most: most, runs: runs}
	if f.AtLeast != 0 {
		t.rate = &stats.SPRT{P0: f.Poor, P1: f.AtLeast, Alpha: alpha, Beta: beta}
	}
	return t
}

// add counts a trial, if the invariant applies in it.
func (t *fieldTally) add(c *CellReport) {
	if c.DoesNotApply {
		t.most--
		t.absent = true
		return
	}
	t.count(c.State, c.Violated, 1)
	t.all.add(c.State, c.Violated, t.rate)
	if !t.isCopy(c) {
		t.distinct.add(c.State, c.Violated, t.rate)
	}
	if t.rate == nil && t.Standing.Decision == stats.Open {
		t.decideEvery()
	}
}

func (t *fieldTally) count(state CellState, violated bool, n int) {
	switch state {
	case Held:
		t.Held += n
		t.Decided += n
	case Broken:
		t.Decided += n
	case Inconclusive:
		t.Inconclusive += n
	case Undelivered:
		t.Undelivered += n
		if violated {
			t.Unprovoked += n
		}
	case NotRun:
		t.NotRun += n
	}
}

// decideEvery decides a field that must hold in every trial.
func (t *fieldTally) decideEvery() {
	switch {
	case t.Decided > t.Held || t.Unprovoked > 0:
		t.Standing.Decision = stats.Rejected
	case t.Held > 0 && t.Inconclusive+t.NotRun == 0 && t.tried() >= t.most:
		t.Standing.Decision = stats.Accepted
	}
}

// after is the standing of the rate after some trials. The counts are valid, and so are
// the rates, which were checked.
func after(rate *stats.SPRT, held, decided int) stats.Standing {
	s, _ := rate.Decide(held, decided)
	return s
}

// left is the number of trials that were not made.
func (t *fieldTally) left() int { return max(0, t.most-t.tried()) }

// needed is a number of trials that are needed whatever their outcomes: before them there
// is no decision. It is 0 for a decided field, and at most most.
func (t *fieldTally) needed(most int) int {
	switch {
	case t.decision() != stats.Open:
		return 0
	case t.rate == nil, t.all.decision != stats.Open: // the next trial may show that none is a copy
		return min(1, most, t.left())
	}
	most = min(most, t.left(), after(t.rate, t.Held, t.Decided).Passes)
	for n := 1; n < most; n++ {
		if after(t.rate, t.Held, t.Decided+n).Decision == stats.Rejected ||
			after(t.rate, t.Undelivered-t.Unprovoked, t.Undelivered+n).Decision == stats.Rejected {
			return n
		}
	}
	return most
}

// expected is about how many further trials decide the field, 1 or more.
func (t *fieldTally) expected() float64 {
	left := float64(t.left())
	if t.rate != nil {
		a := t.counted()
		left = min(left, after(t.rate, a.held, a.decided).Trials)
	}
	return max(1, left)
}

// field is the field as it is reported.
func (t *fieldTally) field(sequential bool) Field {
	f := t.Field
	f.Standing, f.Copies = stats.Standing{Decision: t.decision()}, t.copies()
	a := t.counted()
	f.Distinct, f.DistinctHeld = 0, 0
	if a.decided < t.Decided {
		f.Distinct, f.DistinctHeld = a.decided, a.held
	}
	if t.rate != nil {
		f.DecidedAfter, f.HeldThen = a.after, a.heldThen
	}
	switch {
	case f.Copies:
	case f.Standing.Decision != stats.Open:
		if sequential {
			f.Saved = t.left()
		}
	case t.rate != nil:
		f.Standing = after(t.rate, a.held, a.decided)
		f.Standing.Decision = stats.Open
	default:
		f.Standing.Passes, f.Standing.Trials = t.left(), float64(t.left())
	}
	if f.Decided > 0 {
		interval := stats.ClopperPearson
		if sequential {
			interval = stats.AnyTime
		}
		f.Interval, _ = interval(a.held, a.decided, scoring.Level95) // there are trials, so it has no error
	}
	return f
}

// ran reports whether something was seen of the field that its verdict depends on.
func (f *Field) ran() bool { return f.Decided+f.Inconclusive > 0 }

// breaksAnyway reports whether a rate broke without a delivered fault, and not so seldom that
// the rate would be accepted there.
func (f *Field) breaksAnyway() bool {
	t := newFieldTally(*f, 0, nil)
	return f.Unprovoked > 0 && t.rate != nil &&
		after(t.rate, f.Undelivered-f.Unprovoked, f.Undelivered).Decision != stats.Accepted
}

// Judge computes [Report.Fields], ByScenario, Saved and Score from Cells, in the order of
// their trials, or from Counts if the cells were not kept: the order of trials is then not
// known, and the decisions on promised rates remain as they are. It needs the Counts, the
// Goals, and the AtLeast and Poor of Fields. [Matrix.Run] has done it; whoever reads a stored
// report may check it. Where no cell has a Copy, Distinct, DistinctHeld and Copies of Fields
// remain as they are, and so do the decisions on rates of which trials are copies.
//
// Errors are those of [scoring.ContractWith], and a [*FieldError] for each rate in Fields
// that is none, each trial of a cell outside 1…Trials, and each cell that is there twice.
func (r *Report) Judge() error {
	tallies, err := r.tallies()
	if err != nil {
		return err
	}
	return r.judge(tallies)
}

// tallies counts the trials of each field, in the order of Fields and then of the cells.
func (r *Report) tallies() (all []*fieldTally, err error) {
	type place struct{ scenario, invariant string }
	at := make(map[place]*fieldTally, len(r.Fields))
	most := max(r.Trials, 1)
	p := fields.List()
	runs := map[string]*alikeRuns{}
	for _, n := range r.Repeats {
		runs[n.Scenario] = &alikeRuns{unlike: n.differs()}
	}
	put := func(f Field) *fieldTally {
		if runs[f.Scenario] == nil {
			runs[f.Scenario] = new(alikeRuns)
		}
		t := newFieldTally(f, most, runs[f.Scenario])
		at[place{f.Scenario, f.Invariant}], all = t, append(all, t)
		return t
	}
	of := func(scenario, invariant string, severity Severity) *fieldTally {
		if t := at[place{scenario, invariant}]; t != nil {
			return t
		}
		return put(Field{Scenario: scenario, Invariant: invariant, Severity: severity})
	}
	for i := range r.Fields {
		f := &r.Fields[i]
		inv := Invariant{AtLeast: f.AtLeast, Poor: f.Poor}
		inv.checkRate(p, fmt.Sprintf("Fields[%d]", i))
		if at[place{f.Scenario, f.Invariant}] != nil {
			p.Wrong(fmt.Sprintf("Fields[%d]", i), fielderror.Found(f.Scenario+"/"+f.Invariant+" a second time"),
				"each field once")
		}
		put(Field{Scenario: f.Scenario, Invariant: f.Invariant, Severity: f.Severity,
			AtLeast: inv.promised(), Poor: inv.poor()})
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	if len(r.Cells) > 0 {
		err := r.addCells(most, func(c *CellReport) *fieldTally {
			return of(c.Cell.Scenario, c.Cell.Invariant, c.Severity)
		})
		if err != nil {
			return all, err
		}
	}
	for i := range r.Counts {
		if c := &r.Counts[i]; len(r.Cells) == 0 {
			of(c.Scenario, c.Invariant, c.Severity).count(c.State, c.Violated || c.State == Broken, max(c.Count, 1))
		}
	}
	all = applying(all)
	return all, r.state(all, len(r.Cells) > 0)
}

// state takes from the report what its cells, or its counts alone, do not say.
func (r *Report) state(all []*fieldTally, hasCells bool) error {
	p := fields.List()
	stated := make(map[[2]string]int, len(r.Fields))
	for i := range r.Fields {
		stated[[2]string{r.Fields[i].Scenario, r.Fields[i].Invariant}] = i
	}
	for _, t := range all {
		var f Field
		i, there := stated[[2]string{t.Scenario, t.Invariant}]
		if there {
			f = r.Fields[i]
		}
		if hasCells && (f.Distinct == 0 && !f.Copies || len(t.met) > 0) {
			continue
		}
		if t.rate == nil {
			t.decideEvery()
		}
		if t.take(&f); !t.possible() {
			p.Wrong(fmt.Sprintf("Fields[%d].Standing.Decision", i), f.Standing.Decision, "what the counts allow")
		}
	}
	return p.Err()
}

// addCells counts the cells in the order of the trials of their fields, on which decisions
// depend, whatever their own order is.
func (r *Report) addCells(most int, of func(*CellReport) *fieldTally) error {
	type trial struct {
		field *fieldTally
		cell  int
	}
	p := fields.ListUpTo(20)
	trials, sorted := make([]trial, 0, len(r.Cells)), true
	for i := range r.Cells {
		c := &r.Cells[i]
		t, n := of(c), c.Cell.Trial
		if n < 1 || n > most {
			p.Wrong(fmt.Sprintf("Cells[%d].Cell.Trial", i), n, fmt.Sprintf("1 to the %d of Trials", most))
			continue
		}
		sorted = sorted && n > t.last
		trials, t.last = append(trials, trial{t, i}), n
	}
	if !sorted {
		slices.SortStableFunc(trials, func(a, b trial) int {
			return cmp.Compare(r.Cells[a.cell].Cell.Trial, r.Cells[b.cell].Cell.Trial)
		})
		for _, own := range trials {
			own.field.last = 0
		}
	}
	for _, own := range trials {
		c := &r.Cells[own.cell]
		if !sorted && c.Cell.Trial == own.field.last {
			p.Wrong(fmt.Sprintf("Cells[%d].Cell", own.cell), c.Cell.String(), "each cell once")
		}
		own.field.last = c.Cell.Trial
		own.field.add(c)
	}
	return p.Err()
}

// judge fills in what follows from the fields and the counts.
func (r *Report) judge(tallies []*fieldTally) error {
	r.Fields, r.Saved = make([]Field, 0, len(tallies)), 0
	for _, t := range tallies {
		f := t.field(r.Sequential)
		r.Saved += f.Saved
		r.Fields = append(r.Fields, f)
	}
	r.ByScenario = r.byScenario()
	o := &scoring.ContractOptions{AllowInconclusive: r.AllowInconclusive,
		SharedObservations: r.SharedObservations}
	score, err := scoring.ContractWith(r.scored(), o)
	if err != nil && !errors.Is(err, scoring.ErrNoneRan) && !errors.Is(err, scoring.ErrNoDecidedCell) {
		r.Score = score
		r.cancel()
		return err
	}
	verdict, err := scoring.ContractWith(r.withoutRates(), o)
	score.Verdict, score.Why = verdict.Verdict, verdict.Why
	r.Score = score
	r.addFields()
	if r.cancel(); !r.Filtered && !r.Cancelled && r.Score.Verdict != scoring.Fail {
		r.judgeGoals()
	}
	return err
}

// cancel makes a verdict that is not Fail inconclusive if the run was cancelled.
func (r *Report) cancel() {
	if r.Cancelled && r.Score.Verdict != scoring.Fail {
		r.Score.Verdict, r.Score.Why = scoring.Inconclusive, "the run was cancelled"
	}
}

// withoutRates are the counts for the verdict on all but promised rates: a broken trial
// of a rate fails nothing by itself, so it has the lowest severity. One that is not judged
// because its trials are copies has the verdict of its cells.
func (r *Report) withoutRates() []scoring.Cell {
	rates := map[[2]string]bool{}
	for i := range r.Fields {
		if f := &r.Fields[i]; f.AtLeast != 0 && !f.Copies {
			rates[[2]string{f.Scenario, f.Invariant}] = true
		}
	}
	if len(rates) == 0 {
		return r.Counts
	}
	own := append([]scoring.Cell(nil), r.Counts...)
	for i := range own {
		if c := &own[i]; rates[[2]string{c.Scenario, c.Invariant}] && c.Severity > Low {
			c.Severity = Low
		}
	}
	return own
}

// scored are the cells that the score counts: with Sequential one for each field, because
// stopping biases shares of trials.
func (r *Report) scored() []scoring.Cell {
	if !r.Sequential {
		return r.Counts
	}
	scenarios := make(map[string]*scoring.Cell, len(r.Scenarios))
	for i := range r.Counts {
		if c := &r.Counts[i]; scenarios[c.Scenario] == nil {
			scenarios[c.Scenario] = c
		}
	}
	cells := make([]scoring.Cell, 0, len(r.Fields))
	for i := range r.Fields {
		f := &r.Fields[i]
		like := scenarios[f.Scenario]
		if like == nil {
			like = &scoring.Cell{} // a budget ended before its first cell
		}
		c := scoring.Cell{Scenario: f.Scenario, Invariant: f.Invariant, Severity: f.Severity, State: f.state(),
			HasRules: like.HasRules, AllowUndelivered: like.AllowUndelivered}
		switch c.State {
		case Held, Broken:
			c.Delivered = 1
		case Undelivered:
			c.Violated = f.Unprovoked > 0
		}
		cells = append(cells, c)
	}
	return cells
}

// state is the state of a field that counts as one cell.
func (f *Field) state() CellState {
	switch {
	case f.Standing.Decision == stats.Accepted, f.Copies && 0 < f.Held && f.Held == f.Decided:
		return Held
	case (f.Standing.Decision == stats.Rejected || f.Copies) && f.Decided > f.Held:
		return Broken
	case f.AtLeast == 0 && f.Held > 0 && f.Standing.Decision == stats.Open && f.Standing.Passes == 0:
		return Held // in each trial that was decided, as cells count
	case f.Undelivered > 0 && (f.Standing.Decision == stats.Rejected || !f.ran()):
		return Undelivered
	case f.ran():
		return Inconclusive
	}
	return NotRun
}

// addFields adds what follows from promised rates, and from fields that lack trials, to the
// verdict.
func (r *Report) addFields() {
	s := &r.Score
	var rejected, open, lacking []*Field
	rates, accepted, copies := 0, 0, 0
	for i := range r.Fields {
		f := &r.Fields[i]
		rate, d := f.AtLeast != 0, f.Standing.Decision
		switch {
		case rate && d == stats.Rejected && f.Severity == Critical:
			rejected = append(rejected, f)
		case d != stats.Open:
		case f.Copies:
			copies++
		case rate && (f.ran() || f.breaksAnyway() || r.Sequential && f.tried() < r.Trials):
			open = append(open, f)
		case !rate && r.Sequential && f.Standing.Passes > 0:
			lacking = append(lacking, f)
		}
		if rate && (f.ran() || d != stats.Open) {
			rates++
			if d == stats.Accepted {
				accepted++
			}
		}
	}
	switch {
	case s.Verdict == scoring.Fail:
	case len(rejected) > 0:
		s.Verdict, s.Why = scoring.Fail, why(rejected, "critical field")
	case len(open)+len(lacking) > 0:
		if s.Verdict == scoring.Pass {
			s.Why = ""
		}
		s.Verdict = scoring.Inconclusive
		for _, of := range []struct {
			fields []*Field
			noun   string
		}{{open, "open rate"}, {lacking, "field that lacks trials"}} {
			if len(of.fields) > 0 {
				s.Why = strings.TrimPrefix(s.Why+"; "+why(of.fields, of.noun), "; ")
			}
		}
	case s.Verdict == scoring.Pass:
		r.passed(rates, accepted, copies)
	}
}

// passed words the reason of a Pass, in which broken trials of a rate are no breach.
func (r *Report) passed(rates, accepted, copies int) {
	const nothingBroke = "no critical invariant broke"
	partial, held, found := strings.Cut(r.Score.Why, nothingBroke)
	if !found {
		return
	}
	if r.Sequential {
		held = fmt.Sprintf("; %s of %s held", text.Number(r.Score.Passed),
			text.Plural(r.Score.Decided, "decided field"))
	}
	first := nothingBroke
	if rates > 0 {
		first = "no critical invariant failed"
		held += fmt.Sprintf(", %s of %s accepted", text.Number(accepted), text.Plural(rates, "promised rate"))
	}
	if copies > 0 {
		held += fmt.Sprintf(", %s not judged: copies", text.Number(copies))
	}
	r.Score.Why = partial + first + held
}

// why names the first of some fields, says how it stands, and counts the others.
func why(all []*Field, noun string) string {
	s := all[0].String()
	if all[0].Standing.Decision == stats.Rejected {
		s = "critical " + s
	}
	if n := len(all) - 1; n > 0 {
		s += fmt.Sprintf(", and %s more of its kind (%s)", text.Number(n), noun)
	}
	return s
}
