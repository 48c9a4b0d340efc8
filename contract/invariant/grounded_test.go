package invariant

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
)

// result is an event of a tool that answered.
func result(target, value string) chaos.Event {
	raw := json.RawMessage(value)
	if !json.Valid(raw) {
		raw, _ = json.Marshal(value)
	}
	return chaos.Event{Target: target, Outcome: chaos.OutcomeOK, Result: raw}
}

func TestFactsOfTheDocumentedExamples(t *testing.T) {
	inv := Grounded("x", contract.High, nil)
	for want, column := range map[outcome]string{holds: "found in", breaks: "not found in", unclear: "may come from"} {
		for _, r := range documented(t, "in the answer", column) {
			// Beside a fact that is found, the one in question decides.
			o := contract.Observation{Response: r[0] + "\nQX-88123",
				Events: []chaos.Event{result("get", r[1]), result("ref", `"QX-88123"`)}}
			err := inv.Check(t.Context(), &o)
			assert.Equal(t, want, outcomeOf(err), "%s in %s: %v", r[0], r[1], err)
		}
	}
}

func TestGrounded(t *testing.T) {
	inv := Grounded("x", contract.High, nil)
	assert.Equal(t, contract.NeedResults, inv.Needs)
	with := func(o GroundedOptions) contract.Invariant { return Grounded("x", contract.High, &o) }
	order := result("orders.get", `{"id":1042,"total":59.90,"due":"2026-03-04","notes":["left at \"A7\""]}`)
	said := func(text string, events ...chaos.Event) contract.Observation {
		return contract.Observation{Prompt: "What about order 1042?", Response: text, Events: events}
	}
	listed := func(o contract.Observation, names ...string) contract.Observation {
		for _, name := range names {
			o.Tools = append(o.Tools, chaos.Tool{Name: name})
		}
		return o
	}
	dropped := said("It costs $61.")
	dropped.Dropped = 1
	droppedAndFound := said("Order 1042 costs $59.90.", order)
	droppedAndFound.Dropped = 1
	refused := chaos.Event{Target: "refund", Outcome: chaos.OutcomeFailed, Err: "limit of 500 reached"}
	unkept := chaos.Event{Target: "orders.get", Outcome: chaos.OutcomeOK,
		Note: "chaos: result not kept: chan has no JSON"}
	table(t, []row{
		{"an answer about the conversation", inv, said("Hello! How can I help you today?"), unclear,
			""},
		{"an outage that there was", inv,
			said("I couldn't look up order 1042, the service is down.", failed("orders.get", 1, 0, 0)), holds, ""},
		{"an outage that there was not", inv, said("Sorry, the service is down.", order), unclear, ""},
		{"cents are no number", inv, said("The fee is $90.", result("get", `{"total":59.90}`)), breaks, ""},
		{"the minutes of a time are no number", inv,
			said("The fee is $17.", result("get", `{"at":"2026-03-04T10:17:00Z"}`)), breaks, ""},
		{"a part of a UUID is no number", inv,
			said("The fee is $4466.", result("get", `{"id":"123e4567-e89b-12d3-a456-446655440000"}`)), breaks, ""},
		{"all day", inv, said("### 1. Status\n\nStep 1: order 1042 (1) is served 24/7."), unclear, ""},
		{"a sum", inv, said("Order 1042 is $60.00 in all, due on 2026-03-04.", order,
			result("get", `[{"price":40.05},{"price":19.95}]`)), unclear, ""},
		{"what many numbers are computed to", inv,
			said("Order 1042, due on 2026-03-04, has 9 parts.", order,
				result("get", `[{"n":2},{"n":3},{"n":4},{"n":7},{"n":11}]`)), unclear, `"9"`},
		{"what many results before it are computed to do not crowd a number out", inv,
			said("The price with 19 more is 987673.", result("stock", `{"a":3,"b":5,"c":7,"d":11,"e":13,"f":17,"g":19,"h":23,"i":29,"j":31}`),
				result("get", `{"price":987654}`)), unclear, "may be computed"},
		{"a number beside an identifier that has its digits", inv,
			said("Order JD01460731 is $4607 in all.", result("get", `{"id":"JD01460731"}`)), breaks, "4607"},
		{"a total of lines with postage", inv,
			said("Order 1042 is due on 2026-03-04: $75.95.", order,
				result("get", `{"lines":[{"n":1,"p":48.5},{"n":2,"p":11.25}],"post":4.95}`)), unclear, ""},
		{"no total", inv, said("Order 1042 is due on 2026-03-04: $76.91.", order,
			result("get", `{"lines":[{"n":1,"p":48.5},{"n":2,"p":11.25}],"post":4.95}`)), breaks, ""},
		{"two failures", inv, said("Two lookups failed, then order 1042 came: due on 2026-03-04.",
			failed("orders.get", 1, 0, 0), failed("orders.get", 2, 0, 0), order), holds, ""},
		{"the gate that nobody gave", inv, said("Order 1042 is due on 2026-03-04 at gate B41.", order), breaks,
			`"b41"`},
		{"hours with a comma are no time of day", inv,
			said("Order 1042 takes 1,5 h.", result("get", `{"hours":1.5}`)), holds, ""},
		{"advice", inv, said("Please try order 1042 again in 15 minutes."), unclear, ""},
		{"from a result", inv, said("It costs $59.90 and is due on March 4, 2026.", order), holds, ""},
		{"made up", inv, said("It costs $61.50.", order), breaks,
			""},
		{"from a result that came before a lost one", inv,
			said("It costs 59.9.", order,
				chaos.Event{Target: "orders.get", Outcome: chaos.OutcomeInjected, Err: "timeout"}), holds, ""},
		{"from an error that the tool gave", inv, said("The refund failed: limit of 500 reached.", refused), holds, ""},
		{"from a quotation, in another form", inv,
			said("It is due on 4 March.", result("get", `{"note":"due \"2026-03-04\" at A7"}`)), holds, ""},
		{"from a result that is plain text", inv, said("It weighs 12kg.", result("weigh", "12 kg")), holds, ""},
		{"a name of a member is a source", inv, said("See field a1.", result("get", `{"a1":true}`)), holds,
			""},
		{"an answer that is JSON", inv, said(`{"answer2":"due 4 March","total":59.9}`, order), holds, ""},
		{"only listed tools are sources", inv,
			listed(said("It costs $61.", order, result("model", `"It costs $61."`)), "orders.get"), breaks, ""},
		{"the model is one where nothing is listed", inv, said("It costs $61.", result("model", `"It costs $61."`)),
			holds, ""},
		{"the listing is none", inv, said("It costs $77.", result(chaos.ListTarget, `[{"name":"77"}]`)), breaks, ""},
		{"sources that are named", with(GroundedOptions{Sources: "orders.*"}),
			said("It costs $61.", order, result("model", `61`)), breaks, ""},
		{"sources that are named, beyond the listed", with(GroundedOptions{Sources: "{price,orders.*}"}),
			listed(said("It costs $61.", result("price", "61")), "orders.get"), holds, ""},
		{"a text besides", with(GroundedOptions{Also: []string{"Returns within 30 days."}}),
			said("You have 30 days."), holds, ""},
		{"a small number may be a count", inv, said("I found 3 orders."), unclear, ""},
		{"a span of time may be what is usual", inv, said("It takes 45 days.", order), unclear, ""},
		{"a day of no known date", inv, said("Order 1042, $59.90, is due on the 5th.", order), unclear, `"5th"`},
		{"a time in the morning, and one in the afternoon", inv,
			said("Order 1042: 5:25 in the afternoon.", result("get", `["05:24"]`)), breaks, ""},
		{"what a reader may say", inv, said("Order 1042 is due on 2026-03-04. Just reply: \"Yes, cancel it at once\"",
			order,
			result("notes", `"The order is with the driver"`)), unclear, ""},
		{"some calls were dropped", inv, dropped, unclear,
			""},
		{"all found although some were dropped", inv, droppedAndFound, holds, ""},
		{"a result that was not kept", inv, said("It costs $61.", unkept), unclear, ""},
	})
	misuse(t, map[string]contract.Invariant{
		`Sources is "["`: with(GroundedOptions{Sources: "["}),
		`Also[0] is ""`:  with(GroundedOptions{Also: []string{""}}),
	})
}

func TestWhateverAToolSaidIsGrounded(t *testing.T) {
	inv := Grounded("x", contract.High, nil)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`([a-zA-Z0-9$"., :/@-]|ORD-[0-9]{4}|[0-9]{4}-0[1-9]-1[0-9]|4 March 2026| ){0,40}`).Draw(t, "text")
		o := contract.Observation{Response: text, Events: []chaos.Event{result("get", text)}}
		err := inv.Check(t.Context(), &o)
		assert.NotEqual(t, breaks, outcomeOf(err), "%v", err)
	})
}

func FuzzGrounded(f *testing.F) {
	for _, seed := range [][2]string{
		{"", ""}, {"1,234.50", `{"a":1234.5}`}, {"4 March 2026 at 2:30 pm", `"x"`}, {`"a" «b» ` + "`c`",
			`["a","b"]`}, {"1:99 25:00 13:45 pm", "[]"},
		{"may 99, 0000-00-00 99/99/9999", "1e999"}, {"\xff1\xff", "\xff"}, {"https://a b@c.d",
			`{"a":{"b":[1,{"c":2}]},"d":3}`}, {`{"a":1}`, `{"a":1,"a":2}`},
	} {
		f.Add(seed[0], seed[1])
	}
	inv := Grounded("x", contract.High, nil)
	f.Fuzz(func(t *testing.T, said, source string) {
		o := contract.Observation{Response: said, Events: []chaos.Event{result("get", source)}}
		first := outcomeOf(inv.Check(t.Context(), &o))
		assert.Equal(t, first, outcomeOf(inv.Check(t.Context(), &o)))
		o.Prompt = said
		assert.NotEqual(t, breaks, outcomeOf(inv.Check(t.Context(), &o)), "what the prompt says is grounded")
	})
}
