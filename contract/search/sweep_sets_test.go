package search

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/contract"
)

func TestSetsOfActs(t *testing.T) {
	set := actSet{1, 4}
	assert.Equal(t, actSet{1, 2, 4}, set.with(2), "in order")
	assert.Equal(t, actSet{1, 4}, set, "and a set of its own")
	for _, row := range []struct {
		all actSet
		is  bool
	}{{actSet{1, 4}, true}, {actSet{0, 1, 4}, true}, {actSet{1}, false}, {nil, false}} {
		assert.Equal(t, row.is, set.within(row.all), "%v", row.all)
	}
	assert.True(t, actSet(nil).within(set))
	assert.NotEqual(t, actSet{1, 12}.key(), actSet{11, 2}.key())
}

// Invariants with the same prompts share a list, whether the prompts are those of the matrix
// or written down as probes.
func TestListsAreByPrompts(t *testing.T) {
	lists := promptListsOf(&contract.Matrix{Prompts: []string{"p"}, Invariants: []contract.Invariant{
		{Name: "a"}, {Name: "b", Probes: []string{"q"}}, {Name: "c", Probes: []string{"p"}}, {Name: "d", Probes: []string{"q"}}}})
	require.Len(t, lists, 2)
	assert.Equal(t, []string{"a", "c"}, lists[0].Invariants)
	assert.Equal(t, []string{"b", "d"}, lists[1].Invariants)
	assert.Equal(t, []any{"a", 0, "b", 1}, []any{lists[0].Name, lists[0].Number, lists[1].Name, lists[1].Number})
}

// A set is open for the invariants that no known set within it breaks.
func TestWhatIsOpen(t *testing.T) {
	l := &promptList{Invariants: []string{"a", "b"}, breaks: [][]actSet{{{1}, {2, 3}}, nil}}
	for _, row := range []struct {
		set  actSet
		open []int
	}{{nil, []int{0, 1}}, {actSet{1}, []int{1}}, {actSet{2, 4}, []int{0, 1}}, {actSet{2, 3, 4}, []int{1}}} {
		assert.Equal(t, row.open, l.open(row.set), "%v", row.set)
	}
	l.breaks[1] = []actSet{{}} // it breaks in the calm run
	assert.Empty(t, l.open(actSet{1}))
}

// The faults on a call have names of their own, also two of a kind; a fault on another call
// of the target is another rule.
func TestActsHaveNamesOfTheirOwn(t *testing.T) {
	l := &promptList{byCall: nil, byRule: map[string]int{}, calls: []*sweptCall{
		{event: chaos.Event{Target: "t"}}, {event: chaos.Event{Target: "t", Occurrence: 1, Ordinal: 1}}}}
	two := []chaos.Fault{fault.Fail(fault.ErrUnavailable), fault.Fail(fault.ErrRateLimited)}
	l.addActs(0, two, false)
	l.addActs(1, two, true)
	require.Len(t, l.byRule, 4)
	assert.Equal(t, [][]int{{0, 1}, {2, 3}}, [][]int{l.calls[0].acts, l.calls[1].acts})
	match := func(n int, c chaos.Call) bool { return l.Acts[n].Rule.When.Match(c) }
	assert.True(t, match(0, chaos.Call{Target: "t"}))
	assert.False(t, match(0, chaos.Call{Target: "t", Occurrence: 1, Ordinal: 1}))
	assert.True(t, match(2, chaos.Call{Target: "t", Key: 99, Ordinal: 1}), "by number, whatever the arguments")
	assert.False(t, match(2, chaos.Call{Target: "t", Key: 99}))
}

func TestMarksInOrder(t *testing.T) {
	for _, row := range []struct {
		marks, others []string
		is            bool
	}{
		{[]string{"a"}, []string{"b", "a"}, true},
		{[]string{"a", "b"}, []string{"b", "a"}, false},
		{[]string{"a", "a"}, []string{"a", "b"}, false},
		{[]string{"a", "a"}, []string{"a", "b", "a"}, true},
		{nil, nil, true},
	} {
		assert.Equal(t, row.is, isPart(row.marks, row.others), "%v in %v", row.marks, row.others)
	}
}
