package mutate_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/mutate"
	"github.com/shakedown-go/shakedown/internal/golden"
	"github.com/shakedown-go/shakedown/scoring"
	"github.com/shakedown-go/shakedown/scoring/stats"
)

// own is a kind of a test.
type own struct {
	kind   string
	weight float64
	intent mutate.Intent
	mutate func(ctx context.Context, prompt string, d mutate.Draw) (string, error)
}

func (o own) Kind() string          { return o.kind }
func (o own) Weight() float64       { return o.weight }
func (o own) Intent() mutate.Intent { return o.intent }
func (o own) Mutate(ctx context.Context, prompt string, d mutate.Draw) (string, error) {
	return o.mutate(ctx, prompt, d)
}

// shout is a kind that works.
func shout(kind string) own {
	return own{kind, 1, mutate.Same, func(_ context.Context, prompt string, d mutate.Draw) (string, error) {
		return prompt + strings.Repeat("!", d.Variant), nil
	}}
}

func TestGoldenVectors(t *testing.T) {
	names := []string{}
	for _, k := range mutate.Kinds() {
		names = append(names, k.Name)
	}
	set, err := mutate.New(&mutate.Options{Seed: 1, Variants: 2, Kinds: names})
	require.NoError(t, err)
	prompts := []string{sample, "Bitte storniere die Bestellung R-2, danke.", "订单1042退款，谢谢"}
	scenarios, _, err := set.Scenarios(context.Background(), prompts)
	require.NoError(t, err)
	var b bytes.Buffer
	for _, s := range scenarios {
		for _, p := range prompts {
			text := s.Rewrite(p)
			if len(text) > 400 {
				text = fmt.Sprintf("%s … %d bytes … %s", text[:100], len(text), text[len(text)-100:])
			}
			fmt.Fprintf(&b, "%s\t%q\n", s.Name, text)
		}
	}
	golden.Equal(t, "texts.txt", b.Bytes())
}

func TestNewRefuses(t *testing.T) {
	for _, tc := range []struct {
		options mutate.Options
		want    string
	}{
		{mutate.Options{Kinds: []string{"typos"}}, `Kinds[0] is "typos"; allowed: a kind or a group of mutate.Kinds, or encode; did you mean typo?`},
		{mutate.Options{Kinds: []string{}}, `Kinds is empty, and so is Own; allowed: one or more, or nil for all`},
		{mutate.Options{Variants: -1}, `Variants is -1; allowed: 1 to 1000, or 0 for 1`},
		{mutate.Options{Strength: 1.5}, `Strength is 1.5; allowed: above 0 and up to 1, or 0 for that of each kind`},
		{mutate.Options{Strength: math.NaN()}, `Strength is NaN; allowed: above 0 and up to 1, or 0 for that of each kind`},
		{mutate.Options{Own: []mutate.Mutator{nil}}, `Own[0] is missing; allowed: a mutator`},
		{mutate.Options{Own: []mutate.Mutator{shout("typo")}}, `Own[0].Kind is "typo"; allowed: a name that no other kind or group has`},
		{mutate.Options{Own: []mutate.Mutator{shout("a b")}},
			`Own[0].Kind is "a b"; allowed: one or more letters, digits, '.', '_' and '-': it becomes part of a subtest's name`},
		{mutate.Options{Own: []mutate.Mutator{own{"a", -1, mutate.Same, nil}}}, `Own[0].Weight is -1; allowed: above 0, and finite`},
		{mutate.Options{Own: []mutate.Mutator{own{"a", 1, 0, nil}}}, `Own[0].Intent is Intent(0); allowed: Same, Attack or Lost`},
		{mutate.Options{Own: []mutate.Mutator{(*own)(nil)}},
			`Own[0]: panic: runtime error: invalid memory address or nil pointer dereference; allowed: a mutator whose methods return`},
	} {
		_, err := mutate.New(&tc.options)
		if assert.Error(t, err, tc.want) && !strings.Contains(tc.want, "nil pointer") {
			assert.EqualError(t, err, "mutate: "+tc.want)
		}
		var field *mutate.FieldError
		assert.ErrorAs(t, err, &field)
	}
	_, err := mutate.New(&mutate.Options{Variants: -1, Kinds: []string{"x"}, Strength: 2})
	assert.Equal(t, 3, strings.Count(err.Error(), "mutate: "), "all problems are joined: %v", err)
}

func TestKindsAreSelected(t *testing.T) {
	for _, tc := range []struct {
		reason string
		kinds  []string
		want   string
	}{
		{"a kind with one form is made once", []string{"lower"}, "lower-1"},
		{"by group", []string{"multi_turn_attack", "paraphrase"}, "paraphrase-1 paraphrase-2 transcript-1 transcript-2"},
		{"all encodings", []string{"encode"}, "encode.leet-1 encode.base64-1 encode.hex-1 encode.url-1 encode.rot13-1"},
	} {
		set, err := mutate.New(&mutate.Options{Variants: 2, Kinds: tc.kinds})
		require.NoError(t, err, tc.reason)
		scenarios, _, err := set.Scenarios(context.Background(), []string{sample})
		require.NoError(t, err, tc.reason)
		assert.Equal(t, tc.want, strings.Join(names(scenarios), " "), tc.reason)
	}
	set, err := mutate.New(nil)
	require.NoError(t, err)
	scenarios, _, err := set.Scenarios(context.Background(), []string{sample})
	require.NoError(t, err)
	assert.Len(t, scenarios, 33, "all kinds of the specification but the four that lose the task")
	assert.NotContains(t, names(scenarios), "empty-1")
}

func names(scenarios []contract.Scenario) (all []string) {
	for _, s := range scenarios {
		all = append(all, s.Name)
	}
	return all
}

func TestScenarios(t *testing.T) {
	ctx := context.Background()
	set, err := mutate.New(&mutate.Options{Kinds: []string{"lower", "paraphrase"}})
	require.NoError(t, err)

	_, _, err = set.Scenarios(ctx, nil)
	assert.EqualError(t, err, "mutate: prompts is empty; allowed: one or more")
	_, _, err = set.Scenarios(ctx, []string{"a", "\xff"})
	assert.EqualError(t, err, `mutate: prompts[1] is "\xff"; allowed: valid UTF-8`)

	scenarios, unchanged, err := set.Scenarios(ctx, []string{"Hello", "hello", "Hello"})
	require.NoError(t, err)
	assert.Equal(t, "hello", scenarios[0].Rewrite("Hello"))
	assert.Equal(t, "Another", scenarios[0].Rewrite("Another"), "a text that it was not given stays")
	assert.Equal(t, []mutate.Unchanged{
		{Scenario: "lower-1", Prompt: "hello", Why: "it came out as it was"},
		{Scenario: "paraphrase-1", Prompt: "Hello", Why: "it came out as it was"},
		{Scenario: "paraphrase-1", Prompt: "hello", Why: "it came out as it was"},
	}, unchanged)
	assert.False(t, scenarios[0].AllowUndelivered)
	assert.True(t, scenarios[1].AllowUndelivered, "it cannot deliver, which is told")

	set, err = mutate.New(&mutate.Options{Kinds: []string{}, Own: []mutate.Mutator{own{"reworded", 1, mutate.Same,
		func(context.Context, string, mutate.Draw) (string, error) {
			return "", fmt.Errorf("%w: the answer lacks a number", mutate.ErrRefused)
		}}}})
	require.NoError(t, err)
	refused, unchanged, err := set.Scenarios(ctx, []string{"Hello"})
	require.NoError(t, err)
	assert.Equal(t, "Hello", refused[0].Rewrite("Hello"))
	assert.Equal(t, []mutate.Unchanged{{"reworded-1", "Hello", "mutate: no text: the answer lacks a number"}}, unchanged)

	rule := chaos.Rule{Name: "down", Target: "*", Fault: fault.Fail(errors.New("down"))}
	set, err = mutate.New(&mutate.Options{Kinds: []string{"lower", "paraphrase"}})
	require.NoError(t, err)
	scenarios, _, err = set.Scenarios(ctx, []string{"Hello"}, rule)
	require.NoError(t, err)
	for _, s := range scenarios {
		assert.Len(t, s.Rules, 1)
		assert.False(t, s.AllowUndelivered, "its rules may deliver")
	}

	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	_, _, err = set.Scenarios(cancelled, []string{"Hello"})
	assert.ErrorIs(t, err, context.Canceled)
}

// TestAMutatorThatFails does not keep the others from being made.
func TestAMutatorThatFails(t *testing.T) {
	boom := errors.New("boom")
	fails := map[string]func(context.Context, string, mutate.Draw) (string, error){
		"errs":   func(context.Context, string, mutate.Draw) (string, error) { return "", boom },
		"panics": func(context.Context, string, mutate.Draw) (string, error) { panic("boom") },
		"exits":  func(context.Context, string, mutate.Draw) (string, error) { runtime.Goexit(); return "", nil },
		"bytes":  func(context.Context, string, mutate.Draw) (string, error) { return "\xff", nil },
	}
	for name, f := range fails {
		set, err := mutate.New(&mutate.Options{Kinds: []string{"lower"}, Variants: 2,
			Own: []mutate.Mutator{own{name, 1, mutate.Same, f}, shout("shout")}})
		require.NoError(t, err)
		scenarios, _, err := set.Scenarios(context.Background(), []string{"Hello"})
		var field *mutate.FieldError
		require.ErrorAs(t, err, &field, name)
		assert.Equal(t, "Own[0]", field.Field, name)
		assert.Equal(t, 1, strings.Count(err.Error(), "Own[0]"), "once for all variants: %v", err)
		assert.Equal(t, []string{"lower-1", "shout-1", "shout-2"}, names(scenarios), name)
		assert.Equal(t, "Hello!!", scenarios[2].Rewrite("Hello"))
	}
}

// cell is one of a report; rewritten is how many of its prompts were sent in other words.
func cell(scenario, invariant string, trial int, state contract.CellState, rewritten int) contract.CellReport {
	return contract.CellReport{Cell: contract.Cell{Scenario: scenario, Invariant: invariant, Trial: trial}, State: state,
		Rewritten: rewritten}
}

func TestScore(t *testing.T) {
	set, err := mutate.New(&mutate.Options{Kinds: []string{"typo", "upper", "persona", "empty"}, Variants: 2})
	require.NoError(t, err)
	score, err := set.Score(&contract.Report{Trials: 2, Cells: []contract.CellReport{
		cell("calm", "a", 1, contract.Broken, 0), // of another scenario
		cell("typo-1", "a", 1, contract.Held, 1), // held: one decided, none broken
		cell("typo-1", "b", 1, contract.Inconclusive, 1),
		cell("typo-1", "a", 2, contract.Held, 1), // broken: one of two
		cell("typo-1", "b", 2, contract.Broken, 1),
		cell("typo-2", "a", 1, contract.Undelivered, 0),
		cell("typo-2", "b", 1, contract.Inconclusive, 1), // inconclusive
		cell("typo-2", "a", 2, contract.Held, 0),         // its rules delivered, its words did not
		cell("upper-1", "a", 1, contract.Held, 2),        // held
		cell("upper-1", "a", 2, contract.NotRun, 0),
		cell("persona-1", "a", 1, contract.Broken, 1), // broken
	}})
	require.NoError(t, err)
	assert.InDelta(t, (.8+.6)/(.8+.8+.6+2), score.Value, 1e-12)
	assert.Equal(t, "Σ w·h ÷ Σ w = 1.4 ÷ 4.2", score.Formula)
	assert.Equal(t, []int{2, 4, 12, 1, 1, 6},
		[]int{score.Passed, score.Decided, score.Total, score.Inconclusive, score.Undelivered, score.NotRun})
	// Three texts of two prompts: two draws, of which one held, as of the two trials of one text.
	assert.Equal(t, 2, score.Prompts)
	typo, _ := stats.ClopperPearson(1, 2, scoring.Level95)
	typo.Clusters = 2
	assert.Equal(t, typo, score.Interval)
	assert.Equal(t, scoring.KindScore{Kind: "typo", Group: "noise", Intent: "same", Weight: .8, Passed: 1, Decided: 2, Total: 4,
		Interval: typo}, score.Kinds[0])

	_, err = set.Score(&contract.Report{Cells: []contract.CellReport{cell("typo-1", "a", 1, contract.Inconclusive, 1)}})
	assert.ErrorIs(t, err, scoring.ErrNoDecidedCell)
	_, err = set.Score(&contract.Report{Cells: []contract.CellReport{cell("calm", "a", 1, contract.Held, 0)}})
	assert.ErrorIs(t, err, scoring.ErrNoneRan)
	_, err = set.Score(nil)
	assert.EqualError(t, err, "mutate: report is missing; allowed: a report")
	_, err = set.Score(&contract.Report{Sequential: true, Trials: 2, Cells: []contract.CellReport{
		cell("typo-1", "a", 1, contract.Broken, 1), cell("typo-1", "b", 1, contract.Held, 1),
		cell("typo-1", "b", 2, contract.Held, 1)}})
	require.ErrorContains(t, err, "report.Sequential", "the second trial of a would have broken too: it was not needed")
	_, err = set.Score(&contract.Report{Counts: []scoring.Cell{{}}})
	assert.EqualError(t, err, "mutate: report.Cells is empty; allowed: a report that kept its cells: a KeepPolicy other than KeepCounts")
}

func TestIntentIsText(t *testing.T) {
	for _, i := range []mutate.Intent{mutate.Same, mutate.Attack, mutate.Lost} {
		text, err := i.MarshalText()
		require.NoError(t, err)
		var back mutate.Intent
		require.NoError(t, back.UnmarshalText(text))
		assert.Equal(t, i, back)
	}
	_, err := mutate.Intent(9).MarshalText()
	assert.EqualError(t, err, "mutate: intent is Intent(9); allowed: same, attack, lost")
	var i mutate.Intent
	assert.EqualError(t, i.UnmarshalText([]byte("")), `mutate: intent is ""; allowed: same, attack, lost`)
}
