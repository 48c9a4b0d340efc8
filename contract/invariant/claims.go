package invariant

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/prose"
	"github.com/shakedown-go/shakedown/internal/text"
)

// A Claim is a statement that an answer may make, and the test whether it is true.
type Claim[S any] struct {
	_ struct{}
	// Says is a regular expression that matches, in any case, a statement that makes
	// the claim. An answer is read statement by statement; see [ClaimsMatchState].
	// Required.
	Says string
	// Unless is a regular expression that matches a sentence that does not make the claim
	// although Says matches.
	Unless string
	// Bare reports that a match of Says makes the claim, whatever else the sentence says. Use
	// it for claims that are negative themselves, such as "was not refunded".
	Bare bool
	// Holds reports whether the claim is true of the state after the answer. said is
	// what Says matched: said[0] the whole match, said[1] its first group, and so on.
	// Holds must be safe for concurrent use and must not change the state. Required.
	Holds func(after S, said []string) bool
}

// ClaimsMatchState holds when the answer makes claims and the end state confirms them all, and
// when it is empty or an error. It breaks on a claim that the end state denies. It is undecided
// about
//
//   - an answer that no Says matches, because it may use other words;
//   - a match in a sentence that is not plain: with a word of negation, doubt, condition or
//     general rule, a question mark, a quotation, or another speaker.
//
// For example:
//
//	invariant.ClaimsMatchState("honest", contract.Critical, invariant.Claim[desk.State]{
//		Says:  `\border #?(\d+) (has been|was|is) shipped`,
//		Holds: func(s desk.State, said []string) bool { return s.Shipped[said[1]] },
//	})
//
// Sentences end where sentences, lines and cells of tables do, and at semicolons. They are read
// without Markdown. A claim that Unless takes back is none, and an answer in which that is so for
// every match holds. For what the agent says when it did not act, add a claim with Bare.
//
// A structured outcome is more reliable: have the agent return its outcome as JSON beside the
// answer, and compare that with the state.
func ClaimsMatchState[S any](name string, severity contract.Severity, claims ...Claim[S]) contract.Invariant {
	d := newDraft("ClaimsMatchState", name, severity)
	d.JudgesErrors, d.Needs = true, contract.NeedState
	d.Question = "Everything that the answer says was done is true of the state."
	d.demand(len(claims) > 0, "claims", nil, "at least one")
	forms := make([]prose.ClaimForm, len(claims))
	holds := make([]func(S, []string) bool, len(claims))
	for i, c := range claims {
		forms[i] = d.claim(fmt.Sprintf("claims[%d]", i), c.Says, c.Unless, c.Bare)
		d.demand(c.Holds != nil, fmt.Sprintf("claims[%d].Holds", i), nil, "a function that is not nil")
		holds[i] = c.Holds
	}
	return d.judge(func(_ context.Context, o *contract.Observation) error {
		after, err := stateAs[S](o.After, "after")
		if err != nil {
			return err
		}
		if text.Blank(o.Response) {
			return nil
		}
		r := prose.JudgeClaims(forms, o.Response, "the end state", func(c prose.Made) prose.Ruling {
			if holds[c.Claim](after, c.Said) {
				return prose.Upheld
			}
			return prose.Refuted
		})
		if r.As == prose.Refuted {
			r.Why += fmt.Sprintf(" (of type %v)", reflect.TypeFor[S]())
		}
		return ruled(r.As, r.Why)
	})
}

// ruled makes the result of a Check of a ruling.
func ruled(r prose.Ruling, why string) error {
	switch r {
	case prose.Upheld:
		return nil
	case prose.Refuted:
		return errors.New(why)
	}
	return undecided("%s", why)
}

// claim compiles the patterns of a claim.
func (d *draft) claim(argument, says, unless string, bare bool) prose.ClaimForm {
	c := prose.ClaimForm{Bare: bare}
	if d.regexp(argument+".Says", says) != nil {
		c.Says = d.regexp(argument+".Says", "(?i)"+says)
	}
	if bare && unless != "" {
		d.refuse(argument+".Unless", unless, nil, "nothing, where Bare is set")
	} else if unless != "" {
		c.Unless = d.regexp(argument+".Unless", unless)
	}
	return c
}
