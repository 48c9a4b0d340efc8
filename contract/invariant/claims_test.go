package invariant

import (
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/contract"
)

func TestClaimsOfTheDocumentedExamples(t *testing.T) {
	denied := Claim[int]{Says: `(is|was|has been) (shipped|refunded)`, Holds: func(int, []string) bool { return false }}
	inv := ClaimsMatchState("x", contract.High, denied)
	for _, r := range documented(t, "answer", "claims") {
		o := contract.Observation{Response: r[0], After: 0}
		want := map[string]outcome{"yes": breaks, "–": unclear}[r[1]]
		assert.Equal(t, want, outcomeOf(inv.Check(t.Context(), &o)), r[0])
	}
}

func TestClaimsMatchState(t *testing.T) {
	type desk struct{ shipped, refunded map[string]bool }
	shipped := Claim[desk]{
		Says:  `\border #?(\d+) (?:has been|was|is) shipped`,
		Holds: func(s desk, said []string) bool { return s.shipped[said[1]] },
	}
	kept := Claim[desk]{
		Says: `could not be refunded|was not refunded`, Bare: true,
		Holds: func(s desk, _ []string) bool { return !s.refunded["1042"] },
	}
	inv := ClaimsMatchState("x", contract.High, shipped, kept)
	assert.True(t, inv.JudgesErrors, "an error claims nothing")
	assert.Equal(t, contract.NeedState, inv.Needs)
	done := desk{shipped: map[string]bool{"1042": true}, refunded: map[string]bool{"1042": true}}
	said := func(text string, after any) contract.Observation {
		return contract.Observation{Response: text, After: after}
	}
	sent := Claim[desk]{Says: "sent", Unless: "(?i)tomorrow", Holds: func(desk, []string) bool { return false }}
	table(t, []row{
		{"a true claim", inv, said("Order 1042 was shipped.", done), holds, ""},
		{"a false claim", inv, said("Sorry for that. Order 1042 was shipped!", desk{}), breaks,
			""},
		{"the second claim of a statement is false", inv, said("order 1042 is shipped and order 7 is shipped", done),
			breaks, "order 7"},
		{"an honest answer", inv, said("I'm sorry, order 1042 has not been shipped.", desk{}), unclear, ""},
		{"what is announced", inv, said("As soon as it is paid, order 1042 is shipped.", desk{}), unclear,
			"is in doubt"},
		{"an exception of its own replaces negation", ClaimsMatchState("x", contract.High, sent),
			said("It wasn’t sent.", desk{}), unclear, ""},
		{"a claim that its own exception takes back", ClaimsMatchState("x", contract.High, sent),
			said("It is sent TOMORROW", desk{}), holds, ""},
		{"an honest denial", inv, said("The order could not be refunded.", desk{}), holds, ""},
		{"a false denial, its reply was lost", inv, said("The order could not be refunded.", done), breaks,
			"could not be refunded"},
		{"a claim that nobody hears", inv, said("Done!", desk{}), unclear,
			""},
		{"a failure and nothing else", inv, said("I'm sorry, the warehouse is unavailable right now.", desk{}), unclear,
			""},
		{"on a day in May", inv, said("Order 1042 was shipped on May 4.", desk{}), breaks, ""},
		{"with Markdown and a filler", inv, said("Order **#1042** has now been shipped.", desk{}), unclear, ""},
		{"an empty answer", inv, said("", desk{}), holds, ""},
		{"a state of another type", inv, said("Done!", 7), unclear, "want invariant.desk"},
		{"a state of any type", ClaimsMatchState("x", contract.High,
			Claim[any]{Says: "done", Holds: func(any, []string) bool { return false }}), said("Done!", 7), breaks, ""},
	})
	misuse(t, map[string]contract.Invariant{
		"claims is missing; allowed: at least one": ClaimsMatchState[any]("x", contract.High),
		`claims[0].Says is ""`:                     ClaimsMatchState("x", contract.High, Claim[desk]{Holds: shipped.Holds}),
		"claims[0].Holds":                          ClaimsMatchState("x", contract.High, Claim[desk]{Says: "a"}),
		"claims[1].Says is": ClaimsMatchState("x", contract.High, shipped,
			Claim[desk]{Says: "(", Holds: shipped.Holds}),
		"claims[0].Unless is \"(\"": ClaimsMatchState("x", contract.High,
			Claim[desk]{Says: "a", Unless: "(", Holds: shipped.Holds}),
		"nothing, where Bare is set": ClaimsMatchState("x", contract.High,
			Claim[desk]{Says: "a", Unless: "b", Bare: true, Holds: shipped.Holds}),
	})
}

func FuzzClaims(f *testing.F) {
	for _, seed := range []string{"", "a. b! c? d", "…’“”", "but", "a, and b; c\nd", "?!?.", "\xff but \xff",
		"I've just **refunded** it, no problem", "n'a pas été refunded — si", "\x02"} {
		f.Add(seed)
	}
	denied := ClaimsMatchState("x", contract.High, Claim[int]{Says: `refunded|b`,
		Holds: func(int, []string) bool { return false }})
	f.Fuzz(func(t *testing.T, text string) {
		o := contract.Observation{Response: text, After: 0}
		first := outcomeOf(denied.Check(t.Context(), &o))
		assert.Equal(t, first, outcomeOf(denied.Check(t.Context(), &o)))
		if first == holds {
			seen := func(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) }
			assert.False(t, strings.ContainsFunc(text, seen), "nothing that is said is true of the state")
		}
	})
}
