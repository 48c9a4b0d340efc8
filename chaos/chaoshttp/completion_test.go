package chaoshttp_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
)

// under returns what a caller reads of a completion in one form, through a fault.
func under(t require.TestingT, f chaos.Fault, w wire, s said, sizes ...int) (said, chaos.Event) {
	if len(sizes) == 0 {
		sizes = []int{3}
	}
	a := fetch(t, &canned{contentType: w.contentType, body: strings.NewReader(w.write(s, sizes))}, f)
	require.NoError(t, a.err)
	return w.read(t, a.body), a.event(t)
}

// inEvery runs a test for each form.
func inEvery(t *testing.T, test func(t *testing.T, form string, w wire)) {
	for form, w := range wires() {
		t.Run(form, func(t *testing.T) { test(t, form, w) })
	}
}

// expected is the completion as that form tells it: Anthropic has no place and
// no reason apart for refusals, and one reason for the filter and for them. Gemini has no
// place either, and a call whose arguments are no object is missing there. In Ollama's form
// it is a text.
func expected(form string, s said) said {
	if strings.HasPrefix(form, "gemini") || strings.HasPrefix(form, "ollama") {
		s.text, s.refusal = s.text+s.refusal, ""
		fit := slices.DeleteFunc(slices.Clone(s.calls), func(c toolCall) bool { return json.Unmarshal([]byte(c.args), &obj{}) != nil })
		if len(fit) < len(s.calls) {
			for _, c := range s.calls {
				if form[0] == 'o' && json.Unmarshal([]byte(c.args), &obj{}) != nil {
					s.text += fmt.Sprintf(`{"name": %s, "arguments": %s`, quote(c.name), c.args)
				}
			}
			s.calls = fit
			switch {
			case s.reason != "tool_calls":
			case form[0] == 'g':
				s.reason = "malformed"
			case len(fit) == 0:
				s.reason = "stop"
			}
		}
		if len(s.calls) == 0 {
			s.calls = nil
		}
	}
	if strings.HasPrefix(form, "message") {
		if s.refusal != "" || s.reason == "content_filter" {
			s.reason = "refusal"
		}
		s.text, s.refusal = s.text+s.refusal, ""
	}
	return s
}

func words() said { return said{text: "The order was shipped on Monday.", reason: "stop"} }

func call() said {
	return said{text: "I look it up.", reason: "tool_calls", calls: []toolCall{
		{"call_1", "orders.status", `{"order_id":1042,"expand":true}`}, {"call_2", "clock", `{}`},
	}}
}

func TestCompletionFaults(t *testing.T) {
	for _, tc := range []struct {
		name  string
		fault chaos.Fault
		given said
		want  said
	}{
		{"empty", chaoshttp.EmptyCompletion(), call(), said{reason: "stop"}},
		{"cut in the text", chaoshttp.CutCompletion(9), words(), said{text: "The order", reason: "length"}},
		{"cut in the text, the calls are behind it", chaoshttp.CutCompletion(9), call(), said{text: "I look it", reason: "length"}},
		{"cut in the arguments", chaoshttp.CutCompletion(25), call(),
			said{text: "I look it up.", reason: "length", calls: []toolCall{{"call_1", "orders.status", `{"order_id":`}}}},
		{"the limit is met exactly", chaoshttp.CutCompletion(32), words(), said{text: words().text, reason: "length"}},
		{"filtered", chaoshttp.FilterCompletion(3), words(), said{text: "The", reason: "content_filter"}},
		{"refused", chaoshttp.RefuseCompletion("No."), call(), said{refusal: "No.", reason: "stop"}},
		{"refused, and there was no text", chaoshttp.RefuseCompletion("No."), said{calls: call().calls, reason: "tool_calls"}, said{refusal: "No.", reason: "stop"}},
		{"malformed arguments", chaoshttp.MalformToolCall(), call(), said{text: "I look it up.", reason: "tool_calls", calls: []toolCall{
			{"call_1", "orders.status", `{"order_id":1042,"expand":true`}, {"call_2", "clock", `{`}}}},
		{"stripped", chaoshttp.StripToolCalls(), call(), said{text: "I look it up.", reason: "stop"}},
		{"a tool that is none", chaoshttp.HallucinateToolCall("orders.find"), call(), said{text: "I look it up.", reason: "tool_calls", calls: []toolCall{
			{"call_1", "orders.find", `{"order_id":1042,"expand":true}`}, {"call_2", "clock", `{}`}}}},
		{"a wrong argument", chaoshttp.WrongArgument("expand"), call(), said{text: "I look it up.", reason: "tool_calls", calls: []toolCall{
			{"call_1", "orders.status", `{"order_id":1042,"expand":false}`}, {"call_2", "clock", `{}`}}}},
		{"a missing argument", chaoshttp.MissingArgument("order_id"), call(), said{text: "I look it up.", reason: "tool_calls", calls: []toolCall{
			{"call_1", "orders.status", `{"expand":true}`}, {"call_2", "clock", `{}`}}}},
		{"JSON in a fence", chaoshttp.DriftCompletion(chaoshttp.DriftFormat), said{text: `{"a":1}`, reason: "stop"}, said{text: "```json\n{\"a\":1}\n```", reason: "stop"}},
		{"text in JSON", chaoshttp.DriftCompletion(chaoshttp.DriftFormat), said{text: "a\n\"b\"", reason: "stop"}, said{text: `{"answer": "a\n\"b\""}`, reason: "stop"}},
		{"another key", chaoshttp.DriftCompletion(chaoshttp.DriftKeys), said{text: ` {"order_id": 1.50}`, reason: "stop"}, said{text: ` {"orderId": 1.50}`, reason: "stop"}},
		{"a text becomes an error", chaoshttp.SpoilCompletion(chaoshttp.PartContent, chaoshttp.SpoilError), words(), said{text: "Internal server error", reason: "stop"}},
		{"a text becomes a time-out", chaoshttp.SpoilCompletion(chaoshttp.PartContent, chaoshttp.SpoilTimeout), words(), said{text: "Request timed out", reason: "stop"}},
		{"a text becomes empty", chaoshttp.SpoilCompletion(chaoshttp.PartContent, chaoshttp.SpoilEmpty), call(), said{reason: "tool_calls", calls: call().calls}},
		{"a text gets another schema", chaoshttp.SpoilCompletion(chaoshttp.PartContent, chaoshttp.SpoilSchema), said{text: `{"a_b":1,"c":2}`, reason: "stop"}, said{text: `{"aB":1,"c_v2":2}`, reason: "stop"}},
		{"arguments become an error", chaoshttp.SpoilCompletion(chaoshttp.PartArguments, chaoshttp.SpoilError), call(), said{text: "I look it up.", reason: "tool_calls", calls: []toolCall{
			{"call_1", "orders.status", `{"error":"Internal server error"}`}, {"call_2", "clock", `{"error":"Internal server error"}`}}}},
		{"arguments become empty", chaoshttp.SpoilCompletion(chaoshttp.PartArguments, chaoshttp.SpoilEmpty), call(), said{text: "I look it up.", reason: "tool_calls", calls: []toolCall{
			{"call_1", "orders.status", `{}`}, {"call_2", "clock", `{}`}}}},
		{"arguments are truncated", chaoshttp.SpoilCompletion(chaoshttp.PartArguments, chaoshttp.SpoilTruncate), call(), said{text: "I look it up.", reason: "tool_calls", calls: []toolCall{
			{"call_1", "orders.status", `{"order_id":104`}, {"call_2", "clock", `{`}}}},
		{"arguments get another schema", chaoshttp.SpoilCompletion(chaoshttp.PartArguments, chaoshttp.SpoilSchema), call(), said{text: "I look it up.", reason: "tool_calls", calls: []toolCall{
			{"call_1", "orders.status", `{"orderId":1042,"expand_v2":true}`}, {"call_2", "clock", `{}`}}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inEvery(t, func(t *testing.T, form string, w wire) {
				got, e := under(t, tc.fault, w, tc.given)
				assert.Equal(t, expected(form, tc.want), got)
				assert.True(t, e.Delivered)
				assert.NotEmpty(t, e.Changes)
				for _, ch := range e.Changes {
					assert.NotEqual(t, string(ch.Before), string(ch.After))
				}
			})
		})
	}
}

// A completion without what a fault is about is handed over as it came.
func TestCompletionFaultsWithNothingToDo(t *testing.T) {
	for name, f := range map[string]chaos.Fault{
		"malformed": chaoshttp.MalformToolCall(), "stripped": chaoshttp.StripToolCalls(), "hallucinated": chaoshttp.HallucinateToolCall(""),
		"wrong": chaoshttp.WrongArgument(""), "missing": chaoshttp.MissingArgument(""), "keys": chaoshttp.DriftCompletion(chaoshttp.DriftKeys),
		"arguments": chaoshttp.SpoilCompletion(chaoshttp.PartArguments, chaoshttp.SpoilCorrupt),
	} {
		t.Run(name, func(t *testing.T) {
			inEvery(t, func(t *testing.T, form string, w wire) {
				body := w.write(words(), []int{4})
				a := fetch(t, &canned{contentType: w.contentType, body: strings.NewReader(body)}, f)
				assert.Equal(t, body, a.body)
				assert.False(t, a.event(t).Delivered)
				assert.Contains(t, a.event(t).Note, "nothing that this fault changes")
			})
		})
	}
}

func TestUnknownArgumentsStay(t *testing.T) {
	for _, f := range []chaos.Fault{chaoshttp.WrongArgument("no_such"), chaoshttp.MissingArgument("no_such")} {
		inEvery(t, func(t *testing.T, form string, w wire) {
			got, e := under(t, f, w, call())
			assert.Equal(t, call(), got, "its arguments are held until they are complete, and then they are the same")
			assert.False(t, e.Delivered)
			assert.Empty(t, e.Changes)
		})
	}
}

// all are the faults in what a model says.
func all() map[string]chaos.Fault {
	faults := map[string]chaos.Fault{
		"empty": chaoshttp.EmptyCompletion(), "cut": chaoshttp.CutCompletion(20), "filter": chaoshttp.FilterCompletion(0), "refuse": chaoshttp.RefuseCompletion(""),
		"garble": chaoshttp.GarbleCompletion(), "malform": chaoshttp.MalformToolCall(), "strip": chaoshttp.StripToolCalls(), "hallucinate": chaoshttp.HallucinateToolCall(""),
		"wrong": chaoshttp.WrongArgument(""), "missing": chaoshttp.MissingArgument(""),
	}
	for _, d := range []chaoshttp.Drift{chaoshttp.DriftKeys, chaoshttp.DriftFormat, chaoshttp.DriftVerbosity, chaoshttp.DriftTone} {
		faults["drift "+string(d)] = chaoshttp.DriftCompletion(d)
	}
	for _, p := range []chaoshttp.Part{chaoshttp.PartContent, chaoshttp.PartArguments} {
		for _, s := range []chaoshttp.Spoil{chaoshttp.SpoilError, chaoshttp.SpoilTimeout, chaoshttp.SpoilEmpty, chaoshttp.SpoilTruncate, chaoshttp.SpoilCorrupt, chaoshttp.SpoilSchema} {
			faults[fmt.Sprintf("%s of %s", s, p)] = chaoshttp.SpoilCompletion(p, s)
		}
	}
	return faults
}

// completions draws completions: some text, some calls, at least one of them.
func completions() *rapid.Generator[said] {
	word := rapid.StringMatching(`[a-zé"\\ ]{1,8}`)
	value := rapid.OneOf(word.AsAny(), rapid.Int().AsAny(), rapid.Bool().AsAny(), rapid.Just[any](nil), rapid.SliceOfN(rapid.Int(), 0, 2).AsAny())
	args := rapid.MapOfN(rapid.StringMatching(`[a-z_]{1,5}`), value, 0, 3)
	text := rapid.OneOf(word, rapid.Map(args, func(v map[string]any) string { return object(v) }))
	return rapid.Custom(func(t *rapid.T) said {
		s := said{reason: "stop"}
		for i := range rapid.IntRange(0, 2).Draw(t, "calls") {
			s.reason = "tool_calls"
			s.calls = append(s.calls, toolCall{fmt.Sprint("call_", i), rapid.StringMatching(`[a-z]{1,5}`).Draw(t, "name"), object(args.Draw(t, "args"))})
		}
		if len(s.calls) == 0 || rapid.Bool().Draw(t, "speaks") {
			s.text = text.Draw(t, "text")
		}
		return s
	})
}

// Whatever the form and however a stream is split, the caller gets the same.
func TestAllFormsTellTheSame(t *testing.T) {
	faults := all()
	rapid.Check(t, func(t *rapid.T) {
		s := completions().Draw(t, "completion")
		sizes := rapid.SliceOfN(rapid.IntRange(1, 9), 1, 4).Draw(t, "sizes")
		for _, name := range rapid.SliceOfN(rapid.SampledFrom(slices.Sorted(maps.Keys(faults))), 3, 3).Draw(t, "faults") {
			want, told := under(t, faults[name], wires()["chat"], s)
			for form, w := range wires() {
				got, e := under(t, faults[name], w, s, sizes...)
				require.Equal(t, same(expected(form, want)), same(got), "%s: %s", name, form)
				require.Equal(t, told.Delivered, e.Delivered, "%s: %s", name, form)
				if !e.Delivered {
					require.Equal(t, same(s), same(got), "%s: %s", name, form)
				}
			}
		}
	})
}

// same makes arguments comparable: those of a message are a value, whose white
// space and member order a writer may choose.
func same(s said) said {
	for i, c := range s.calls {
		var v any
		if json.Unmarshal([]byte(c.args), &v) == nil {
			s.calls[i].args = object(v)
		}
	}
	return s
}
