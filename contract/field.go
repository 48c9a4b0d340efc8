package contract

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/scoring"
	"github.com/shakedown-go/shakedown/scoring/stats"
)

// A Field is all trials of an invariant in a scenario: one field of the table. Trials
// that were not needed, or that a cancelled run or a budget left out, are in none of its
// counts.
type Field struct {
	Scenario  string   `json:"scenario"`
	Invariant string   `json:"invariant"`
	Severity  Severity `json:"severity"`
	// AtLeast is the promised rate, and Poor the one that must not pass for it; see
	// [Invariant.AtLeast]. 0: the invariant must hold in every trial.
	AtLeast float64 `json:"atLeast,omitempty"`
	Poor    float64 `json:"poor,omitempty"`
	// Held and Decided count trials: those that held, of those that held or broke.
	Held    int `json:"held"`
	Decided int `json:"decided"`
	// Inconclusive, Undelivered and NotRun count trials in these states. Unprovoked
	// counts those among Undelivered in which the invariant broke all the same.
	Inconclusive int `json:"inconclusive,omitempty"`
	Undelivered  int `json:"undelivered,omitempty"`
	Unprovoked   int `json:"unprovoked,omitempty"`
	NotRun       int `json:"notRun,omitempty"`
	// Distinct counts the decided trials without copies, and DistinctHeld those of them that
	// held. Two trials are copies if their runs were equal ([CellReport.Copy]), while the agent
	// was not seen to differ in the scenario ([RepeatCount].Alike), nor the outcome of equal
	// trials. 0 both: no two decided trials are copies, and each counts.
	Distinct     int `json:"distinct,omitempty"`
	DistinctHeld int `json:"distinctHeld,omitempty"`
	// Copies reports whether a promised rate is not judged because its trials are copies: of
	// one trial alone, or of a few that all held, where as many trials that are none would have
	// decided. Its cells then count as those of an invariant without AtLeast.
	Copies bool `json:"copies,omitempty"`
	// Interval is the 95 % interval of Held/Decided, without copies: [stats.AnyTime] with
	// [Report.Sequential], because a share of trials that stopped themselves is biased;
	// else [stats.ClopperPearson]. It is zero, and absent in JSON, when no trial was decided.
	Interval scoring.Interval `json:"interval,omitzero"`
	// Standing is the decision, and what is lacking for one.
	//
	// Without AtLeast the field is rejected when the invariant broke in some trial, also
	// in one without a delivered fault, and accepted when each trial was made, at least
	// one held, and none was inconclusive. Passes and Trials are then the trials that were
	// not made.
	//
	// With AtLeast it is that of [stats.SPRT] over the decided trials, in their order,
	// without copies, with error rates of 5 %. The first decision stands. Trials without a
	// delivered fault are tested apart: they may reject the field, and do not help to accept it.
	Standing stats.Standing `json:"standing"`
	// DecidedAfter is the number of decided trials, without copies, after which a rate was accepted or
	// rejected, of which HeldThen held. Both are 0 while it is open, without AtLeast, and
	// where it was rejected by trials without a delivered fault.
	DecidedAfter int `json:"decidedAfter,omitempty"`
	HeldThen     int `json:"heldThen,omitempty"`
	// Saved counts the trials that were not needed; see [RunOptions.Sequential].
	Saved int `json:"saved,omitempty"`
}

// tried counts the trials that the report has.
func (f *Field) tried() int { return f.Decided + f.Inconclusive + f.Undelivered + f.NotRun }

// Counted are the trials that intervals, promised rates and pass^k count: Held and Decided
// without copies.
func (f *Field) Counted() (held, decided int) {
	if f.Distinct > 0 {
		return f.DistinctHeld, f.Distinct
	}
	return f.Held, f.Decided
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

// one reports whether there is one decided trial at most, and one undelivered.
func (a *account) one() bool { return a.decided <= 1 && a.undelivered <= 1 }

// isCopy reports whether a trial met what an earlier one met.
func (t *fieldTally) isCopy(c *CellReport) bool {
	if c.Copy == 0 || t.most == 1 || c.State == NotRun || c.State == Inconclusive {
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

// decision is the one on the trials that count.
func (t *fieldTally) decision() stats.Decision {
	if t.rate == nil {
		return t.Standing.Decision
	}
	return t.counted().decision
}

// copies reports whether a promised rate is not judged because its trials are copies.
func (t *fieldTally) copies() bool {
	switch {
	case t.stated || t.rate == nil:
		return t.Copies
	case t.Decided+t.Unprovoked == 0:
		return false
	}
	a := t.counted()
	enough := t.all.decision != stats.Open && a.held == a.decided && a.unprovoked == 0
	return a.decision == stats.Open && (a.one() || enough) &&
		(a.decided < t.all.decided || a.undelivered < t.all.undelivered)
}

// take takes from a report what the counts do not say: which trials are copies, and what was
// decided on a rate.
func (t *fieldTally) take(f *Field) {
	t.stated, t.Copies = true, f.Copies && t.rate != nil
	t.all = account{held: t.Held, decided: t.Decided, undelivered: t.Undelivered, unprovoked: t.Unprovoked}
	if t.rate != nil {
		t.all.decision, t.all.after, t.all.heldThen = f.Standing.Decision, f.DecidedAfter, f.HeldThen
	}
	t.distinct = t.all
	if f.Distinct > 0 {
		t.distinct.held, t.distinct.decided = f.DistinctHeld, f.Distinct
	}
}

// possible reports whether some order of the trials leads to the stated decision, and whether
// so many of them may be copies.
func (t *fieldTally) possible() bool {
	a := t.counted()
	if a.held < 0 || a.held > t.Held || a.decided-a.held < 0 || a.decided-a.held > t.Decided-t.Held {
		return false
	}
	if t.rate == nil {
		return true
	}
	d, n := a.decision, a.after
	switch {
	case t.Copies:
		return n == 0 && a.heldThen == 0 && d == stats.Open && t.Decided+t.Undelivered > 1
	case n == 0 && d == stats.Open:
		return a.heldThen == 0 && after(t.rate, a.held, a.decided).Decision == stats.Open &&
			(a.decided < t.Decided ||
				after(t.rate, a.undelivered-a.unprovoked, a.undelivered).Decision != stats.Rejected)
	case n == 0:
		return a.heldThen == 0 && d == stats.Rejected && after(t.rate, 0, a.unprovoked).Decision == stats.Rejected
	}
	last := 0 // held of the trial that decided
	if d == stats.Accepted {
		last = 1
	}
	return a.heldThen >= last && a.heldThen <= min(n, a.held) && n-a.heldThen <= a.decided-a.held &&
		d != stats.Open && after(t.rate, a.heldThen, n).Decision == d &&
		after(t.rate, a.heldThen-last, n-1).Decision == stats.Open
}

// A Budget limits what a sequential run spends; see [RunOptions.Sequential]. The zero
// value is no limit. It is spent in rounds of at most 16 trials, however many workers
// there are. In each round are the open fields with the greatest weight of their severity
// ÷ expected further trials, and not more of them than what is left of Trials and Cost can
// be expected to decide. When a limit is reached, no further round begins. The
// fields that are then open say how many trials they lack, and the verdict is not Pass.
//
// With [Matrix.ShareObservations] a trial is that of a scenario, judged by all its
// invariants. Calm runs are not counted.
type Budget struct {
	_ struct{}
	// Trials is the most trials. Those that [Harness.Around] leaves out do not count. 0: no
	// limit.
	Trials int
	// Time is the real time after which no further round begins. Two runs with the same
	// seed may then differ. 0: no limit.
	Time time.Duration
	// Cost is the sum of CostOf, and of what judges cost, after which no further round
	// begins. 0: no limit.
	Cost float64
	// CostOf returns the cost of a run of the agent, 0 or more, in the unit of Cost. It
	// gets the report of the cell that was first judged on the run, one call at a time. A
	// failure of it, or a cost that is not a number, ends the run as a limit does, with a
	// warning. nil only without Cost.
	CostOf func(*CellReport) float64
}

// set reports whether there is a limit.
func (b *Budget) set() bool { return b.Trials != 0 || b.Time != 0 || b.Cost != 0 || b.CostOf != nil }

func (b *Budget) check(p *fielderror.List, sequential bool) {
	if b.set() && !sequential {
		p.Wrong("RunOptions.Budget", fielderror.Found("set without Sequential"), "a budget only with Sequential")
	}
	if b.Trials < 0 {
		p.Wrong("RunOptions.Budget.Trials", b.Trials, "1 or more, or 0 for no limit")
	}
	if b.Time < 0 {
		p.Wrong("RunOptions.Budget.Time", b.Time, "a duration above 0, or 0 for no limit")
	}
	if !(b.Cost >= 0) || math.IsInf(b.Cost, 1) {
		p.Wrong("RunOptions.Budget.Cost", b.Cost, "a number above 0, or 0 for no limit")
	}
	if (b.Cost != 0) != (b.CostOf != nil) {
		p.Wrong("RunOptions.Budget.CostOf",
			fielderror.Found(fmt.Sprintf("set: %t, beside a Cost of %v", b.CostOf != nil, b.Cost)),
			"a function with Cost, and none without")
	}
}

// The error rates of a promised rate.
const (
	alpha = .05 // the chance to accept a rate of Poor, about
	beta  = .05 // the chance to reject a rate of AtLeast, about
)

// IsRate reports whether the invariant is a promised rate: whether AtLeast is something other
// than every trial. [Field.AtLeast] of its fields is then above 0.
func (inv *Invariant) IsRate() bool { return inv.AtLeast != 0 && inv.AtLeast != 1 }

// promised is the promised rate; 0: every trial.
func (inv *Invariant) promised() float64 {
	if !inv.IsRate() {
		return 0
	}
	return inv.AtLeast
}

// poor is the rate that must not pass for the promised one.
func (inv *Invariant) poor() float64 {
	switch {
	case !inv.IsRate():
		return 0
	case inv.Poor != 0:
		return inv.Poor
	}
	const digits = 1e12 // so that 0.95 gives 0.8
	return math.Round(max(1-4*(1-inv.AtLeast), inv.AtLeast/2)*digits) / digits
}

func (inv *Invariant) checkRate(p *fielderror.List, field string) {
	const least = 1e-5
	if a := inv.AtLeast; !(a == 0 || a == 1 || a >= least && a <= 1-least) {
		p.Wrong(field+".AtLeast", a, "0.00001 to 0.99999, or 0 or 1 for every trial")
		return
	}
	switch {
	case inv.Poor == 0:
	case !inv.IsRate():
		p.Wrong(field+".Poor", inv.Poor, "a rate only with AtLeast, which must be a rate too")
	case !(inv.Poor >= least/2 && inv.AtLeast-inv.Poor >= least/2):
		p.Wrong(field+".Poor", inv.Poor,
			fmt.Sprintf("0.000005 to less than the %v of AtLeast, by 0.000005 or more, or 0 for the default",
				inv.AtLeast))
	}
}

// String says how the field stands, such as "flaky / one-mail: open: 17 of 18 held; 9 more
// passes in a row would accept, about 17 trials at this rate".
func (f Field) String() string { return f.Scenario + " / " + f.Invariant + ": " + f.stands() }

func (f *Field) stands() string {
	d, s := f.Standing.Decision, fmt.Sprintf("%d of %d held", f.Held, f.Decided)
	counted := f.Decided
	if f.AtLeast != 0 && f.Distinct > 0 {
		s += fmt.Sprintf(", %d of %d without copies", f.DistinctHeld, f.Distinct)
		counted = f.Distinct
	}
	switch {
	case f.AtLeast == 0:
		if d == stats.Open && f.Standing.Passes > 0 {
			s = "open: " + s + "; it lacks " + text.Plural(f.Standing.Passes, "trial")
		}
		if f.Unprovoked > 0 {
			s += fmt.Sprintf("; it broke in %d without a delivered fault", f.Unprovoked)
		}
		return s
	case f.Copies:
		if f.Unprovoked > 0 {
			s += fmt.Sprintf("; it broke in %d of %d without a delivered fault", f.Unprovoked, f.Undelivered)
		}
		return "not judged: copies: " + s
	case d == stats.Open:
		rate := "this rate"
		if f.Decided == 0 {
			rate = "the promised rate"
		}
		if f.Unprovoked > 0 {
			s += fmt.Sprintf("; it broke in %d of %d without a delivered fault", f.Unprovoked, f.Undelivered)
		}
		n := f.Standing.Passes
		return fmt.Sprintf("open: %s; %s more %s in a row would accept, about %s at %s", s,
			text.Number(n), text.Noun(n, "pass", "passes"),
			text.Plural(int(math.Ceil(f.Standing.Trials)), "trial"), rate)
	}
	is, not := f.AtLeast, f.Poor
	if d == stats.Rejected {
		is, not = not, is
	}
	rates := fmt.Sprintf("%s and not %s", percent(is), percent(not))
	switch {
	case f.DecidedAfter == 0:
		return fmt.Sprintf("%v: %s of %d without a delivered fault broke: %s", d,
			text.Plural(f.Unprovoked, "trial"), f.Undelivered, rates)
	case f.DecidedAfter < counted:
		return fmt.Sprintf("%v: %d of the first %d held: %s; %s in all", d, f.HeldThen, f.DecidedAfter, rates, s)
	}
	return fmt.Sprintf("%v: %s: %s", d, s, rates)
}

// percent formats a rate with the digits that it has, at most six.
func percent(rate float64) string { return strconv.FormatFloat(100*rate, 'g', 6, 64) + " %" }
