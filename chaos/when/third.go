package when

import (
	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
)

// Early matches the first third of the calls of a lane to a target. calls is
// the expected number, at least 3: that of the same run without faults.
// scenarios.ByPosition counts them in a calm run and makes the scenarios.
//
// Of calls numbered from 0, the thirds begin at 0, calls/3 and 2·calls/3,
// rounded down, so none is empty. In a rule with a [chaos.Rule.Group] the calls
// to all its targets count as one sequence.
func Early(calls int) chaos.When { return third{"early", 0, calls} }

// Mid matches the second third of the calls; see [Early].
func Mid(calls int) chaos.When { return third{"mid", 1, calls} }

// Late matches the last third of the calls, and all calls after it: a run with
// retries makes more calls than one without faults. See [Early].
func Late(calls int) chaos.When { return third{"late", 2, calls} }

type third struct {
	kind  string
	which uint64
	calls int
}

func (w third) Match(c chaos.Call) bool { return w.MatchOrdinal(c.Ordinal) }

func (w third) MatchOrdinal(ordinal uint64) bool {
	if w.calls < 3 {
		return false
	}
	return ordinal >= w.begin(w.which) && (w.which == 2 || ordinal < w.begin(w.which+1))
}

// begin is the first call of a third, computed without overflow.
func (w third) begin(which uint64) uint64 {
	n := uint64(w.calls)
	return n/3*which + n%3*which/3
}

func (w third) Check() error {
	c := param.Check{Kind: w.kind}
	c.That(w.calls >= 3, "calls", w.calls, "a number of calls, at least 3: fewer have no three thirds")
	return c.Err()
}

func (w third) Describe() chaos.Description {
	return describe(w.kind, struct {
		Calls int `json:"calls"`
	}{w.calls})
}
