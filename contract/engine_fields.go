package contract

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/scoring"
	"github.com/shakedown-go/shakedown/scoring/stats"
)

// A fieldTally counts the trials of a field, in their order.
type fieldTally struct {
	Field
	question      int             // equal ones: equal prompts, and worlds of one source
	most          int             // trials of the matrix
	rate          *stats.SPRT     // nil: it must hold in every trial
	runs          *alikeRuns      // of the scenario
	all, distinct account         // of all trials, and without copies
	met           map[uint64]bool // by CellReport.Copy: whether the invariant broke
	unlike        bool            // it broke in one of two equal trials
	absent        bool            // the invariant did not apply in a trial
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
	switch c.State {
	case Inconclusive:
		t.Inconclusive++
	case NotRun:
		t.NotRun++
	default:
		t.all.add(c.State, c.Violated, t.rate)
		if !t.isCopy(c) {
			t.distinct.add(c.State, c.Violated, t.rate)
		}
	}
	a := &t.all
	t.Held, t.Decided, t.Undelivered, t.Unprovoked = a.held, a.decided, a.undelivered, a.unprovoked
	if t.rate == nil && t.Standing.Decision == stats.Open {
		t.decideEvery()
	}
}

// isCopy reports whether a trial met what an earlier one met.
func (t *fieldTally) isCopy(c *CellReport) bool {
	if c.Copy == 0 || t.most == 1 {
		return false
	}
	violated, seen := t.met[c.Copy]
	if !seen {
		if t.met == nil {
			t.met = map[uint64]bool{}
		}
		if len(t.met) < mostMet {
			t.met[c.Copy] = c.Violated
		}
		return false
	}
	t.unlike = t.unlike || violated != c.Violated
	return true
}

// counted is the account of the trials that count: all, if two equal ones were seen to differ.
func (t *fieldTally) counted() *account {
	if t.unlike || t.runs.unlike {
		return &t.all
	}
	return &t.distinct
}

func (t *fieldTally) decision() stats.Decision {
	if t.rate == nil {
		return t.Standing.Decision
	}
	return t.counted().decision
}

// copies reports whether a promised rate is not judged because its trials are copies.
func (t *fieldTally) copies() bool {
	if t.rate == nil || t.Decided+t.Unprovoked == 0 {
		return false
	}
	a := t.counted()
	one := a.decided <= 1 && a.undelivered <= 1
	enough := t.all.decision != stats.Open && a.held == a.decided && a.unprovoked == 0
	return a.decision == stats.Open && (one || enough) &&
		(a.decided < t.all.decided || a.undelivered < t.all.undelivered)
}

// field is the field as it is reported. What the cells of a report that is like it do not say of
// copies, it has from there: a file without evidence has no hashes.
func (t *fieldTally) field(sequential bool, like *Field) Field {
	f := t.Field
	if like != nil && (like.Distinct > 0 || like.Copies) && len(t.met) == 0 {
		f.Distinct, f.DistinctHeld, f.Copies, f.Saved = like.Distinct, like.DistinctHeld, like.Copies, like.Saved
		f.Interval, f.Standing = like.Interval, like.Standing
		f.DecidedAfter, f.HeldThen = like.DecidedAfter, like.HeldThen
		return f
	}
	f.Standing, f.Copies = stats.Standing{Decision: t.decision()}, t.copies()
	a := t.counted()
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

// brokeAndIsOpen reports whether a trial of a promised rate broke that is not decided.
func (f Field) brokeAndIsOpen() bool {
	return f.AtLeast != 0 && !f.Copies && f.Standing.Decision == stats.Open && f.Held < f.Decided+f.Unprovoked
}

// breaksAnyway reports whether a rate broke without a delivered fault, and not so seldom that
// the rate would be accepted there.
func (f *Field) breaksAnyway() bool {
	t := newFieldTally(*f, 0, nil)
	return f.Unprovoked > 0 && t.rate != nil &&
		after(t.rate, f.Undelivered-f.Unprovoked, f.Undelivered).Decision != stats.Accepted
}

// Judge computes [Report.Fields], ByScenario, Saved and Score anew from Cells, in any order, and
// from Counts and Goals. [Matrix.Run] has done it; whoever changed a report, or joined it from
// parts, may do it again. Without Cells, as with [KeepCounts], the Fields remain as they are.
// Where no cell has a Copy, what Fields say of copies remains.
//
// Errors are those of [scoring.Contract], and a [*FieldError] for a cell that the report
// does not name, or that is there twice.
func (r *Report) Judge() error {
	if len(r.Cells) > 0 {
		h, err := r.headOrMade()
		if err != nil {
			return err
		}
		f := newFold(h)
		units, err := f.unitsOf(r.Cells)
		if err != nil {
			return err
		}
		f.addAll(units)
		again, _ := f.again(r) // the error is that of the score, which follows
		r.Fields = again.Fields
	}
	return r.judge()
}

// judge fills in what follows from the fields and the counts.
func (r *Report) judge() error {
	r.Saved = 0
	for i := range r.Fields {
		r.Saved += r.Fields[i].Saved
	}
	r.ByScenario = r.byScenario()
	o := &scoring.ContractOptions{AllowInconclusive: r.AllowInconclusive,
		SharedObservations: r.SharedObservations}
	score, err := scoring.Contract(r.scored(), o)
	r.Score = score
	if err == nil || errors.Is(err, scoring.ErrNoneRan) || errors.Is(err, scoring.ErrNoDecidedCell) {
		var verdict scoring.ContractScore
		verdict, err = scoring.Contract(r.withoutRates(), o)
		r.Score.Verdict, r.Score.Why = verdict.Verdict, r.partWhy(&verdict)
		r.addFields()
		if r.Sequential { // the score counts fields
			r.Score.Why = strings.Replace(r.Score.Why, " cells", " fields", asInt(r.IsPart()))
		}
		if !r.IsPart() && !r.Cancelled && r.Score.Verdict != scoring.Fail {
			r.judgeGoals()
		}
	}
	if r.Cancelled && r.Score.Verdict != scoring.Fail {
		r.Score.Verdict, r.Score.Why = scoring.Inconclusive, "the run was cancelled"
	}
	return err
}

// partWhy is the reason of a verdict. In a part it has the cells that did not apply, because other parts do not know
// which: so all of them name the number of the cells of the matrix.
func (r *Report) partWhy(s *scoring.ContractScore) string {
	if !r.IsPart() || r.Sequential || r.head == nil {
		return s.Why
	}
	absent := -s.Total
	for i := range r.head.Invariants {
		absent += len(r.head.Invariants[i].askedIn(r.head)) * r.head.Trials
	}
	if absent <= 0 {
		return s.Why
	}
	in := func(absent int) string {
		return fmt.Sprintf(" in %s of %s", text.Number(s.Total-s.NotRun+absent), text.Plural(s.Total+absent, "cell"))
	}
	if s.Total == s.NotRun {
		return "nothing broke" + in(absent)
	}
	return strings.Replace(s.Why, in(0), in(absent), 1)
}

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

// An account counts trials of a promised rate, and has the first decision on them.
type account struct {
	held, decided           int
	undelivered, unprovoked int
	decision                stats.Decision
	after, heldThen         int // decided and held at the decision
}

func (a *account) add(state CellState, violated bool, rate *stats.SPRT) {
	switch state {
	case Held:
		a.held++
		a.decided++
	case Broken:
		a.decided++
	case Undelivered:
		a.undelivered++
		if violated {
			a.unprovoked++
		}
	default:
		return
	}
	if rate == nil || a.decision != stats.Open {
		return
	}
	if d := after(rate, a.held, a.decided).Decision; d != stats.Open {
		a.decision, a.after, a.heldThen = d, a.decided, a.held
	} else if after(rate, a.undelivered-a.unprovoked, a.undelivered).Decision == stats.Rejected {
		a.decision = stats.Rejected
	}
}

func (r *Report) judgeGoals() {
	var missed []string
	for i := range r.Goals {
		switch g := &r.Goals[i]; {
		case g.Failed != "":
			missed = append(missed, fmt.Sprintf("goal %q failed: %s", g.Goal, g.Failed))
		case g.Cells == 0:
			missed = append(missed, fmt.Sprintf("goal %q was reached in none of %s", g.Goal, text.Plural(g.Of, "run")))
		}
	}
	if len(missed) == 0 {
		return
	}
	if r.Score.Verdict == scoring.Inconclusive {
		missed = slices.Insert(missed, 0, r.Score.Why)
	}
	r.Score.Verdict, r.Score.Why = scoring.Inconclusive, strings.Join(missed, "; ")
}
