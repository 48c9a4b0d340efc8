package search

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/contract"

	"github.com/shakedown-go/shakedown/internal/redact"
)

// missing is a matrix whose agent answers as answer says. An answer of "?" is one that no
// recording has: it says nothing about the agent.
func missing(answer func(call func(string, int) error) string, scenarios ...contract.Scenario) *contract.Matrix {
	m := scripted(nil, scenarios...)
	world := m.NewWorld
	m.NewWorld = func(ctx context.Context) (*contract.World, error) {
		w, err := world(ctx)
		var miss error
		w.Err = func() error { return miss }
		w.Agent = func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
			said := answer(func(tool string, _ int) error {
				_, err := tools.CallTool(ctx, tool, []byte(`{"n":1}`))
				return err
			})
			if said == "?" {
				miss = errors.New("no recorded answer")
			}
			return said, nil
		}
		return w, err
	}
	m.Invariants = m.Invariants[:1]
	return m
}

// A wait under which the run decided nothing, or broke for another reason, did not hold.
func TestNoFactSaysThatAnUndecidedWaitHeld(t *testing.T) {
	for _, otherwise := range []string{"?", "broke in another way"} {
		r := explained(t, missing(func(call func(string, int) error) string {
			begun := time.Now()
			err := call("a", 1)
			switch d := time.Since(begun); {
			case err != nil:
				return "ok"
			case d > 14*time.Second:
				return "late"
			case d > 0:
				return otherwise
			}
			return "ok"
		}, contract.Under("slow", chaos.Rule{Target: "a", Fault: fault.Delay(90 * time.Second)})), &Options{})
		require.Equal(t, []string{"a takes 15s longer → fine"}, sentences(r))
		for _, f := range r.Defects[0].Facts {
			assert.False(t, strings.HasPrefix(f, "with "), "%s: %s", otherwise, f)
		}
	}
}

// What the run showed in place of the break is said as it was.
func TestWhatDidNotBreakAgainSaysWhatWasSeen(t *testing.T) {
	for second, want := range map[string]string{
		"ok":      "the invariant: it broke, then it did not",
		"?":       "the invariant: it broke, then the run did not decide it",
		"another": "the invariant: it broke for another reason",
	} {
		s := &source{Whole: &runDigest{States: []*judged{{Invariant: "fine", State: contract.Held}}}}
		switch second {
		case "?":
			s.Whole.States[0].State = contract.Inconclusive
		case "another":
			s.Whole.States[0] = &judged{Invariant: "fine", State: contract.Inconclusive, Broke: true, Shape: "another"}
		}
		e := &explainer{secrets: redact.New(nil, redact.Patterns)}
		d := e.unexplained(&group{culprit: culprit{Invariant: "fine", Shape: "bad", Source: s}})
		assert.Equal(t, want, d.Difference)
	}
}

// Calm runs that decided nothing are no runs in which it held.
func TestCalmRunsOfARandomAgentThatDecideNothing(t *testing.T) {
	var n atomic.Int64
	m := missing(func(call func(string, int) error) string {
		for range n.Add(1) % 3 {
			_ = call("c", 1) // no two runs are the same
		}
		if call("b", 1) != nil {
			return "bad"
		}
		return "?"
	}, contract.Under("all", fails("b", nil)))
	o := &Options{}
	o.Run.Workers = 1
	r := explained(t, m, o)
	require.Len(t, r.Defects, 1)
	require.NotEmpty(t, r.Defects[0].Difference)
	assert.Contains(t, r.Defects[0].Facts, "without any fault it broke in 0 of 8 runs, and 8 did not decide it")
}

// Rules are left out as a whole for all that a run broke. Of what the deliveries alone do
// break, the fact does not say otherwise.
func TestTheFactOfWholeRulesIsOfItsOwnInvariant(t *testing.T) {
	m := scripted(nil, contract.Under("sly", fails("b", nil), chaos.Rule{Name: "one", Target: "a", Fault: sly{}}))
	m.NewWorld = func(context.Context) (*contract.World, error) {
		sawSly := false
		touch := func(ctx context.Context, n int) (int, error) {
			sawSly = sawSly || ctx.Value(slyKey{}) != nil
			return n, nil
		}
		tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "a"}, touch), chaos.Func(chaos.Tool{Name: "b"}, touch))
		return &contract.World{Tools: tools, Agent: func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
			_, _ = tools.CallTool(ctx, "a", []byte("1"))
			_, err := tools.CallTool(ctx, "b", []byte("1"))
			return map[bool]string{true: "sly "}[sawSly] + map[bool]string{true: "down"}[err != nil], nil
		}}, err
	}
	says := func(word string) contract.Invariant {
		return contract.Invariant{Name: "no-" + word, Severity: contract.High, Check: func(_ context.Context, o *contract.Observation) error {
			if strings.Contains(o.Response, word) {
				return errors.New("it says " + word)
			}
			return nil
		}}
	}
	m.Invariants = []contract.Invariant{says("sly"), says("down")}
	r := explained(t, m, &Options{})
	require.Len(t, r.Defects, 2)
	alone := "rules were left out as a whole: their deliveries alone do not break it"
	for _, d := range r.Defects {
		assert.Equal(t, d.Breaks[0].Invariant == "no-sly", slices.Contains(d.Facts, alone), "%v: %v", d.Sentence, d.Facts)
	}
}

// A run that decided nothing shows no fault to be unguarded, and no invariant to be idle.
func TestStrengthLeavesOutRunsThatDecideNothing(t *testing.T) {
	m := missing(func(call func(string, int) error) string {
		if call("a", 1) != nil {
			return "?"
		}
		return "ok"
	})
	s, err := Sweep(t.Context(), m, &Options{Run: contract.RunOptions{Harness: bubbled(t)}, Budget: Budget{Runs: 50},
		Faults: func(chaos.Event, chaos.Tool) []chaos.Fault { return []chaos.Fault{fault.Fail(errDown)} }})
	require.NoError(t, err)
	assert.Empty(t, s.Strength.Unguarded())
	assert.Empty(t, s.Strength.Idle)
	assert.NotContains(t, s.Covered(), "breaks")
}

// An invariant that must hold in every trial is kept, however that is written.
func TestADefectOfARateOfAllIsKept(t *testing.T) {
	for rate, want := range map[float64]int{0: 1, 1: 1, .5: 0} {
		dir := t.TempDir()
		m := scripted(breaksWith(1, "b1"), contract.Under("all", chaos.Rule{Target: "b", Fault: fault.Fail(fault.ErrUnavailable)}))
		m.Invariants[0].AtLeast = rate
		explained(t, m, &Options{Dir: dir})
		kept, err := ReadKept(dir, nil)
		require.NoError(t, err)
		assert.Len(t, kept, want, "%v", rate)
	}
}

// A question that the user asks twice is no second try, and a call that meets one fault in
// the end has no two of which one could be left out.
func TestFactsAreOfTheFaultsInTheSentence(t *testing.T) {
	m := missing(func(call func(string, int) error) string {
		if call("a", 1) != nil {
			return "bad"
		}
		return "ok"
	}, contract.Under("f", fails("a", nil)))
	m.Prompts = []string{"one", "two"}
	r := explained(t, m, &Options{})
	require.Equal(t, []string{"a fails → fine"}, sentences(r))
	assert.Contains(t, r.Defects[0].Facts, "the agent tries once")

	r = explained(t, missing(func(call func(string, int) error) string {
		begun := time.Now()
		_ = call("a", 1)
		if time.Since(begun) >= 25*time.Second {
			return "late"
		}
		return "ok"
	}, contract.Under("slow", chaos.Rule{Name: "x", Target: "a", Fault: fault.Delay(10 * time.Second)},
		chaos.Rule{Name: "y", Target: "a", Fault: fault.Delay(15 * time.Second)})), &Options{})
	require.Len(t, r.Defects, 1)
	require.Len(t, r.Defects[0].Deliveries, 1)
	assert.NotContains(t, r.Defects[0].Facts, "with one of the two it holds")
}

// Where a run with fewer faults is undecided, these may break it too: the fewest are not
// known.
func TestADefectSaysThatFewerFaultsAreUndecided(t *testing.T) {
	const fewer, none = "a run without one of them is undecided, so fewer may break it",
		"without it the run is undecided, so it may break without any fault"
	plain := func(a, b error) string {
		switch {
		case a != nil && b != nil:
			return "bad"
		case a != nil || b != nil:
			return "?"
		}
		return "ok"
	}
	for _, row := range []struct {
		why      string
		answer   func(a, b error) string
		sentence string
		want     []string
	}{
		{"either fault alone is undecided", plain, "a fails, then b fails → fine", []string{fewer}},
		{"one fault alone is undecided", func(a, b error) string {
			if a != nil && b == nil {
				return "ok"
			}
			return plain(a, b)
		}, "a fails, then b fails → fine", []string{fewer}},
		{"both are known to hold", func(a, b error) string {
			if a == nil || b == nil {
				return "ok"
			}
			return "bad"
		}, "a fails, then b fails → fine", []string{"with one of the two it holds"}},
		{"the calm run is undecided", func(a, b error) string {
			if a == nil {
				return "?"
			}
			return "bad"
		}, "a fails → fine", []string{none}},
	} {
		r := explained(t, missing(func(call func(string, int) error) string {
			return row.answer(call("a", 1), call("b", 1))
		}, contract.Under("both", fails("a", nil), fails("b", nil))), &Options{})
		require.Equal(t, []string{row.sentence}, sentences(r), row.why)
		var got []string
		for _, f := range r.Defects[0].Facts {
			if strings.Contains(f, "undecided") || strings.Contains(f, "holds") {
				got = append(got, f)
			}
		}
		assert.Equal(t, row.want, got, row.why)
	}
}
