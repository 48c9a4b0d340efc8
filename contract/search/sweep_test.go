package search

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/contract"
)

// A caller calls a tool and reports whether it failed.
type caller func(tool string) (failed bool)

// planted is a matrix of an agent over the tools of scripted that answers "ok", or what is wrong.
// Each call of "d" does work.
func planted(agent func(caller) string) *contract.Matrix {
	m := scripted(func(call func(string, int) error) string {
		return agent(func(tool string) bool { return call(tool, 1) != nil })
	})
	m.Invariants = m.Invariants[:1]
	return m
}

// failing tries plain failures only.
func failing(chaos.Event, chaos.Tool) []chaos.Fault {
	return []chaos.Fault{fault.Fail(fault.ErrUnavailable)}
}

func sweep(t testing.TB, m *contract.Matrix, o Options) *Swept {
	t.Helper()
	if !o.Budget.Set() {
		o.Budget.Runs = 100_000
	}
	r, err := Sweep(t.Context(), m, &o)
	require.NoError(t, err)
	for _, l := range r.Levels {
		assert.Equal(t, l.Possible, l.Alone+l.Together+l.Equal+l.Contains+l.Undelivered+l.Left, "%+v", l)
	}
	return r
}

// verdict is what an agent answers.
func verdict(wrong bool) string {
	if wrong {
		return "wrong"
	}
	return "ok"
}

// failsTimes tries a tool until it works, at most n times, and reports whether it never did.
func failsTimes(call caller, tool string, n int) bool {
	for range n {
		if !call(tool) {
			return false
		}
	}
	return true
}

// A planted bug is found at its level, and what is said below it is only what was tried.
func TestSweepFindsBugsAtTheirLevel(t *testing.T) {
	for _, row := range []struct {
		name     string
		agent    func(caller) string
		depth    int
		sentence string // "": no defect
		covered  string // a part of what was covered
	}{
		{"one fault", func(call caller) string { return verdict(call("a")) }, 1, "a fails", "all 1 single fault"},
		{"a retry that fails", func(call caller) string { return verdict(failsTimes(call, "a", 2)) }, 2, "a fails twice in a row",
			"all 1 pair in which the second is on a call that the first brought about"},
		{"a retry that fails, not looked for", func(call caller) string { return verdict(failsTimes(call, "a", 2)) }, 1, "",
			"all 1 single fault; no set of these breaks fine"},
		{"a fallback that is wrong", func(call caller) string { return verdict(call("a") && call("b")) }, 2, "a fails, then b fails",
			"all 1 pair in which the second is on a call that the first brought about"},
		{"two operations together", func(call caller) string {
			a, _, c := call("a"), call("b"), call("c")
			return verdict(a && c)
		}, 1, "a fails, then c fails", "all 3 single faults; all 3 other pairs"},
		{"three tries", func(call caller) string { return verdict(failsTimes(call, "a", 3)) }, 3, "a fails 3 times in a row",
			"all 1 set of 3 faults"},
		{"three tries, two looked for", func(call caller) string { return verdict(failsTimes(call, "a", 3)) }, 2, "",
			"all 1 single fault; all 1 pair in which the second is on a call that the first brought about; no set of these breaks fine"},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := sweep(t, planted(row.agent), Options{Faults: failing, Depth: row.depth})
			assert.Contains(t, r.Covered(), row.covered)
			if row.sentence == "" {
				assert.Empty(t, r.Defects)
				return
			}
			require.Len(t, r.Defects, 1, "%v", r)
			assert.Equal(t, row.sentence, r.Defects[0].Sentence)
			assert.NotContains(t, r.Covered(), "breaks fine")
		})
	}
}

// truth is an agent that calls a to e and answers by which of them failed.
func truth(table []bool) func(caller) string {
	return func(call caller) string {
		mask, names := 0, ""
		for i, tool := range "abcde" {
			if call(string(tool)) {
				mask |= 1 << i
				names += string(tool)
			}
		}
		if table[mask] {
			return "wrong after " + names
		}
		return "ok"
	}
}

// On any function of five calls: single faults are exact; what is reported breaks; and
// if more faults never save a run, so are pairs, and nothing can be left out.
func TestSweepAgainstBruteForce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		table := rapid.SliceOfN(rapid.SampledFrom([]bool{false, false, false, false, true}), 32, 32).Draw(rt, "table")
		monotone := rapid.Bool().Draw(rt, "monotone")
		if monotone {
			for mask := range table {
				for i := range 5 {
					table[mask|1<<i] = table[mask|1<<i] || table[mask]
				}
			}
		}
		r, err := Sweep(t.Context(), planted(truth(table)), &Options{Budget: Budget{Runs: 10_000}, Faults: failing})
		if err != nil {
			rt.Fatal(err)
		}
		found := map[int]bool{}
		for _, d := range r.Defects {
			mask := 0
			for _, h := range d.Deliveries {
				mask |= 1 << strings.Index("abcde", h.Target)
			}
			found[mask] = true
			if !table[mask] {
				rt.Fatalf("%05b is no defect", mask)
			}
		}
		for mask := range table {
			minimal := table[mask]
			for i := range 5 {
				minimal = minimal && (mask&(1<<i) == 0 || !table[mask&^(1<<i)])
			}
			size := bits.OnesCount(uint(mask))
			switch {
			case table[0] && mask > 0, !monotone && size > 1:
			case found[mask] && !minimal:
				rt.Fatalf("%05b is not minimal", mask)
			case !found[mask] && minimal && size <= 2:
				rt.Fatalf("%05b was not found:\n%v", mask, r)
			}
		}
	})
}

// usual is an agent that retries, falls back and does work, over all usual faults.
func usual(call caller) string {
	a := failsTimes(call, "a", 2)
	d := failsTimes(call, "d", 2)
	return verdict(a && call("c") || d && a)
}

func encode(t testing.TB, r *Swept) string {
	t.Helper()
	own := *r
	own.Elapsed = 0
	doc, err := json.Marshal(own)
	require.NoError(t, err)
	return string(doc)
}

func TestSweepIsTheSameAtAnyNumberOfWorkers(t *testing.T) {
	want := ""
	for _, workers := range []int{1, 2, 8, 64} {
		o := Options{Depth: 3}
		o.Run.Workers = workers
		got := encode(t, sweep(t, planted(usual), o))
		if want == "" {
			want = got
		}
		assert.Equal(t, want, got)
	}
	assert.Contains(t, want, `"sentence"`)
}

// A budget of runs cuts in order, and what is left is counted.
func TestSweepIsCutInOrder(t *testing.T) {
	whole := sweep(t, planted(usual), Options{})
	require.Empty(t, whole.Stopped)
	for runs := 1; runs <= whole.Runs; runs += 3 {
		r := sweep(t, planted(usual), Options{Budget: Budget{Runs: runs}})
		assert.Equal(t, runs, r.Runs)
		if runs < whole.Runs {
			assert.Contains(t, r.Stopped, "of the budget")
			assert.NotContains(t, r.Covered(), "all 0 ")
		}
		if runs < 2 {
			assert.Equal(t, "nothing was tried", r.Covered())
			assert.Equal(t, []Level{{Faults: 1}, {Faults: 2}}, r.Levels, "cut in the calm runs")
			continue
		}
		first := r.Levels[0]
		assert.Equal(t, min(runs-2, first.Possible), first.Alone, "two calm runs come first")
		if second := r.Levels[1]; first.Left > 0 {
			assert.Equal(t, first.Left, second.Unknown)
			assert.Zero(t, second.Alone)
			assert.Contains(t, r.String(), "not tried")
		}
	}
}

// A budget of time leaves a beginning: the level that it ends is counted as the others.
func TestSweepOfNoTimeIsABeginning(t *testing.T) {
	r := sweep(t, planted(usual), Options{Budget: Budget{Time: 1}})
	assert.Equal(t, 1, r.Runs, "the first round is whole")
	assert.Contains(t, r.Stopped, "the time of 1ns was over")
	assert.Empty(t, r.Defects)
	assert.Equal(t, "nothing was tried", r.Covered())
}

// A sweep whose context ends in a level has those before it, that one, and the other pairs.
func TestLevelsOfASweepThatIsCancelled(t *testing.T) {
	m := planted(usual)
	ctx, cancel := context.WithCancel(t.Context())
	r, err := Sweep(ctx, m, &Options{Run: contract.RunOptions{Harness: bubbled(t)}, Faults: failing, Budget: Budget{Runs: 100},
		OnProgress: func(p Progress) {
			if p.Runs > 2 {
				cancel()
			}
		}})
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, r.Levels, 3, "%v", r)
	assert.Positive(t, r.Levels[1].Left)
	assert.Equal(t, Level{Faults: 2}, r.Levels[2])
}

// Without the invariant that alone notices a fault, the fault is unguarded.
func TestSweepSaysWhatIsUnguarded(t *testing.T) {
	m := planted(func(call caller) string {
		call("d")
		return "ok"
	})
	m.Invariants = append(m.Invariants, contract.Invariant{Name: "once", Severity: contract.Critical, Needs: contract.NeedState,
		Check: func(_ context.Context, o *contract.Observation) error {
			if n := o.After.(int); n > 1 {
				return errors.New("d was done twice")
			}
			return nil
		}})
	faults := func(chaos.Event, chaos.Tool) []chaos.Fault { return []chaos.Fault{fault.Duplicate()} }
	r := sweep(t, m, Options{Faults: faults})
	assert.Equal(t, []Guard{{Target: "d", Fault: "duplicate", Changed: "state", NoticedBy: []string{"once"}}}, r.Strength.Guards)
	assert.Equal(t, []int{1, 1}, []int{r.Strength.Changed, r.Strength.Noticed})
	assert.Empty(t, r.Strength.Unguarded())
	assert.Equal(t, []string{"fine"}, r.Strength.Idle)
	m.Invariants = m.Invariants[:1]
	r = sweep(t, m, Options{Faults: faults})
	require.Len(t, r.Strength.Unguarded(), 1)
	assert.Equal(t, "d", r.Strength.Unguarded()[0].Target)
	assert.Contains(t, r.String(), "changed the state, and no invariant noticed: d duplicate")
	assert.Equal(t, 0, r.Strength.Noticed)
}

// A fault that cannot be delivered, one that takes away the call of another, and one that
// breaks everything are told apart.
func TestSweepTellsApartWhatWasLeftOut(t *testing.T) {
	r := sweep(t, planted(func(call caller) string {
		if call("a") {
			return "ok" // gives up, so b and c are not called
		}
		call("b")
		return verdict(call("c"))
	}), Options{Faults: func(e chaos.Event, _ chaos.Tool) []chaos.Fault {
		if e.Target == "b" {
			return []chaos.Fault{fault.Fail(fault.ErrUnavailable), fault.CutAfter(1)} // it is no stream
		}
		return failing(e, chaos.Tool{})
	}})
	assert.Equal(t, Level{Faults: 1, Possible: 4, Alone: 3, Undelivered: 1}, r.Levels[0])
	assert.Equal(t, Level{Faults: 2, Possible: 5, Equal: 2, Contains: 1, Undelivered: 2}, r.Levels[2], "%v", r)
	assert.Contains(t, r.String(), "of 5 other pairs: 2 equal to a smaller set, 1 containing one that breaks, 2 with a fault that could not be delivered")
}

func TestSweepOfWhatBreaksWithoutAnyFault(t *testing.T) {
	r := sweep(t, planted(func(call caller) string { call("a"); return "always wrong" }), Options{Faults: failing})
	require.Len(t, r.Defects, 1)
	assert.Equal(t, "without any fault", r.Defects[0].Sentence)
	assert.Equal(t, 1, r.Levels[0].Contains)
	assert.True(t, r.Invariants[0].Calm)
}

// An agent that does not repeat itself is swept fault by fault, and what breaks is run
// often enough to be sure.
func TestSweepOfARandomAgent(t *testing.T) {
	var n atomic.Int64
	m := planted(func(call caller) string {
		run := n.Add(1)
		if call("a") {
			return fmt.Sprint("wrong ", run)
		}
		call("b")
		return fmt.Sprint("ok ", run)
	})
	m.Invariants[0].Check = func(_ context.Context, o *contract.Observation) error {
		if strings.HasPrefix(o.Response, "wrong") {
			return errors.New(o.Response)
		}
		return nil
	}
	o := Options{Faults: failing}
	o.Run.Workers = 1
	r := sweep(t, m, o)
	require.NotNil(t, r.Difference)
	assert.Equal(t, "answer", r.Difference.What)
	require.Len(t, r.Defects, 1, "%v", r)
	assert.Equal(t, "a fails", r.Defects[0].Sentence)
	assert.Equal(t, []int{4, 4}, []int{r.Defects[0].Broke, r.Defects[0].Runs})
	assert.False(t, r.Defects[0].Unconfirmed)
	assert.Equal(t, []Level{{Faults: 1, Possible: 2, Alone: 2}}, r.Levels, "nothing else is tried")
	assert.Contains(t, r.String(), "two runs without faults differ: prompt 1, answer: ok ")
	assert.Equal(t, "all 2 single faults", r.Covered())
	assert.NotContains(t, r.String(), "left out", "said once, as what is not done with such an agent")

	check := m.Invariants[0].Check
	m = planted(func(call caller) string { call("a"); return fmt.Sprint("ok ", n.Add(1)) })
	m.Invariants[0].Check = check
	r = sweep(t, m, o)
	assert.Equal(t, "all 1 single fault; in one run each, none of which broke fine", r.Covered(), "another run may")
}

// An agent that panics, ends its goroutine, hangs or leaks under a fault breaks that run;
// the sweep goes on.
func TestSweepOutlivesTheAgent(t *testing.T) {
	for name, misbehave := range map[string]func(){
		"panics": func() { panic("fell over") },
		"ends":   func() { (&testing.T{}).SkipNow() },
		"hangs":  func() { select {} },
		"leaks":  func() { go func() { select {} }() },
	} {
		o := Options{Faults: failing}
		o.Run.Harness.Calm = bubbled(t).Calm
		r := sweep(t, planted(func(call caller) string {
			if call("a") {
				misbehave()
			}
			return verdict(call("b"))
		}), o)
		var said []string
		for _, d := range r.Defects {
			said = append(said, d.Sentence)
		}
		slices.Sort(said)
		assert.Equal(t, []string{"a fails", "b fails"}, said, "%s\n%v", name, r)
	}
}

// Errors name the field, and come before any run where they can.
func TestSweepRefuses(t *testing.T) {
	m := planted(usual)
	_, err := Sweep(t.Context(), m, &Options{Depth: 5, Strength: -1})
	for _, want := range []string{"Budget", "Depth is 5", "Strength is -1"} {
		assert.ErrorContains(t, err, want)
	}
	budget := Budget{Runs: 10}
	_, err = Sweep(t.Context(), nil, &Options{Budget: budget})
	assert.ErrorContains(t, err, "m is nil")
	for want, faults := range map[string]func(chaos.Event, chaos.Tool) []chaos.Fault{
		"Faults: a [1] is nil":  func(chaos.Event, chaos.Tool) []chaos.Fault { return []chaos.Fault{fault.Delay(0), nil} },
		"Faults panicked: boom": func(chaos.Event, chaos.Tool) []chaos.Fault { panic("boom") },
		"latency":               func(chaos.Event, chaos.Tool) []chaos.Fault { return []chaos.Fault{fault.Delay(-1)} },
	} {
		var r *Swept
		r, err = Sweep(t.Context(), m, &Options{Budget: budget, Faults: faults})
		assert.ErrorContains(t, err, want)
		assert.Contains(t, r.Stopped, want, "what was found until then does not look complete")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Sweep(ctx, m, &Options{Budget: budget})
	assert.ErrorIs(t, err, context.Canceled)
}

// A secret in a reason reaches no result.
func TestSweepRedacts(t *testing.T) {
	r := sweep(t, planted(func(call caller) string {
		if call("a") {
			return "hunter2 is the password"
		}
		return "ok"
	}), Options{Faults: failing, Secrets: []string{"hunter2"}})
	require.Len(t, r.Defects, 1)
	assert.NotContains(t, encode(t, r)+r.String(), "hunter2")

	var runs atomic.Int32 // what differs in two runs may be near a secret
	m, o := planted(func(caller) string { return fmt.Sprint("hunter2 is the password ", runs.Add(1)) }),
		Options{Faults: failing, Secrets: []string{"hunter2"}, Budget: Budget{Runs: 10}}
	r = sweep(t, m, o)
	require.NotNil(t, r.Difference)
	assert.NotContains(t, encode(t, r)+r.String(), "hunter2")
	d, err := Repeat(t.Context(), m, &o)
	require.NoError(t, err)
	assert.Contains(t, d.String(), "[redacted] is the password")
}

// Each layer has the faults that fit it, all of which are sound.
func TestUsual(t *testing.T) {
	for _, row := range []struct {
		e     chaos.Event
		tool  chaos.Tool
		kinds string
	}{
		{chaos.Event{Target: "get", Layer: chaos.LayerTool}, chaos.Tool{Effect: chaos.EffectNone}, "error timeout empty_result latency"},
		{chaos.Event{Target: "pay", Layer: chaos.LayerTool}, chaos.Tool{Effect: chaos.EffectDone},
			"error timeout empty_result latency lost_reply duplicate"},
		{chaos.Event{Target: "any", Layer: chaos.LayerTool}, chaos.Tool{}, "error timeout empty_result latency lost_reply duplicate"},
		{chaos.Event{Target: "f", Layer: chaos.LayerPoint}, chaos.Tool{}, "error timeout empty_result latency lost_reply duplicate"},
		{chaos.Event{Target: "GET host/", Layer: chaos.LayerHTTP}, chaos.Tool{}, "error timeout http_status malformed_result latency"},
		{chaos.Event{Target: "POST host/", Layer: chaos.LayerHTTP}, chaos.Tool{},
			"error timeout http_status malformed_result latency lost_reply duplicate"},
		{chaos.Event{Target: "llm", Layer: chaos.LayerLLM}, chaos.Tool{}, "error timeout empty_completion cut_completion latency"},
		{chaos.Event{Target: "s", Layer: chaos.LayerStream}, chaos.Tool{}, "error timeout stream_cut missing_terminator latency"},
	} {
		var kinds []string
		for _, f := range Usual(row.e, row.tool) {
			kinds = append(kinds, f.(chaos.Described).Describe().Kind)
			_, err := chaos.NewPlan(1, chaos.Rule{Target: "x", Fault: f})
			assert.NoError(t, err)
		}
		assert.Equal(t, row.kinds, strings.Join(kinds, " "), "%s", row.e.Target)
	}
}
