package invariant

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
)

func TestNotEmpty(t *testing.T) {
	inv := NotEmpty("x", contract.High)
	table(t, []row{
		{"a word", inv, answer("yes"), holds, ""},
		{"nothing", inv, answer(""), breaks, `the answer is empty: ""`},
		{"spaces and line ends", inv, answer(" \t\r\n"), breaks, ""},
		{"a zero-width space and a byte order mark", inv, answer("\u200b\ufeff"), breaks, ""},
		{"a control character", inv, answer("\x00"), breaks, ""},
	})
}

func TestCompletes(t *testing.T) {
	inv := Completes("x", contract.High)
	assert.True(t, inv.JudgesErrors, "an error is what it judges")
	err := func(err error) contract.Observation { return contract.Observation{Err: err} }
	table(t, []row{
		{"it answered", inv, answer("done"), holds, ""},
		{"an empty answer is one", inv, answer(""), holds, ""},
		{"an error", inv, err(errors.New("refund: 503")), breaks, "the agent failed: refund: 503"},
		{"an error beside an answer", inv, contract.Observation{Response: "done", Err: errors.New("late")}, breaks,
			"late"},
		{"a time-out", inv, err(contract.ErrTimeout), breaks,
			"did not return: contract: the agent did not answer in time"},
		{"a panic", inv, err(&contract.PanicError{Value: "nil map"}), breaks, "did not return: panic: nil map"},
		{"a fault's error that it passed on", inv, err(&chaos.InjectedError{Err: errors.New("no route")}), breaks,
			"the agent failed: no route"},
	})
}

func TestWithin(t *testing.T) {
	inv := Within("x", contract.High, 2*time.Second)
	assert.False(t, inv.JudgesErrors, "a quick failure is no quick answer")
	took := func(d time.Duration) contract.Observation { return contract.Observation{Elapsed: d} }
	table(t, []row{
		{"less", inv, took(time.Second), holds, ""},
		{"just under", inv, took(2*time.Second - 1), holds, ""},
		{"the limit itself", inv, took(2 * time.Second), holds, ""},
		{"just over", inv, took(2*time.Second + 1), breaks, "took 2.000000001s, 1ns longer than the 2s allowed"},
	})
	misuse(t, map[string]contract.Invariant{
		"limit is -1s;": Within("x", contract.High, -time.Second),
	})
}

func TestContains(t *testing.T) {
	names := Contains("x", contract.High, "1042")
	both := Contains("x", contract.High, "1042", "Refund")
	table(t, []row{
		{"the text is there", names, answer("Order 1042 was refunded."), holds, ""},
		{"the text is not there", names, answer("Order 1043 was refunded."), breaks,
			`does not contain "1042": "Order 1043 was refunded."`},
		{"all texts are there, in another case", both, answer("REFUNDED: 1042"), holds, ""},
		{"both are missing", both, answer("Done."), breaks, `"1042", "Refund"`},
		{"case folds beyond ASCII", Contains("x", contract.High, "ΣΊΣΥΦΟΣ"), answer("σίσυφος"), holds, ""},
		{"the denial of a text contains it", names, answer("There is no order 1042."), holds, ""},
		{"a long answer is cut in the evidence", names, answer(strings.Repeat("no ", 1000)), breaks, "… (3000 bytes)"},
	})
	misuse(t, map[string]contract.Invariant{
		"texts":                 Contains("x", contract.High),
		`texts[1] is ""`:        Contains("x", contract.High, "a", ""),
		`texts[0] is "\n"`:      Contains("x", contract.High, "\n"),
		`text that is not empt`: Contains("x", contract.High, "", "\u200b"),
	})
}

func TestContainsAny(t *testing.T) {
	done := ContainsAny("x", contract.High, "refunded", "reimbursed")
	table(t, []row{
		{"the second is there", done, answer("It was reimbursed."), holds, ""},
		{"none is there", done, answer("It was shipped."), breaks,
			`none of "refunded", "reimbursed": "It was shipped."`},
		{"an empty answer has none", done, answer(""), breaks, ""},
		{"a part of a word is enough", ContainsAny("x", contract.High, "fund"), answer("refunded"), holds, ""},
	})
	misuse(t, map[string]contract.Invariant{
		"texts":        ContainsAny("x", contract.High),
		`texts[0] is `: ContainsAny("x", contract.High, " "),
	})
}

func TestExcludes(t *testing.T) {
	clean := Excludes("x", contract.High, "internal", "Stack Trace")
	table(t, []row{
		{"none of the texts is there", clean, answer("All is well."), holds, ""},
		{"one is there", clean, answer("An internal error."), breaks,
			`contains the excluded "internal" at byte 3: "An internal error."`},
		{"one is there in another case", clean, answer("see the STACK TRACE below"), breaks, `"Stack Trace" at byte 8`},
		{"an empty answer has none", clean, answer(""), holds, ""},
		{"the place is one in the answer, not in the folded text", Excludes("x", contract.High, "key"),
			answer("İİİ \u212Aey!"), breaks, "at byte 7"},
		{"invalid UTF-8 does not move the place", Excludes("x", contract.High, "key"), answer("\xff\xfekey"), breaks,
			"at byte 2"},
		{"the surroundings are cut", clean, answer(strings.Repeat("a", 500) + "internal" + strings.Repeat("b", 500)),
			breaks, `"…`[1:]},
	})
	misuse(t, map[string]contract.Invariant{
		"texts":        Excludes("x", contract.High),
		`texts[1] is `: Excludes("x", contract.High, "a", "\t"),
	})
}

func TestRegex(t *testing.T) {
	id := Regex("x", contract.High, `\bORD-\d{4}\b`)
	table(t, []row{
		{"it matches", id, answer("Order ORD-1042 is done."), holds, ""},
		{"a digit is missing", id, answer("ORD-104"), breaks, `does not match "\\bORD-\\d{4}\\b": "ORD-104"`},
		{"case matters", id, answer("ord-1042"), breaks, ""},
		{"unless the pattern says otherwise", Regex("x", contract.High, `(?i)ord-\d+`), answer("ORD-1042"), holds, ""},
		{"an empty answer", id, answer(""), breaks, ""},
		{"anchors are those of the whole answer", Regex("x", contract.High, `^Done\.$`), answer("Well.\nDone."),
			breaks, ""},
	})
	misuse(t, map[string]contract.Invariant{
		`pattern is ""`:    Regex("x", contract.High, ""),
		"missing closing":  Regex("x", contract.High, "(a"),
		"a regular expres": Regex("x", contract.High, `\1`),
	})
}

func TestExcludesRegex(t *testing.T) {
	clean := ExcludesRegex("x", contract.High, `\bcat\b`, `(?i)err-\d+`)
	table(t, []row{
		{"nothing matches", clean, answer("All is well."), holds, ""},
		{"the first matches", clean, answer("A cat sat."), breaks,
			`matches the excluded "\\bcat\\b" at byte 2: "A cat sat."`},
		{"a part of a word does not", clean, answer("category"), holds, ""},
		{"the second matches without case", clean, answer("Err-17"), breaks, `"(?i)err-\\d+" at byte 0`},
		{"an empty answer", clean, answer(""), holds, ""},
		{"an empty match is one", ExcludesRegex("x", contract.High, `z*`), answer("abc"), breaks, "at byte 0"},
	})
	misuse(t, map[string]contract.Invariant{
		"patterns":          ExcludesRegex("x", contract.High),
		`patterns[1] is ""`: ExcludesRegex("x", contract.High, "a", ""),
		"patterns[0] is":    ExcludesRegex("x", contract.High, "[", "a"),
	})
}
