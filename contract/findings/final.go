package findings

import (
	"slices"

	"github.com/shakedown-go/shakedown/internal/retryable"
)

// A refusal is a failed call, and the calls with equal arguments that came after it.
type refusal struct {
	*call
	changes int   // the calls before it that may have changed something
	after   []int // numbers of later calls with equal arguments that did not succeed
}

// findAfterFinal finds calls with equal arguments after a permanent failure, in the same
// lane. One that succeeds shows that the failure was not permanent. One that comes after a
// call that may have changed something may have had a reason, and is not judged.
func (f *finder) findAfterFinal() {
	type place struct {
		lane string
		args uint64
	}
	refusals := make(map[place]*refusal)
	var all []*refusal
	changes := 0
	for i := range f.calls {
		c := &f.calls[i]
		at := place{c.Lane, c.args.hash}
		r := refusals[at]
		switch {
		case !c.args.known, r == nil:
		case c.outcome == ok:
			if changes == r.changes {
				r.after = nil
			}
			delete(refusals, at)
		case r.end <= c.begin && !c.ofHabit && !f.follows(r, c, changes):
			delete(refusals, at)
		}
		if _, waits := refusals[at]; !waits && c.args.known && c.outcome == failed {
			r := &refusal{call: c, changes: changes}
			refusals[at] = r
			all = append(all, r)
		}
		if c.outcome == ok && c.effect != none {
			changes++
		}
	}
	f.doubtRefusals()
	for _, r := range all {
		if len(r.after) > 0 {
			f.found(AfterFinal, append([]int{r.number}, r.after...), "%s was called again with equal arguments "+
				"after it had failed with %s, which no retry overcomes.", r.name(), r.failure())
		}
	}
}

// follows notes a call with equal arguments that came after a failure and did not succeed.
// It reports whether the failure is the one that later calls are compared with.
func (f *finder) follows(r *refusal, c *call, changes int) bool {
	switch class := f.class(r.call); {
	case class == retryable.Transient:
		return false
	case class == retryable.Unknown:
		f.doubt(AfterFinal, "Nobody knows whether the failure of "+r.name()+" with "+r.failure()+
			" is permanent, and it was called again with equal arguments.")
		return false
	case changes > r.changes:
		f.doubt(AfterFinal, "After a permanent failure "+r.name()+" was called again with equal arguments, "+
			"and a call in between may have changed something.")
		return false
	case c.outcome == unsure:
		f.doubt(AfterFinal, "How a call of "+c.name()+" ended after a permanent failure was not recorded.")
	default:
		r.after = append(r.after, c.number)
	}
	return true
}

// class returns the class of a call's failure.
func (f *finder) class(c *call) retryable.Class {
	e := c.Failure()
	if e == nil {
		return retryable.Unknown
	}
	class, seen := f.classes[*e]
	if !seen {
		class = retryable.Of(e.Status, e.RetryAfter, e.Text)
		f.classes[*e] = class
	}
	return class
}

// doubtRefusals notes operations in which a call may follow a permanent failure with equal
// arguments, because those of one of the two were not recorded.
func (f *finder) doubtRefusals() {
	if !slices.ContainsFunc(f.calls, func(c call) bool { return !c.args.known }) {
		return
	}
	type refused struct{ whole, hole bool } // calls with and without arguments
	operations := make([]refused, len(f.report.Operations))
	for i := range f.calls {
		c := &f.calls[i]
		o := &operations[c.operation]
		if c.outcome != ok && (o.hole || o.whole && !c.args.known) {
			f.doubt(AfterFinal, "Arguments of calls of "+c.name()+
				" were not recorded, so they may be equal to those of a call that failed before.")
		}
		if c.outcome == failed && f.class(c) != retryable.Transient {
			o.whole = o.whole || c.args.known
			o.hole = o.hole || !c.args.known
		}
	}
}
