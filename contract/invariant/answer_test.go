package invariant

import (
	"errors"
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
		{"a full stop", inv, answer("."), holds, ""},
		{"an emoji", inv, answer("👍"), holds, ""},
		{"nothing", inv, answer(""), breaks, `the answer is empty: ""`},
		{"spaces and line ends", inv, answer(" \t\r\n"), breaks, ""},
		{"a no-break space", inv, answer("\u00a0"), breaks, ""},
		{"a zero-width space and a byte order mark", inv, answer("\u200b\ufeff"), breaks, ""},
		{"a control character", inv, answer("\x00"), breaks, ""},
		{"a word between spaces", inv, answer("\n x \n"), holds, ""},
	})
}

func TestCompletes(t *testing.T) {
	inv := Completes("x", contract.High)
	assert.True(t, inv.JudgesErrors, "an error is what it judges")
	err := func(err error) contract.Observation { return contract.Observation{Err: err} }
	table(t, []row{
		{"it answered", inv, answer("done"), holds, ""},
		{"an empty answer is one", inv, answer(""), holds, ""},
		{"an error", inv, err(errors.New("refund: 503")), breaks, "the agent returned an error: refund: 503"},
		{"an error beside an answer", inv, contract.Observation{Response: "done", Err: errors.New("late")}, breaks, "late"},
		{"a time-out", inv, err(contract.ErrTimeout), breaks, "did not return: contract: the agent did not answer in time"},
		{"a hang", inv, err(contract.ErrHung), breaks, "did not return"},
		{"a panic", inv, err(&contract.PanicError{Value: "nil map"}), breaks, "did not return: panic: nil map"},
		{"an ended goroutine", inv, err(contract.ErrFailNow), breaks, "did not return"},
		{"a fault's error that it passed on", inv, err(&chaos.InjectedError{Err: errors.New("no route")}), breaks, "returned an error: no route"},
	})
}

func TestWithin(t *testing.T) {
	inv := Within("x", contract.High, 2*time.Second)
	assert.False(t, inv.JudgesErrors, "a quick failure is no quick answer")
	took := func(d time.Duration) contract.Observation { return contract.Observation{Elapsed: d} }
	table(t, []row{
		{"no time at all", inv, took(0), holds, ""},
		{"less", inv, took(time.Second), holds, ""},
		{"just under", inv, took(2*time.Second - 1), holds, ""},
		{"the limit itself", inv, took(2 * time.Second), holds, ""},
		{"just over", inv, took(2*time.Second + 1), breaks, "took 2.000000001s, 1ns longer than the 2s allowed"},
		{"an hour", inv, took(time.Hour), breaks, "59m58s longer"},
		{"the answer does not matter", inv, contract.Observation{Elapsed: time.Second, Response: "no"}, holds, ""},
		{"a limit of a nanosecond", Within("x", contract.High, 1), took(2), breaks, ""},
	})
	misuse(t, map[string]contract.Invariant{
		"limit is 0":         Within("x", contract.High, 0),
		"a duration above 0": Within("x", contract.High, -time.Second),
		"limit is -1s;":      Within("x", contract.High, -time.Second),
	})
}
