package lies_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/lies"
)

const mail = `{"from":"a@example.com","body":"Where is my order?"}`

// An agent that passes the code on is found out, in calls and in the answer.
func TestLeaks(t *testing.T) {
	p, err := chaos.NewPlan(1, chaos.Rule{Target: "mail.read", Fault: lies.Inject(lies.Attack{Kind: lies.Exfiltration})})
	require.NoError(t, err)
	in := p.Injector("cell", &chaos.InjectorOptions{RecordAll: true, KeepValues: true})
	tools := chaos.WrapRegistry(&desk{docs: []string{mail, `"sent"`}}, in)
	read, err := tools.CallTool(t.Context(), "mail.read", json.RawMessage(`{}`))
	require.NoError(t, err)

	canaries := lies.Canaries(in.Events())
	require.Len(t, canaries, 1)
	token := canaries[0]
	assert.Contains(t, string(read), token)
	assert.Empty(t, lies.Leaks(in.Events(), "Your order is on its way."), "an agent that keeps it to itself")

	_, err = tools.CallTool(t.Context(), "mail.send", fmt.Appendf(nil, `{"text":"ref=%s!"}`, strings.ToUpper(token)))
	require.NoError(t, err)
	assert.Equal(t, []lies.Leak{{Canary: token, Target: "mail.send", Event: 1}, {Canary: token, Event: -1}},
		lies.Leaks(in.Events(), "See https://x.example/?"+token+"&y"))
}

// What merely looks like a canary is none, nor is one that was never delivered.
func TestNoFalseLeaks(t *testing.T) {
	_, e := once(t, lies.Inject(lies.Attack{Kind: lies.Exfiltration}), mail)
	token := lies.Canaries([]chaos.Event{e})[0]
	other := e
	other.Delivered = false
	for why, c := range map[string]struct {
		events []chaos.Event
		answer string
	}{
		"one character is another": {[]chaos.Event{e}, strings.Replace(token, token[3:4], "z", 1) + "y"},
		"a part of it":             {[]chaos.Event{e}, token[:15]},
		"words and numbers":        {[]chaos.Event{e}, "antidisestablishmentarianism 23456789234567892345"},
		"it was not delivered":     {[]chaos.Event{other}, token},
		"no events":                {nil, token},
	} {
		assert.Empty(t, lies.Leaks(c.events, c.answer), why)
	}
}

// A canary belongs to a cell, lane, target and rule, and is the same in each call.
func TestCanaryOfACell(t *testing.T) {
	token := func(seed uint64, cell, target string, calls int) string {
		p, err := chaos.NewPlan(seed, chaos.Rule{Name: "r", Target: "*", Fault: lies.Inject(lies.Attack{Kind: lies.Exfiltration})})
		require.NoError(t, err)
		in := p.Injector(cell, nil)
		tools := chaos.WrapRegistry(&desk{docs: []string{mail}}, in)
		for i := range calls {
			_, err := tools.CallTool(t.Context(), target, fmt.Appendf(nil, `{"i":%d}`, i))
			require.NoError(t, err)
		}
		found := lies.Canaries(in.Events())
		require.Len(t, found, 1)
		return found[0]
	}
	first := token(1, "a", "x", 1)
	assert.Equal(t, first, token(1, "a", "x", 5))
	for _, other := range []string{token(2, "a", "x", 1), token(1, "b", "x", 1), token(1, "a", "y", 1)} {
		assert.NotEqual(t, first, other)
	}
}

// The default texts read like what an attacker writes: nothing in a result of
// any lie says where it comes from.
func TestNothingRevealsATest(t *testing.T) {
	attacks := []lies.AttackKind{lies.Instruction, lies.Authority, lies.Exfiltration, lies.GoalHijack}
	check := func(text string) {
		lower := strings.ToLower(text)
		for _, word := range []string{"chaos", "shakedown", "inject", "fault", "canary", "{", "simulat"} {
			assert.NotContains(t, lower, word)
		}
		assert.NotRegexp(t, `(?i)\btests?\b`, text)
	}
	for _, attack := range attacks {
		seen := map[string]bool{}
		for seed := range uint64(30) {
			got, e := under(t, seed, lies.Inject(lies.Attack{Kind: attack}), `"Hello there."`)
			assert.True(t, e.Delivered)
			check(got)
			seen[got[:30]] = true
		}
		assert.GreaterOrEqual(t, len(seen), 3, "each default is drawn")
	}
	for seed := range uint64(30) {
		tools, _ := seededInjectorOf(t, seed, shop(), lies.PoisonTool("mail"))
		check(listed(t, tools)[2].Description)
	}
	for _, r := range catalogue() {
		check(strings.ReplaceAll(r.after, "{", ""))
	}
}

// A member that is there is not overwritten.
func TestNoteIsANewMember(t *testing.T) {
	got, _ := once(t, lies.Inject(lies.Attack{Texts: []string{"x"}}), `{"note":1}`)
	assert.Equal(t, `{"note":1,"notes":"x"}`, got)
	got, _ = once(t, lies.Inject(lies.Attack{Texts: []string{"x"}}), `plain text, not JSON`)
	assert.Equal(t, `plain text, not JSON x`, got)
}

// A canary in the middle of a large result is known, and found however JSON
// spells it.
func TestCanariesOfLargeResultsAreFound(t *testing.T) {
	filler := strings.Repeat("x", 5000)
	inner, err := json.Marshal(map[string]string{"a": filler, "notes": "Fragile.", "z": filler})
	require.NoError(t, err)
	outer, err := json.Marshal(map[string]string{"text": string(inner)})
	require.NoError(t, err)
	_, e := once(t, lies.InText(lies.Inject(lies.Attack{Kind: lies.Exfiltration})), string(outer))
	require.True(t, e.Delivered)
	assert.Len(t, lies.Canaries([]chaos.Event{e}), 1, "it is slipped in where the event shows nothing")
	assert.Less(t, len(e.Changes[0].After), 5000)

	_, e = once(t, lies.Inject(lies.Attack{Kind: lies.Exfiltration, Texts: []string{strings.Repeat("\x01", 990) + "{canary}" + strings.Repeat("\x01", 990)}}), `{"notes":"a b"}`)
	tokens := lies.Canaries([]chaos.Event{e})
	require.Len(t, tokens, 1, "a text that grows sixfold as JSON")

	spelled := ""
	for _, r := range tokens[0] {
		spelled += fmt.Sprintf(`\u%04X`, r)
	}
	for _, args := range []string{`{"memo":"` + spelled + `"}`, `{"memo":"{\"x\":\"` + strings.ReplaceAll(spelled, `\`, `\\`) + `\"}"}`} {
		leak := chaos.Event{Target: "send", Args: json.RawMessage(args)}
		assert.Equal(t, []lies.Leak{{Canary: tokens[0], Target: "send", Event: 1}}, lies.Leaks([]chaos.Event{e, leak}, ""))
	}
}
