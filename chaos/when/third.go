package when

import (
	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
)

var thirdRows = []*catalog.Row{earlyRow, midRow, lateRow}

// expected are the parameters of Early, Mid and Late.
type expected struct {
	Calls int `json:"calls" bounds:"min=3" allowed:"a number of calls, at least 3: fewer have no three thirds" doc:"calls of a lane to the target that a run without faults makes"`
}

// Early matches the first third of the calls of a lane to a target. calls is
// the expected number, at least 3: that of the same run without faults.
// scenarios.ByPosition counts them in a calm run and makes the scenarios.
//
// Of calls numbered from 0, the thirds begin at 0, calls/3 and 2·calls/3,
// rounded down, so none is empty. In a rule with a [chaos.Rule.Group] the calls
// to all its targets count as one sequence.
func Early(calls int) chaos.When { return early{expected{calls}} }

var earlyRow = catalog.Trigger(catalog.Row{
	Kind: "early", Doc: "The first third of the calls that are expected.", Go: "when.Early(calls)",
	Order:   catalog.Sequential,
	Example: `{"calls":9}`,
}, func(p expected) chaos.When { return early{p} })

type early struct{ expected }

func (w early) Match(c chaos.Call) bool          { return w.MatchOrdinal(c.Ordinal) }
func (w early) MatchOrdinal(ordinal uint64) bool { return w.Calls >= 3 && ordinal < w.begin(1) }
func (w early) Check() error                     { return earlyRow.Check(w.expected).Err() }
func (w early) Describe() chaos.Description      { return earlyRow.Describe(w.expected) }

// Mid matches the second third of the calls; see [Early].
func Mid(calls int) chaos.When { return mid{expected{calls}} }

var midRow = catalog.Trigger(catalog.Row{
	Kind: "mid", Doc: "The second third.", Go: "when.Mid(calls)", Example: `{"calls":9}`,
	Order: catalog.Sequential,
}, func(p expected) chaos.When { return mid{p} })

type mid struct{ expected }

func (w mid) Match(c chaos.Call) bool { return w.MatchOrdinal(c.Ordinal) }
func (w mid) MatchOrdinal(ordinal uint64) bool {
	return w.Calls >= 3 && ordinal >= w.begin(1) && ordinal < w.begin(2)
}
func (w mid) Check() error                { return midRow.Check(w.expected).Err() }
func (w mid) Describe() chaos.Description { return midRow.Describe(w.expected) }

// Late matches the last third of the calls, and all calls after it: a run with
// retries makes more calls than one without faults. See [Early].
func Late(calls int) chaos.When { return late{expected{calls}} }

var lateRow = catalog.Trigger(catalog.Row{
	Kind: "late", Doc: "The last third and all calls after it.", Go: "when.Late(calls)", Example: `{"calls":9}`,
	Order: catalog.Sequential,
}, func(p expected) chaos.When { return late{p} })

type late struct{ expected }

func (w late) Match(c chaos.Call) bool          { return w.MatchOrdinal(c.Ordinal) }
func (w late) MatchOrdinal(ordinal uint64) bool { return w.Calls >= 3 && ordinal >= w.begin(2) }
func (w late) Check() error                     { return lateRow.Check(w.expected).Err() }
func (w late) Describe() chaos.Description      { return lateRow.Describe(w.expected) }

// begin is the first call of a third, computed without overflow.
func (p expected) begin(third uint64) uint64 {
	n := uint64(p.Calls)
	return n/3*third + n%3*third/3
}
