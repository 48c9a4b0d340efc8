package chaostest_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaostest"
	"github.com/shakedown-go/shakedown/chaos/when"
)

type match func(chaos.Call) bool

func (f match) Match(c chaos.Call) bool { return f(c) }

// reading is an ArgsWhen that may write to the arguments.
type reading struct {
	match
	read func(args any) bool
}

func (w reading) MatchArgs(_ chaos.Call, args any) bool { return w.read(args) }

// likely is a trigger that claims a probability.
type likely struct {
	match
	p func() float64
}

func (w likely) Probability() float64 { return w.p() }

// counting is a trigger that claims to look at the ordinal alone.
type counting struct {
	match
	of func(ordinal uint64) bool
}

func (w counting) MatchOrdinal(ordinal uint64) bool { return w.of(ordinal) }

// kindly is a Described trigger.
type kindly struct {
	match
	d chaos.Description
}

func (w kindly) Describe() chaos.Description { return w.d }

type brokenWhen struct {
	why   string
	check chaostest.Check
	make  func() chaos.When
	o     *chaostest.WhenOptions
}

func brokenWhens() []brokenWhen {
	never := match(func(chaos.Call) bool { return false })
	is := func(w chaos.When) func() chaos.When { return func() chaos.When { return w } }
	count := func(f func(n int64) bool) func() chaos.When {
		return func() chaos.When {
			var n atomic.Int64
			return match(func(chaos.Call) bool { return f(n.Add(1)) })
		}
	}
	return []brokenWhen{
		{why: "no trigger", check: chaostest.Present, make: is(nil)},
		{why: "refused by its own Check", check: chaostest.Checked, make: is(when.First(0))},
		{why: "no kind", check: chaostest.Described, make: is(kindly{match: never})},
		{why: "parameters that are no object", check: chaostest.Described, make: is(kindly{never, chaos.Description{Kind: "x", Params: json.RawMessage(`null`)}})},
		{why: "counts for itself", check: chaostest.Pure, make: count(func(n int64) bool { return n%2 == 0 })},
		{why: "grows tired", check: chaostest.Pure, make: count(func(n int64) bool { return n > 300 })},
		{why: "grows tired among many", check: chaostest.Concurrent, make: count(func(n int64) bool { return n > 410 })},
		{why: "panics on a late call", check: chaostest.Panics, make: is(match(func(c chaos.Call) bool { return []bool{true}[c.Ordinal/1000] }))},
		{why: "panics without arguments", check: chaostest.Panics, make: is(reading{never, func(args any) bool { return len(args.(json.RawMessage)) > 0 }})},
		{why: "writes to the arguments", check: chaostest.Arguments, make: is(reading{never, func(args any) bool {
			if doc, ok := args.(json.RawMessage); ok {
				doc[0] = '['
			}
			return false
		}})},
		{why: "leaves a goroutine behind", check: chaostest.Goroutines, make: is(match(func(c chaos.Call) bool {
			if c.Ordinal == 7 {
				go time.Sleep(10_000 * time.Hour)
			}
			return false
		}))},
		{why: "does not match as it says", check: chaostest.Probable, make: is(likely{never, func() float64 { return 0.5 }})},
		{why: "counts from one in one way and from none in the other", check: chaostest.Ordinal, make: is(counting{
			func(c chaos.Call) bool { return c.Ordinal+1 == 4 }, func(ordinal uint64) bool { return ordinal == 4 }})},
		{why: "looks at the key too", check: chaostest.Ordinal, make: is(counting{
			func(c chaos.Call) bool { return c.Ordinal > 9 && c.Key == 1 }, func(ordinal uint64) bool { return ordinal > 9 }})},
		{why: "panics on a late ordinal", check: chaostest.Panics, make: is(counting{never, func(n uint64) bool { return []bool{false}[n/1000] }})},
		{why: "has no probability", check: chaostest.Probable, make: is(likely{never, func() float64 { return 2 }})},
	}
}

// Each check fails on a trigger that does not meet it, and no other check does.
func TestBrokenTriggers(t *testing.T) {
	for _, c := range brokenWhens() {
		t.Run(c.why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				err := chaostest.When(c.make(), c.o)
				time.Sleep(20_000 * time.Hour)
				require.Error(t, err)
				for _, check := range checks(err) {
					assert.Equal(t, c.check, check, "%v", err)
				}
			})
		})
	}
}

// Every check can fail: some fake does not meet it.
func TestEveryCheckCanFail(t *testing.T) {
	seen := map[chaostest.Check]bool{}
	for _, c := range brokenFaults() {
		seen[c.check] = true
	}
	for _, c := range brokenWhens() {
		seen[c.check] = true
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), "violation.go", nil, 0)
	require.NoError(t, err)
	n := 0
	ast.Inspect(parsed, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		require.NoError(t, err)
		assert.True(t, seen[chaostest.Check(text)], "no fake breaks %q", text)
		n++
		return true
	})
	assert.Equal(t, len(seen), n)
}
