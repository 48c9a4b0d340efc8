package search

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
)

// Two causes of two faults each that break an agent for one reason are two defects, each with
// its cells and its file, also in a cell that met both.
func TestTwoCausesOfOneReasonAreNeverOneLine(t *testing.T) {
	agent := func(call func(string, int) error) string {
		a, b, c, e := call("a", 1), call("b", 1), call("c", 1), call("e", 1)
		return map[bool]string{true: "bad", false: "ok"}[a != nil && b != nil || c != nil && e != nil]
	}
	for _, row := range []struct {
		why    string
		share  chaos.When
		trials int
	}{
		{"some cells met one, some the other", when.Prob(.5), 30},
		{"every cell met both", when.Always(), 1},
	} {
		m := scripted(agent, contract.Under("s", fails("*", row.share)))
		m.Trials = row.trials
		dir := t.TempDir()
		r := explained(t, m, &Options{Dir: dir})
		require.ElementsMatch(t, []string{"a fails, then b fails → fine", "c fails, then e fails → fine"}, sentences(r), row.why)
		broken := 0
		for _, c := range r.Cells {
			if c.Violated {
				broken++
			}
		}
		for _, d := range r.Defects {
			broken -= len(d.Breaks[0].Cells)
			assert.Equal(t, row.trials == 1 && d.Sentence[0] == 'c',
				slices.Contains(d.Facts, "its cells met the faults of another defect too, and are counted there"), row.why)
		}
		assert.Zero(t, broken, "%s: each broken cell is counted once", row.why)
		kept := keptIn(t, dir)
		require.Len(t, kept, 2)
		for _, k := range kept {
			assert.Equal(t, StatusOngoing, rerun(t, k, m), k.Sentence)
		}
	}
}

// Where one fault is a cause at several targets, each has its cells and its file, which says its
// own target.
func TestEachTargetOfAChoiceHasAFile(t *testing.T) {
	m := scripted(func(call func(string, int) error) string {
		f := each(call, 1)
		return map[bool]string{true: "bad", false: "ok"}[len(f) > 0]
	}, contract.Under("s", fails("{a,b,c}", nil)))
	dir := t.TempDir()
	r := explained(t, m, &Options{Dir: dir})
	require.Equal(t, []string{"a, b or c fails → fine"}, sentences(r))
	kept := keptIn(t, dir)
	said := map[string]string{}
	for _, k := range kept {
		said[k.ID] = k.Sentence
	}
	for _, b := range r.Defects[0].Breaks {
		assert.Equal(t, b.At[0]+" fails", said[b.ID])
	}
	assert.Len(t, said, 3)
}

// A fault that is not needed to break the invariant is not named, whatever the reason then says.
func TestFaultsThatAreNotNeededAreNotNamed(t *testing.T) {
	const fact = "not all faults of the cell are needed: with fewer of them it breaks too, for another reason"
	steps := []string{"find", "price", "ship"}
	for _, row := range []struct {
		why       string
		says      func(failed []string) string
		sentences []string
		fact      bool
	}{
		{"the reason lists what failed, and each step alone breaks it", func(failed []string) string {
			return strings.Join(failed, ", ")
		}, []string{"a fails → fine", "b fails → fine", "c fails → fine"}, true},
		{"the reason counts in words", func(failed []string) string {
			return []string{"one", "two", "all"}[len(failed)-1]
		}, []string{"c, b or a fails → fine"}, false},
		{"the reason is the same for any", func([]string) string { return "bad" }, []string{"a, b or c fails → fine"}, false},
		{"two are needed", func(failed []string) string {
			return map[bool]string{true: strings.Join(failed, " and then "), false: "ok"}[len(failed) > 1]
		}, []string{"b fails, then c fails → fine", "a fails, then c fails → fine", "a fails, then b fails → fine"}, true},
	} {
		r := explained(t, scripted(func(call func(string, int) error) string {
			var failed []string
			for i, tool := range []string{"a", "b", "c"} {
				if call(tool, 1) != nil {
					failed = append(failed, steps[i])
				}
			}
			if failed == nil {
				return "ok"
			}
			return row.says(failed)
		}, contract.Under("all", fails("*", nil))), &Options{})
		assert.ElementsMatch(t, row.sentences, sentences(r), row.why)
		assert.Equal(t, row.fact, slices.Contains(r.Defects[0].Facts, fact), row.why)
	}
}

// Of equal calls that the agent makes of its own accord, the sentence says which.
func TestTheSentenceSaysWhichOfEqualCalls(t *testing.T) {
	for _, row := range []struct {
		why      string
		bad      func(first, second error) bool
		sentence string
	}{
		{"the first", func(first, _ error) bool { return first != nil }, "d fails on call 1"},
		{"the second", func(_, second error) bool { return second != nil }, "d fails on call 2"},
		{"both", func(first, second error) bool { return first != nil && second != nil }, "d fails twice in a row from call 1 on"},
	} {
		dir := t.TempDir()
		r := explained(t, scripted(func(call func(string, int) error) string {
			first, second := call("d", 1), call("d", 1)
			return map[bool]string{true: "bad", false: "ok"}[row.bad(first, second)]
		}, contract.Under("all", fails("d", nil))), &Options{Dir: dir})
		assert.Equal(t, []string{row.sentence + " → fine"}, sentences(r)[:1], row.why)
	}
	r := explained(t, scripted(func(call func(string, int) error) string {
		if call("d", 1) != nil {
			_ = call("d", 1) // a retry is no call of its own accord
			return "bad"
		}
		return "ok"
	}, contract.Under("all", fails("d", when.First(1)))), &Options{})
	assert.Equal(t, []string{"d fails → fine"}, sentences(r))
}

// A wait is as short as it may be, also where a milder fault took the place of the delay.
func TestAWaitIsShortenedInAMilderFault(t *testing.T) {
	for _, row := range []struct {
		why       string
		late      func(err error, took time.Duration) bool
		sentences []string
		facts     []string
	}{
		{"only what comes late breaks it", func(err error, took time.Duration) bool { return err == nil && took > 7400*time.Millisecond },
			[]string{"a takes 7.5s longer → fine"}, []string{"when it only fails, or times out before the work, it holds", "with 7.4s it holds"}},
		{"a failure that comes late breaks it too", func(_ error, took time.Duration) bool { return took > 7400*time.Millisecond },
			[]string{"a waits 7.5s and times out before the work → fine"}, []string{"when it only fails, it holds", "with 7.4s it holds"}},
		{"any time-out breaks it, and no failure", func(err error, took time.Duration) bool {
			return err != nil && !errors.Is(err, fault.ErrUnavailable) || took > 7400*time.Millisecond && err == nil
		}, []string{"a times out before the work → fine"}, []string{"when it only fails, it holds"}},
	} {
		m := scripted(nil, contract.Under("slow", chaos.Rule{Target: "a", Fault: fault.Delay(20 * time.Second)}))
		setAgent(m, func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
			begun := time.Now()
			_, err := tools.CallTool(ctx, "a", []byte(`{"n":1}`))
			return map[bool]string{true: "late", false: "ok"}[row.late(err, time.Since(begun))], nil
		})
		r := explained(t, m, &Options{})
		require.Equal(t, row.sentences, sentences(r), row.why)
		assert.Subset(t, r.Defects[0].Facts, row.facts, row.why)
	}
}

// A cell that waited less than the sentence says is not counted with it.
func TestACellMetAWaitThatIsAsLong(t *testing.T) {
	m := scripted(nil, contract.Under("slow", chaos.Rule{Target: "{a,b}", Fault: fault.Uniform(time.Second, 20*time.Second)}))
	setAgent(m, func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
		took := map[string]time.Duration{}
		for _, tool := range []string{"a", "b"} {
			begun := time.Now()
			if _, err := tools.CallTool(ctx, tool, []byte(`{"n":1}`)); err == nil {
				took[tool] = time.Since(begun)
			}
		}
		return map[bool]string{true: "late", false: "ok"}[took["a"] > 12*time.Second || took["b"] > 5*time.Second], nil
	})
	m.Trials, m.Invariants = 20, m.Invariants[:1]
	r := explained(t, m, &Options{})
	require.ElementsMatch(t, []string{"a takes 13s longer → fine", "b takes 5.1s longer → fine"}, sentences(r))
	longest := map[string]time.Duration{"a": 12 * time.Second, "b": 5 * time.Second} // with which it holds
	waits := map[contract.Cell]map[string]time.Duration{}
	for i := range r.Cells {
		c := &r.Cells[i]
		waits[c.Cell] = map[string]time.Duration{}
		for _, o := range c.Observations() {
			for _, e := range o.Events {
				waits[c.Cell][e.Target] = e.Asked
			}
		}
	}
	for _, d := range r.Defects {
		target := d.Sentence[:1]
		for _, c := range d.Breaks[0].Cells {
			assert.Greater(t, waits[c][target], longest[target], "%s: %v", d.Sentence, c)
		}
	}
}

// parallel is a matrix whose agent calls three tools at once, in another order each time.
func parallel() *contract.Matrix {
	m := scripted(nil, contract.Under("all", fails("b", nil)))
	runs := 0
	m.NewWorld = func(context.Context) (*contract.World, error) {
		runs++
		shift := runs
		var tools []chaos.ToolFunc
		names := []string{"a", "b", "c"}
		for _, name := range names {
			tools = append(tools, chaos.Func(chaos.Tool{Name: name}, func(context.Context, map[string]any) (int, error) {
				time.Sleep(time.Second)
				return 1, nil
			}))
		}
		r, err := chaos.NewRegistry(tools...)
		return &contract.World{Tools: r, Agent: func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
			errs := make([]error, len(names))
			var all sync.WaitGroup
			for i := range names {
				k := (i + shift) % len(names)
				all.Go(func() {
					time.Sleep(time.Duration(i) * time.Millisecond) // they begin in this order
					_, errs[k] = tools.CallTool(ctx, names[k], fmt.Appendf(nil, `{"n":%d}`, k))
				})
			}
			all.Wait()
			return map[bool]string{true: "bad", false: "ok"}[errs[1] != nil], nil
		}}, err
	}
	m.Invariants = m.Invariants[:1]
	return m
}

// Calls that overlap begin in any order: an agent that makes them repeats itself.
func TestParallelCallsInAnotherOrderAreNoChance(t *testing.T) {
	o := &Options{}
	o.Run.Workers = 1
	r := explained(t, parallel(), o)
	require.Equal(t, []string{"b fails → fine"}, sentences(r))
	assert.Empty(t, r.Defects[0].Difference)
	assert.Zero(t, r.Defects[0].Runs, "no test by many runs")
	assert.LessOrEqual(t, r.SearchRuns, 6)
	d, err := Repeat(t.Context(), parallel(), &Options{Run: contract.RunOptions{Workers: 1, Harness: bubbled(t)}})
	require.NoError(t, err)
	assert.Nil(t, d)
}

// A defect whose milder faults were not all tried says that the search was cut, and is not kept.
func TestABudgetThatEndsBeforeMilderFaultsIsACut(t *testing.T) {
	named := map[string]int{}
	for runs := 1; ; runs++ {
		dir := t.TempDir()
		r := explained(t, telling(func(a, _, _ int) bool { return a != went }), &Options{Budget: Budget{Runs: runs}, Dir: dir})
		require.Len(t, r.Defects, 1)
		d := r.Defects[0]
		named[d.Sentence]++
		kept := keptIn(t, dir)
		assert.Equal(t, d.Sentence != "a fails", d.Cut, "%d runs: %s, %s", runs, d.Sentence, r.SearchStopped)
		assert.Len(t, kept, map[bool]int{true: 0, false: 1}[d.Cut], "%d runs", runs)
		if r.SearchStopped == "" {
			break
		}
	}
	assert.Positive(t, named["a returns what is not JSON"], "the fewest were known, the mildest were not")
}

// A sweep says which of equal calls too.
func TestASweepSaysWhichOfEqualCalls(t *testing.T) {
	m := scripted(func(call func(string, int) error) string {
		first, _ := call("a", 1), call("a", 1)
		return map[bool]string{true: "bad", false: "ok"}[first != nil]
	})
	s, err := Sweep(t.Context(), m, &Options{Budget: Budget{Runs: 100}, Run: contract.RunOptions{Harness: bubbled(t)},
		Faults: func(chaos.Event, chaos.Tool) []chaos.Fault { return []chaos.Fault{fault.Fail(errDown)} }})
	require.NoError(t, err)
	require.Len(t, s.Defects, 1)
	assert.Equal(t, "a fails on call 1", s.Defects[0].Sentence)
}
