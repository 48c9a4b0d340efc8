package invariant

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/contract"
)

// A ledger is a state: the refunds, named by their orders, and other data.
type ledger struct {
	Refunds []string
	Stock   map[string]int
	hidden  int
}

func refunds(l ledger) []string { return l.Refunds }

func booked(orders ...string) ledger { return ledger{Refunds: orders} }

// between returns an observation that has only the state before and after.
func between(before, after any) contract.Observation {
	return contract.Observation{Before: before, After: after}
}

func TestExactlyOnce(t *testing.T) {
	once := ExactlyOnce("x", contract.High, refunds)
	wanted := ExactlyOnce("x", contract.High, refunds, "1042")
	assert.True(t, once.JudgesErrors, "effects outlive an error")
	assert.Equal(t, contract.NeedState, once.Needs)
	loose := ExactlyOnce("x", contract.High, func(state any) []string { return state.(ledger).Refunds })
	live := &ledger{Refunds: []string{"1042", "1042"}}
	table(t, []row{
		{"one came about", once, between(booked(), booked("1042")), holds, ""},
		{"none came about", once, between(booked("7"), booked("7")), breaks,
			`no effect came about, one is expected; effects there: "7"`},
		{"twice", once, between(booked(), booked("1042", "1042")), breaks, `"1042" is there 2 times (0 before)`},
		{"two different ones", once, between(booked(), booked("1042", "1043")), holds, ""},
		{"once more what was there before", once, between(booked("1042"), booked("1042", "1042")), breaks,
			"2 times (1 before)"},
		{"what was there twice before is not its doing", once, between(booked("7", "7"), booked("7", "7", "1042")),
			holds, ""},
		{"the wanted one came about", wanted, between(booked(), booked("1042")), holds, ""},
		{"another came about", wanted, between(booked(), booked("1043")), breaks,
			`expected once and not in the end state: "1042"; effects there: "1043"`},
		{"the wanted one was there already", wanted, between(booked("1042"), booked("1042")), holds, ""},
		{"a function of any state", loose, between(booked(), booked("1042")), holds, ""},
		{"a state of another type", once, between("full", "full"), unclear,
			"the state before the answer is a string, want invariant.ledger"},
		{"no state", loose, between(nil, nil), unclear, "before the answer is nil"},
		{"a state that is the same in memory",
			ExactlyOnce("x", contract.High, func(l *ledger) []string { return l.Refunds }), between(live,
				live), unclear, "must return a copy"},
	})
	misuse(t, map[string]contract.Invariant{
		"effects is missing; allowed: a function that is not nil": ExactlyOnce[ledger]("x", contract.High, nil),
		`want[1] is ""`: ExactlyOnce("x", contract.High, refunds, "a", ""),
	})
}

func TestAtMostOnce(t *testing.T) {
	inv := AtMostOnce("x", contract.High, refunds)
	assert.True(t, inv.JudgesErrors)
	assert.Equal(t, contract.NeedState, inv.Needs)
	full := map[string]int{"a": 1}
	table(t, []row{
		{"one came about", inv, between(booked(), booked("1042")), holds, ""},
		{"none did: it gave up", inv, between(booked(), booked()), holds, ""},
		{"twice", inv, between(booked(), booked("1042", "1042")), breaks,
			`more than once: "1042" is there 2 times (0 before)`},
		{"two different ones", inv, between(booked(), booked("1", "2")), holds, ""},
		{"twice before, three times after", inv, between(booked("7", "7"), booked("7", "7", "7")), breaks, ""},
		{"a state of another type", inv, between(booked(), 7), unclear, "after the answer is a int"},
		{"a map that is the same in memory",
			AtMostOnce("x", contract.High, func(map[string]int) []string { return nil }), between(full,
				full), unclear, ""},
	})
	misuse(t, map[string]contract.Invariant{
		"effects": AtMostOnce[any]("x", contract.High, nil),
	})
}

func TestStateUnchanged(t *testing.T) {
	inv := StateUnchanged("x", contract.High)
	assert.True(t, inv.JudgesErrors)
	assert.Equal(t, contract.NeedState, inv.Needs)
	stock := func(n int) ledger { return ledger{Stock: map[string]int{"a": 1, "b": n}} }
	live := &ledger{}
	table(t, []row{
		{"the same", inv, between(stock(2), stock(2)), holds, ""},
		{"one more in a list", inv, between(booked("7"), booked("7", "8")), breaks, `"/Refunds/1": nothing became "8"`},
		{"a member more", inv, between(map[string]int{}, map[string]int{"a": 1}), breaks, `"/a": nothing became 1`},
		{"a value in another type", inv, between(map[string]any{"a": 1}, map[string]any{"a": "1"}), breaks,
			`1 became "1"`},
		{"what JSON does not show", inv, between(ledger{hidden: 1}, ledger{hidden: 2}), breaks,
			"in a part that its JSON does not show"},
		{"what has no JSON", inv, between(make(chan int), make(chan int)), breaks, ""},
		{"a large number", inv, between(int64(1)<<60, int64(1)<<60+1), breaks,
			`1152921504606846976 became 1152921504606846977`},
		{"copies behind pointers", inv, between(&ledger{hidden: 1}, &ledger{hidden: 1}), holds, ""},
		{"one pointer", inv, between(live, live), unclear,
			"the same *invariant.ledger; World.State must return a copy"},
		{"no state", inv, between(nil, nil), unclear, ""},
	})
}
