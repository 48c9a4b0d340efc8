package contract_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
)

// A calls is how often the agent calls clock and bell for a prompt.
type calls struct{ clock, bell int }

// countingOracle predicts the warnings about rules of a matrix from the prompts and
// their calls, as contracts.md says: what N and which most a warning names.
type countingOracle struct {
	by        map[string]calls // of a prompt
	invariant map[string]int   // prompt list: invariants
	baseline  map[string]bool  // prompt list: it has a calm run
	calm      int              // scenarios without rules
	trials    int
	share     bool
	shared    bool // a shared world, with a state probe
	prompts   string
}

// runs is how many complete runs of a list had no faults.
func (o *countingOracle) runs(list string) (n int) {
	if n = o.calm * o.trials; !o.share {
		n *= o.invariant[list]
	}
	if o.baseline[list] {
		n++
	}
	// The probe sends the first prompt twice; a calm run that begins with it is one of
	// the two. What is only the beginning of a list is no run of it.
	first, _, more := strings.Cut(o.prompts, " ")
	if o.shared && first == list && !(more && o.baseline[o.prompts]) {
		if n++; !o.baseline[list] {
			n++
		}
	}
	return n
}

// warning is that of a rule for a target, of which call nth is the first to match; empty: there is none.
func (o *countingOracle) warning(name, target string, nth int) string {
	total, most, matches := 0, calls{}, false
	for list := range o.invariant {
		n := o.runs(list)
		if n == 0 {
			return ""
		}
		total += n
		sum := calls{}
		for prompt := range strings.SplitSeq(list, " ") {
			sum.clock, sum.bell = sum.clock+o.by[prompt].clock, sum.bell+o.by[prompt].bell
		}
		most = calls{max(most.clock, sum.clock), max(most.bell, sum.bell)}
	}
	k := map[string]int{"clock": most.clock, "bell": most.bell, "{clock,bell}": max(most.clock, most.bell)}[target]
	if matches = k >= nth; matches {
		return ""
	}
	text := fmt.Sprintf("Rule r of scenario %s can never match: in %d calm runs the agent ", name, total)
	if total == 1 {
		text = strings.Replace(text, "runs", "run", 1)
	}
	one := target
	if strings.HasPrefix(target, "{") {
		one = "any one target of " + target
	}
	often := map[int]string{1: "once", 2: "twice"}[k]
	if often == "" {
		often = fmt.Sprintf("%d times", k)
	}
	switch {
	case k > 0:
		return text + fmt.Sprintf("called %s %s at most.", one, often)
	case one == target:
		return text + "did not call " + target + "."
	}
	return text + "called no target of " + target + "."
}

// TestWarningsCountWhatTheAgentDid: in random matrices each warning about too few calls
// is there exactly if the oracle has it, with the same numbers.
func TestWarningsCountWhatTheAgentDid(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := func(least, most int, what string) int { return rapid.IntRange(least, most).Draw(rt, what) }
		o := &countingOracle{by: map[string]calls{}, invariant: map[string]int{}, baseline: map[string]bool{},
			calm: n(0, 2, "calm"), trials: n(1, 2, "trials"), share: rapid.Bool().Draw(rt, "share"), shared: rapid.Bool().Draw(rt, "shared")}
		for _, p := range []string{"a", "b", "c"} {
			o.by[p] = calls{n(0, 2, "clock"), n(0, 2, "bell")}
		}
		agent := func(ctx context.Context, prompt string, tools chaos.ToolRegistry) (string, error) {
			for range o.by[prompt].clock {
				_, _ = tools.CallTool(ctx, "clock", json.RawMessage(`{}`))
			}
			for range o.by[prompt].bell {
				_, _ = tools.CallTool(ctx, "bell", json.RawMessage(`{}`))
			}
			return "done", nil
		}
		lists := []string{"a", "a b", "b c", "c"}
		o.prompts = rapid.SampledFrom(lists).Draw(rt, "prompts")
		m := &contract.Matrix{Prompts: strings.Split(o.prompts, " "), Trials: o.trials, ShareObservations: o.share}
		for i := range n(1, 3, "invariants") {
			inv, list := holds(fmt.Sprint("i", i), contract.Low), o.prompts
			if i > 0 && rapid.Bool().Draw(rt, "probes") {
				list = rapid.SampledFrom(lists).Draw(rt, "list")
				inv.Probes = strings.Split(list, " ")
			}
			if rapid.Bool().Draw(rt, "baseline") {
				inv.Needs, o.baseline[list] = contract.NeedBaseline, true
			}
			o.invariant[list]++
			m.Invariants = append(m.Invariants, inv)
		}
		tools := clockAndBell(t)
		if o.shared {
			m.World = &contract.World{Agent: agent, Tools: tools}
		} else {
			m.NewWorld = func(context.Context) (*contract.World, error) {
				return &contract.World{Agent: agent, Tools: tools}, nil
			}
		}
		for i := range o.calm {
			m.Scenarios = append(m.Scenarios, contract.Scenario{Name: fmt.Sprint("calm", i)})
		}
		var want []string
		for i := range n(1, 3, "scenarios") {
			name, nth := fmt.Sprint("s", i), n(1, 6, "nth")
			target := rapid.SampledFrom([]string{"clock", "bell", "{clock,bell}"}).Draw(rt, "target")
			w := rapid.SampledFrom([]chaos.When{when.Nth(nth), when.After(nth - 1), when.Every(nth), when.Burst(nth, 3)}).Draw(rt, "when")
			m.Scenarios = append(m.Scenarios, contract.Scenario{Name: name, Rules: []chaos.Rule{down("r", target, w)}, AllowUndelivered: true})
			if text := o.warning(name, target, nth); text != "" {
				want = append(want, text)
			}
		}
		r, err := m.Run(t.Context(), &contract.RunOptions{Workers: n(1, 4, "workers")})
		require.NoError(rt, err)
		got := slices.DeleteFunc(slices.Clone(r.Warnings), func(text string) bool { return !strings.HasPrefix(text, "Rule ") })
		require.ElementsMatch(rt, want, got, "%+v", o)
	})
}
