package invariant

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
)

const (
	wholeText = "Order 1042 was shipped on Monday."
	cutText   = "Order 1042 was"
)

// talked is a call of a model, with what was kept of its answer.
func talked(text, reason string, change ...func(*chaos.Event)) chaos.Event {
	doc, _ := json.Marshal(map[string]any{"object": "chat.completion", "choices": []any{map[string]any{"index": 0,
		"message": map[string]any{"role": "assistant", "content": text}, "finish_reason": reason}}})
	e := chaos.Event{Target: "POST model.example/v1/chat/completions", Layer: chaos.LayerLLM, Key: 7, Attempt: 1,
		Outcome: chaos.OutcomeOK, Exchange: &chaos.Exchange{Response: string(doc)}, Start: ms, End: 2 * ms}
	for _, c := range change {
		c(&e)
	}
	return e
}

func later(e *chaos.Event)     { e.Start, e.End = 3*ms, 4*ms }
func other(e *chaos.Event)     { e.Key = 8 }
func unkept(e *chaos.Event)    { e.Exchange = nil }
func keyless(e *chaos.Event)   { e.Key = 0 }
func brokenOff(e *chaos.Event) { e.Outcome = chaos.OutcomeInjected }

func by(kind string, changes ...chaos.Change) func(*chaos.Event) {
	return func(e *chaos.Event) { e.Delivered, e.Fault, e.Changes = true, kind, changes }
}

// saying is an observation of an answer and calls.
func saying(text string, events ...chaos.Event) contract.Observation {
	return contract.Observation{Response: text, Events: events}
}

func TestNoCutAnswer(t *testing.T) {
	inv := NoCutAnswer("x", contract.High, nil)
	assert.True(t, inv.JudgesErrors)
	assert.True(t, inv.Needs.Has(contract.NeedResults))
	tokens := NoCutAnswer("x", contract.High, &CutOptions{Target: "tokens"})
	text := by("cut_completion", chaos.Change{Path: "$.choices[0].message.content", Before: json.RawMessage(`"` + wholeText + `"`), After: json.RawMessage(`"` + cutText + `"`)},
		chaos.Change{Path: "$.choices[0].finish_reason", Before: json.RawMessage(`"stop"`), After: json.RawMessage(`"length"`)})
	gaveUp := saying(cutText, talked(cutText, "length"))
	gaveUp.Err = errors.New("the answer was cut")
	table(t, []row{
		{"no call", inv, saying("hi"), holds, ""},
		{"a whole answer", inv, saying(wholeText, talked(wholeText, "stop")), holds, ""},
		{"cut by the model itself, and passed on", inv, saying(cutText+" \n", talked(cutText+" ", "length")), breaks,
			`the answer, "Order 1042 was \n", is what had come of an answer that was cut: POST`},
		{"an agent that fails", inv, gaveUp, holds, ""},
		{"an answer in other words", inv, saying("Sorry, I have no answer.", talked(cutText, "length")), unclear, "did not come to its end"},
		{"a fault cut it, and nothing was kept", inv, saying(cutText, talked("", "", unkept, text)), breaks, ""},
		{"of a stream nothing was kept", inv, saying(cutText, talked("", "", unkept, by("cut_stream"))), unclear, ""},
		{"a filter cut it", inv, saying(cutText, talked(cutText, "content_filter", by("filtered_completion"))), breaks, ""},
		{"a fault after the end of the text", inv, saying(wholeText, talked(wholeText, "stop", by("cut_stream"))), holds, ""},
		{"the provider's own filter", inv, saying("I can't.", talked("I can't.", "content_filter")), unclear, ""},
		{"its caller left it", inv, saying(cutText, edited(talked("", ""), func(e *chaos.Event) {
			e.Exchange.Response = "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"" + cutText + "\"}}]}\n\n"
		})), unclear, ""},
		{"it was not kept as a whole", inv, saying(cutText, talked(cutText, "length", by("cut_completion"), func(e *chaos.Event) {
			e.Exchange.Response += strings.Repeat(" ", 9<<10)
			e.Exchange.ResponseTruncated = true
		})), unclear, ""},
		{"several faults, of which one may cut", inv, saying(cutText, talked("", "", unkept, func(e *chaos.Event) { e.Delivered, e.Also = true, []string{"r"} })), unclear, ""},
		{"asked again, and whole", inv, saying("Monday.", talked(cutText, "length"), talked(wholeText, "stop", later)), holds, ""},
		{"asked again, and whole, and yet the cut one", inv, saying(cutText, talked(cutText, "length"), talked(wholeText, "stop", later)), breaks, "was answered whole then"},
		{"asked again, and the whole one says no more", inv, saying(cutText, talked(cutText, "length"), talked(cutText, "stop", later)), holds, ""},
		{"asked for something else", inv, saying(cutText, talked(cutText, "length"), talked("Done.", "stop", later, other)), unclear, ""},
		{"calls without a key are not known to be equal", inv, saying("Monday.", talked(cutText, "length", keyless), talked(wholeText, "stop", later, keyless)), unclear, ""},
		{"an enclosing call is the same answer", inv, saying(cutText, chaos.Event{Target: "model", Outcome: chaos.OutcomeOK, End: 9 * ms}, talked(cutText, "length", func(e *chaos.Event) { e.Caller = "model" })), breaks, ""},
		{"a tool's answer is none", inv, saying(cutText, edited(talked("", "", unkept, text), func(e *chaos.Event) { e.Layer, e.Target = chaos.LayerTool, "orders.get" })), holds, ""},
		{"unless it is named", tokens, saying("It is", edited(call("tokens", 0, ms), by("early_end"))), unclear, ""},
		{"calls are missing", inv, cut(saying(cutText, talked(cutText, "length"))), unclear, ""},
	})
	misuse(t, map[string]contract.Invariant{`Target is "["`: NoCutAnswer("x", contract.High, &CutOptions{Target: "["})})
}

func TestEmitsOnce(t *testing.T) {
	inv := EmitsOnce("x", contract.High, "POST *", func(s []string) []string { return s })
	assert.True(t, inv.JudgesErrors)
	assert.True(t, inv.Needs.Has(contract.NeedState|contract.NeedResults))
	inAnswer := EmitsOnce[any]("x", contract.High, "POST *", nil)
	assert.False(t, inAnswer.Needs.Has(contract.NeedState))
	items := EmitsOnce("x", contract.High, "tokens", func(s []string) []string { return s })
	emits := func(parts []string, events ...chaos.Event) contract.Observation {
		return contract.Observation{Before: []string{"earlier"}, After: append([]string{"earlier"}, parts...), Events: events}
	}
	began := talked(cutText, "length", brokenOff)
	all := talked(wholeText, "stop", later)
	stream := func(n string, change ...func(*chaos.Event)) chaos.Event {
		e := chaos.Event{Target: "tokens", Layer: chaos.LayerStream, Outcome: chaos.OutcomeOK, Result: json.RawMessage(n), Start: ms, End: 2 * ms}
		for _, c := range change {
			c(&e)
		}
		return e
	}
	fails := stream("", brokenOff, by("stream_cut"))
	three := stream(`{"items":3}`, later)
	lost := emits(nil, began, all)
	lost.After = []string{}
	table(t, []row{
		{"no stream", inv, emits([]string{"a"}), holds, ""},
		{"nothing broke off", inv, emits([]string{wholeText}, talked(wholeText, "stop")), holds, ""},
		{"the beginning twice", inv, emits([]string{cutText, " ", wholeText}, began, all), breaks,
			`what a stream that broke off had given was passed on once more with the one in its place: "Order 1042 was Order 1042 was shipped on Monday."`},
		{"in the answer", inAnswer, saying(cutText+wholeText, began, all), breaks, ""},
		{"gone on where it was", inv, emits([]string{cutText, " shipped on Monday."}, began, all), holds, ""},
		{"nothing was passed on", inv, emits(nil, began, all), holds, ""},
		{"something stands between", inv, emits([]string{cutText, "\n(again)\n", wholeText}, began, all), unclear, ""},
		{"the second answer is another", inv, emits([]string{cutText, "It left."}, began, talked("It left.", "stop", later)), unclear, ""},
		{"a beginning that is there by chance", inv, emits([]string{"I", "I do."}, talked("I", "length", brokenOff), talked("I do.", "stop", later)), unclear, ""},
		{"the second broke off too, and there is no third", inv, emits([]string{cutText}, began, talked(cutText, "length", brokenOff, later)), unclear, ""},
		{"another request", inv, emits([]string{cutText, wholeText}, began, talked(wholeText, "stop", later, other)), holds, ""},
		{"parts are gone", inv, lost, unclear, "in the state no more"},
		{"as many parts as items", items, emits([]string{"a", "b", "c"}, fails, three), holds, ""},
		{"the first two again", items, emits([]string{"a", "b", "a", "b", "c"}, fails, three), breaks, ""},
		{"two more, of which none is again", items, emits([]string{"x", "y", "a", "b", "c"}, fails, three), unclear, ""},
		{"a stream that repeats itself", items, emits([]string{"a", "a", "b"}, fails, three), holds, ""},
		{"two streams beside it", items, emits([]string{"a", "a", "b", "c"}, fails, three, stream(`{"items":1}`, later, other)), unclear, ""},
		{"the stream was not reached", items, emits([]string{"a", "a", "b", "c"}, stream("", brokenOff, func(e *chaos.Event) { e.Effect = chaos.EffectNone }), three), holds, ""},
		{"an early end without an error", items, emits([]string{"a", "a", "b", "c"}, stream(`{"items":1}`, by("early_end")), three), breaks, ""},
		{"calls are missing", inv, cut(emits(nil, began, all)), unclear, ""},
	})
	misuse(t, map[string]contract.Invariant{`target is ""`: EmitsOnce[any]("x", contract.High, "", nil)})
}
