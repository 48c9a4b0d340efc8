package when_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// numbers are the calls, counted from 1, that a trigger matches among the
// first ten of a lane.
func numbers(w chaos.When) (matched []int) {
	for i := range 10 {
		if w.Match(chaos.Call{Target: "t", Ordinal: uint64(i), Occurrence: uint64(i)}) {
			matched = append(matched, i+1)
		}
	}
	return matched
}

func TestCounting(t *testing.T) {
	for _, c := range []struct {
		why  string
		when chaos.When
		want []int
	}{
		{"all there are", when.Always(), []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
		{"call 4, counted from 1", when.Nth(4), []int{4}},
		{"several, in any order", when.Nth(9, 1, 3), []int{1, 3, 9}},
		{"the first three", when.First(3), []int{1, 2, 3}},
		{"a quota of seven", when.After(7), []int{8, 9, 10}},
		{"a quota of none", when.After(0), []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
		{"every third, the third first", when.Every(3), []int{3, 6, 9}},
		{"every one", when.Every(1), []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
		{"never is a probability too", when.Prob(0), nil},
		{"so is always", when.Prob(1), []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
		{"a burst", when.Burst(5, 2), []int{5, 6}},
		{"a burst, spelled out", when.All(when.After(4), when.First(6)), []int{5, 6}},
		{"a burst of one from the start", when.Burst(1, 1), []int{1}},
		{"a burst that has room in one place only", when.BurstWithin(4, 4), []int{1, 2, 3, 4}},
		{"two on, three off", when.Intermittent(2, 3), []int{1, 2, 6, 7}},
		{"in turns", when.Intermittent(1, 1), []int{1, 3, 5, 7, 9}},
		{"the first third of nine", when.Early(9), []int{1, 2, 3}},
		{"the second third of ten", when.Mid(10), []int{4, 5, 6}},
		{"the last third of nine and all beyond", when.Late(9), []int{7, 8, 9, 10}},
		{"one or the other", when.Any(when.Nth(2), when.Every(4)), []int{2, 4, 8}},
		{"all but", when.Not(when.First(8)), []int{9, 10}},
		{"nothing and everything", when.Not(when.Always()), nil},
		{"nested", when.All(when.Not(when.Any(when.Nth(1), when.Nth(2))), when.Not(when.After(4))), []int{3, 4}},
	} {
		t.Run(c.why, func(t *testing.T) { assert.Equal(t, c.want, numbers(c.when)) })
	}
}

// The coordinates of a call, taken one at a time, decide.
func TestPlaces(t *testing.T) {
	at := chaos.Call{Lane: "worker-3", Target: "refund", Key: 7, Occurrence: 1, Ordinal: 5, Turn: 2}
	coord := when.Coord{Lane: "worker-3", Target: "refund", Key: 7, Occurrence: 1}
	with := func(change func(*when.Coord)) chaos.When {
		c := coord
		change(&c)
		return when.Exactly(c)
	}
	for _, c := range []struct {
		why  string
		when chaos.When
		want bool
	}{
		{"this call", when.Exactly(coord), true},
		{"one of several", when.Exactly(when.Coord{Target: "ship"}, coord), true},
		{"another target", with(func(c *when.Coord) { c.Target = "ship" }), false},
		{"another lane", with(func(c *when.Coord) { c.Lane = "" }), false},
		{"other arguments", with(func(c *when.Coord) { c.Key++ }), false},
		{"the call before with the same arguments", with(func(c *when.Coord) { c.Occurrence-- }), false},
		{"the lane by name", when.Lane("worker-3"), true},
		{"the lane by glob", when.Lane("main", "worker-*"), true},
		{"another lane's name", when.Lane("worker-4"), false},
		{"the default lane", when.Lane(""), false},
		{"the turn", when.Turn(1, 2), true},
		{"another turn", when.Turn(0), false},
		{"turns up to this one", when.TurnBetween(0, 2), true},
		{"turns from this one", when.TurnBetween(2, 9), true},
		{"later turns", when.TurnBetween(3, 9), false},
	} {
		t.Run(c.why, func(t *testing.T) { assert.Equal(t, c.want, c.when.Match(at)) })
	}
	assert.True(t, when.Lane("").Match(chaos.Call{}), "the default lane")
	assert.False(t, when.Lane("worker-*").Match(chaos.Call{}), "the default lane has no name")
	assert.True(t, when.Lane("*").Match(chaos.Call{}), "the empty name is a name")
}

// The share of matched calls is the probability, also of parts in a combination.
func TestShares(t *testing.T) {
	for _, c := range []struct {
		why  string
		when chaos.When
		want float64
	}{
		{"one in ten", when.Prob(0.1), 0.1},
		{"seven in ten", when.Prob(0.7), 0.7},
		{"both of two", when.All(when.Prob(0.5), when.Prob(0.5)), 0.25},
		{"either of two", when.Any(when.Prob(0.5), when.Prob(0.5)), 0.75},
		{"not", when.Not(when.Prob(0.3)), 0.7},
		{"all of two combinations", when.All(when.Any(when.Prob(0.5), when.Prob(0.5)), when.Not(when.Prob(0.5))), 0.375},
		{"the same part twice is two draws", func() chaos.When { p := when.Prob(0.5); return when.All(p, p) }(), 0.25},
		{"the same combination twice too", func() chaos.When { p := when.All(when.Prob(0.5)); return when.All(p, p) }(), 0.25},
	} {
		t.Run(c.why, func(t *testing.T) {
			const n = 20_000
			matched := 0.0
			for i := range n {
				if c.when.Match(chaos.Call{Target: "t", Occurrence: uint64(i)}) {
					matched++
				}
			}
			assert.InDelta(t, c.want, matched/n, 4*0.5/math.Sqrt(n))
		})
	}
}

// Boole's laws hold call by call, whatever the call.
func TestCombinatorLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := anyCall(t)
		a, b := anyCounting(t, "a"), anyCounting(t, "b")
		law := func(name string, x, y chaos.When) {
			if x.Match(c) != y.Match(c) {
				t.Fatalf("%s does not hold for %+v", name, c)
			}
		}
		law("not not a = a", when.Not(when.Not(a)), a)
		law("De Morgan for all", when.Not(when.All(a, b)), when.Any(when.Not(a), when.Not(b)))
		law("De Morgan for any", when.Not(when.Any(a, b)), when.All(when.Not(a), when.Not(b)))
		law("all of one", when.All(a), a)
		law("any of one", when.Any(b), b)
		law("first and after", when.First(3), when.Not(when.After(3)))
	})
}

func anyCall(t *rapid.T) chaos.Call {
	return chaos.Call{
		Lane: rapid.SampledFrom([]string{"", "a", "worker-1"}).Draw(t, "lane"), Target: "t",
		Key: rapid.Uint64Range(0, 3).Draw(t, "key"), Occurrence: rapid.Uint64Range(0, 3).Draw(t, "occurrence"),
		Ordinal: rapid.Uint64Range(0, 12).Draw(t, "ordinal"), Turn: rapid.IntRange(0, 3).Draw(t, "turn"),
	}
}

func anyCounting(t *rapid.T, label string) chaos.When {
	n := rapid.IntRange(1, 12).Draw(t, label)
	return rapid.SampledFrom([]chaos.When{
		when.Always(), when.Nth(n), when.First(n), when.After(n), when.Every(n), when.Turn(n),
		when.Lane("a"), when.Exactly(when.Coord{Target: "t", Key: 1}),
	}).Draw(t, label+" kind")
}

// triggers has one of every kind.
func triggers() map[string]chaos.When {
	return map[string]chaos.When{
		"always": when.Always(), "prob": when.Prob(0.5), "nth": when.Nth(4, 7), "first": when.First(3),
		"after": when.After(3), "every": when.Every(2), "between": when.Between(0, time.Second), "since": when.Since(0),
		"exactly": when.Exactly(when.Coord{Lane: "a", Target: "t", Key: 1<<63 + 1, Occurrence: 2}),
		"lane":    when.Lane("", "worker-*"), "turn": when.Turn(1, 2), "turn_between": when.TurnBetween(1, 2),
		"args": when.Args("is seven", func(n int) bool { return n == 7 }),
		"all":  when.All(when.Prob(0.5), when.Not(when.Nth(2)), when.Between(0, time.Second)),
		"any":  when.Any(when.First(1), when.Lane("a")), "not": when.Not(when.Every(2)),
		"burst": when.Burst(3, 2), "burst_within": when.BurstWithin(2, 9), "intermittent": when.Intermittent(2, 3),
		"flapping": when.Flapping(time.Second, time.Minute), "markov": when.Markov(0.25, 0.5),
		"gilbert_elliott": when.GilbertElliott(0.25, 0.5, 0.01, 0.9),
		"stages":          when.Stages(when.Stage{Calls: 5, When: when.Prob(0.5)}, when.Stage{When: when.First(2)}),
		"early":           when.Early(9), "mid": when.Mid(9), "late": when.Late(9),
	}
}

// No trigger allocates, matching or not.
func TestMatchDoesNotAllocate(t *testing.T) {
	for kind, w := range triggers() {
		c := chaos.Call{Lane: "worker-1", Target: "t", Key: 3, Ordinal: 3}
		var args any = 7
		assert.Zero(t, testing.AllocsPerRun(100, func() {
			w.Match(c)
			if a, ok := w.(chaos.ArgsWhen); ok {
				a.MatchArgs(c, args)
			}
		}), kind)
	}
}

// A trigger says what it is, in JSON that a plan can be written in. catalogtest.Run has
// the examples of all rows.
func TestDescriptions(t *testing.T) {
	for kind, w := range triggers() {
		assert.Equal(t, kind, w.(chaos.Described).Describe().Kind)
	}
	exact := triggers()["exactly"].(chaos.Described).Describe()
	assert.JSONEq(t, `{"calls":[{"lane":"a","target":"t","key":"9223372036854775809","occurrence":"2"}]}`, string(exact.Params))
	timed := when.Stages(when.Stage{For: time.Minute, When: when.Always()}).(chaos.Described).Describe()
	assert.JSONEq(t, `{"stages":[{"for":"1m0s","when":{"kind":"always"}}]}`, string(timed.Params))
	stranger := when.All(stranger{}).(chaos.Described).Describe()
	assert.JSONEq(t, `{"parts":[{"kind":"when_test.stranger"}]}`, string(stranger.Params), "a part of the user's own")
}

type stranger struct{}

func (stranger) Match(chaos.Call) bool { return true }

// Coordinates survive JSON, also where 64 bits do not fit a float.
func TestCoordJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := when.Coord{
			Lane: rapid.String().Draw(t, "lane"), Target: rapid.String().Draw(t, "target"),
			Key: rapid.Uint64().Draw(t, "key"), Occurrence: rapid.Uint64().Draw(t, "occurrence"),
		}
		doc, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		var back when.Coord
		if err := json.Unmarshal(doc, &back); err != nil || back != c {
			t.Fatalf("%+v came back from %s as %+v, %v", c, doc, back, err)
		}
	})
}
