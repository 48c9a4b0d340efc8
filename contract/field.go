package contract

import (
	"fmt"
	"math"
	"strconv"

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
	// held; 0 both: there are no copies. Two trials are copies if their runs were equal
	// ([CellReport.Copy]), and the agent was not seen to differ in the scenario.
	Distinct     int `json:"distinct,omitempty"`
	DistinctHeld int `json:"distinctHeld,omitempty"`
	// Copies reports whether a promised rate is not judged because too few of its trials are no
	// copies. Its cells then count as those of an invariant without AtLeast.
	Copies bool `json:"copies,omitempty"`
	// Interval is the 95 % interval of Held/Decided, without copies: [stats.AnyTime] with
	// [Report.Sequential], else [stats.ClopperPearson]. It is zero when no trial was decided.
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
	// rejected, of which HeldThen held; 0 where trials without a delivered fault rejected it.
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

// The error rates of a promised rate.
const (
	alpha = .05 // the chance to accept a rate of Poor, about
	beta  = .05 // the chance to reject a rate of AtLeast, about
)

// IsRate reports whether the invariant is a promised rate: whether AtLeast is something other
// than every trial. [Field.AtLeast] of its fields is then above 0.
func (inv *Invariant) IsRate() bool { return inv.AtLeast != 0 && inv.AtLeast != 1 }

func (inv *Invariant) promised() float64 {
	if !inv.IsRate() {
		return 0
	}
	return inv.AtLeast
}

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
	broke := ""
	if f.Unprovoked > 0 {
		of := ""
		if f.AtLeast != 0 {
			of = fmt.Sprintf(" of %d", f.Undelivered)
		}
		broke = fmt.Sprintf("; it broke in %d%s without a delivered fault", f.Unprovoked, of)
	}
	n := f.Standing.Passes
	switch {
	case f.AtLeast == 0 && d == stats.Open && n > 0:
		return "open: " + s + "; it lacks " + text.Plural(n, "trial") + broke
	case f.AtLeast == 0:
		return s + broke
	case f.Copies:
		return "not judged: copies: " + s + broke
	case d == stats.Open:
		s += broke
		rate := "this rate"
		if f.Decided == 0 {
			rate = "the promised rate"
		}
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

func percent(rate float64) string { return strconv.FormatFloat(100*rate, 'g', 6, 64) + " %" }
