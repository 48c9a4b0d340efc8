package findings_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract/findings"
)

func TestFalseSuccess(t *testing.T) {
	const (
		saysWhich = `order (\d+) (?:was|has been) refunded`
		saysDone  = `(?:was|has been) refunded`
		refunded  = "Order 1042 was refunded."
	)
	notDone, done := effect(findings.NotDone), effect(findings.Done)
	seq := func(calls ...findings.Call) []findings.Call { return calls }
	for _, tc := range []struct {
		why, says, answer, want string
		calls                   []findings.Call
	}{
		{"the last call failed, and nothing was done", saysDone, refunded, "[1]", seq(with(fails("refund", order, timeout), notDone))},
		{"the callee refused", saysDone, refunded, "[1]", seq(fails("refund", order, gone))},
		{"it succeeded in the end", saysDone, refunded, "", seq(with(fails("refund", order, timeout), notDone), ok("refund", order))},
		{"it failed, and was done", saysDone, refunded, "", seq(with(fails("refund", order, timeout), done))},
		{"nobody knows", saysDone, refunded, "null", seq(fails("refund", order, timeout))},
		{"nothing was called", saysDone, refunded, "null", seq(ok("get", order))},
		{"the answer denies it", saysDone, "Order 1042 was not refunded.", "", seq(fails("refund", order, gone))},
		{"it is about that order", saysWhich, refunded, "[1]", seq(fails("refund", order, gone), ok("refund", other))},
		{"which of the two is not said", saysDone, "It was refunded.", "null", seq(fails("refund", order, gone), ok("refund", other))},
		{"mended arguments", saysWhich, refunded, "", seq(fails("refund", `{"order":1042,"amount":"ten"}`, gone),
			ok("refund", `{"order":1042,"amount":10}`))},
		{"the number is a word of a text", saysWhich, refunded, "[1]", seq(fails("refund", `{"note":"for order 1042"}`, gone))},
		{"which order was not recorded", saysWhich, refunded, "null", seq(with(fails("refund", "", gone), without(findings.Args)))},
		{"the answer is unknown", saysDone, "", "null", seq(fails("refund", order, gone))},
	} {
		t.Run(tc.why, func(t *testing.T) {
			r, err := findings.Find(tc.calls, &findings.Options{Tools: tools(), Answer: tc.answer,
				Claims: []findings.Claim{{Says: tc.says, Tool: "refund"}}})
			require.NoError(t, err)
			assert.Equal(t, tc.want, shown(r, findings.FalseSuccess), "%v %v", r.Findings, r.Unjudged[findings.FalseSuccess])
		})
	}
}

func TestFabricated(t *testing.T) {
	found := with(ok("get", order), func(c *findings.Call) { c.Result = json.RawMessage(`{"total":59.9,"tracking":"ZX-81-K"}`) })
	for _, tc := range []struct {
		why, answer, want string
		calls             []findings.Call
	}{
		{"no result has it", "The tracking number is QQ-99-Z.", "[]", []findings.Call{found}},
		{"a model is no source", "The tracking number is ZX-81-K.", "[]",
			[]findings.Call{with(found, func(c *findings.Call) { c.Type = findings.Model })}},
		{"a result was not recorded", "The tracking number is QQ-99-Z.", "null",
			[]findings.Call{found, with(ok("get", other), without(findings.Result))}},
		{"a result was cut", "The tracking number is QQ-99-Z.", "null",
			[]findings.Call{with(found, func(c *findings.Call) { c.Truncated = true })}},
		{"a result was redacted", "The tracking number is QQ-99-Z.", "null",
			[]findings.Call{with(found, func(c *findings.Call) { c.Result = json.RawMessage(`{"tracking_token":"[redacted]"}`) })}},
	} {
		t.Run(tc.why, func(t *testing.T) {
			r, err := findings.Find(tc.calls, &findings.Options{Answer: tc.answer, Prompts: []string{"Where is order 1042?"}})
			require.NoError(t, err)
			assert.Equal(t, tc.want, shown(r, findings.Fabricated), "%v %v", r.Findings, r.Unjudged[findings.Fabricated])
		})
	}
}
