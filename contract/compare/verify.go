package compare

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/document"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/scoring"
	"github.com/shakedown-go/shakedown/scoring/stats"
)

// A Verification reports whether the report of a run is true; see [Verify].
type Verification struct {
	// Verdict is Fail if the report is not what its matrix shows, and Inconclusive if that is open.
	Verdict  scoring.Verdict `json:"verdict"`
	Units    int             `json:"units"`    // of the report
	Drawn    int             `json:"drawn"`    // units that ran again
	Compared int             `json:"compared"` // of them, those of which each cell was compared
	Cells    int             `json:"cells"`    // that were compared
	// Repeatable reports whether a cell that differs proves something: the report says that the
	// agent repeats itself, and no two runs of a trial show otherwise.
	Repeatable bool `json:"repeatable"`
	// Caught is the least share of forged units that would have been found with 95 %: without
	// Repeatable, of units that break. 0: each unit was compared. 1: no share at all.
	Caught    float64        `json:"caught"`
	Differ    []VerifiedCell `json:"differ,omitempty"`    // the cells that differ
	Undecided []VerifiedCell `json:"undecided,omitempty"` // for a reason that is not their check's
	// Rates are the fields, and the units as one more, in which a report that cannot be compared
	// cell by cell promises too much: Regression is set.
	Rates []Field `json:"rates,omitempty"`
	// Lacks counts the cells of the matrix that the report does not have, and Part reports
	// whether it says so.
	Lacks int  `json:"lacks,omitempty"`
	Part  bool `json:"part,omitempty"`
	// Shared reports whether all cells were in one world without a Reset. What one did may be why
	// another broke, so neither a cell that differs nor a rate proves something.
	Shared bool `json:"shared,omitempty"`

	tested int // fields, with the units as one more
}

// A VerifiedCell is a cell as it is in the report, and as it was when it ran again.
type VerifiedCell struct {
	File  *contract.CellReport `json:"file"`
	Again *contract.CellReport `json:"again"`
}

// falseAccusation is the chance, at most, that rates accuse a true report: none of 1,000 is.
const falseAccusation = 0.0001

// Verify reports whether a report, such as that of a run file, is true, by those of its units that ran
// again ([contract.Matrix.RunAgain]). Their cells must have the states and the reasons of the file.
// Numbers in reasons do not count: ports and durations differ. A cell that was not decided, there or
// here, for a reason that is not its check's is no difference. 60 units show 5 % forged ones with 95 %.
// A report that lacks cells, and is neither a part nor sequential, is not true either.
//
// If the file does not say that the agent repeats itself, a cell that differs proves nothing. Then
// Verify asks whether the file has too few broken units, and too few broken trials in a field:
// [stats.FisherExact] with Holm's method over all of these. At most 1 of 10,000 true reports fails. A file that passes,
// and whose units fail now, is never confirmed.
// Evidence, goals, coverage and what a search found are not verified.
//
// Errors: [*FieldError], joined, for reports that [Reports] refuses.
func Verify(file, again *contract.Report) (*Verification, error) {
	p := fields.List()
	was, is := tableOf(file, "file", p), tableOf(again, "again", p)
	if err := p.Err(); err != nil {
		return nil, err
	}
	v := &Verification{Part: file.Cancelled || file.IsPart() || file.Sequential, Shared: again.StateProbed}
	v.Repeatable = file.Repeatable == "yes" && !v.Shared && !differed(file) && !differed(again)
	units := v.compare(file, again)
	var err error
	switch {
	case !v.Repeatable:
		err = v.rates(was, is, units, file.Sequential)
	case v.Compared < v.Units || v.Units == 0:
		v.Caught, err = leastShare(1, v.Compared)
	}
	switch {
	case v.Repeatable && len(v.Differ) > 0, len(v.Rates) > 0 && !v.Shared, v.Lacks > 0 && !v.Part:
		v.Verdict = scoring.Fail
	case file.Score.Verdict == scoring.Pass && again.Score.Verdict == scoring.Fail: // by chance or not
	case len(v.Undecided) == 0 && len(v.Rates) == 0 && v.Caught < 1:
		v.Verdict = scoring.Pass
	}
	return v, err
}

// differed reports whether two runs of one trial that met the same were not alike.
func differed(r *contract.Report) bool {
	return slices.ContainsFunc(r.Repeats, func(n contract.RepeatCount) bool { return n.Differ != "" })
}

// A unit is what its cells show: in the file, and when it ran again.
type unit struct {
	ran, open, broke [2]bool
	undecided        bool // one of its cells
}

func (u *unit) add(side int, c *contract.CellReport) {
	u.ran[side], u.open[side], u.broke[side] = true, u.open[side] || open(c), u.broke[side] || c.Violated
}

// compare compares the cells that ran again, and returns how many units are without a broken cell.
func (v *Verification) compare(file, again *contract.Report) Field {
	ranAgain, units := map[contract.Cell]*contract.CellReport{}, map[contract.Cell]*unit{}
	for i := range again.Cells {
		ranAgain[again.Cells[i].Cell] = &again.Cells[i]
	}
	v.Lacks = len(ranAgain)
	for i := range file.Cells {
		c := &file.Cells[i]
		is, at := ranAgain[c.Cell], contract.Cell{Scenario: c.Cell.Scenario, Trial: c.Cell.Trial}
		if !ran(c) || is == nil {
			continue
		}
		u := cmp.Or(units[at], new(unit))
		units[at] = u
		v.Lacks--
		if u.add(0, c); !ran(is) {
			continue
		}
		u.add(1, is)
		switch v.Cells++; {
		case same(c, is):
		case open(c) || open(is):
			v.Cells--
			v.Undecided, u.undecided = append(v.Undecided, VerifiedCell{c, is}), true
		default:
			v.Differ = append(v.Differ, VerifiedCell{c, is})
		}
	}
	var counts [2]Counts
	for _, u := range units {
		for side := range counts {
			counts[side].Decided += asInt(u.ran[side] && !u.open[side])
			counts[side].Held += asInt(u.ran[side] && !u.open[side] && !u.broke[side])
		}
		v.Drawn += asInt(u.ran[1])
		v.Compared += asInt(u.ran[1] && !u.undecided)
	}
	v.Units = len(units)
	return Field{Scenario: "all units", Invariant: "no broken cell", Before: counts[0], After: counts[1]}
}

func asInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func ran(c *contract.CellReport) bool { return c.State != contract.NotRun || c.DoesNotApply }

// open reports whether a cell was not decided for a reason that is not its check's.
func open(c *contract.CellReport) bool { return c.State == contract.Inconclusive && !c.Undecided }

// same compares reasons where both sides have one: a file without evidence has none.
func same(a, b *contract.CellReport) bool {
	why := func(c *contract.CellReport) string { return text.WithoutNumbers(text.Valid(c.Why)) }
	return a.State == b.State && a.Violated == b.Violated && (a.Why == "" || b.Why == "" || why(a) == why(b))
}

// rates finds where the file has too few broken trials, and what would have been found.
func (v *Verification) rates(was, is *table, units Field, sequential bool) error {
	v.Caught = 1
	if sequential || units.Before.Decided == 0 || units.After.Decided == 0 {
		return nil // trials that stopped themselves have other shares
	}
	all := []Field{units}
	for _, at := range was.order {
		if now := is.sides[at]; now != nil {
			all = append(all, fieldOf(at, was.sides[at], now, false, &Options{Before: "in the file", After: "now"}))
		}
	}
	var err error
	if v.tested, err = adjust(all, falseAccusation); err != nil {
		return err
	}
	for i := range all {
		if all[i].Regression {
			v.Rates = append(v.Rates, all[i])
		}
	}
	n := units.After.Decided
	broken := sort.Search(n+1, func(broken int) bool {
		p, failed := stats.FisherExact(stats.Tally{Passed: units.Before.Held, Trials: units.Before.Decided},
			stats.Tally{Passed: n - broken, Trials: n})
		err = cmp.Or(err, failed)
		return p.Worse*float64(v.tested) <= falseAccusation
	})
	if err == nil && broken <= n {
		v.Caught, err = leastShare(broken, n)
	}
	return err
}

// leastShare is the share of units of which n that are drawn have so many at least with 95 %.
func leastShare(least, n int) (float64, error) {
	if n == 0 || least == 0 {
		return float64(1 - asInt(n > 0)), nil
	}
	bound, err := stats.ClopperPearson(least-1, n, 2*scoring.Level95-1)
	return bound.High, err
}

const mostVerified = 10 // cells of a kind in the text

// String says what was compared, what differs with both states and reasons, and what that is worth.
func (v *Verification) String() string {
	var b strings.Builder
	say := func(format string, args ...any) { b.WriteString(document.Clean(fmt.Sprintf(format, args...)) + "\n") }
	say("%s of %s ran again, %s of them compared: %d not as in the file.", text.Number(v.Drawn),
		text.Plural(v.Units, "unit"), text.Plural(v.Cells, "cell"), len(v.Differ))
	for i, cells := range [][]VerifiedCell{v.Differ, v.Undecided} {
		if len(cells) > 0 {
			say("%s %s:", text.Plural(len(cells), "cell"), []string{"not as in the file", "undecided"}[i])
		}
		for _, c := range cells[:min(len(cells), mostVerified)] {
			say("  %v: %s in the file, %s now", c.File.Cell, outcome(c.File), outcome(c.Again))
		}
	}
	if len(v.Differ) > 0 && !v.Repeatable {
		say("That proves nothing, because the agent is not known to repeat itself.")
	}
	if v.Shared {
		say("The world has no Reset, so what one cell did may be why another broke.")
	}
	for i := range v.Rates {
		f := &v.Rates[i]
		say("The file promises too much: %s / %s: %s", f.Scenario, f.Invariant, f.line("in the file", "now", v.tested))
	}
	if v.Lacks > 0 {
		say("The file lacks %s of its matrix%s.", text.Plural(v.Lacks, "cell"),
			map[bool]string{true: ", as a part does", false: ", and does not say that it is a part"}[v.Part])
	}
	switch {
	case v.Caught == 0:
		say("Every unit was compared.")
	case v.Caught == 1:
		say("So few runs show nothing, whatever the file says.")
	case v.Repeatable:
		say("If %.1f %% of the units were forged, one would have been found with 95 %%.", 100*v.Caught)
	default:
		say("If %.1f %% of the units broke, and the file did not say so, that would have been found with 95 %%.", 100*v.Caught)
	}
	say("%v: %s.", v.Verdict, []string{"the file may be true or not", "nothing contradicts the file",
		"the file is not what its matrix shows"}[min(v.Verdict, scoring.Fail)])
	return b.String()
}

func outcome(c *contract.CellReport) string {
	if c.Why == "" {
		return c.State.String()
	}
	return fmt.Sprintf("%v (%s)", c.State, text.Quote(c.Why, 200))
}
