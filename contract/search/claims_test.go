package search

import (
	"context"
	"errors"
	"math/rand/v2"
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

// A sweep in which a set broke once and then not has seen an agent that does not repeat
// itself, whatever its calm runs looked like.
func TestCoveredIsCarefulWhereASetDidNotBreakAgain(t *testing.T) {
	broken := 0
	m := scripted(func(call func(string, int) error) string {
		if call("a", 1) != nil {
			if broken++; broken == 1 {
				return "bad"
			}
		}
		return "ok"
	})
	s, err := Sweep(t.Context(), m, &Options{Budget: Budget{Runs: 100}, Run: contract.RunOptions{Workers: 1}})
	require.NoError(t, err)
	require.Nil(t, s.Difference)
	require.Len(t, s.Defects, 1)
	require.Equal(t, "did not break again", s.Defects[0].Sentence)
	assert.Equal(t, "the invariant: it broke, then it did not", s.Defects[0].Difference)
	assert.Equal(t, "fine", s.Defects[0].Breaks[0].Invariant)
	assert.Contains(t, s.Covered(), "in one run each, none of which broke once")
	assert.NotContains(t, s.Covered(), "no set of these")
}

// What is said of a random agent was delivered in a run that broke: with a fault that
// has memory, also its earlier deliveries.
func TestTheFaultsOfARandomAgentAreThoseOfARun(t *testing.T) {
	for _, row := range []struct {
		name, sentence string
		fault          chaos.Fault
		agent          script
	}{
		{"a limit", "a meets rate_limit 3 times in a row → fine", fault.RateLimit(1, time.Hour),
			func(call func(string, int) error) string {
				_ = call("a", 2)
				for range 3 {
					if call("a", 1) == nil {
						return "ok"
					}
				}
				return "bad"
			}},
		{"the third call, whatever became of the first two", "a fails on call 3 → fine", fault.Fail(errDown),
			func(call func(string, int) error) string {
				_, _ = call("a", 1), call("a", 1)
				if call("a", 1) != nil {
					return "bad"
				}
				return "ok"
			}},
	} {
		draw := rand.New(rand.NewPCG(1, 2))
		m := scripted(func(call func(string, int) error) string {
			_ = call("e", draw.IntN(1e9)) // no two runs are the same
			return row.agent(call)
		}, contract.Under("all", chaos.Rule{Name: "r", Target: "a", Fault: row.fault}))
		r := explained(t, m, &Options{Run: contract.RunOptions{Workers: 1}})
		require.NotEmpty(t, r.Defects[0].Difference, row.name)
		assert.Equal(t, []string{row.sentence}, sentences(r), row.name)
	}
}

// A calm run that breaks beside the confirmation is not the run of what was found.
func TestTheFaultsOfARandomAgentThatBreaksWithoutThemToo(t *testing.T) {
	named := 0
	for seed := range uint64(20) {
		draw := rand.New(rand.NewPCG(seed, 2))
		m := scripted(func(call func(string, int) error) string {
			f := each(call, 3)
			_ = call("d", draw.IntN(1e9)) // no two runs are the same
			if f["b1"] && draw.Float64() < .8 || draw.Float64() < .2 {
				return "bad"
			}
			return "ok"
		}, contract.Under("all", fails("*", nil)))
		m.Trials = 8
		for _, d := range explained(t, m, &Options{Run: contract.RunOptions{Workers: 1}}).Defects {
			assert.NotContains(t, d.Sentence, "under the rules")
			if strings.Contains(strings.Join(d.Facts, "; "), "without any fault it broke in ") && !d.Unconfirmed {
				assert.NotEmpty(t, d.Deliveries)
				named++
			}
		}
	}
	assert.NotZero(t, named)
}

// Ways to break that name no call have files of their own.
func TestFilesOfDefectsWithoutDeliveries(t *testing.T) {
	m := scripted(nil, contract.Calm(), contract.Scenario{Name: "in-other-words",
		Rewrite: func(string) string { return "please go" }})
	setAgent(m, func(_ context.Context, prompt string, _ chaos.ToolRegistry) (string, error) {
		return "bad " + prompt, nil
	})
	dir := t.TempDir()
	r := explained(t, m, &Options{Dir: dir})
	require.Equal(t, []string{"without any fault → fine", "without any rule, in scenario in-other-words → fine"}, sentences(r))
	kept := keptIn(t, dir)
	said := map[string]string{}
	for _, k := range kept {
		said[k.ID] = k.Sentence
	}
	for _, d := range r.Defects {
		assert.Equal(t, d.Sentence, said[d.Breaks[0].ID])
	}

	// where the scenario is gone, a run that holds shows nothing of what was broken in it
	m.Scenarios = m.Scenarios[:1]
	setAgent(m, func(context.Context, string, chaos.ToolRegistry) (string, error) { return "ok", nil })
	for _, k := range kept {
		status, _, err := k.Run(t.Context(), m, nil)
		require.NoError(t, err)
		want := StatusResolved
		if k.Scenario == "in-other-words" {
			want = StatusUnreached
		}
		assert.Equal(t, want, status, k.Sentence)
	}
}

// What holds because nothing was broken is no limit of the agent.
func TestAScanSaysWhereNoFaultWasDelivered(t *testing.T) {
	m := scripted(breaksWith(1, "a1"))
	s, err := Scan(t.Context(), m, Rate("a", fault.Fail(errDown)), &Options{Budget: Budget{Runs: 1000}})
	require.NoError(t, err)
	l := s.Limits[0]
	require.NotNil(t, l.Held)
	require.NotZero(t, *l.Held, "the one call is hit at any rate")
	assert.Regexp(t, `fine +holds to \S+ % \(1 of 1 held\), where no fault was delivered, breaks from `, s.String())

	s, err = Scan(t.Context(), m, Burst("a", fault.Fail(errDown)), &Options{Budget: Budget{Runs: 1000}})
	require.NoError(t, err)
	assert.Regexp(t, `fine +holds to 0 \(1 of 1 held\), breaks from 1 \(0 of 1 held\)\n`, s.String())
}

// What a run breaks is a finding, whichever run it is: the second calm one, and those that
// confirm another finding. No invariant that broke in a run of the sweep is said to hold.
func TestEveryRunOfASweepIsJudged(t *testing.T) {
	unlike := func(call func(string, int) error, n *int) { *n++; _ = call("e", *n) } // no two runs are the same
	sweeps := func(breaksAt int, alike bool) *Swept {
		n, runs := 0, 0
		m := scripted(func(call func(string, int) error) string {
			if !alike {
				unlike(call, &n)
			}
			if call("b", 1) != nil {
				return "bad"
			}
			return "ok"
		})
		m.Invariants[1] = contract.Invariant{Name: "now-and-then", Severity: contract.Critical,
			Check: func(context.Context, *contract.Observation) error {
				if runs++; runs == breaksAt {
					return errDown
				}
				return nil
			}}
		s, err := Sweep(t.Context(), m, &Options{Budget: Budget{Runs: 1000}, Run: contract.RunOptions{Workers: 1},
			Faults: func(chaos.Event, chaos.Tool) []chaos.Fault { return []chaos.Fault{fault.Fail(errDown)} }})
		require.NoError(t, err)
		return s
	}
	for _, alike := range []bool{true, false} {
		for at := 1; at <= sweeps(0, alike).Runs; at++ {
			s := sweeps(at, alike)
			assert.Equal(t, 1, s.Invariants[1].Broke, "run %d of %v", at, s)
			assert.NotContains(t, s.Covered(), "now-and-then", "run %d", at)
			assert.NotContains(t, s.Strength.Idle, "now-and-then", "run %d", at)
			k := breaking(s.Defects, "now-and-then")
			require.GreaterOrEqual(t, k, 0, "run %d of %v", at, s)
			d := s.Defects[k]
			assert.True(t, d.Unconfirmed || d.Difference != "", "run %d of %v", at, s)
			if d.Unconfirmed {
				assert.Contains(t, s.String(), "unconfirmed: it broke in 0 of 24 runs more")
			}
		}
	}
}

// breaking is the place of the defect that breaks an invariant; -1: there is none.
func breaking(all []contract.Defect, invariant string) int {
	return slices.IndexFunc(all, func(d contract.Defect) bool {
		return slices.ContainsFunc(d.Breaks, func(b contract.Break) bool { return b.Invariant == invariant })
	})
}

// A sweep that a budget cuts says of each defect what is open about it, and keeps what is
// sure alone.
func TestDefectsOfASweepThatIsCut(t *testing.T) {
	all := 0
	m := scripted(breaksWith(2, "a1", "b1", "c2"))
	for runs := 1; ; runs++ {
		kept, s := keptOf(t, m, Options{Budget: Budget{Runs: runs}, Run: contract.RunOptions{Workers: 1}})
		for _, d := range s.Defects {
			all++
			once := strings.Contains(strings.Join(d.Facts, "; "), "it was not run again: the ")
			assert.Equal(t, s.Stopped != "", once || d.Cut, "%d: %v", runs, s)
			assert.Equal(t, d.Cut, strings.Contains(s.String(), "fewer faults may be enough"), "%d: %v", runs, s)
		}
		if s.Stopped == "" {
			assert.Len(t, kept, len(s.Defects))
			break
		}
		assert.Empty(t, kept, "%d: %v", runs, s)
	}
	assert.Greater(t, all, 2)
}

// A defect has the reason of a run that broke, also where a run with the same deliveries
// held.
func TestADefectHasTheReasonOfARunThatBroke(t *testing.T) {
	for at := 1; at <= 12; at++ {
		both := 0
		m := scripted(func(call func(string, int) error) string {
			if a, b := call("a", 1), call("b", 1); a != nil && b != nil {
				if both++; both == at {
					return "bad"
				}
				return "ok"
			}
			_ = call("c", 1)
			return "ok"
		})
		_, s := keptOf(t, m, Options{Run: contract.RunOptions{Workers: 1},
			Faults: func(chaos.Event, chaos.Tool) []chaos.Fault {
				return []chaos.Fault{fault.Fail(errDown), fault.Timeout(0), fault.Fail(context.Canceled)}
			}})
		for _, d := range s.Defects {
			assert.NotEmpty(t, d.Breaks[0].Why, "at %d: %v", at, s)
		}
	}
}

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
	shown := func(j judged) *runDigest {
		j.Invariant = "fine"
		return &runDigest{States: []*judged{&j}}
	}
	again := shown(judged{State: contract.Broken, Broke: true, Shape: "bad"})
	for _, row := range []struct {
		run         *runDigest
		want, alone string // what is said of a whole run, and of one of its faults alone
	}{
		{shown(judged{State: contract.Held}), "the invariant: it broke, then it did not",
			"the invariant: it broke under the scenario's rules, and not under what they delivered alone"},
		{shown(judged{State: contract.Inconclusive}), "the invariant: it broke, then the run did not decide it",
			"the invariant: it broke, then the run did not decide it"},
		{shown(judged{State: contract.Inconclusive, Broke: true, Shape: "another"}), "the invariant: it broke for another reason",
			"the invariant: it broke for another reason"},
	} {
		for s, want := range map[*source]string{{Whole: row.run}: row.want, {Whole: again, alone: row.run}: row.alone} {
			e := &explainer{secrets: redact.New(nil, redact.Patterns)}
			d := e.unexplained(&group{culprit: culprit{Invariant: "fine", Shape: "bad", Source: s}})
			assert.Equal(t, want, d.Difference)
		}
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
		kept := keptIn(t, dir)
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
