package findings

import (
	"github.com/shakedown-go/shakedown/internal/text"
)

// stormRetries is the number of retries in a row that is a storm, and the number of
// retries of an operation from which on its agent runs away.
const stormRetries = 3

// A retrying is what is known of an operation while its calls are read.
type retrying struct {
	last    *call   // of the calls that have ended, the last to end; nil: none has
	running endings // those that have not
	streak  []int   // the retries in a row, behind the failed call before them
	first   *call   // the failed call before them
	row     int     // the retries in a row, and what may be one
	retries int
	maybe   int // calls that may be retries
}

// before returns the last call of the operation that had ended when c began, nil if none
// had.
func (r *retrying) before(c *call) *call {
	r.running.before(c, func(ended *call) {
		if r.last == nil || ended.end >= r.last.end {
			r.last = ended
		}
	})
	return r.last
}

// findRetries finds retries and storms, and with them the verdict.
func (f *finder) findRetries() {
	operations := make([]retrying, len(f.report.Operations))
	for i := range f.calls {
		c := &f.calls[i]
		r := &operations[c.operation]
		switch before := r.before(c); {
		case c.ofHabit:
		case before != nil && before.outcome == failed:
			if len(r.streak) == 0 {
				r.first, r.streak = before, append(r.streak, before.number)
			}
			r.streak = append(r.streak, c.number)
			r.retries++
			r.row++
		case before != nil && before.outcome == unsure:
			f.endStreak(r)
			r.maybe++
			r.row++
			f.doubt(Retry, "How "+before.name()+" ended was not recorded, so the call after it may be a retry.")
		default:
			f.endStreak(r)
			r.row = 0
		}
		if r.row >= stormRetries && len(r.streak)-1 < stormRetries {
			f.doubt(Storm, "How a call of "+c.name()+" ended was not recorded, so there may be a storm.")
		}
		r.running.add(c)
	}
	least, most := 0, 0
	for i := range operations {
		r := &operations[i]
		f.endStreak(r)
		least, most = max(least, r.retries), max(most, r.retries+r.maybe)
		if r.maybe == 0 {
			f.report.Operations[i].Retries = &r.retries
		}
	}
	if verdict := verdictOf(least); len(f.calls) > 0 && verdict == verdictOf(most) {
		f.report.Verdict = &verdict
	}
}

// endStreak makes a finding of the retries in a row.
func (f *finder) endStreak(r *retrying) {
	if len(r.streak) == 0 {
		return
	}
	kind, times := Retry, len(r.streak)-1
	if times >= stormRetries {
		kind = Storm
	}
	f.found(kind, r.streak, "%s was called again %s after it had failed with %s.",
		r.first.name(), timesInARow(times), r.first.failure())
	r.streak = nil
}

func timesInARow(n int) string {
	if n == 1 {
		return "once"
	}
	return text.Number(n) + " times in a row"
}
