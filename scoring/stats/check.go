package stats

import (
	"fmt"
	"math"

	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/scoring"
)

// A FieldError names an argument that is not allowed: [scoring.FieldError] with the
// package "stats". A function that finds several problems returns all of them,
// joined with [errors.Join].
type FieldError = scoring.FieldError

// fields makes the errors of this package.
const fields = fielderror.Package("stats")

const (
	// mostTrials bounds counts, so that sums of two fit any int and times stay short.
	mostTrials = 1_000_000_000
	// mostProblems bounds the problems that are named for a list of arguments.
	mostProblems = 20
)

// list collects problems with arguments.
type list struct{ *fielderror.List }

func newList() list { return list{fields.ListUpTo(mostProblems)} }

func (l list) level(level float64) {
	l.Demand(level > 0 && level < 1, "level", level, "above 0 and below 1")
}

func (l list) counts(passed, n int) {
	l.Demand(n >= 1 && n <= mostTrials, "n", n, "1 to 1000000000")
	l.Demand(passed >= 0 && passed <= max(n, 0), "passed", passed, "0 to n")
}

func (l list) tallies(field string, tallies []Tally) {
	for i, t := range tallies {
		if !t.allowed() { // to write a path costs more than to check
			l.tally(t.path(field, i), t)
		}
	}
}

// sums checks tallies, and returns their sums.
func (l list) sums(field string, tallies []Tally) (passed, trials int) {
	l.tallies(field, tallies)
	for _, t := range tallies {
		if t.Trials > mostTrials-trials {
			l.Wrong(field, fielderror.Found("more than 1000000000 trials"), "1000000000 trials or fewer in all")
			break
		}
		passed, trials = passed+t.Passed, trials+max(t.Trials, 0)
	}
	return passed, trials
}

func (t Tally) allowed() bool {
	return t.Trials >= 1 && t.Trials <= mostTrials && t.Passed >= 0 && t.Passed <= t.Trials
}

func (l list) tally(path string, t Tally) {
	if !(t.Trials >= 1 && t.Trials <= mostTrials) {
		l.Wrong(path+".Trials", t.Trials, "1 to 1000000000")
	}
	if !(t.Passed >= 0 && t.Passed <= max(t.Trials, 0)) {
		l.Wrong(path+".Passed", t.Passed, "0 to Trials")
	}
}

// path is the place of a tally in a list: by its name, if it has one.
func (t Tally) path(field string, i int) string {
	if t.Name != "" {
		return fmt.Sprintf("%s[%q]", field, t.Name)
	}
	return fmt.Sprintf("%s[%d]", field, i)
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
