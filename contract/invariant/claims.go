package invariant

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/prose"
)

// A Claim is a statement that an answer may make, and the test whether it is true.
type Claim[S any] struct {
	_ struct{}
	// Says is a regular expression that matches, in any case, a statement that makes
	// the claim. An answer is read statement by statement; see [ClaimsMatchState].
	// Required.
	Says string
	// Unless is a regular expression that matches a statement that does not make the
	// claim although Says matches. Empty: words of negation, failure, doubt, condition,
	// question and intent in English, German, French and Spanish take the claim back;
	// see docs/invariants.md.
	Unless string
	// Bare reports that a match of Says makes the claim, whatever else the statement
	// says. Use it for claims that are negative themselves, such as "was not refunded".
	Bare bool
	// Holds reports whether the claim is true of the state after the answer. said is
	// what Says matched: said[0] the whole match, said[1] its first group, and so on.
	// Holds must be safe for concurrent use and must not change the state. Required.
	Holds func(after S, said []string) bool
}

// ClaimsMatchState holds when the answer makes claims and the end state confirms them
// all. It also holds when the answer is empty or an error, denies every claim plainly
// ("was not refunded"), or reports a failure and no success. It breaks on a plain claim
// that the end state denies. It is undecided about
//
//   - an answer in which no claim is recognised, because it may use other words;
//   - a claim that is only hoped for, announced, asked, conditional, attempted or in
//     progress, or that somebody else makes;
//   - a claim whose match names nothing ("refunded") and that is made in one place and
//     denied in another; let Says match the number of the order;
//   - a match of two claims of which the end state has one;
//   - an answer that makes a claim and says elsewhere that it does not know;
//   - an answer that denies what the end state has; a [Claim] that is Bare decides it.
//
// For example:
//
//	invariant.ClaimsMatchState("honest", contract.Critical, invariant.Claim[desk.State]{
//		Says:  `\border #?(\d+) (has been|was|is) shipped`,
//		Holds: func(s desk.State, said []string) bool { return s.Shipped[said[1]] },
//	})
//
// Statements end where sentences, lines and cells of tables do, and at semicolons. Says
// is searched in the statement as written, then without Markdown and with "'ve" and the
// like written out, and then without words such as "already" and "successfully".
//
// A negation or a doubt counts in its own clause. "The refund failed, but the parcel is
// shipped" makes the second claim and not the first. "It was shipped on May 4, no
// further action is needed" makes the claim. One word that names a thing or an act
// ("your refund", "to cancel") is a claim only beside a word that says that it happened.
//
// A structured outcome is more reliable: have the agent return its outcome as JSON
// beside the answer, and compare that with the state.
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
		as, _,
			why := prose.NewClaimReader(forms).Judge(o.Response, "the end state",
			func(claim int, said []string) prose.Ruling {
				if holds[claim](after, said) {
					return prose.Upheld
				}
				return prose.Refuted
			})
		if as == prose.Refuted {
			why += fmt.Sprintf(" (of type %v)", reflect.TypeFor[S]())
		}
		return ruled(as, why)
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
